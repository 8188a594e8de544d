/* Sessions and counters of the filter. See filter6.h. */
#include "kernel/lib/fmt.h"
#include "kernel/lib/when.h"
#include "net/filter6/filter6.h"

static const char *const state_name[] = {
        [FILTER6_NEW] = "init",        [FILTER6_OPEN] = "open",      [FILTER6_FIN_IN] = "in-fin",
        [FILTER6_FIN_OUT] = "out-fin", [FILTER6_ENDED] = "both-fin", [FILTER6_RESET] = "transitory",
};

#define SEEN_AT_ONCE 512u /* places in one call */

bool filter6_show(const struct gw *gw, const struct filter6 *f, uint32_t *cursor, char *buf,
                  size_t size)
{
	char name[16], inside[FMT_IP6], outside[FMT_IP6];
	const struct filter6_session *s = NULL;
	buf[0] = '\0';
	for (uint32_t i = 0; !s && i < SEEN_AT_ONCE; i++) {
		if (*cursor >= FILTER6_SETS * FILTER6_WAYS)
			return false;
		s = filter6_table_at(&f->table, (*cursor)++, gw->clock.s);
	}
	if (!s)
		return true;
	const struct filter6_key *k = &s->key;
	const char *proto = k->proto == PROTO_TCP     ? "tcp"
	                    : k->proto == PROTO_UDP   ? "udp"
	                    : k->proto == PROTO_ICMP6 ? "icmp6"
	                                              : name;
	fmt(name, sizeof name, "proto-%u", k->proto);
	fmt(buf, size, "%s [%s]:%u [%s]:%u %s %u", proto, fmt_ip6(inside, &k->inside),
	    swap16(k->inside_port), fmt_ip6(outside, &k->outside), swap16(k->outside_port),
	    state_name[s->state], when_left(gw->clock.s, s->end_s, FILTER6_TCP_S));
	return true;
}

bool filter6_show_behind(struct gw *gw, const struct filter6 *f, uint32_t *cursor, char *buf,
                         size_t size,
                         bool (*own)(struct gw *gw, uint32_t *cursor, char *buf, size_t size))
{
	const uint32_t ours = 1u << 26; /* more than any forwarder has */
	if (*cursor < ours) {
		if (own(gw, cursor, buf, size))
			return true;
		*cursor = ours;
	}
	uint32_t at = *cursor - ours;
	bool more = gw->ip6 && filter6_show(gw, f, &at, buf, size);
	*cursor = ours + at;
	return more;
}

static uint64_t places(const void *f)
{
	(void)f;
	return FILTER6_SETS * FILTER6_WAYS;
}

const struct count filter6_count[3] = {
        COUNT_FILL(struct filter6, "filter6_sessions", table.n, places),
        COUNT(struct filter6, "filter6_sessions_created", table.created),
        COUNT(struct filter6, "filter6_sessions_evicted", table.evicted),
};
