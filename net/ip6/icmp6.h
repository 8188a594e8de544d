/* Our own ICMPv6 messages (RFC 4443). */
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

/* Sends an ICMPv6 error about an IPv6 packet p, which stays the caller's: data at its header,
 * parsed and otherwise as it came. All ICMPv6 errors are made here, by the rules of RFC 4443
 * section 2.4 (e) and (f). None is sent to a source that cannot be on the side that the packet came
 * from, except ICMP6_POLICY: that error is for such a source, and goes to the station that sent the
 * packet. `rest` is MTU or pointer. */
void icmp6_error(struct gw *gw, const struct pkt *p, uint8_t type, uint8_t code, uint32_t rest);

#endif
