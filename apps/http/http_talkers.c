/* See http_talkers.h. */
#include "apps/http/http_talkers.h"

#include "net/forwarder.h"

enum {
	PLACES = 128, /* of the table of hosts, looked at in a call */
	COST = 2,     /* of these */
	FRESH_US = 1000000,
};

/* Puts a host behind all with as many sessions; the last one of a full list goes. */
static void enter(struct http_talkers *t, const struct prefix *host, uint32_t sessions)
{
	uint32_t i = t->n_found;
	if (i == HTTP_TALKERS && t->found[--i].sessions >= sessions)
		return;
	t->n_found = i + 1;
	for (; i > 0 && t->found[i - 1].sessions < sessions; i--)
		t->found[i] = t->found[i - 1];
	t->found[i] = (struct http_talker){*host, sessions};
}

static void begin(struct http_talkers *t)
{
	t->running = true;
	t->cursor = t->n_found = 0;
}

static void end(struct http_talkers *t, uint64_t now_us)
{
	memcpy(t->shown, t->found, sizeof t->shown);
	t->n = t->n_found;
	t->end_us = now_us;
	t->running = false;
}

bool http_talkers_search(const struct gw *gw, struct http_talkers *t, struct http_job *job,
                         struct http_out *o)
{
	struct prefix host;
	uint32_t sessions;
	bool first = job->step++ == 0;
	if (!gw->forwarder->host)
		return false;
	if (!t->running) {
		if (!first || (t->end_us && gw->clock.us - t->end_us < FRESH_US))
			return false;
		begin(t);
	} else if (first && gw->clock.us - t->moved_us >= FRESH_US) {
		begin(t); /* the client that searched is gone */
	}
	t->moved_us = gw->clock.us;
	o->cost += COST;
	for (uint32_t i = 0; i < PLACES; i++) {
		if (!gw->forwarder->host(gw, &t->cursor, &host, &sessions)) {
			end(t, gw->clock.us);
			return false;
		}
		if (sessions)
			enter(t, &host, sessions);
	}
	return true;
}

const char *http_talkers_text(char buf[FMT_IP6 + 4], const struct http_talker *t)
{
	return http_talkers_is_one(t) ? addr_text(buf, &t->host.addr)
	                              : addr_prefix_text(buf, &t->host);
}
