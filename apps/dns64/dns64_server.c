/* The upstream servers: which is asked next, how long to wait for it, who is down. See
 * dns64.h.
 *
 * A server is down when it left several tries in a row unanswered and was silent for some
 * time; so one name that no server answers for takes nobody down while other names are
 * answered. One that is down is asked only when all are, or as a second one beside a
 * healthy one, ever more rarely. That a server is down may be the fault of names that nobody
 * answers for; it is gone when it stays down for a while although asked. */
#include "apps/dns64/dns64.h"

#include "kernel/lib/fmt.h"
#include "kernel/lib/log.h"

#define FIRST_WAIT_US 376000u  /* as long as nothing is known of a server */
#define LEAST_WAIT_US 250000u  /* upstream may have to ask others first */
#define DOWN_MISSED   4u       /* tries in a row */
#define DOWN_QUIET_US 2000000u /* and not a word for so long */
#define GONE_S        30u      /* down for so long, and asked in vain so lately */
#define PROBE_MIN_US  1000000u
#define PROBE_MAX_US  16000000u

const char *dns64_server_init(struct gw *gw, struct dns64 *d)
{
	const struct net_config *c = net_config(gw->config);
	for (uint32_t i = 0; i < c->n_server; i++) {
		if (c->server[i].lease) {
			log_line("nameserver default: there is no DHCP lease");
			continue;
		}
		d->server[d->n_servers++].addr = c->server[i].addr;
	}
	d->n_up = d->n_servers;
	d->round_robin = dns64_config(gw->config)->selection == DNS64_ROUND_ROBIN;
	return d->n_servers ? NULL : "nameserver: required by dns64";
}

/* Of the servers that are `wanted` (a bit each, not 0), the next or any. */
static uint32_t choose(struct gw *gw, struct dns64 *d, uint32_t wanted)
{
	uint32_t i = d->round_robin ? d->turn : rng_below(gw->rng, d->n_servers);
	while (!(wanted >> i & 1))
		i = i + 1 < d->n_servers ? i + 1 : 0;
	d->turn = i + 1 < d->n_servers ? i + 1 : 0;
	return i;
}

uint32_t dns64_server_choose(struct gw *gw, uint32_t tried)
{
	struct dns64 *d = dns64_of(gw);
	uint32_t all = (1u << d->n_servers) - 1, up = 0;
	_Static_assert(NET_SERVERS < 32, "a bit each");
	for (uint32_t i = 0; i < d->n_servers; i++)
		up |= (uint32_t)!d->server[i].down << i;
	if (up & ~tried)
		return choose(gw, d, up & ~tried);
	if (up)
		return choose(gw, d, up);
	return choose(gw, d, all & ~tried ? all & ~tried : all);
}

uint32_t dns64_server_look(struct gw *gw)
{
	struct dns64 *d = dns64_of(gw);
	for (uint32_t i = 0; i < d->n_servers; i++) {
		struct dns64_server *s = &d->server[i];
		if (!s->down || gw->now_us < s->probe_us)
			continue;
		s->probe_us = gw->now_us + s->probe_gap_us;
		s->probe_gap_us = min_u32(2 * s->probe_gap_us, PROBE_MAX_US);
		return i;
	}
	return DNS64_NONE;
}

bool dns64_server_all_gone(const struct gw *gw)
{
	const struct dns64 *d = dns64_of(gw);
	for (uint32_t i = 0; i < d->n_servers; i++) {
		const struct dns64_server *s = &d->server[i];
		if (!s->down || gw->now_s - s->down_s < GONE_S || gw->now_s - s->missed_s >= GONE_S)
			return false;
	}
	return true;
}

uint32_t dns64_server_wait_us(const struct dns64 *d, uint32_t server, uint32_t n)
{
	const struct dns64_server *s = &d->server[server];
	uint32_t wait =
	        s->srtt_us ? max_u32(s->srtt_us + 4 * s->var_us, LEAST_WAIT_US) : FIRST_WAIT_US;
	for (; n > 0 && wait < d->try_us; n--)
		wait *= 2;
	return min_u32(wait, d->try_us);
}

static void log_server(const struct dns64_server *s, const char *what)
{
	char text[FMT_IP6];
	log_line("nameserver %s %s", addr_text(text, &s->addr), what);
}

void dns64_server_answered(struct gw *gw, uint32_t server, uint32_t rtt_us)
{
	struct dns64 *d = dns64_of(gw);
	struct dns64_server *s = &d->server[server];
	s->missed = 0;
	s->answer_us = gw->now_us;
	s->answered++;
	/* RFC 6298 section 2, with the usual shifts. */
	if (s->srtt_us == 0) {
		s->srtt_us = max_u32(rtt_us, 1);
		s->var_us = rtt_us / 2;
	} else {
		uint32_t off = rtt_us > s->srtt_us ? rtt_us - s->srtt_us : s->srtt_us - rtt_us;
		s->var_us = s->var_us - s->var_us / 4 + off / 4;
		s->srtt_us = max_u32(s->srtt_us - s->srtt_us / 8 + rtt_us / 8, 1);
	}
	if (UNLIKELY(s->down)) {
		s->down = false;
		d->n_up++;
		log_server(s, "is back");
	}
}

void dns64_server_missed(struct gw *gw, uint32_t server)
{
	struct dns64 *d = dns64_of(gw);
	struct dns64_server *s = &d->server[server];
	d->count.timeouts++;
	s->missed += s->missed < UINT32_MAX;
	s->missed_s = gw->now_s;
	if (s->down || s->missed < DOWN_MISSED || gw->now_us - s->answer_us < DOWN_QUIET_US)
		return;
	s->down = true;
	s->down_s = gw->now_s;
	s->probe_gap_us = PROBE_MIN_US;
	s->probe_us = gw->now_us + PROBE_MIN_US;
	d->n_up--;
	log_server(s, "does not answer");
}
