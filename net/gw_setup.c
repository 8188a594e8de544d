/* From a configuration to a gateway that is ready: ports, routes, neighbours,
 * and what must fit together between them. See gw_init in gw.h; IPv6 is in gw_setup6.c. */
#include "net/gw_setup.h"

#include "kernel/lib/fmt.h"
#include "net/client.h"
#include "net/ether/arp.h"
#include "net/ip6/mld.h"
#include "net/ip6/nd.h"

static char wrong[128];

const char *gw_setup_fail(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	fmt_v(wrong, sizeof wrong, format, args);
	va_end(args);
	return wrong;
}

const struct gw_address *gw_own_address(const struct gw *gw, uint32_t iface, ip4 peer)
{
	const struct interface *at = &gw->iface[iface];
	for (uint32_t i = 0; i < at->n_addr; i++) {
		uint32_t mask = addr_mask4(at->addr[i].len);
		if (((ip4_get(at->addr[i].addr) ^ ip4_get(peer)) & mask) == 0)
			return &at->addr[i];
	}
	return at->n_addr ? &at->addr[0] : NULL;
}

bool gw_iface_has(const struct interface *iface, ip4 a)
{
	for (uint32_t i = 0; i < iface->n_addr; i++)
		if (ip4_eq(iface->addr[i].addr, a))
			return true;
	return false;
}

bool gw_is_own(const struct gw *gw, ip4 a)
{
	for (uint32_t i = 0; i < INTERFACES; i++)
		if (gw_iface_has(&gw->iface[i], a))
			return true;
	return false;
}

/* Keeps the table sorted by falling prefix length; among equals the earlier
 * one wins. GW_ROUTES has room for all that a configuration can hold. */
static bool add_route(struct gw *gw, uint32_t net, uint8_t len, uint32_t via, uint32_t own,
                      uint8_t iface)
{
	if (gw->n_routes == GW_ROUTES)
		return false;
	uint32_t i = gw->n_routes++;
	for (; i > 0 && gw->route[i - 1].len < len; i--)
		gw->route[i] = gw->route[i - 1];
	gw->route[i] = (struct gw_route){
	        .net = net & addr_mask4(len),
	        .mask = addr_mask4(len),
	        .via = via,
	        .own = own,
	        .len = len,
	        .iface = iface,
	};
	return true;
}

bool gw_own(struct gw *gw, uint32_t iface, uint32_t first, uint32_t last)
{
	if (gw->n_owned == GW_OWNED)
		return false;
	gw->owned[gw->n_owned++] = (struct gw_owned){first, last, (uint8_t)iface};
	return true;
}

const struct gw_owned *gw_owned(const struct gw *gw, ip4 a)
{
	for (uint32_t i = 0; i < gw->n_owned; i++)
		if (ip4_get(a) >= gw->owned[i].first && ip4_get(a) <= gw->owned[i].last)
			return &gw->owned[i];
	return NULL;
}

/* The port on whose network an address lies; INTERFACES when on none. */
static uint32_t iface_of(const struct gw *gw, ip4 a)
{
	for (uint32_t i = 0; i < INTERFACES; i++)
		for (uint32_t k = 0; k < gw->iface[i].n_addr; k++) {
			uint32_t mask = addr_mask4(gw->iface[i].addr[k].len);
			if (((ip4_get(gw->iface[i].addr[k].addr) ^ ip4_get(a)) & mask) == 0)
				return i;
		}
	return INTERFACES;
}

static const char *setup_iface(struct gw *gw, uint32_t i)
{
	const struct net_config_interface *c = &net_config(gw->config)->iface[i];
	struct interface *iface = &gw->iface[i];
	iface->name = i == IF_LAN ? "lan" : "wan";
	iface->mtu = c->mtu;
	for (uint32_t k = 0; k < c->n_address; k++) {
		if (c->address[k].addr.is6)
			continue;
		ip4 a = c->address[k].addr.v4;
		char text[FMT_IP4];
		if (gw_is_own(gw, a))
			return gw_setup_fail("%s.address %s is given twice", iface->name,
			                     fmt_ip4(text, a));
		uint32_t other = iface_of(gw, a);
		if (other < i)
			return gw_setup_fail("%s.address %s lies in the network of %s.address",
			                     iface->name, fmt_ip4(text, a), gw->iface[other].name);
		iface->addr[iface->n_addr++] = (struct gw_address){a, c->address[k].len};
		/* A second address in a network has a route of its own. */
		uint8_t len = other == i ? 32 : c->address[k].len;
		if (!add_route(gw, ip4_get(a), len, 0, ip4_get(a), (uint8_t)i))
			return gw_setup_fail("too many routes");
	}
	return NULL;
}

static bool has_own_route(const struct gw *gw, ip4 a)
{
	for (uint32_t i = 0; i < gw->n_routes && gw->route[i].len == 32; i++)
		if (gw->route[i].own == ip4_get(a))
			return true;
	return false;
}

