/* See http_talkers.h. A page waits for a search for a dozen milliseconds under load; a table of
 * hosts may take longer, and the tick goes on. */
#include "apps/http/http_talkers.h"

#include "net/forwarder.h"

enum {
	PLACES = 128, /* of the table of hosts, looked at in a call */
	COST = 2,     /* of these */
	TURNS = 64,   /* of a page; then it shows the result before */
	FRESH_US = 1000000,
	STEP_US = 1000,
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

/* Looks at some places; true while there are more. */
static bool look(const struct gw *gw, struct http_talkers *t)
{
	struct prefix host;
	uint32_t sessions;
	t->moved_us = gw->clock.us;
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

bool http_talkers_search(const struct gw *gw, struct http_talkers *t, struct http_job *job,
                         struct http_out *o)
{
	uint32_t turn = job->step++;
	if (!gw->forwarder->host || (turn >= TURNS && t->end_us))
		return false;
	if (!t->running) {
		if (turn > 0 || (t->end_us && gw->clock.us - t->end_us < FRESH_US))
			return false;
		begin(t);
	}
	o->cost += COST;
	return look(gw, t);
}

void http_talkers_tick(struct gw *gw, struct http_talkers *t)
{
	if (!t->running)
		return;
	if (gw->clock.us - t->moved_us >= STEP_US)
		(void)look(gw, t);
	gw_wake_at(gw, gw->clock.us + STEP_US);
}

const char *http_talkers_text(char buf[FMT_IP6 + 4], const struct http_talker *t)
{
	return http_talkers_is_one(t) ? addr_text(buf, &t->host.addr)
	                              : addr_prefix_text(buf, &t->host);
}
