/* Listings of the NAT. See nat.h. */
#include "apps/nat/nat.h"

#include "kernel/lib/fmt.h"
#include "net/stats/count.h"

static uint64_t table_size(const void *of)
{
	return ((const struct nat *)of)->table.size;
}

static const struct count count[] = {
        COUNT_FILL(struct nat, "nat_sessions", table.n_sessions, table_size),
        COUNT(struct nat, "nat_sessions_created", table.created),
        COUNT(struct nat, "nat_sessions_expired", table.expired),
        COUNT(struct nat, "nat_sessions_evicted", table.evicted),
        COUNT(struct nat, "nat_sessions_renumbered", table.renumbered),
        COUNT_FILL(struct nat, "nat_mappings", table.n_mappings, table_size),
        COUNT(struct nat, "nat_hosts", table.n_hosts),
        COUNT(struct nat, "nat_syns_held", syns.n_held),
        COUNT(struct nat, "nat_syns_answered", syns.answered),
        COUNT(struct nat, "nat_table_full", table_full),
};

/* 6to4 has the same state, whose tables are not there without its NAT. */
static const void *running(const struct gw *gw)
{
	const struct nat *n = nat_of(gw);
	return n->table.session ? n : NULL;
}

const struct count_table nat_counts = COUNT_TABLE(count, running);

const struct timing_rows nat_timings = {.way = TIMING_WAYS_IN_OUT,
                                        .steps = TIMING_BIT(TIMING_LOOKUP) |
                                                 TIMING_BIT(TIMING_ADD) | TIMING_BIT(TIMING_KNOWN) |
                                                 TIMING_BIT(TIMING_SLOW)};

void nat_show_session(const struct gw *gw, const struct nat *n, const struct nat_session *s,
                      char *buf, size_t size)
{
	static const char *const proto[] = {"udp", "tcp", "icmp", "other"};
	static const char *const state[] = {"free",   "open",    "init",     "established",
	                                    "in-fin", "out-fin", "both-fin", "transitory"};
	const struct nat_mapping *m = &n->table.mapping[s->mapping];
	char in[FMT_IP4], ext[FMT_IP4], rem[FMT_IP4];
	uint32_t left_s = nat_session_left(s, gw->clock.s);
	fmt_ip4(in, ip4_from_raw(m->in_ip));
	fmt_ip4(ext, ip4_from_raw(m->ext_ip));
	fmt_ip4(rem, ip4_from_raw(s->rem_ip));
	if (s->proto == NAT_OTHER)
		fmt(buf, size, "proto-%u %s %s %s %s expires=%u", m->in_port, in, ext,
		    s->rem_ip ? rem : "any", state[s->state], left_s);
	else
		fmt(buf, size, "%s %s:%u %s:%u %s:%u %s expires=%u", proto[s->proto], in,
		    swap16(m->in_port), ext, swap16(m->ext_port), rem,
		    swap16((uint16_t)(s->ports >> 16)), state[s->state], left_s);
}

static bool show_session(const struct gw *gw, const struct nat *n, uint32_t *cursor, char *buf,
                         size_t size)
{
	buf[0] = 0;
	for (uint32_t looked = 0; *cursor < n->table.session_free.fresh; looked++) {
		if (looked == 1024)
			return true; /* the next call goes on from here */
		const struct nat_session *s = &n->table.session[(*cursor)++];
		if (s->state == NAT_FREE)
			continue;
		nat_show_session(gw, n, s, buf, size);
		return true;
	}
	return false;
}

bool nat_show(struct gw *gw, enum listing what, uint32_t *cursor, char *buf, size_t size)
{
	return what == SHOW_SESSIONS && show_session(gw, nat_of(gw), cursor, buf, size);
}

bool nat_show_host(const struct gw *gw, uint32_t *cursor, struct prefix *host, uint32_t *sessions)
{
	const struct nat_table *t = &nat_of(gw)->table;
	if (*cursor >= t->host_free.fresh)
		return false;
	const struct nat_host *h = &t->host[(*cursor)++];
	*sessions = h->n_mappings ? h->n_sessions : 0;
	*host = (struct prefix){.addr.v4 = ip4_from_raw(h->ip), .len = 32};
	if (*sessions && t->inside6 && nat_inside_is6(h->ip)) {
		const struct nat_inside *e = nat_inside_of(t->inside6, h->ip);
		*host = (struct prefix){.addr = {.is6 = true, .v6 = e->addr}, .len = e->len};
	}
	return true;
}
