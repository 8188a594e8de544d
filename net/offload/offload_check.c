/* What a card says about a partial packet is checked against the packet. See offload.h. */
#include "net/offload/offload.h"

#define FRAME_MAX (sizeof(struct eth_hdr) + 4 + 1500) /* Ethernet header, VLAN tag, largest MTU */

/* True for an IPv4 header at `l3` that ends at l4, of an unfragmented TCP packet that ends with the
 * last piece. */
static bool fits_ip4(const struct pkt *p, uint32_t l3)
{
	const struct ip4_hdr *h = (const struct ip4_hdr *)(p->data + l3);
	if (p->l4 < l3 + IP4_MIN)
		return false;
	return h->version_ihl >> 4 == 4 && l3 + (uint32_t)(h->version_ihl & 15) * 4 == p->l4 &&
	       be16_get(h->len) == p->total - l3 && h->proto == PROTO_TCP &&
	       !(be16_get(h->frag) & (IP4_MF | IP4_OFFSET));
}

/* The same for IPv6. Between the headers may stand those extension headers that a whole packet
 * has: hop-by-hop options, routing, destination options (RFC 8200 section 4). */
static bool fits_ip6(const struct pkt *p, uint32_t l3)
{
	const struct ip6_hdr *h = (const struct ip6_hdr *)(p->data + l3);
	uint32_t at = l3 + IP6_MIN;
	if (p->l4 < at || h->first.b[0] >> 4 != 6 || be16_get(h->len) != p->total - at)
		return false;
	uint8_t next = h->next;
	while (at + 8 <= p->l4 &&
	       (next == PROTO_HOP_BY_HOP || next == PROTO_ROUTING || next == PROTO_DESTINATION)) {
		next = p->data[at];
		at += 8 + p->data[at + 1] * 8u;
	}
	return at == p->l4 && next == PROTO_TCP;
}

/* True for a super-segment whose headers agree with it. RST and SYN are never cut. */
static bool fits_tcp(const struct pkt *p)
{
	uint32_t l3 = offload_l3(p);
	uint16_t type = load16(p->data + l3 - 2);
	if (p->l4 > p->len || p->len - p->l4 < sizeof(struct tcp_hdr) ||
	    p->l4_len != OFFLOAD_SUM_TCP)
		return false;
	const struct tcp_hdr *tcp = (const struct tcp_hdr *)(p->data + p->l4);
	if (tcp->offset >> 4 < 5 || offload_header(p) > p->len || tcp->flags & (TCP_SYN | TCP_RST))
		return false;
	if (p->flags & PKT_TSO6)
		return type == swap16(ETH_IP6) && fits_ip6(p, l3);
	return type == swap16(ETH_IP4) && fits_ip4(p, l3);
}

enum drop offload_check(struct pkt *p)
{
	p->segments = 1;
	if (p->segment) {
		if (p->len < sizeof(struct eth_hdr) + 4 + IP4_MIN || !fits_tcp(p))
			return DROP_OFFLOAD;
		uint32_t header = offload_header(p), payload = p->total - header;
		if (payload > p->segment) {
			/* One division for all segments. */
			p->segments = (uint16_t)((payload + p->segment - 1) / p->segment);
			return header + p->segment <= FRAME_MAX ? DROP_NONE : DROP_OFFLOAD;
		}
		p->segment = 0;
		p->flags &= (uint16_t) ~(PKT_TSO6 | PKT_ECN);
	}
	uint32_t sum = (uint32_t)p->l4 + p->l4_len;
	return p->total <= FRAME_MAX && sum + 2 <= p->len ? DROP_NONE : DROP_OFFLOAD;
}

uint32_t offload_bytes(const struct pkt *p, uint32_t least)
{
	if (!p->segment)
		return max_u32(p->total, least);
	uint32_t header = offload_header(p), before = p->segments - 1u;
	return before * max_u32(header + p->segment, least) +
	       max_u32(p->total - before * p->segment, least);
}
