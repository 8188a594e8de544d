/* What starts the DHCP client; the rest is in dhcp_client.h. */
#ifndef NET_DHCP_DHCP_START_H
#define NET_DHCP_DHCP_START_H

#include "net/gw.h"

#define DHCP_START_MS 1000u /* longest wait before the first question */

/* Begins: the configuration has `wan.address dhcp`. Where the application has no addresses the log
 * says so, and nothing begins. */
void dhcp_start(struct gw *gw);

/* The carrier of an interface came up: it may be another network (RFC 2131 section 4.4.2). */
void dhcp_carrier_up(struct gw *gw, uint32_t iface);

/* True for an address that the client announces itself when the carrier came up: not before it
 * knows that the network is the same (RFC 4436 section 4.2). */
static inline bool dhcp_announces(const struct gw *gw, uint32_t iface, ip4 own)
{
	return iface == IF_WAN && gw->dhcp.in_force && ip4_eq(own, gw->dhcp.lease.addr);
}

#endif
