/* Messages of the DHCPv6 client (RFC 8415 sections 18.2.1 to 18.2.8). */
#ifndef NET_DHCP6_DHCP6_SEND_H
#define NET_DHCP6_DHCP6_SEND_H

#include "net/dhcp6/dhcp6_message.h"
#include "net/gw.h"

/* Sends the message of the client's state on the WAN, to all servers. */
void dhcp6_send(struct gw *gw);

/* Sends a message with `len` bytes at `data` from our link-local address: for the client and the
 * server. */
void dhcp6_send_bytes(struct gw *gw, uint32_t iface, const ip6 *to, uint16_t from_port,
                      uint16_t to_port, const uint8_t *data, uint32_t len);

#endif
