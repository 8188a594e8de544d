/* Listings of the NAT. See nat.h. */
#include "apps/nat/nat.h"

#include "kernel/lib/fmt.h"

static bool show_stats(const struct nat *n, uint32_t *cursor, char *buf, size_t size)
{
	const struct {
		const char *name;
		uint64_t value;
	} row[] = {
	        {"nat_sessions", n->table.n_sessions},
	        {"nat_sessions_created", n->table.created},
	        {"nat_sessions_expired", n->table.expired},
	        {"nat_sessions_evicted", n->table.evicted},
	        {"nat_mappings", n->table.n_mappings},
	        {"nat_hosts", n->table.n_hosts},
	        {"nat_syns_held", n->syns.n_held},
	        {"nat_syns_answered", n->syns.answered},
	        {"nat_table_full", n->table_full},
	};
	uint32_t i = (*cursor)++;
	if (i >= ARRAY_SIZE(row))
		return false;
	fmt(buf, size, "%s %llu", row[i].name, (unsigned long long)row[i].value);
	return true;
}

static bool show_session(const struct gw *gw, const struct nat *n, uint32_t *cursor, char *buf,
                         size_t size)
{
	static const char *const proto[] = {"udp", "tcp", "icmp", "other"};
	static const char *const state[] = {"free",   "open",    "init",     "established",
	                                    "in-fin", "out-fin", "both-fin", "transitory"};
	buf[0] = 0;
	for (uint32_t looked = 0; *cursor < n->table.session_free.fresh; looked++) {
		if (looked == 1024)
			return true; /* the next call goes on from here */
		const struct nat_session *s = &n->table.session[(*cursor)++];
		if (s->state == NAT_FREE)
			continue;
		const struct nat_mapping *m = &n->table.mapping[s->mapping];
		char in[FMT_IP4], ext[FMT_IP4], rem[FMT_IP4];
		uint32_t left_s = nat_session_left(s, gw->now_s);
		if (s->proto == NAT_OTHER) {
			fmt(buf, size, "proto-%u %s %s %s %s expires=%u", m->in_port,
			    fmt_ip4(in, ip4_from_raw(m->in_ip)),
			    fmt_ip4(ext, ip4_from_raw(m->ext_ip)),
			    s->rem_ip ? fmt_ip4(rem, ip4_from_raw(s->rem_ip)) : "any",
			    state[s->state], left_s);
			return true;
		}
		fmt(buf, size, "%s %s:%u %s:%u %s:%u %s expires=%u", proto[s->proto],
		    fmt_ip4(in, ip4_from_raw(m->in_ip)), swap16(m->in_port),
		    fmt_ip4(ext, ip4_from_raw(m->ext_ip)), swap16(m->ext_port),
		    fmt_ip4(rem, ip4_from_raw(s->rem_ip)), swap16((uint16_t)(s->ports >> 16)),
		    state[s->state], left_s);
		return true;
	}
	return false;
}

bool nat_show(struct gw *gw, enum app_show what, uint32_t *cursor, char *buf, size_t size)
{
	const struct nat *n = nat_of(gw);
	if (what == SHOW_STATS)
		return show_stats(n, cursor, buf, size);
	return what == SHOW_SESSIONS && show_session(gw, n, cursor, buf, size);
}
