/* IPv6 addresses and routes: from the configuration, and those that an application
 * adds later. See gw_setup.h, and gw.h for what others may call. */
#include "net/gw_setup.h"

#include "kernel/lib/fmt.h"
#include "net/ip6/ip6.h"
#include "net/ip6/mld.h"
#include "net/ip6/nd.h"

/* --- addresses -------------------------------------------------------------------- */

struct gw_address6 *gw_iface_address6(struct interface *iface, const ip6 *a)
{
	for (uint32_t i = 0; i < iface->n_addr6; i++)
		if (ip6_eq(&iface->addr6[i].addr, a))
			return &iface->addr6[i];
	return NULL;
}

const struct gw_address6 *gw_address6(const struct gw *gw, uint32_t iface, const ip6 *a)
{
	for (uint32_t i = 0; i < INTERFACES; i++) {
		if (ip6_is_link_local(a) && i != iface)
			continue;
		for (uint32_t k = 0; k < gw->iface[i].n_addr6; k++)
			if (ip6_eq(&gw->iface[i].addr6[k].addr, a))
				return &gw->iface[i].addr6[k];
	}
	return NULL;
}

bool gw_is_own6(const struct gw *gw, uint32_t iface, const ip6 *a)
{
	const struct gw_address6 *own = gw_address6(gw, iface, a);
	return own && own->state == ADDRESS6_VALID;
}

static uint32_t common_bits(const ip6 *a, const ip6 *b)
{
	uint32_t n = 0;
	while (n < 128 && ((a->b[n / 8] ^ b->b[n / 8]) >> (7 - n % 8) & 1) == 0)
		n++;
	return n;
}

/* The best address of one port; NULL when it has none of the scope. */
static const ip6 *best_of(const struct interface *iface, const ip6 *peer, uint32_t *bits)
{
	const ip6 *best = NULL;
	for (uint32_t i = 0; i < iface->n_addr6; i++) {
		const struct gw_address6 *a = &iface->addr6[i];
		if (a->state != ADDRESS6_VALID ||
		    ip6_is_link_local(&a->addr) != ip6_is_link_local(peer))
			continue;
		uint32_t n = common_bits(&a->addr, peer);
		if (!best || n > *bits) {
			best = &a->addr;
			*bits = n;
		}
	}
	return best;
}

const ip6 *gw_own_address6(const struct gw *gw, uint32_t iface, const ip6 *peer)
{
	uint32_t bits = 0, most = 0;
	const ip6 *best = iface < INTERFACES ? best_of(&gw->iface[iface], peer, &bits) : NULL;
	if (best || ip6_is_link_local(peer))
		return best;
	for (uint32_t i = 0; i < INTERFACES; i++) {
		const ip6 *a = best_of(&gw->iface[i], peer, &bits);
		if (a && (!best || bits > most)) {
			best = a;
			most = bits;
		}
	}
	return best;
}

const ip6 *gw_iface_own6(const struct gw *gw, uint32_t iface, const ip6 *peer)
{
	const struct interface *at = &gw->iface[iface];
	uint32_t bits;
	const ip6 *best = best_of(at, peer, &bits);
	if (best)
		return best;
	return at->n_addr6 && at->addr6[0].state == ADDRESS6_VALID ? &at->addr6[0].addr : NULL;
}

/* Interface identifier from a MAC address (RFC 4291 appendix A). */
static ip6 link_local_of(const mac *m)
{
	return (ip6){{0xfe, 0x80, 0, 0, 0, 0, 0, 0, m->b[0] ^ 2, m->b[1], m->b[2], 0xff, 0xfe,
	              m->b[3], m->b[4], m->b[5]}};
}

/* --- routes ----------------------------------------------------------------------- */

static inline bool same_words(const uint32_t w[4], const ip6 *a)
{
	return w[3] == ip6_word(a, 3) && w[2] == ip6_word(a, 2) && w[1] == ip6_word(a, 1) &&
	       w[0] == ip6_word(a, 0);
}

bool gw_route6_own(const struct gw_route6 *r, const ip6 *to)
{
	if ((r->own[0] | r->own[1] | r->own[2] | r->own[3]) == 0)
		return false;
	/* RFC 6164 section 5: /127 has no anycast address. */
	return same_words(r->own, to) || (r->len <= 126 && same_words(r->net, to));
}

const struct gw_route6 *gw_route6_for(const struct gw *gw, const ip6 *to)
{
	for (uint32_t i = 0; i < gw->n_routes6; i++) {
		const struct gw_route6 *r = &gw->route6[i];
		bool in = true;
		for (unsigned k = 0; k < 4; k++)
			in &= (ip6_word(to, k) & r->mask[k]) == r->net[k];
		if (in)
			return r;
	}
	return NULL;
}

static const struct gw_route6 nowhere = {.iface = IF_NONE};

/* Keeps the table sorted by falling prefix length; among equals the earlier one
 * wins. */
