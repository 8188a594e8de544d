/* See dhcp_start.h. */
#include "net/dhcp/dhcp_start.h"

#include "kernel/lib/log.h"

void dhcp_start(struct gw *gw)
{
	if (gw->forwarder->promiscuous) {
		log_line("wan.address dhcp: this application has no addresses");
		return;
	}
	if (gw->forwarder->no_wan4) {
		log_line("wan.address dhcp: this application has no IPv4 on the WAN");
		return;
	}
	gw->dhcp = (struct dhcp_client){
	        .state = DHCP_INIT,
	        .servers_changed = gw->dhcp.servers_changed,
	        .lost = "no-lease",
	        /* Not with all others after a power cut. */
	        .due_us = gw->clock.us + rng_below(gw->rng, DHCP_START_MS) * 1000ull,
	};
}

void dhcp_carrier_up(struct gw *gw, uint32_t iface)
{
	if (iface == IF_WAN && gw->dhcp.state != DHCP_OFF)
		gw->dhcp.came_up = true;
}
