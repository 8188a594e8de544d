/* The application `wire`: sends every frame out of the other interface, unchanged. Its cost
 * is that of the machine and the drivers alone, which every measurement includes. */
#include "apps/apps.h"
#include "net/gw.h"
#include "net/offload/offload.h"

static const char *wire_init(struct gw *gw)
{
	return gw->n_iface > 2 ? "lan2: wire bridges two interfaces only" : NULL;
}

static void wire_frames(struct gw *gw, uint32_t iface, struct pkt **burst, uint32_t n)
{
	gw->counts.forwarded += n;
	gw_transmit_all(gw, &gw->iface[iface == IF_LAN ? IF_WAN : IF_LAN], burst, n);
}

static bool wire_partial(struct gw *gw, uint32_t iface, struct pkt *p)
{
	gw->counts.forwarded += p->segments;
	offload_transmit(gw, &gw->iface[iface == IF_LAN ? IF_WAN : IF_LAN], p);
	return true;
}

const struct forwarder forwarder_wire = {
        .promiscuous = true,
        .init = wire_init,
        .frames = wire_frames,
        .partial = wire_partial,
};
