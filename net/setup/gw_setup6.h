/* IPv6 addresses and routes that a forwarder makes, from its init or changed (forwarder.h). */
#ifndef NET_SETUP_GW_SETUP6_H
#define NET_SETUP_GW_SETUP6_H

#include "net/gw.h"

/* Adds an address and its network to an interface, tentative. NULL, or the text of what is wrong
 * (static, valid until the next call). */
const char *gw_add_address6(struct gw *gw, uint32_t iface, const ip6 *a, uint8_t len);

/* Removes an address of an interface and its network; but never the link-local one that was made
 * from the MAC address. */
void gw_del_address6(struct gw *gw, uint32_t iface, const ip6 *a);

/* Adds a route: to a next hop on an interface, to IF_APP or to IF_NONE, as route6_add does. */
bool gw_add_route6(struct gw *gw, const ip6 *net, uint8_t len, const ip6 *via,
                   uint32_t iface) MUST_USE;

/* Removes all routes that gw_add_route6 added. */
void gw_forget_routes6(struct gw *gw);

#endif
