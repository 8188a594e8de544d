/* IPv4: parsing, routing, forwarding checks, fragmentation (RFC 791, RFC 1812). Not
 * implemented on purpose: recording of routes and timestamps in options, and source routes
 * (dropped, RFC 7126 sections 4.3 and 4.4). */
#ifndef NET_IP4_IP4_H
#define NET_IP4_IP4_H

#include "net/lib/csum.h"
#include "net/gw.h"

static inline struct ip4_hdr *ip4_header(const struct pkt *p)
{
	return (struct ip4_hdr *)p->data;
}

static inline ip4 ip4_to(const struct pkt *p)
{
	return ip4_header(p)->to;
}

/* Checks version, lengths, header checksum and options, and removes link-layer padding.
 * Sets l4, l4_len, proto and the fragment flags of p. p->data must be at the IPv4 header.
 * Gives DROP_NONE or what is wrong. */
static inline enum drop ip4_parse(struct pkt *p) MUST_USE;

/* The offset in the header of the option that ip4_parse found malformed. */
uint8_t ip4_option_error(const struct pkt *p);

/* Overwrites the options "record route" and "timestamp" with no-operations: they would
 * carry addresses of one side to the other. p must be parsed. */
void ip4_blank_records(struct pkt *p);

/* True when no source route of a packet has a hop left (RFC 791 section 3.1: the pointer is
 * behind the route). For packets that ip4_parse refused because of a source route. */
bool ip4_route_done(const struct pkt *p);

/* Longest-prefix match: sets out, hop and PKT_ROUTED of p. False when there is no route. */
static inline bool ip4_route(const struct gw *gw, struct pkt *p, ip4 to);

/* True for 0/8, 127/8 and 224/3: never the address of a host (RFC 1122 section 3.2.1.3). */
static inline bool ip4_no_host(ip4 a)
{
	return a.b[0] == 0 || a.b[0] == 127 || a.b[0] >= 224;
}

/* True when the source cannot be that of a host on the interface that p came from (RFC 1812
 * sections 5.3.7 and 5.3.8; RFC 2827): its class, an own address, or a route back that
 * leaves by another interface. */
bool ip4_bad_source(const struct gw *gw, const struct pkt *p);

/* Why packets cannot be forwarded to the destination of p: multicast, broadcast, loopback,
 * this-network, class E; else DROP_NONE. */
enum drop ip4_bad_destination(const struct gw *gw, const struct pkt *p);

/* Checks time to live and size of a routed packet that will be forwarded, and sends the
 * ICMP error. The packet must be as it came in (not translated yet). Gives V_SEND (the TTL
 * is not lowered yet) or V_DROP (counted). */
static inline enum verdict ip4_may_forward(struct gw *gw, struct pkt *p);

/* Takes one hop: lowers the TTL and corrects the checksum for that and for other changes of
 * the header, whose sum is `delta` (csum.h). */
static inline void ip4_hop(struct ip4_hdr *h, uint32_t delta);

/* Splits a packet that is larger than the MTU of its interface and sends the fragments (RFC
 * 791 section 3.2). A packet with DF is dropped. Takes the packet. */
void ip4_fragment(struct gw *gw, struct pkt *p);

/* Writes a header without options for a datagram of ours at p->data: total length from
 * p->len, new identification, TTL 64, checksum. */
void ip4_build(struct gw *gw, struct pkt *p, ip4 from, ip4 to, uint8_t proto, uint8_t tos);

/* --- inline functions -------------------------------------------------------------- */

/* ip4_parse for packets with options, fragments, and everything that is wrong. */
enum drop ip4_parse_rare(struct pkt *p) MUST_USE;

static inline enum drop ip4_parse(struct pkt *p)
{
	const struct ip4_hdr *h = ip4_header(p);
	if (UNLIKELY(p->len < IP4_MIN || h->version_ihl != 0x45))
		return ip4_parse_rare(p);
	uint32_t len = be16_get(h->len);
	if (UNLIKELY(len > p->len || len < IP4_MIN ||
	             be16_raw(h->frag) & swap16(IP4_MF | IP4_OFFSET)))
		return ip4_parse_rare(p);
	pkt_end(p, len); /* without link-layer padding */
	p->l4 = IP4_MIN;
	p->l4_len = (uint16_t)(len - IP4_MIN);
	p->proto = h->proto;
	p->flags &= (uint16_t) ~(PKT_FRAGMENT | PKT_LATER | PKT_OPTIONS);
	return csum_ip4_header(h) == 0xffff ? DROP_NONE : DROP_IP_CHECKSUM;
}

static inline bool ip4_route(const struct gw *gw, struct pkt *p, ip4 to)
{
	uint32_t addr = ip4_get(to);
	const struct route4 *r = route4_find(&gw->routes4, addr);
	if (UNLIKELY(!r))
		return false;
	p->out = UNLIKELY(addr == r->own) ? PKT_IF_SELF : r->iface;
	p->hop = r->via ? r->via : ip4_raw(to);
	p->flags |= PKT_ROUTED;
	return true;
}

/* TTL and protocol share a 16-bit word, with the TTL in the low byte as loaded. One hop
 * less changes the checksum by ~m + (m - 1), which is all ones except for the last bit. */
#define IP4_HOP_DELTA 0xfffeu

static inline void ip4_hop(struct ip4_hdr *h, uint32_t delta)
{
	h->ttl--;
	h->sum = csum_apply(h->sum, delta + IP4_HOP_DELTA);
}

/* The MTU towards the next hop. A hairpinned packet goes back to the interface that it came
 * from. */
static inline uint32_t ip4_mtu(const struct gw *gw, const struct pkt *p)
{
	return gw->iface[p->out < INTERFACES ? p->out : p->iface].mtu;
}

enum verdict ip4_cannot_forward(struct gw *gw, struct pkt *p);

static inline enum verdict ip4_may_forward(struct gw *gw, struct pkt *p)
{
	if (UNLIKELY(ip4_header(p)->ttl <= 1 || p->len > ip4_mtu(gw, p)))
		return ip4_cannot_forward(gw, p);
	return V_SEND;
}

#endif
