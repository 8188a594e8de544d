/* The application `wire`: every frame goes out of the other port, unchanged. It
 * is the floor of every measurement: what the machine and the drivers cost. */
#include "apps/apps.h"
#include "net/gw.h"

static const char *wire_init(struct gw *gw)
{
	(void)gw; /* needs no addresses */
	return NULL;
}

static enum verdict wire_frame(struct gw *gw, struct pkt *p)
{
	gw->forwarded++;
	gw_transmit(gw, &gw->port[p->port ^ 1u], p);
	return V_KEPT;
}

const struct app app_wire = {
        .promiscuous = true,
        .init = wire_init,
        .frame = wire_frame,
};
