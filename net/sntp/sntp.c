/* See sntp.h. */
#include "net/sntp/sntp.h"

#include "kernel/lib/fmt.h"
#include "kernel/lib/log.h"
#include "kernel/lib/wall.h"
#include "net/udp/udp.h"

#define SECOND_US 1000000ull
#define WAIT_S    5u     /* for an answer */
#define FIRST_S   15u    /* between two questions at first: not shorter (RFC 4330 section 10) */
#define MOST_S    1024u  /* between two while nobody answers */
#define POLL_S    1024u  /* between two while the time is known */
#define SLOWEST_S 65536u /* between two to a server that asks for fewer again and again */
/* An answer that is so far from the time in force is taken only after others of the same kind (RFC
 * 5905 appendix A.5.5.1 has the limit). */
#define PANIC_US   (1000 * SECOND_US)
#define PANIC_MOST 4u

bool sntp_server(const struct gw *gw, uint32_t i, struct addr *out)
{
	const struct sntp_config *c = sntp_config(gw->config);
	const struct dhcp_client *d = &gw->dhcp;
	if (i < c->n_server)
		*out = c->server[i];
	else if (c->n_server == 0 && d->in_force && i < d->lease.n_ntp)
		*out = (struct addr){.v4 = d->lease.ntp[i]};
	else
		return false;
	return true;
}

static struct sntp_rest *rest_of(struct sntp *s, const struct addr *server)
{
	for (uint32_t i = 0; i < s->n_rests; i++)
		if (addr_eq(&s->rest[i].server, server))
			return &s->rest[i];
	return NULL;
}

/* The same, made where there is none: the oldest one is forgotten then, whose server says once more
 * what it wants when it is asked once more. */
static struct sntp_rest *make_rest(struct sntp *s, const struct addr *server)
{
	struct sntp_rest *r = rest_of(s, server);
	if (r)
		return r;
	if (s->n_rests < SNTP_RESTS) {
		r = &s->rest[s->n_rests++];
	} else {
		r = &s->rest[s->oldest_rest];
		s->oldest_rest = (s->oldest_rest + 1) % SNTP_RESTS;
	}
	*r = (struct sntp_rest){.server = *server};
	return r;
}

static bool rests(struct gw *gw, const struct addr *server)
{
	const struct sntp_rest *r = rest_of(&gw->sntp, server);
	return r && gw->clock.us < r->until_us;
}

/* The next server that may be asked; false when there is none. */
static bool next_server(struct gw *gw, struct addr *out)
{
	const struct sntp *s = &gw->sntp;
	uint32_t n = 0;
	while (sntp_server(gw, n, out))
		n++;
	for (uint32_t i = 0; i < n; i++)
		if (sntp_server(gw, (s->next + i) % n, out) && !rests(gw, out))
			return true;
	return false;
}

/* --- asking -------------------------------------------------------------------------------------
 */

static void close(struct gw *gw)
{
	if (gw->sntp.port)
		udp_unbind(gw, gw->sntp.port);
	gw->sntp.port = 0;
}

/* The question under way gave nothing: the next server is asked, after a while. */
static void failed(struct gw *gw)
{
	struct sntp *s = &gw->sntp;
	uint32_t wait = MOST_S;
	close(gw);
	if (s->fails < 6)
		wait = FIRST_S << s->fails;
	s->fails++;
	s->next++;
	s->due_us = gw->clock.us + min_u32(wait, MOST_S) * SECOND_US;
}

static void ask(struct gw *gw, const struct addr *server)
{
	struct sntp *s = &gw->sntp;
	struct udp_ends ends = {.remote = *server, .remote_port = SNTP_PORT, .iface = PKT_IF_SELF};
	if (!udp_source(gw, &ends)) { /* there is no way to it now */
		s->next++;
		s->due_us = gw->clock.us + SECOND_US;
		return;
	}
	struct pkt *p = pkt_alloc(gw->pool);
	uint8_t *m = p ? pkt_put(p, SNTP_BYTES) : NULL;
	ends.local_port = s->port = m ? udp_bind_any(gw, s->handler, 0) : 0;
	if (!s->port) {
		if (p)
			pkt_free(p);
		s->due_us = gw->clock.us + SECOND_US;
		return;
	}
	rng_bytes(gw->rng, s->stamp, sizeof s->stamp);
	sntp_write(m, s->stamp);
	s->asked = *server;
	s->sent_us = gw->clock.us;
	s->due_us = gw->clock.us + WAIT_S * SECOND_US;
	s->questions++;
	udp_send(gw, p, &ends);
}

