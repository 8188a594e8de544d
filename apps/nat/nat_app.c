/* The forwarder `nat`: the NAT, and native IPv6 beside it, which is routed between WAN and LAN
 * through the filter of net/filter6. IPv6 is there where the configuration has an IPv6 address on
 * some interface. */
#include "apps/apps.h"
#include "apps/nat/nat.h"
#include "kernel/lib/alloc.h"
#include "kernel/lib/log.h"
#include "net/filter6/filter6.h"
#include "net/ra/ra.h"

struct nat_app {
	struct nat nat; /* the first one (nat_of) */
	struct filter6 filter;
};

static struct filter6 *filter_of(const struct gw *gw)
{
	return &((struct nat_app *)gw->state)->filter;
}

/* --- advertisements --------------------------------------------------------------------------- */

/* True when a default route leads somewhere: only then the inside gets a default router (RFC 7084
 * G-4). The default routes of a table are its last ones. */
static bool has_default6(const struct gw *gw)
{
	const struct route6_table *t = &gw->routes6;
	return t->n > 0 && t->entry[t->n - 1].len == 0 && t->entry[t->n - 1].iface < INTERFACES;
}

/* Advertises the networks of an inside interface. False when there are too many. */
static bool advertise(struct gw *gw, uint32_t iface)
{
	uint16_t lifetime_s = has_default6(gw) ? RA_LIFETIME_S : 0;
	const struct interface *lan = &gw->iface[iface];
	if (!gw->ra[iface].on || gw->ra[iface].lifetime_s != lifetime_s)
		ra_start(gw, iface, lifetime_s, RA_PREF_MEDIUM, lan->mtu < NET_MTU ? lan->mtu : 0);
	return ra_follow(gw, iface, ND_PREFIX_ON_LINK | ND_PREFIX_AUTONOMOUS);
}

static bool advertise_all(struct gw *gw)
{
	bool all = true;
	for (uint32_t i = 0; gw->ip6 && i < gw->n_iface; i++)
		if (interface_is_inside(i) && interface_global6(&gw->iface[i]))
			all &= advertise(gw, i);
		else if (interface_is_inside(i) && gw->ra[i].on)
			all &= ra_follow(gw, i, 0); /* deprecates what is gone */
	return all;
}

/* --- hooks ------------------------------------------------------------------------------------ */

static const char *init(struct gw *gw)
{
	gw->state = alloc(sizeof(struct nat_app), 64);
	const char *bad = gw->state ? nat_start(gw) : "not enough memory";
	if (!bad && gw->ip6)
		bad = filter6_init(gw, filter_of(gw));
	if (!bad && !advertise_all(gw))
		bad = "lan.address: more IPv6 prefixes than can be advertised";
	return bad;
}

static enum verdict route_ip6(struct gw *gw, struct pkt *p)
{
	return filter6_forward(gw, filter_of(gw), p);
}

static void changed(struct gw *gw)
{
	nat_changed(gw);
	if (!advertise_all(gw))
		log_line("nat: more IPv6 prefixes than can be advertised");
}

static bool tick(struct gw *gw)
{
	if (gw->ip6)
		filter6_tick(gw, filter_of(gw));
	return nat_tick(gw);
}

/* The sessions of the filter are behind those of the NAT. */
static bool show(struct gw *gw, enum listing what, uint32_t *cursor, char *buf, size_t size)
{
	const uint32_t six = 1u << 26; /* more than there are places for sessions of the NAT */
	if (*cursor < six) {
		if (nat_show(gw, what, cursor, buf, size))
			return true;
		*cursor = six;
	}
	uint32_t own = *cursor - six;
	bool more = what == SHOW_SESSIONS && gw->ip6 &&
	            filter6_show(gw, filter_of(gw), &own, buf, size);
	*cursor = six + own;
	return more;
}

static const void *running(const struct gw *gw)
{
	return gw->ip6 ? filter_of(gw) : NULL;
}

static const struct count_table counts = COUNT_TABLE(filter6_count, running);

const struct forwarder forwarder_nat = {
        .ip6_if_given = true,
        .keys = {&nat_section, &filter6_section},
        .counts = {&nat_counts, &counts},
        .init = init,
        .frames = nat_flow_frames,
        .partial = nat_flow_partial,
        .ip4 = nat_ip4,
        .concerns4 = nat_concerns4,
        .ip6 = route_ip6,
        .changed = changed,
        .tune = nat_tune,
        .port_take = nat_own_port_take,
        .port_give = nat_own_port_give,
        .tick = tick,
        .show = show,
};
