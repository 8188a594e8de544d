/* An application for tests only: plain IPv6 routing between the two ports, and
 * nothing of IPv4 but answers to ping. */
#include "tests/host/route6.h"

#include "net/gw.h"
#include "net/ip4.h"
#include "net/ip6.h"

static const char *init(struct gw *gw)
{
	(void)gw;
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