void sntp_tick(struct gw *gw)
{
	struct sntp *s = &gw->sntp;
	struct addr server;
	if (!s->on || gw->clock.us < s->due_us)
		return;
	if (s->port)
		failed(gw);
	else if (next_server(gw, &server))
		ask(gw, &server);
	else
		s->due_us = gw->clock.us + SECOND_US;
}

/* --- answers ------------------------------------------------------------------------------------
 */

/* True when the time may be set to this. */
static bool is_near(struct sntp *s, uint64_t unix_us, uint64_t now)
{
	uint64_t had = wall_at(now), away = unix_us > had ? unix_us - had : had - unix_us;
	if (!had || away <= PANIC_US || ++s->jumps >= PANIC_MOST) {
		s->jumps = 0;
		return true;
	}
	return false;
}

static void take(struct gw *gw, uint64_t unix_us)
{
	struct sntp *s = &gw->sntp;
	char date[WALL_TEXT], text[FMT_IP6];
	/* Both ways count as equally long. */
	uint64_t now = gw->clock.us, told = unix_us + (now - s->sent_us) / 2;
	if (!is_near(s, told, now)) {
		log_limited(&s->said_jump_us, 60000,
		            "time %s from %s is not taken: it is too far "
		            "from ours",
		            wall_text(date, told), addr_text(text, &s->asked));
		s->refused++;
		failed(gw);
		return;
	}
	close(gw);
	bool first = s->told_us == 0;
	wall_set(told, now);
	s->from = s->asked;
	s->told_us = now;
	s->fails = 0;
	s->answers++;
	s->due_us = now + POLL_S * SECOND_US;
	struct sntp_rest *r = rest_of(s, &s->from);
	if (r)
		r->until_us = now + r->gap_s * SECOND_US;
	if (first)
		log_line("time %s from %s", wall_text(date, told), addr_text(text, &s->from));
}

static void deny(struct gw *gw)
{
	struct sntp *s = &gw->sntp;
	char text[FMT_IP6];
	make_rest(s, &s->asked)->until_us = UINT64_MAX;
	s->refused++;
	log_line("time-server %s does not want to be asked", addr_text(text, &s->asked));
	failed(gw);
}

/* The server is asked half as often as it was, each time that it says so, and others meanwhile. */
static void slow_down(struct gw *gw)
{
	struct sntp *s = &gw->sntp;
	struct sntp_rest *r = make_rest(s, &s->asked);
	r->gap_s = min_u32((r->gap_s ? r->gap_s : POLL_S) * 2, SLOWEST_S);
	/* While there is no time questions come sooner, but not as soon as they did. */
	r->until_us = gw->clock.us + (s->told_us ? r->gap_s : r->gap_s / 2) * SECOND_US;
	s->refused++;
	failed(gw);
}

static enum verdict input(struct gw *gw, struct pkt *p, const struct udp_ends *ends, uint32_t arg)
{
	struct sntp *s = &gw->sntp;
	uint64_t unix_us;
	(void)arg;
	if (!addr_eq(&ends->remote, &s->asked) || ends->remote_port != SNTP_PORT)
		return gw_drop(gw, p, DROP_SNTP_NOT_OURS);
	switch (sntp_read(p->data, p->len, s->stamp, &unix_us)) {
	case SNTP_TIME:
		take(gw, unix_us);
		break;
	case SNTP_DENIED:
		deny(gw);
		break;
	case SNTP_SLOWER:
		slow_down(gw);
		break;
	case SNTP_NOT_OURS: /* the right one may still come */
		return gw_drop(gw, p, DROP_SNTP_NOT_OURS);
	case SNTP_BAD:
		s->refused++;
		failed(gw);
		return gw_drop(gw, p, DROP_SNTP_BAD);
	}
	pkt_free(p);
	return V_KEPT;
}

const char *sntp_start(struct gw *gw)
{
	struct sntp *s = &gw->sntp;
	bool has = sntp_config(gw->config)->n_server > 0 || net_has_dhcp(gw->config);
	if (gw->forwarder->promiscuous)
		return NULL;
	/* Also without a server: one may come while it runs. */
	if (!udp_init(gw))
		return has ? "not enough memory for the time client" : NULL;
	s->on = true;
	/* Machines that begin together do not ask together (RFC 4330 section 10). */
	s->due_us = gw->clock.us + 100000 + rng_below(gw->rng, 500000);
	s->handler = udp_register(gw, input);
	return NULL;
}
