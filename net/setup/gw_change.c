/* See gw_change.h. */
#include "net/setup/gw_change.h"

#include "kernel/lib/fmt.h"
#include "kernel/lib/log.h"
#include "net/ether/arp.h"
#include "net/ip4/frag.h"
#include "net/neigh/neigh.h"
#include "net/setup/gw_setup.h"
#include "net/setup/gw_setup6.h"
#include "net/tcp/tcp.h"

/* Services come after the forwarder, whose addresses they may use. */
void gw_change_inform(struct gw *gw)
{
	gw->changes++;
	if (gw->forwarder->changed)
		gw->forwarder->changed(gw);
	if (gw->tcp)
		tcp_changed(gw);
	for (uint32_t i = 0; i < SERVICES_MAX; i++)
		if (gw->service[i] && gw->service[i]->changed)
			gw->service[i]->changed(gw);
	gw_wake_at(gw, gw->clock.us);
}

/* Packets that wait for a neighbour may have the address that is gone, or another way now. */
void gw_change_inform_of_loss(struct gw *gw)
{
	gw_change_inform(gw);
	for (uint32_t i = 0; i < gw->n_iface; i++)
		neigh_moved(gw, i);
}

static bool has_address(const struct gw *gw, uint32_t iface, const struct addr *a)
{
	if (!a->is6)
		return interface_has4(&gw->iface[iface], a->v4);
	for (uint32_t i = 1; i < gw->iface[iface].n_addr6; i++)
		if (ip6_eq(&gw->iface[iface].addr6[i].addr, &a->v6))
			return true;
	return false;
}

const char *gw_change_stays(const struct gw *gw, uint32_t iface, const struct addr *own)
{
	return !own->is6 && interface_is_inside(iface) && gw->forwarder->inside_stays
	               ? gw->forwarder->inside_stays(gw)
	               : NULL;
}

const char *gw_change_add_address(struct gw *gw, uint32_t iface, const struct prefix *own)
{
	const char *name = gw->iface[iface].name;
	const char *bad = net_not_own(own);
	char text[FMT_IP6 + 4];
	if (bad)
		return gw_setup_fail("%s: %s", addr_prefix_text(text, own), bad);
	if (gw->forwarder->promiscuous ||
	    !(own->addr.is6 ? gw_has_ip6(gw, iface) : gw_has_ip4(gw, iface)))
		return gw_setup_fail("%s has no IPv%u here", name, own->addr.is6 ? 6 : 4);
	bad = gw_change_stays(gw, iface, &own->addr);
	if (bad)
		return bad;
	bad = own->addr.is6 ? gw_add_address6(gw, iface, &own->addr.v6, own->len)
	                    : gw_setup_add_address4(gw, iface, own->addr.v4, own->len);
	if (bad)
		return bad;
	log_line("%s: address %s added", name, addr_prefix_text(text, own));
	if (!own->addr.is6 && gw->iface[iface].carrier)
		arp_announce(gw, iface, own->addr.v4);
	gw_change_inform(gw);
	return NULL;
}

const char *gw_change_del_address(struct gw *gw, uint32_t iface, const struct addr *own)
{
	char text[FMT_IP6];
	const char *bad = gw_change_stays(gw, iface, own);
	if (bad)
		return bad;
	if (!has_address(gw, iface, own))
		return gw_setup_fail("%s has no address %s", gw->iface[iface].name,
		                     addr_text(text, own));
	if (!own->is6 && route4_claimed(&gw->routes4, own->v4))
		return gw_setup_fail("%s.address %s stands for other hosts too, so it stays",
		                     gw->iface[iface].name, addr_text(text, own));
	if (own->is6)
		gw_del_address6(gw, iface, &own->v6);
	else
		gw_setup_del_address4(gw, iface, own->v4);
	log_line("%s: address %s removed", gw->iface[iface].name, addr_text(text, own));
	frag_forget_all(gw);
	gw_change_inform_of_loss(gw);
	return NULL;
}

const char *gw_change_add_route(struct gw *gw, const struct prefix *to, const struct addr *via)
{
	char text[FMT_IP6 + 4], hop[FMT_IP6];
	const char *bad;
	if (to->addr.is6 != via->is6)
		return gw_setup_fail("prefix and next hop are of different families");
	if (gw->forwarder->promiscuous || (via->is6 && !gw->ip6))
		return gw_setup_fail("there is no IPv%u here", via->is6 ? 6 : 4);
	bad = via->is6 ? gw_setup_add_route6(gw, "via", to, via)
	               : gw_setup_add_route4(gw, "via", to, via);
	if (bad)
		return bad;
	log_line("route %s via %s added", addr_prefix_text(text, to), addr_text(hop, via));
	gw_change_inform(gw);
	return NULL;
}

const char *gw_change_del_route(struct gw *gw, const struct prefix *to, const struct addr *via)
{
	char text[FMT_IP6 + 4];
	bool had;
	if (to->addr.is6)
		had = route6_del(&gw->routes6, gw->iface, &to->addr.v6, to->len,
		                 via ? &via->v6 : NULL);
	else
		had = route4_del(&gw->routes4, gw->iface, ip4_get(to->addr.v4), to->len,
		                 via ? &via->v4 : NULL);
	if (!had)
		return gw_setup_fail("there is no such route to %s", addr_prefix_text(text, to));
	log_line("route %s removed", addr_prefix_text(text, to));
	gw_change_inform_of_loss(gw);
	return NULL;
}

/* --- as routers advertise --------------------------------------------------------------- */

bool gw_change_add_hop6(struct gw *gw, uint32_t iface, const ip6 *net, uint8_t len, const ip6 *via)
{
	return route6_add_hop(&gw->routes6, gw->iface, net, len, via, iface);
}

void gw_change_del_hop6(struct gw *gw, const ip6 *net, uint8_t len, const ip6 *via)
{
	route6_del(&gw->routes6, gw->iface, net, len, via);
}

bool gw_change_add_rest6(struct gw *gw, const ip6 *net, uint8_t len)
{
	return route6_add_rest(&gw->routes6, gw->iface, net, len);
}

void gw_change_del_rest6(struct gw *gw, const ip6 *net, uint8_t len)
{
	route6_del_rest(&gw->routes6, gw->iface, net, len);
}

bool gw_change_set_on_link6(struct gw *gw, uint32_t iface, const struct on_link6 *list, uint32_t n)
{
	struct interface *at = &gw->iface[iface];
	bool same = n == at->n_on_link6;
	for (uint32_t i = 0; same && i < n; i++)
		same = list[i].len == at->on_link6[i].len &&
		       ip6_eq(&list[i].net, &at->on_link6[i].net);
	if (same)
		return false;
	memcpy(at->on_link6, list, n * sizeof *list);
	at->n_on_link6 = n;
	(void)!route6_rebuild(&gw->routes6, gw->iface); /* the table has room for all of them */
	return true;
}
