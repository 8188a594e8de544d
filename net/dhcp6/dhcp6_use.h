/* Puts the leases of DHCPv6 into force: addresses of the WAN, networks of the inside. */
#ifndef NET_DHCP6_DHCP6_USE_H
#define NET_DHCP6_DHCP6_USE_H

#include "net/gw.h"

/* Brings addresses, routes and advertised prefixes in line with the leases. */
void dhcp6_use_follow(struct gw *gw);

/* The number of a lease whose address another station has (RFC 4862 section 5.4.5). */
#define DHCP6_NO_LEASE UINT32_MAX
uint32_t dhcp6_use_duplicate(struct gw *gw);

/* For dhcp6_use_follow: networks and routes of delegated prefixes. In dhcp6_delegate.c. */
void dhcp6_delegate_follow(struct gw *gw);

#endif
