/* See autoconf_heard.h. Validation is RFC 4861 section 6.1.2; each option that is unknown or makes
 * no sense is ignored by itself.
 *
 * Bounds for what a router may ask of us (RFC 4861 leaves them to the host): a hop limit below 32
 * would cut us off, a reachable time or a retransmission timer near zero would make us flood the
 * link, and a very long one would keep us at a router that is gone. */
#include "net/autoconf/autoconf_heard.h"

#include "net/autoconf/autoconf_table.h"
#include "net/ip6/ip6.h"
#include "net/ip6/nd_option.h"
#include "net/neigh/neigh.h"

#define HOPS_LEAST      32u
#define REACHABLE_LEAST 1000u
#define RETRANS_LEAST   100u

/* An advertisement that is being read. */
struct heard {
	struct autoconf *a;
	struct interface *iface;
	const ip6 *router;
	uint64_t now;
	uint32_t lifetime; /* as default router */
	enum autoconf_rank rank;
};

/* The preference in bits 3 and 4 of a byte (RFC 4191 section 2.1); false for the reserved value. */
static bool rank_of(uint8_t flags, enum autoconf_rank *rank)
{
	uint8_t bits = flags & 0x18;
	*rank = bits == RA_PREF_HIGH  ? AUTOCONF_HIGH
	        : bits == RA_PREF_LOW ? AUTOCONF_LOW
	                              : AUTOCONF_MEDIUM;
	return bits != RA_PREF_RESERVED;
}

/* True for a prefix that no link of hosts can have: link-local, multicast, and what is not an
 * address of a host at all. */
static bool is_odd(const ip6 *net, uint8_t len)
{
	return len == 0 || len > 128 || ip6_is_special(net);
}

static void take_prefix(struct heard *h, const struct nd_opt_prefix *o)
{
	if (o->len != sizeof *o / 8 || is_odd(&o->prefix, o->prefix_len))
		return;
	uint32_t valid = be32_get(o->valid), preferred = be32_get(o->preferred);
	if (o->flags & ND_PREFIX_ON_LINK)
		autoconf_table_on_link(h->a, h->now, h->router, &o->prefix, o->prefix_len, valid);
	/* RFC 4862 section 5.5.3 (c) and (d): an interface identifier has 64 bits. */
	if (o->flags & ND_PREFIX_AUTONOMOUS && preferred <= valid && o->prefix_len == 64)
		autoconf_table_address(h->a, h->now, h->router, &o->prefix, valid, preferred);
}

static void take_mtu(struct heard *h, const struct nd_opt_mtu *o)
{
	uint32_t mtu = be32_get(o->mtu);
	if (o->len == sizeof *o / 8 && mtu >= IP6_MTU_MIN && mtu <= h->iface->mtu)
		h->iface->mtu6 = mtu;
}

/* A route (RFC 4191 section 2.3), but not that of no bits. */
static void take_route(struct heard *h, const struct nd_opt_route *o)
{
	uint32_t room = (o->len - 1u) * 8;
	enum autoconf_rank rank;
	ip6 net = {{0}};
	if (o->len > 3 || room * 8 < o->prefix_len || !rank_of(o->flags, &rank))
		return;
	memcpy(&net, o + 1, room);
	net = addr_net6(&net, o->prefix_len);
	if (!is_odd(&net, o->prefix_len))
		autoconf_table_route(h->a, h->now, h->router, &net, o->prefix_len,
		                     be32_get(o->lifetime), rank);
}

/* The route of no bits says more about the router as default router than the header of the
 * advertisement does (RFC 4191 section 3.1). */
static void take_default(struct heard *h, const struct nd_opt_route *o)
{
	enum autoconf_rank rank;
	if (o->prefix_len != 0 || o->len > 3 || !rank_of(o->flags, &rank))
		return;
	h->lifetime = be32_get(o->lifetime);
	h->rank = rank;
}

/* What is said about the router itself. It comes first, so that the other options are those of a
 * router that is known. */
static void take_router(struct heard *h, const struct pkt *p)
{
	for (uint32_t at = sizeof(struct ra_msg); at < p->l4_len;) {
		const uint8_t *o = p->data + p->l4 + at;
		if (o[0] == ND_OPT_ROUTE)
			take_default(h, (const struct nd_opt_route *)o);
		at += o[1] * 8u;
	}
	autoconf_table_router(h->a, h->now, h->router, h->lifetime, h->rank);
}

