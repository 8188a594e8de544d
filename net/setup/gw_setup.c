/* Makes a gateway from a configuration: interfaces, routes, neighbours, and checks that they fit
 * together. See gw_init in gw.h; IPv6 is in gw_setup6.c. */
#include "net/setup/gw_setup.h"

#include "kernel/lib/fmt.h"
#include "net/client.h"
#include "net/ether/arp.h"
#include "net/gw_address.h"
#include "net/ip4/frag.h"
#include "net/ip6/mld.h"
#include "net/ip6/nd.h"
#include "net/ra/ra.h"
#include "net/neigh/neigh.h"

static char wrong[128];

const char *gw_setup_fail(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	fmt_v(wrong, sizeof wrong, format, args);
	va_end(args);
	return wrong;
}

/* The interface on whose network an address lies; INTERFACES when on none. */
static uint32_t iface_of(const struct gw *gw, ip4 a)
{
	for (uint32_t i = 0; i < INTERFACES; i++)
		if (interface_on_link4(&gw->iface[i], a))
			return i;
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
		iface->addr[iface->n_addr++] = (struct address4){a, c->address[k].len};
		/* A second address in the same network gets a host route. */
		uint8_t len = other == i ? 32 : c->address[k].len;
		if (!route4_add(&gw->routes4, ip4_get(a), len, 0, ip4_get(a), (uint8_t)i))
			return gw_setup_fail("too many routes");
	}
	return NULL;
}

static bool has_own_route(const struct gw *gw, ip4 a)
{
	for (uint32_t i = 0; i < gw->routes4.n && gw->routes4.entry[i].len == 32; i++)
		if (gw->routes4.entry[i].own == ip4_get(a))
			return true;
	return false;
}

/* Gives each address of ours inside a network that is about to be routed elsewhere a host route, so
 * that the address stays ours. False when there are too many routes. */
static bool keep_own(struct gw *gw, uint32_t net, uint8_t len)
{
	for (uint32_t i = 0; i < INTERFACES; i++)
		for (uint32_t k = 0; k < gw->iface[i].n_addr; k++) {
			const struct address4 *a = &gw->iface[i].addr[k];
			if (len <= a->len || ((ip4_get(a->addr) ^ net) & addr_mask4(len)) ||
			    has_own_route(gw, a->addr))
				continue;
			if (!route4_add(&gw->routes4, ip4_get(a->addr), 32, 0, ip4_get(a->addr),
			                (uint8_t)i))
				return false;
		}
	return true;
}

/* What is wrong with a next hop that lies in no network of ours: an interface without an address of
 * that family is named first, since its missing key is the mistake. */
static const char *no_network(const struct gw *gw, const char *key, const struct addr *via)
{
	char text[FMT_IP6];
	for (uint32_t i = INTERFACES; i-- > 0;)
		if (gw->iface[i].present && gw->iface[i].n_addr == 0 && !gw->app->lan_alone)
			return gw_setup_fail("%s.address is missing, an IPv4 one: %s %s lies in no "
			                     "other network",
			                     gw->iface[i].name, key, addr_text(text, via));
	return gw_setup_fail("%s %s lies in no network of lan.address or wan.address", key,
	                     addr_text(text, via));
}

/* Adds a route by a next hop, which must be on a network of ours and not be our own address. `to`
 * NULL: the default route. Gives NULL or what is wrong. */
static const char *add_next_hop(struct gw *gw, const char *key, const struct prefix *to,
                                const struct addr *via)
{
	char text[FMT_IP6];
	if (via->is6)
		return NULL;
	uint32_t iface = iface_of(gw, via->v4);
	if (iface == INTERFACES)
		return no_network(gw, key, via);
	if (gw_is_own(gw, via->v4))
		return gw_setup_fail("%s %s is the gateway's own address", key,
		                     addr_text(text, via));
	uint32_t net = to ? ip4_get(to->addr.v4) : 0;
	uint8_t len = to ? to->len : 0;
	if (!keep_own(gw, net, len) ||
	    !route4_add(&gw->routes4, net, len, ip4_raw(via->v4), 0, (uint8_t)iface))
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
	gw->ids.mul = rng_u32(gw->rng) | 1;
	rng_bytes(gw->rng, gw->ids.next, sizeof gw->ids.next);
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

void gw_carrier_up(struct gw *gw, uint32_t iface)
{
	gw->iface[iface].up_us = gw->clock.us;
	if (gw->app->promiscuous)
		return; /* a bridge has no addresses */
	for (uint32_t i = 0; i < gw->iface[iface].n_addr; i++)
		arp_announce(gw, iface, gw->iface[iface].addr[i].addr);
	if (gw->app->ip6) {
		nd_carrier_up(gw, iface);
		mld_announce(gw, iface);
	}
}

void gw_stop(struct gw *gw)
{
	ra_stop(gw);
}
