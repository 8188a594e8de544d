/* What starts the DHCPv6 client; the rest is in dhcp6_client.h. */
#ifndef NET_DHCP6_DHCP6_START_H
#define NET_DHCP6_DHCP6_START_H

#include "net/gw.h"

/* Begins, in gw_init. Where the application has no IPv6 on the WAN nothing begins, and the log says
 * so when a prefix is wanted. */
void dhcp6_start(struct gw *gw);

/* The carrier of an interface came up: it may be another link (section 18.2.12). */
void dhcp6_carrier_up(struct gw *gw, uint32_t iface);

#endif
