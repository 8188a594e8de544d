/* See dhcp6_start.h. */
#include "net/dhcp6/dhcp6_start.h"

#include "kernel/lib/log.h"
#include "net/dhcp6/dhcp6_keys.h"

void dhcp6_start(struct gw *gw)
{
	if (gw->ip6 && !gw->forwarder->no_wan6) {
		gw->dhcp6.state = DHCP6_IDLE;
		gw->dhcp6.due_us = UINT64_MAX;
	} else if (dhcp6_wants_prefix(gw->config)) {
		log_line("lan.prefix delegated: this application has no IPv6 on the WAN");
	}
}

void dhcp6_carrier_up(struct gw *gw, uint32_t iface)
{
	if (iface == IF_WAN)
		gw->dhcp6.came_up = true;
}