static bool insert(struct gw *gw, const ip6 *net, uint8_t len, const ip6 *via, const ip6 *own,
                   uint32_t iface)
{
	if (gw->n_routes6 == GW_ROUTES6)
		return false;
	uint32_t i = gw->n_routes6++;
	gw->route6[i + 1] = nowhere;
	for (; i > 0 && gw->route6[i - 1].len < len; i--)
		gw->route6[i] = gw->route6[i - 1];
	struct gw_route6 *r = &gw->route6[i];
	*r = (struct gw_route6){.len = len, .iface = (uint8_t)iface};
	for (unsigned k = 0; k < 4; k++) {
		uint32_t bits = len <= 32 * k ? 0 : min_u32(len - 32 * k, 32);
		r->mask[k] = swap32(addr_mask4((uint8_t)bits));
		r->net[k] = ip6_word(net, k) & r->mask[k];
		r->own[k] = own ? ip6_word(own, k) : 0;
	}
	if (via)
		r->via = *via;
	r->routed = iface < INTERFACES ? PKT_ROUTED : 0;
	return true;
}

/* True when an address of ours needs a route of its own: an earlier one in its
 * network has that network's route, or a longer route leads elsewhere. */
static bool needs_own_route(const struct gw *gw, uint32_t iface, uint32_t k)
{
	const struct gw_address6 *a = &gw->iface[iface].addr6[k];
	for (uint32_t i = 0; i < k; i++) {
		const struct gw_address6 *b = &gw->iface[iface].addr6[i];
		if (b->len == a->len && addr_in6(&a->addr, &b->addr, a->len))
			return true;
	}
	for (uint32_t i = 0; i < gw->n_given6; i++)
		if (gw->given6[i].len > a->len &&
		    addr_in6(&a->addr, &gw->given6[i].net, gw->given6[i].len))
			return true;
	return false;
}

static bool add_connected(struct gw *gw, uint32_t iface, uint32_t k)
{
	const struct gw_address6 *a = &gw->iface[iface].addr6[k];
	if (ip6_is_link_local(&a->addr))
		return true; /* its link is known from the packet */
	bool own_route = needs_own_route(gw, iface, k);
	if (own_route && !insert(gw, &a->addr, 128, NULL, &a->addr, iface))
		return false;
	for (uint32_t i = 0; i < k; i++)
		if (gw->iface[iface].addr6[i].len == a->len &&
		    addr_in6(&a->addr, &gw->iface[iface].addr6[i].addr, a->len))
			return true; /* the network has its route */
	return insert(gw, &a->addr, a->len, NULL, &a->addr, iface);
}

/* Makes the table anew: connected networks first, so that they win among equals. */
static bool rebuild(struct gw *gw)
{
	gw->n_routes6 = 0;
	gw->route6[0] = nowhere;
	gw->changes6++;
	for (uint32_t i = 0; i < INTERFACES; i++)
		for (uint32_t k = 0; k < gw->iface[i].n_addr6; k++)
			if (!add_connected(gw, i, k))
				return false;
	for (uint32_t i = 0; i < gw->n_given6; i++) {
		const struct gw_given6 *g = &gw->given6[i];
		if (!insert(gw, &g->net, g->len, g->has_via ? &g->via : NULL, NULL, g->iface))
			return false;
	}
	for (uint32_t i = 0; i < gw->n_routes6; i++)
		gw->route6[i].hop = ip6_is_unspecified(&gw->route6[i].via) ? 0 : i + 1;
	return true;
}

bool gw_add_route6(struct gw *gw, const ip6 *net, uint8_t len, const ip6 *via, uint32_t iface)
{
	if (gw->n_given6 == ARRAY_SIZE(gw->given6))
		return false;
	struct gw_given6 *g = &gw->given6[gw->n_given6++];
	*g = (struct gw_given6){.net = *net, .len = len, .iface = (uint8_t)iface};
	if (via) {
		g->has_via = true;
		g->via = *via;
	}
	if (rebuild(gw))
		return true;
	gw->n_given6--;
	(void)!rebuild(gw); /* what fitted before fits again */
	return false;
}

void gw_del_route6(struct gw *gw, const ip6 *net, uint8_t len)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < gw->n_given6; i++)
		if (gw->given6[i].len != len || !addr_in6(&gw->given6[i].net, net, len))
			gw->given6[n++] = gw->given6[i];
	gw->n_given6 = n;
	(void)!rebuild(gw); /* fewer than before */
}

/* The port on whose network an address lies; INTERFACES when on none. */
static uint32_t iface_of(const struct gw *gw, const ip6 *a)
{
	for (uint32_t i = 0; i < INTERFACES; i++)
		for (uint32_t k = 1; k < gw->iface[i].n_addr6; k++)
			if (!ip6_is_link_local(&gw->iface[i].addr6[k].addr) &&
			    addr_in6(a, &gw->iface[i].addr6[k].addr, gw->iface[i].addr6[k].len))
				return i;
	return INTERFACES;
}

/* The groups that an address needs: its own solicited-node group, and that of its
 * network's subnet-router anycast address. */
static void listen(struct gw *gw, uint32_t iface, const struct gw_address6 *a,
                   void (*act)(struct gw *, uint32_t, const ip6 *))
{
	ip6 group = mld_solicited(&a->addr), anycast = addr_net6(&a->addr, a->len);
	act(gw, iface, &group);
	if (ip6_is_link_local(&a->addr) || a->len > 126)
		return;
	group = mld_solicited(&anycast);
	act(gw, iface, &group);
}

