/* IPv4 addresses and routes: those of the configuration (gw_setup.h), and those that come and go
 * later (gw_change.c). */
#include "kernel/lib/fmt.h"
#include "kernel/lib/log.h"
#include "net/ether/arp.h"
#include "net/gw_address.h"
#include "net/neigh/neigh.h"
#include "net/setup/gw_setup.h"

/* The interface on whose network an address lies, the smallest of those; INTERFACES when on none.
 */
static uint32_t iface_of(const struct gw *gw, ip4 a)
{
	uint32_t found = INTERFACES;
	int len = -1;
	for (uint32_t i = 0; i < gw->n_iface; i++) {
		const struct address4 *own = interface_on_link4(&gw->iface[i], a);
		if (own && own->len > len) {
			found = i;
			len = own->len;
		}
	}
	return found;
}

/* The interface whose network lies in the network of an inside address; INTERFACES when none does.
 * Hosts would look for each other on the wrong side. */
static uint32_t inside_in(const struct gw *gw, uint32_t i, ip4 a, uint8_t len)
{
	for (uint32_t k = 0; interface_is_inside(i) && k < gw->n_iface; k++)
		for (uint32_t n = 0; n < gw->iface[k].n_addr; n++)
			if (k != i &&
			    !((ip4_get(gw->iface[k].addr[n].addr) ^ ip4_get(a)) & addr_mask4(len)))
				return k;
	return INTERFACES;
}

const char *gw_setup_add_address4(struct gw *gw, uint32_t i, ip4 a, uint8_t len)
{
	struct interface *iface = &gw->iface[i];
	char text[FMT_IP4];
	if (gw_is_own(gw, a))
		return gw_setup_fail("%s.address %s is given twice", iface->name, fmt_ip4(text, a));
	uint32_t other = iface_of(gw, a);
	if (other != INTERFACES && other != i)
		return gw_setup_fail("%s.address %s lies in the network of %s.address", iface->name,
		                     fmt_ip4(text, a), gw->iface[other].name);
	other = inside_in(gw, i, a, len);
	if (other != INTERFACES)
		return gw_setup_fail("%s.address %s/%u contains the network of %s.address",
		                     iface->name, fmt_ip4(text, a), len, gw->iface[other].name);
	if (route4_claimed(&gw->routes4, a) && !gw->forwarder->claims_again)
		return gw_setup_fail("%s.address %s stands for another host", iface->name,
		                     fmt_ip4(text, a));
	if (iface->n_addr == NET_ADDRESSES)
		return gw_setup_fail("%s.address: too many IPv4 addresses", iface->name);
	iface->addr[iface->n_addr++] = (struct address4){a, len};
	route4_rebuild(&gw->routes4, gw->iface);
	gw->changes++;
	return NULL;
}

bool gw_setup_del_address4(struct gw *gw, uint32_t i, ip4 a)
{
	struct interface *iface = &gw->iface[i];
	uint32_t n = 0, had = iface->n_addr;
	for (uint32_t k = 0; k < had; k++)
		if (!ip4_eq(iface->addr[k].addr, a))
			iface->addr[n++] = iface->addr[k];
	iface->n_addr = n;
	route4_rebuild(&gw->routes4, gw->iface);
	gw->changes++;
	return n != had;
}

/* What is wrong with a next hop that lies in no network of ours: an interface without an address of
 * that family is named first, since its missing key is the mistake. */
static const char *no_network(const struct gw *gw, const char *key, const struct addr *via)
{
	char text[FMT_IP6];
	for (uint32_t i = gw->n_iface; i-- > 0;)
		if (gw->iface[i].present && gw->iface[i].n_addr == 0 && !gw->forwarder->lan_alone)
			return gw_setup_fail("%s.address is missing, an IPv4 one: %s %s lies in no "
			                     "other network",
			                     gw->iface[i].name, key, addr_text(text, via));
	return gw_setup_fail("%s %s lies in no network of lan.address or wan.address", key,
	                     addr_text(text, via));
}

