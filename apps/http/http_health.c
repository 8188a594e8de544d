/* See http_health.h. */
#include "apps/http/http_health.h"

#include "net/dhcp/dhcp_client.h"

static bool has_default(const struct gw *gw)
{
	for (uint32_t i = 0; i < gw->routes4.n; i++)
		if (gw->routes4.entry[i].len == 0)
			return true;
	return route6_has_default(&gw->routes6);
}

const char *http_health_missing(const struct gw *gw)
{
	bool wan = gw->iface[IF_WAN].present;
	if (!dhcp_is_ready(gw))
		return "no lease of the WAN";
	if (gw->forwarder->stopped && gw->forwarder->stopped(gw))
		return gw->forwarder->stopped(gw);
	if (wan && !gw->iface[IF_WAN].carrier)
		return "no carrier on the WAN";
	if (!gw->forwarder->is_host && !has_default(gw))
		return "no default route";
	return NULL;
}

uint32_t http_health_ready(const struct gw *gw, const char *query)
{
	(void)query;
	return http_health_missing(gw) ? 503 : 200;
}

bool http_health_readyz(struct gw *gw, struct http_job *job, struct http_out *o)
{
	const char *why = http_health_missing(gw);
	(void)job;
	if (why)
		http_print(o, "not ready: %s\n", why);
	else
		http_print(o, "ready\n");
	o->cost++;
	return false;
}

bool http_health_livez(struct gw *gw, struct http_job *job, struct http_out *o)
{
	(void)gw;
	(void)job;
	http_print(o, "alive\n");
	o->cost++;
	return false;
}
