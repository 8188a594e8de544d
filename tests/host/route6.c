/* An application for tests only: plain IPv6 routing between the two ports, and
 * nothing of IPv4 but answers to ping. It advertises the network of each IPv6
 * `lan.address` on the LAN. */
#include "tests/host/route6.h"

#include "net/gw.h"
#include "net/ip4.h"
#include "net/ip6.h"

static const char *init(struct gw *gw)
{
	const struct config_port *lan = &gw->config->port[CONFIG_LAN];
	ra_start(gw, PORT_LAN, RA_LIFETIME_S, RA_PREF_LOW, lan->mtu);
	for (uint32_t i = 0; i < lan->n_address; i++)
		if (lan->address[i].addr.is6 &&
		    !ra_set_prefix(gw, PORT_LAN, &lan->address[i].addr.v6, lan->address[i].len,
		                   ND_PREFIX_ON_LINK | ND_PREFIX_AUTONOMOUS, RA_VALID_S,
		                   RA_PREFERRED_S))
			return "lan.address: more prefixes than can be advertised";
	return NULL;
}

static enum verdict route4(struct gw *gw, struct pkt *p)
{
	return gw_is_own(gw, ip4_to(p)) ? V_LOCAL : gw_drop(gw, p, DROP_FOREIGN);
}

static enum verdict route6(struct gw *gw, struct pkt *p)
{
	return p->out == PORT_APP ? gw_drop(gw, p, DROP_NO_ROUTE) : ip6_forward(gw, p);
}

const struct app app_route6 = {.init = init, .ip4 = route4, .ip6 = route6};