const char *gw_setup_add_route4(struct gw *gw, const char *key, const struct prefix *to,
                                const struct addr *via)
{
	char text[FMT_IP6];
	uint32_t net = to ? ip4_get(to->addr.v4) : 0;
	uint8_t len = to ? to->len : 0;
	uint32_t iface = iface_of(gw, via->v4);
	if (iface == INTERFACES)
		return no_network(gw, key, via);
	if (interface_is_broadcast4(&gw->iface[iface], via->v4))
		return gw_setup_fail("%s %s is a network or broadcast address", key,
		                     addr_text(text, via));
	if (gw_is_own(gw, via->v4))
		return gw_setup_fail("%s %s is the gateway's own address", key,
		                     addr_text(text, via));
	if (route4_claimed(&gw->routes4, via->v4))
		return gw_setup_fail("%s %s stands for another host", key, addr_text(text, via));
	if (route4_has(&gw->routes4, net, len, via->v4))
		return gw_setup_fail("%s %s: there is that route already", key,
		                     addr_text(text, via));
	if (!route4_add(&gw->routes4, gw->iface, net, len, via->v4))
		return gw_setup_fail("too many routes");
	gw->changes++;
	return NULL;
}

/* --- the configuration ---------------------------------------------------------------- */

const char *gw_setup_iface4(struct gw *gw, uint32_t i)
{
	const struct net_config_interface *c = &net_config(gw->config)->iface[i];
	const char *bad = NULL;
	for (uint32_t k = 0; k < c->n_address && !bad; k++)
		if (!c->address[k].addr.is6 && !gw_has_ip4(gw, i) && !net_is_dhcp(&c->address[k]))
			log_line("wan.address: this application has no IPv4 on the WAN, the "
			         "address is not used");
		else if (!c->address[k].addr.is6 && !net_is_dhcp(&c->address[k]))
			bad = gw_setup_add_address4(gw, i, c->address[k].addr.v4,
			                            c->address[k].len);
	return bad;
}

/* True for an address of the WAN's network where the WAN has no IPv4: its line is not used. */
static bool is_of_no_wan(const struct gw *gw, const char *key, const struct addr *a)
{
	char text[FMT_IP6];
	if (gw_has_ip4(gw, IF_WAN) || iface_of(gw, a->v4) != INTERFACES)
		return false;
	log_line("%s %s: this application has no IPv4 on the WAN, it is not used", key,
	         addr_text(text, a));
	return true;
}

const char *gw_setup_routes4(struct gw *gw)
{
	const struct net_config *c = net_config(gw->config);
	const char *bad = NULL;
	for (uint32_t i = 0; i < c->n_route && !bad; i++)
		if (!c->route[i].via.is6 && !is_of_no_wan(gw, "route via", &c->route[i].via))
			bad = gw_setup_add_route4(gw, "route via", &c->route[i].to,
			                          &c->route[i].via);
	for (uint32_t i = 0; i < c->n_gateway && !bad; i++)
		if (!c->gateway[i].is6 && !is_of_no_wan(gw, "gateway", &c->gateway[i]))
			bad = gw_setup_add_route4(gw, "gateway", NULL, &c->gateway[i]);
	return bad;
}

const char *gw_setup_neighbours4(struct gw *gw)
{
	const struct net_config *c = net_config(gw->config);
	for (uint32_t i = 0; i < c->n_neighbour; i++) {
		const struct net_config_neighbour *n = &c->neighbour[i];
		char text[FMT_IP4];
		if (n->addr.is6 || is_of_no_wan(gw, "neighbour", &n->addr))
			continue;
		uint32_t iface = iface_of(gw, n->addr.v4);
		if (iface == INTERFACES)
			return gw_setup_fail(
			        "neighbour %s lies in no network of lan.address or wan.address",
			        fmt_ip4(text, n->addr.v4));
		if (interface_is_broadcast4(&gw->iface[iface], n->addr.v4))
			return gw_setup_fail("neighbour %s is a network or broadcast address",
			                     fmt_ip4(text, n->addr.v4));
		neigh_learn4(gw, iface, n->addr.v4, &n->address, true, NEIGH_STATIC);
		if (!neigh_find4(&gw->neigh, iface, ip4_raw(n->addr.v4)))
			return gw_setup_fail(
			        "no room for neighbour %s: too many with the same hash",
			        fmt_ip4(text, n->addr.v4));
	}
	return NULL;
}
