/* The service `http`: what the gateway shows over HTTP, read-only. Here are its start and its
 * counters. See http_conn.h. */
#include "apps/http/http_conn.h"
#include "apps/http/http_keys.h"
#include "apps/services.h"
#include "kernel/lib/alloc.h"
#include "net/capture/capture.h"
#include "net/stats/count.h"

struct http *http_of(const struct gw *gw)
{
	return gw->service_state[SERVICE_http];
}

static uint64_t connections_most(const void *of)
{
	(void)of;
	return HTTP_CONNECTIONS;
}

static const struct count count[] = {
        COUNT_FILL(struct http, "http_connections", n, connections_most),
        COUNT(struct http, "http_requests", requests),
        COUNT(struct http, "http_errors", errors),
};

static const void *state(const struct gw *gw)
{
	return http_of(gw);
}

static const struct count_table http_counts = COUNT_TABLE(count, state);

static const char *http_init(struct gw *gw)
{
	struct http *h = alloc(sizeof *h, 64);
	if (!h)
		return "not enough memory";
	gw->service_state[SERVICE_http] = h;
	if (http_config(gw->config)->capture && !capture_start(gw, HTTP_PORT))
		return "http.capture: not enough memory";
	return http_conn_init(gw);
}

static bool http_tick(struct gw *gw)
{
	http_rates_tick(gw, &http_of(gw)->rates);
	http_talkers_tick(gw, &http_of(gw)->talkers);
	return http_conn_tick(gw);
}

const struct service service_http = {
        .keys = {&http_section},
        .counts = {&http_counts},
        .init = http_init,
        .tick = http_tick,
};