static void take_servers(struct heard *h, const struct nd_opt_dns *o)
{
	const ip6 *server = (const ip6 *)(o + 1);
	if (o->len < 3 || o->len % 2 == 0)
		return;
	for (uint32_t i = 0; i < (o->len - 1u) / 2; i++)
		if (!ip6_is_special(&server[i]))
			autoconf_table_server(h->a, h->now, h->router, &server[i],
			                      be32_get(o->lifetime));
}

/* A prefix of 96 bits has zero in octet 8 (RFC 6052 section 2.2), else no translator can use it. */
static void take_pref64(struct heard *h, const struct nd_opt_pref64 *o)
{
	static const uint8_t length[] = {96, 64, 56, 48, 40, 32}; /* RFC 8781 section 4 */
	uint16_t scaled = be16_get(o->lifetime);
	ip6 net = {{0}};
	if (o->len != sizeof *o / 8 || (scaled & 7) >= ARRAY_SIZE(length))
		return;
	memcpy(&net, o->prefix, sizeof o->prefix);
	uint8_t len = length[scaled & 7];
	if (!ip6_is_group(&net) && !ip6_is_link_local(&net) && (len < 96 || net.b[8] == 0))
		autoconf_table_pref64(h->a, h->now, h->router, &net, len, scaled & ~7u);
}

/* Options whose lengths nd_option_address has checked. */
static void take_options(struct heard *h, const struct pkt *p)
{
	for (uint32_t at = sizeof(struct ra_msg); at < p->l4_len;) {
		const uint8_t *o = p->data + p->l4 + at;
		switch (o[0]) {
		case ND_OPT_PREFIX:
			take_prefix(h, (const struct nd_opt_prefix *)o);
			break;
		case ND_OPT_MTU:
			take_mtu(h, (const struct nd_opt_mtu *)o);
			break;
		case ND_OPT_ROUTE:
			take_route(h, (const struct nd_opt_route *)o);
			break;
		case ND_OPT_RDNSS:
			take_servers(h, (const struct nd_opt_dns *)o);
			break;
		case ND_OPT_PREF64:
			take_pref64(h, (const struct nd_opt_pref64 *)o);
			break;
		default:
			break;
		}
		at += o[1] * 8u;
	}
}

/* Values of the link; zero: the router says nothing about it (RFC 4861 section 6.3.4). */
static void take_values(struct gw *gw, struct interface *iface, const struct ra_msg *m)
{
	uint32_t reachable = be32_get(m->reachable), retrans = be32_get(m->retrans);
	if (m->hops >= HOPS_LEAST && m->hops != iface->hops6) {
		iface->hops6 = m->hops;
		gw->changes++; /* headers that are kept have the old one */
	}
	if (reachable)
		iface->reachable_ms =
		        min_u32(max_u32(reachable, REACHABLE_LEAST), INTERFACE_REACHABLE_MOST_MS);
	if (retrans)
		iface->retrans_ms =
		        min_u32(max_u32(retrans, RETRANS_LEAST), INTERFACE_RETRANS_MOST_MS);
}

enum drop autoconf_heard(struct gw *gw, const struct pkt *p)
{
	const struct ra_msg *m = (const struct ra_msg *)pkt_at(p, p->l4, sizeof *m);
	const ip6 *from = &ip6_header(p)->from;
	struct interface *iface = &gw->iface[p->iface];
	const mac *source;
	if (!m || p->l4_len < sizeof *m || !ip6_is_link_local(from) ||
	    interface_address6(iface, from) ||
	    !nd_option_address(p, sizeof *m, ND_OPT_SOURCE, &source))
		return DROP_ND_BAD;
	struct heard h = {.a = &gw->autoconf,
	                  .iface = iface,
	                  .router = from,
	                  .now = gw->clock.us,
	                  .lifetime = be16_get(m->lifetime)};
	(void)rank_of(m->flags, &h.rank); /* the reserved value counts as medium */
	if (source)
		neigh_heard6(gw, p->iface, from, source);
	h.a->heard++;
	h.a->flags = m->flags;
	take_values(gw, iface, m);
	take_router(&h, p);
	take_options(&h, p);
	if (h.lifetime)
		h.a->solicit_us = 0; /* RFC 7559 section 2 */
	return DROP_NONE;
}