/* Our own addresses stay ours inside a network that is about to be routed elsewhere: each gets
 * one route of its own. */
static bool keep_own(struct gw *gw, uint32_t net, uint8_t len)
{
	for (uint32_t i = 0; i < INTERFACES; i++)
		for (uint32_t k = 0; k < gw->iface[i].n_addr; k++) {
			const struct gw_address *a = &gw->iface[i].addr[k];
			if (len <= a->len || ((ip4_get(a->addr) ^ net) & addr_mask4(len)) ||
			    has_own_route(gw, a->addr))
				continue;
			if (!add_route(gw, ip4_get(a->addr), 32, 0, ip4_get(a->addr), (uint8_t)i))
				return false;
		}
	return true;
}

/* A next hop must be a neighbour, and not one of ourselves. */
static const char *add_next_hop(struct gw *gw, const char *key, const struct prefix *to,
                                const struct addr *via)
{
	char text[FMT_IP6];
	if (via->is6)
		return NULL;
	uint32_t iface = iface_of(gw, via->v4);
	if (iface == INTERFACES)
		return gw_setup_fail("%s %s lies in no network of lan.address or wan.address", key,
		                     addr_text(text, via));
	if (gw_is_own(gw, via->v4))
		return gw_setup_fail("%s %s is the gateway's own address", key,
		                     addr_text(text, via));
	uint32_t net = to ? ip4_get(to->addr.v4) : 0;
	uint8_t len = to ? to->len : 0;
	if (!keep_own(gw, net, len) ||
	    !add_route(gw, net, len, ip4_raw(via->v4), 0, (uint8_t)iface))
		return gw_setup_fail("too many routes");
	return NULL;
}

static const char *setup_routes(struct gw *gw)
{
	const struct net_config *c = net_config(gw->config);
	for (uint32_t i = 0; i < c->n_route; i++) {
		if (c->route[i].to.addr.is6 != c->route[i].via.is6)
			return gw_setup_fail(
			        "route: prefix and next hop are of different families");
		const char *bad = add_next_hop(gw, "route via", &c->route[i].to, &c->route[i].via);
		if (bad)
			return bad;
	}
	for (uint32_t i = 0; i < c->n_gateway; i++) {
		const char *bad = add_next_hop(gw, "gateway", NULL, &c->gateway[i]);
		if (bad)
			return bad;
	}
	return NULL;
}

static const char *setup_neighbours(struct gw *gw)
{
	neigh_init(gw);
	const struct net_config *c = net_config(gw->config);
	for (uint32_t i = 0; i < c->n_neighbour; i++) {
		const struct net_config_neighbour *n = &c->neighbour[i];
		char text[FMT_IP4];
		if (n->addr.is6)
			continue;
		uint32_t iface = iface_of(gw, n->addr.v4);
		if (iface == INTERFACES)
			return gw_setup_fail(
			        "neighbour %s lies in no network of lan.address or wan.address",
			        fmt_ip4(text, n->addr.v4));
		neigh_learn4(gw, iface, n->addr.v4, &n->address, true, NEIGH_STATIC);
		if (!neigh_find4(&gw->neigh, iface, ip4_raw(n->addr.v4)))
			return gw_setup_fail(
			        "no room for neighbour %s: too many with the same hash",
			        fmt_ip4(text, n->addr.v4));
	}
	return NULL;
}

const char *gw_init(struct gw *gw)
{
	gw->id_mul = rng_u32(gw->rng) | 1;
	rng_bytes(gw->rng, gw->id, sizeof gw->id);
	client_init(gw);
	gw->app_mtu = IP6_MTU_MIN;
	frag_init(gw);
	for (uint32_t i = 0; i < INTERFACES; i++) {
		const char *bad = setup_iface(gw, i);
		if (!bad && gw->app->ip6 && !(i == IF_WAN && gw->app->no_wan6))
			bad = gw_setup_iface6(gw, i);
		if (bad)
			return bad;
	}
	const char *bad = setup_routes(gw);
	if (!bad)
		bad = setup_neighbours(gw);
	if (!bad && gw->app->ip6)
		bad = gw_setup_routes6(gw);
	if (!bad && gw->app->ip6)
		bad = gw_setup_neighbours6(gw);
	return bad ? bad : gw->app->init(gw);
}

void gw_link_up(struct gw *gw, uint32_t iface)
{
	gw->iface[iface].up_us = gw->now_us;
	if (gw->app->frames)
		return; /* a bridge has no addresses of its own */
	for (uint32_t i = 0; i < gw->iface[iface].n_addr; i++)
		arp_announce(gw, iface, gw->iface[iface].addr[i].addr);
	if (gw->app->ip6) {
		nd_link_up(gw, iface);
		mld_announce(gw, iface);
	}
}

void gw_stop(struct gw *gw)
{
	ra_stop(gw);
}
