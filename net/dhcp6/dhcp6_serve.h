/* The stateless DHCPv6 server of the inside (RFC 8415 section 18.3.6, formerly RFC 3736): it tells
 * hosts what the router advertisements of their interface say of DNS, servers and search domains.
 * It gives no addresses and no prefixes, and knows no relay agents. */
#ifndef NET_DHCP6_DHCP6_SERVE_H
#define NET_DHCP6_DHCP6_SERVE_H

#include "net/gw.h"

/* Begins or ends to listen on interfaces, as what they advertise says. Called ten times a second.
 */
void dhcp6_serve_tick(struct gw *gw);

/* Handles a message of `len` bytes that a host sent, to a group or to us alone. Gives DROP_NONE, or
 * why it has no answer. */
enum drop dhcp6_serve(struct gw *gw, uint32_t iface, const uint8_t *data, uint32_t len,
                      const ip6 *from, bool group);

#endif
