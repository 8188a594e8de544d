/* Which addresses are ours, over all interfaces. */
#ifndef NET_GW_ADDRESS_H
#define NET_GW_ADDRESS_H

#include "net/gw.h"

/* True when `a` is an IPv4 address of an interface. */
bool gw_is_own(const struct gw *gw, ip4 a);

/* Our IPv6 address that is `a`, in any state, NULL when there is none. A link-local address counts
 * on interface `iface` only, others on any. */
const struct address6 *gw_address6(const struct gw *gw, uint32_t iface, const ip6 *a);

/* True when gw_address6 finds `a` and it is valid. */
bool gw_is_own6(const struct gw *gw, uint32_t iface, const ip6 *a);

/* Our address for a packet to `peer`, NULL when there is none (RFC 6724 section 5,
 * rules 2 and 8): link-local for a link-local peer on the interface, else the one that
 * has the longest prefix in common, of this interface if it has one at all. */
const ip6 *gw_own_address6(const struct gw *gw, uint32_t iface, const ip6 *peer);

#endif
