/* ICMPv6 messages of our own (RFC 4443). Errors: icmp6_error in gw.h. */
#ifndef NET_IP6_ICMP6_H
#define NET_IP6_ICMP6_H

#include "net/gw.h"

/* A packet with room for a message of n bytes behind an IPv6 header; *message is
 * where it begins, all zeros. NULL (counted) when there is no packet. */
struct pkt *icmp6_new(struct gw *gw, uint32_t n, void **message) MUST_USE;

/* Finishes the message (lengths, checksum) and sends it on a port: to a group, to one
 * station whose MAC is known, or, with `station` NULL, to a neighbour that is looked up.
 * Takes the packet. */
void icmp6_send(struct gw *gw, uint32_t iface, struct pkt *p, const ip6 *from, const ip6 *to,
                const mac *station, uint8_t hops);

#endif
