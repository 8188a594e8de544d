/* An application for tests only: plain IPv6 routing between the two interfaces. It
 * advertises the network of each IPv6 `lan.address` on the LAN. With IPv4 it does only two
 * things: it answers pings, and, if the WAN has an address, it carries 2001:db8:a::/48 in a
 * tunnel to 203.0.113.9, without any of the checks that a tunnel needs. */
#include "tests/host/route6.h"

#include "net/gw.h"
#include "net/gw_address.h"
#include "net/ip4/ip4.h"
#include "net/ip6/ip6.h"
#include "net/ra/ra.h"

#define TUNNEL_PEER 0xcb007109u /* 203.0.113.9 */
#define TUNNEL_MTU  1400u

static const char *init(struct gw *gw)
{
	static const ip6 tunnel = {{0x20, 1, 0x0d, 0xb8, 0, 10}},
	                 nowhere = {{0x20, 1, 0x0d, 0xb8, 0, 11}};
	const struct net_config_interface *lan = &net_config(gw->config)->iface[IF_LAN];
	ra_start(gw, IF_LAN, RA_LIFETIME_S, RA_PREF_LOW, lan->mtu);
	for (uint32_t i = 0; i < lan->n_address; i++)
		if (lan->address[i].addr.is6 &&
		    !ra_set_prefix(gw, IF_LAN, &lan->address[i].addr.v6, lan->address[i].len,
		                   ND_PREFIX_ON_LINK | ND_PREFIX_AUTONOMOUS, RA_VALID_S,
		                   RA_PREFERRED_S))
			return "lan.address: more prefixes than can be advertised";
	gw->app_mtu = TUNNEL_MTU;
	if (gw->iface[IF_WAN].n_addr &&
	    (!route6_add(&gw->routes6, gw->iface, &tunnel, 48, NULL, IF_APP) ||
	     !route6_add(&gw->routes6, gw->iface, &nowhere, 48, NULL, IF_NONE)))
		return "too many routes";
	return NULL;
}

static enum verdict route4(struct gw *gw, struct pkt *p)
{
	if (!gw_is_own(gw, ip4_to(p)))
		return gw_drop(gw, p, DROP_FOREIGN);
	if (p->proto != PROTO_IP6)
		return V_LOCAL;
	if (!pkt_pull(p, p->l4))
		return gw_drop(gw, p, DROP_IP_LENGTH);
	gw_reinject(gw, p, IF_APP, FAMILY_IP6);
	return V_KEPT;
}

static enum verdict route6(struct gw *gw, struct pkt *p)
{
	if (p->out != IF_APP)
		return ip6_forward(gw, p);
	if (p->iface != PKT_IF_SELF && ip6_forward(gw, p) != V_SEND6)
		return V_DROP;
	if (!pkt_push(p, IP4_MIN))
		return gw_drop(gw, p, DROP_NO_PACKET);
	ip4_build(gw, p, gw->iface[IF_WAN].addr[0].addr, ip4_of(TUNNEL_PEER), PROTO_IP6, 0);
	return V_SEND;
}

const struct forwarder forwarder_route6 = {.init = init, .ip4 = route4, .ip6 = route6};
