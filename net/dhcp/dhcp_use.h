/* The lease in force: its address, routes, MTU and servers become those of the gateway, and go
 * again (net/setup/gw_change.h). */
#ifndef NET_DHCP_DHCP_USE_H
#define NET_DHCP_DHCP_USE_H

#include "net/gw.h"

/* Why a lease cannot be used, such as that its network is that of the LAN; NULL: it can. The text
 * is valid until the next call. */
const char *dhcp_use_refuses(const struct gw *gw, const struct dhcp_lease *lease);

/* The largest MTU that a lease may name: wan.mtu. */
uint32_t dhcp_use_mtu_most(const struct gw *gw);

/* Puts a lease into force, in the place of the one that is. What both have stays as it is. Gives
 * NULL, or why the address cannot be had, as above; then no lease is in force. */
const char *dhcp_use(struct gw *gw, const struct dhcp_lease *lease);

/* Takes the lease in force out of force. */
void dhcp_use_no_more(struct gw *gw);

#endif
