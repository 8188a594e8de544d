/* See nat_six.h. */
#include "apps/nat/nat_six.h"

#include "kernel/lib/log.h"
#include "net/ip6/ip6.h"
#include "net/ra/ra.h"

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

const char *nat_six_init(struct gw *gw)
{
	if (!gw->ip6)
		return NULL;
	const char *bad = filter6_init(gw, filter_of(gw));
	if (!bad && !advertise_all(gw))
		bad = "lan.address: more IPv6 prefixes than can be advertised";
	return bad;
}

enum verdict nat_six_ip6(struct gw *gw, struct pkt *p)
{
	return filter6_forward(gw, filter_of(gw), p);
}

void nat_six_changed(struct gw *gw)
{
	nat_changed(gw);
	if (!advertise_all(gw))
		log_line("nat: more IPv6 prefixes than can be advertised");
}

bool nat_six_tick(struct gw *gw)
{
	if (gw->ip6)
		filter6_tick(gw, filter_of(gw));
	return nat_tick(gw);
}

/* The sessions of the filter are behind those of the NAT. */
bool nat_six_show(struct gw *gw, enum listing what, uint32_t *cursor, char *buf, size_t size)
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

const struct count_table nat_six_counts = COUNT_TABLE(filter6_count, running);
