/* The forwarder `host`: nothing is forwarded. A packet is for the gateway itself, or dropped. */
#include "apps/apps.h"
#include "net/gw_address.h"
#include "net/ip4/ip4.h"

static const char *host_init(struct gw *gw)
{
	(void)gw; /* the services say what they need */
	return NULL;
}

static enum verdict host_ip4(struct gw *gw, struct pkt *p)
{
	if (LIKELY(gw_is_own(gw, ip4_to(p))))
		return V_LOCAL;
	enum drop bad = ip4_bad_destination(gw, p);
	return gw_drop(gw, p, bad != DROP_NONE ? bad : DROP_NOT_DNS);
}

static enum verdict host_ip6(struct gw *gw, struct pkt *p)
{
	return gw_drop(gw, p, DROP_NOT_DNS);
}

const struct forwarder forwarder_host = {
        .lan_alone = true,
        .is_host = true,
        .init = host_init,
        .ip4 = host_ip4,
        .ip6 = host_ip6,
};
