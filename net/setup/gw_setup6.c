/* IPv6 addresses and routes: those of the configuration (gw_setup.h), those of the forwarder
 * (gw_setup6.h), and those that come and go later (gw_change.c). */
#include "net/setup/gw_setup6.h"

#include "kernel/lib/fmt.h"
#include "net/setup/gw_setup.h"
#include "net/gw_address.h"
#include "net/ip6/ip6.h"
#include "net/ip6/mld.h"
#include "net/ip6/nd.h"
#include "net/neigh/neigh.h"

/* --- addresses -------------------------------------------------------------------- */

/* The link-local address with the interface identifier made from a MAC address (RFC 4291 appendix
 * A). */
static ip6 link_local_of(const mac *m)
{
	return (ip6){{0xfe, 0x80, 0, 0, 0, 0, 0, 0, m->b[0] ^ 2, m->b[1], m->b[2], 0xff, 0xfe,
	              m->b[3], m->b[4], m->b[5]}};
}

/* The interface on whose network an address lies, the smallest of those; INTERFACES when on none.
 */
static uint32_t iface_of(const struct gw *gw, const ip6 *a)
{
	uint32_t found = INTERFACES;
	int len = -1;
	for (uint32_t i = 0; i < gw->n_iface; i++)
		for (uint32_t k = 1; k < gw->iface[i].n_addr6; k++) {
			const struct address6 *own = &gw->iface[i].addr6[k];
			if (ip6_is_link_local(&own->addr) || own->len <= len ||
			    !addr_in6(a, &own->addr, own->len))
				continue;
			found = i;
			len = own->len;
		}
	return found;
}

/* The interface whose network lies in the network of an inside address; INTERFACES when none does.
 * Hosts would look for each other on the wrong side. */
static uint32_t inside_in(const struct gw *gw, uint32_t iface, const ip6 *a, uint8_t len)
{
	if (!interface_is_inside(iface) || ip6_is_link_local(a))
		return INTERFACES;
	for (uint32_t i = 0; i < gw->n_iface; i++)
		for (uint32_t k = 1; k < gw->iface[i].n_addr6; k++)
			if (i != iface && !ip6_is_link_local(&gw->iface[i].addr6[k].addr) &&
			    addr_in6(&gw->iface[i].addr6[k].addr, a, len))
				return i;
	return INTERFACES;
}

/* Joins or leaves (`act`) the groups that an address needs: its solicited-node group, and that of
 * its network's subnet-router anycast address. */
static void listen(struct gw *gw, uint32_t iface, const struct address6 *a,
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
	other = inside_in(gw, iface, a, len);
	if (other != INTERFACES)
		return gw_setup_fail("%s.address %s/%u contains the network of %s.address",
		                     at->name, fmt_ip6(text, a), len, gw->iface[other].name);
	if (at->n_addr6 == INTERFACE_ADDRESSES6)
		return gw_setup_fail("%s.address: too many IPv6 addresses", at->name);
	struct address6 *own = &at->addr6[at->n_addr6++];
	*own = (struct address6){.addr = *a, .len = len};
	if (!route6_rebuild(&gw->routes6, gw->iface)) {
		at->n_addr6--;
		return gw_setup_fail("too many routes");
	}
	gw->changes++;
	listen(gw, iface, own, mld_join);
	nd_start(gw, iface, own);
	return NULL;
}

void gw_del_address6(struct gw *gw, uint32_t iface, const ip6 *a)
{
	struct interface *at = &gw->iface[iface];
	struct address6 *gone = interface_address6(at, a), *end = &at->addr6[at->n_addr6];
	if (!gone || gone == &at->addr6[0])
		return;
	listen(gw, iface, gone, mld_leave);
	for (; gone + 1 < end; gone++)
		gone[0] = gone[1];
	at->n_addr6--;
	(void)!route6_rebuild(&gw->routes6, gw->iface); /* fewer than before */
	gw->changes++;
}

/* --- routes of the forwarder ------------------------------------------------------------ */

bool gw_add_route6(struct gw *gw, const ip6 *net, uint8_t len, const ip6 *via, uint32_t iface)
{
	gw->changes++;
	return route6_add(&gw->routes6, gw->iface, net, len, via, iface);
}

void gw_forget_routes6(struct gw *gw)
{
	gw->changes++;
	route6_del_app(&gw->routes6, gw->iface);
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
		if (c->address[k].addr.is6 && !net_is_auto(&c->address[k]))
			bad = gw_add_address6(gw, i, &c->address[k].addr.v6, c->address[k].len);
	return bad;
}

/* What is wrong with a next hop that lies in no network of ours; see no_network of gw_setup4.c. An
 * interface that has IPv6 has its link-local address. */
static const char *no_network(const struct gw *gw, const char *key, const struct addr *via)
{
	char text[FMT_IP6];
	for (uint32_t i = gw->n_iface; i-- > 0;)
		if (gw->iface[i].n_addr6 == 1 && !gw->forwarder->lan_alone)
			return gw_setup_fail("%s.address is missing, an IPv6 one: %s %s lies in no "
			                     "other network",
			                     gw->iface[i].name, key, addr_text(text, via));
	return gw_setup_fail("%s %s lies in no network of lan.address or wan.address", key,
	                     addr_text(text, via));
}

const char *gw_setup_add_route6(struct gw *gw, const char *key, const struct prefix *to,
                                const struct addr *via)
{
	static const ip6 any;
	char text[FMT_IP6];
	uint32_t iface = iface_of(gw, &via->v6);
	if (ip6_is_link_local(&via->v6))
		return gw_setup_fail("%s %s is link-local, which does not say on which side it is",
		                     key, addr_text(text, via));
	if (iface == INTERFACES)
		return no_network(gw, key, via);
	if (gw_address6(gw, iface, &via->v6))
		return gw_setup_fail("%s %s is the gateway's own address", key,
		                     addr_text(text, via));
	if (route6_has(&gw->routes6, to ? &to->addr.v6 : &any, to ? to->len : 0, &via->v6))
		return gw_setup_fail("%s %s: there is that route already", key,
		                     addr_text(text, via));
	if (!route6_add_hop(&gw->routes6, gw->iface, to ? &to->addr.v6 : &any, to ? to->len : 0,
	                    &via->v6, iface))
		return gw_setup_fail("too many routes");
	gw->changes++;
	return NULL;
}

const char *gw_setup_routes6(struct gw *gw)
{
	const struct net_config *c = net_config(gw->config);
	const char *bad = NULL;
	for (uint32_t i = 0; i < c->n_route && !bad; i++)
		if (c->route[i].via.is6)
			bad = gw_setup_add_route6(gw, "route via", &c->route[i].to,
			                          &c->route[i].via);
	for (uint32_t i = 0; i < c->n_gateway && !bad; i++)
		if (c->gateway[i].is6)
			bad = gw_setup_add_route6(gw, "gateway", NULL, &c->gateway[i]);
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
