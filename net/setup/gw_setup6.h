/* IPv6 addresses of ours that come and go while the gateway runs. */
#ifndef NET_SETUP_GW_SETUP6_H
#define NET_SETUP_GW_SETUP6_H

#include "net/gw.h"

/* Adds an address and its network to an interface, tentative; from an application's init or
 * later. NULL, or the text of what is wrong (static, valid until the next call). */
const char *gw_add_address6(struct gw *gw, uint32_t iface, const ip6 *a, uint8_t len);

/* Removes an address of an interface and its network; but never the link-local one that was made
 * from the MAC address. */
void gw_del_address6(struct gw *gw, uint32_t iface, const ip6 *a);

#endif
