/* Counters and listings of the application `nat64`. */
#include "apps/nat64/nat64.h"

#include "kernel/lib/fmt.h"
#include "net/stats/count.h"

static uint64_t table_size(const void *of)
{
	return ((const struct nat64 *)of)->nat.table.size;
}

static const struct count count[] = {
        COUNT_FILL(struct nat64, "nat64_sessions", nat.table.n_sessions, table_size),
        COUNT(struct nat64, "nat64_sessions_created", nat.table.created),
        COUNT(struct nat64, "nat64_sessions_expired", nat.table.expired),
        COUNT(struct nat64, "nat64_sessions_evicted", nat.table.evicted),
        COUNT(struct nat64, "nat64_sessions_renumbered", nat.table.renumbered),
        COUNT_FILL(struct nat64, "nat64_bindings", nat.table.n_mappings, table_size),
        COUNT(struct nat64, "nat64_hosts", nat.table.n_hosts),
        COUNT(struct nat64, "nat64_addresses", inside.n),
        COUNT(struct nat64, "nat64_syns_held", nat.syns.n_held),
        COUNT(struct nat64, "nat64_syns_answered", nat.syns.answered),
        COUNT(struct nat64, "nat64_probes", probes),
        COUNT(struct nat64, "nat64_fragments_kept", gathers.n_pieces),
        COUNT(struct nat64, "nat64_table_full", nat.table_full),
        COUNT(struct nat64, "nat64_translated{way=\"4to6\"}", core.translated[XLAT_46]),
        COUNT(struct nat64, "nat64_translated{way=\"6to4\"}", core.translated[XLAT_64]),
};

static const void *state(const struct gw *gw)
{
	return gw->state;
}

const struct count_table nat64_counts = COUNT_TABLE(count, state);

static const void *filter(const struct gw *gw)
{
	return &nat64_of(gw)->filter;
}

const struct count_table nat64_filter_counts = COUNT_TABLE(filter6_count, filter);

static void write_session(const struct gw *gw, const struct nat64 *n, const struct nat_session *s,
                          char *buf, size_t size)
{
	static const char *const proto[] = {"udp", "tcp", "icmp", "other"};
	static const char *const state_name[] = {"free",   "open",    "init",     "established",
	                                         "in-fin", "out-fin", "both-fin", "transitory"};
	const struct nat_mapping *m = &n->nat.table.mapping[s->mapping];
	char in[FMT_IP6], six[FMT_IP6], ext[FMT_IP4], rem[FMT_IP4];
	uint32_t in_port = swap16(m->in_port), rem_port = swap16((uint16_t)(s->ports >> 16));
	ip6 to;
	if (!nat_inside_is6(m->in_ip)) {
		nat_show_session(gw, &n->nat, s, buf, size);
		return;
	}
	embed_to6(&n->prefix[s->route_in].form, s->rem_ip, &to);
	fmt(buf, size, "%s [%s]:%u [%s]:%u %s:%u %s:%u %s expires=%u", proto[s->proto],
	    fmt_ip6(in, &nat_inside_of(&n->inside, m->in_ip)->addr), in_port, fmt_ip6(six, &to),
	    rem_port, fmt_ip4(ext, ip4_from_raw(m->ext_ip)), swap16(m->ext_port),
	    fmt_ip4(rem, ip4_from_raw(s->rem_ip)), rem_port, state_name[s->state],
	    nat_session_left(s, gw->clock.s));
}

static bool show_session(struct gw *gw, uint32_t *cursor, char *buf, size_t size)
{
	const struct nat64 *n = nat64_of(gw);
	buf[0] = 0;
	for (uint32_t looked = 0; *cursor < n->nat.table.session_free.fresh; looked++) {
		if (looked == 1024)
			return true; /* the next call goes on from here */
		const struct nat_session *s = &n->nat.table.session[(*cursor)++];
		if (s->state == NAT_FREE)
			continue;
		write_session(gw, n, s, buf, size);
		return true;
	}
	return false;
}

/* The sessions of the filter are behind those of the translator. */
bool nat64_show(struct gw *gw, enum listing what, uint32_t *cursor, char *buf, size_t size)
{
	if (what == SHOW_TIMINGS)
		return timing_show(gw, cursor, buf, size);
	return what == SHOW_SESSIONS &&
	       filter6_show_behind(gw, &nat64_of(gw)->filter, cursor, buf, size, show_session);
}