const char *gw_add_address6(struct gw *gw, uint32_t iface, const ip6 *a, uint8_t len)
{
	struct interface *at = &gw->iface[iface];
	char text[FMT_IP6];
	if (ip6_is_special(a) && !ip6_is_link_local(a))
		return gw_setup_fail("%s.address %s is no address of a host", at->name,
		                     fmt_ip6(text, a));
	if (gw_address6(gw, iface, a))
		return gw_setup_fail("%s.address %s is given twice", at->name, fmt_ip6(text, a));
	uint32_t other = ip6_is_link_local(a) ? INTERFACES : iface_of(gw, a);
	if (other != INTERFACES && other != iface)
		return gw_setup_fail("%s.address %s lies in the network of %s.address", at->name,
		                     fmt_ip6(text, a), gw->iface[other].name);
	if (at->n_addr6 == GW_ADDRESSES6)
		return gw_setup_fail("%s.address: too many IPv6 addresses", at->name);
	struct gw_address6 *own = &at->addr6[at->n_addr6++];
	*own = (struct gw_address6){.addr = *a, .len = len};
	if (!rebuild(gw)) {
		at->n_addr6--;
		return gw_setup_fail("too many routes");
	}
	listen(gw, iface, own, mld_join);
	nd_start(gw, iface, own);
	return NULL;
}

void gw_del_address6(struct gw *gw, uint32_t iface, const ip6 *a)
{
	struct interface *at = &gw->iface[iface];
	struct gw_address6 *gone = gw_iface_address6(at, a), *end = &at->addr6[at->n_addr6];
	if (!gone || gone == &at->addr6[0])
		return;
	listen(gw, iface, gone, mld_leave);
	for (; gone + 1 < end; gone++)
		gone[0] = gone[1];
	at->n_addr6--;
	(void)!rebuild(gw); /* fewer than before */
}

/* --- the configuration ---------------------------------------------------------------- */

const char *gw_setup_iface6(struct gw *gw, uint32_t i)
{
	const struct net_config_interface *c = &net_config(gw->config)->iface[i];
	if (!gw->iface[i].present)
		return NULL;
	ip6 own = link_local_of(&gw->iface[i].address);
	const char *bad = gw_add_address6(gw, i, &own, 64);
	mld_join(gw, i, &mld_all_routers);
	for (uint32_t k = 0; k < c->n_address && !bad; k++)
		if (c->address[k].addr.is6)
			bad = gw_add_address6(gw, i, &c->address[k].addr.v6, c->address[k].len);
	return bad;
}

/* A next hop must be a neighbour, and not one of ourselves. */
static const char *add_next_hop(struct gw *gw, const char *key, const struct prefix *to,
                                const struct addr *via)
{
	static const ip6 any;
	char text[FMT_IP6];
	uint32_t iface = iface_of(gw, &via->v6);
	if (ip6_is_link_local(&via->v6))
		return gw_setup_fail("%s %s is link-local, which does not say on which side it is",
		                     key, addr_text(text, via));
	if (iface == INTERFACES)
		return gw_setup_fail("%s %s lies in no network of lan.address or wan.address", key,
		                     addr_text(text, via));
	if (gw_address6(gw, iface, &via->v6))
		return gw_setup_fail("%s %s is the gateway's own address", key,
		                     addr_text(text, via));
	if (!gw_add_route6(gw, to ? &to->addr.v6 : &any, to ? to->len : 0, &via->v6, iface))
		return gw_setup_fail("too many routes");
	return NULL;
}

const char *gw_setup_routes6(struct gw *gw)
{
	const struct net_config *c = net_config(gw->config);
	const char *bad = NULL;
	for (uint32_t i = 0; i < c->n_route && !bad; i++)
		if (c->route[i].via.is6)
			bad = add_next_hop(gw, "route via", &c->route[i].to, &c->route[i].via);
	for (uint32_t i = 0; i < c->n_gateway && !bad; i++)
		if (c->gateway[i].is6)
			bad = add_next_hop(gw, "gateway", NULL, &c->gateway[i]);
	return bad;
}

const char *gw_setup_neighbours6(struct gw *gw)
{
	const struct net_config *c = net_config(gw->config);
	for (uint32_t i = 0; i < c->n_neighbour; i++) {
		const struct net_config_neighbour *n = &c->neighbour[i];
		char text[FMT_IP6];
		if (!n->addr.is6)
			continue;
		uint32_t iface = iface_of(gw, &n->addr.v6);
		if (iface == INTERFACES)
			return gw_setup_fail("neighbour %s lies in no network of lan.address or "
			                     "wan.address",
			                     fmt_ip6(text, &n->addr.v6));
		if (!neigh_fix6(gw, iface, &n->addr.v6, &n->address))
			return gw_setup_fail(
			        "no room for neighbour %s: too many with the same hash",
			        fmt_ip6(text, &n->addr.v6));
	}
	return NULL;
}
