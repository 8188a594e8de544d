/* Partial packets (kernel/lib/pkt.h): checked, cut into plain frames, given complete checksums.
 *
 * A forwarder that knows partial packets passes them on as they are and judges them by the segments
 * that will leave. All other code gets the plain frames that offload_next makes: the same bytes
 * that would have come one by one. A partial packet ends with its IP packet, also where it is
 * bridged: the checksum is that of the IP packet. Left out on purpose: jumbograms. */
#ifndef NET_OFFLOAD_OFFLOAD_H
#define NET_OFFLOAD_OFFLOAD_H

#include "net/gw.h"

/* Offset in the transport header of the checksum of TCP and of UDP. */
#define OFFLOAD_SUM_TCP 16u
#define OFFLOAD_SUM_UDP 6u

/* Checks what a card said about a partial packet, data at its Ethernet header: the super-segment is
 * TCP or UDP whose headers lie in the first piece and agree with the bytes that there are; its
 * segments fit an Ethernet frame and are no more than 1400; the checksum lies in the first piece,
 * and that of the IPv4 header of a super-segment is right. Takes off what is behind the IP packet.
 * Sets `segments`, and PKT_ECN as the TCP header says. A super-segment that is no
 * longer than one segment becomes an ordinary one. Gives DROP_NONE, DROP_IP_CHECKSUM, or
 * DROP_OFFLOAD; then it counts as one segment. */
enum drop offload_check(struct pkt *p) MUST_USE;

/* The offset of the IP header: behind the Ethernet header and a VLAN tag (IEEE 802.1Q). */
static inline uint32_t offload_l3(const struct pkt *p)
{
	return sizeof(struct eth_hdr) + (load16(p->data + 12) == swap16(ETH_VLAN) ? 4u : 0u);
}

/* The offset of the payload of a checked super-segment. */
static inline uint32_t offload_header(const struct pkt *p)
{
	const struct tcp_hdr *tcp = (const struct tcp_hdr *)(p->data + p->l4);
	if (p->flags & PKT_USO)
		return p->l4 + (uint32_t)sizeof(struct udp_hdr);
	return p->l4 + (uint32_t)(tcp->offset >> 4) * 4;
}

/* Bytes of payload in the last segment of a checked super-segment. */
static inline uint32_t offload_last_bytes(const struct pkt *p)
{
	return p->total - offload_header(p) - (p->segments - 1u) * p->segment;
}

/* Bytes of the frames that a checked partial packet becomes, of which each counts as `least` at
 * least. */
uint32_t offload_bytes(const struct pkt *p, uint32_t least);

/* Makes the next plain frame of a checked partial packet, with complete checksums, and sets *p to
 * NULL behind the last one. Frame and rest are the caller's. NULL when the pool is empty; then *p
 * is as it was. The identification of IPv4 grows by one with each frame, PSH and FIN stand in the
 * last, CWR in the first alone. */
struct pkt *offload_next(struct pool *pool, struct pkt **p) MUST_USE;

/* Takes the last segment off a checked super-segment. Gives it as a partial packet, which is the
 * caller's; it goes behind p. NULL when the pool is empty; then p is as it was. */
struct pkt *offload_last(struct pool *pool, struct pkt *p) MUST_USE;

/* Ends a partial packet behind its first n bytes, at least one; it has as many. */
void offload_trim(struct pkt *p, uint32_t n);

/* Puts a finished partial packet into an interface's transmit queue as gw_transmit does. It is
 * dropped (link-full) while fewer than pool->reserve packets are free. Takes the packet. */
void offload_transmit(struct gw *gw, struct interface *iface, struct pkt *p);

/* What the card of an interface can do changed (NIC_SUM …). What waits and is too much for it is
 * cut after all. */
void offload_changed(struct gw *gw, struct interface *iface, uint32_t offloads);

/* The queue of an interface with `partial` from which its card is to take packets, oldest first.
 * What the card cannot send as it is, and all that waits behind it, moves from the transmit queue
 * to the queue of ready frames, as plain frames. */
struct pkt_queue *offload_ready(struct gw *gw, struct interface *iface);

/* The same for any interface. */
static inline struct pkt_queue *offload_queue(struct gw *gw, struct interface *iface)
{
	return LIKELY(!iface->partial) ? &iface->out : offload_ready(gw, iface);
}

#endif
