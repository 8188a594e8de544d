/* Our own ICMPv6 messages (RFC 4443). Errors: icmp6_error in gw.h. */
#ifndef NET_IP6_ICMP6_H
#define NET_IP6_ICMP6_H

#include "net/gw.h"

/* Makes a packet with room for a message of n bytes behind an IPv6 header; *message is set
 * to its first byte, and all bytes are zero. NULL (counted) when there is no packet. */
struct pkt *icmp6_new(struct gw *gw, uint32_t n, void **message) MUST_USE;

/* Completes the message (lengths, checksum) and sends it on an interface: to a group, to
 * one station whose MAC address is known, or, with `station` NULL, to a neighbour that is
 * resolved. Takes the packet. */
void icmp6_send(struct gw *gw, uint32_t iface, struct pkt *p, const ip6 *from, const ip6 *to,
                const mac *station, uint8_t hops);

#endif
