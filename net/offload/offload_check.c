/* What a card says about a partial packet is checked against the packet. See offload.h. */
#include "net/offload/offload.h"

#include "net/lib/csum.h"

#define FRAME_MAX (sizeof(struct eth_hdr) + 4 + 1500) /* Ethernet header, VLAN tag, largest MTU */

/* Most segments of a super-segment: each may cost as much as a frame that takes the slow path. The
 * largest packet has as many of 48 bytes, the least that Linux sends (tcp_min_snd_mss). */
#define SEGMENTS_MAX 1400u

/* The offset behind the IP packet of a frame; the end of the frame where it has none, or one that
 * says more than there is. */
static uint32_t ip_end(const struct pkt *p)
{
	uint32_t l3 = p->len < sizeof(struct eth_hdr) ? p->len : offload_l3(p), end = p->total;
	if (p->len < l3 + IP4_MIN)
		return end;
	uint16_t type = load16(p->data + l3 - 2);
	if (type == swap16(ETH_IP4))
		end = l3 + be16_get(((const struct ip4_hdr *)(p->data + l3))->len);
	else if (type == swap16(ETH_IP6))
		end = l3 + IP6_MIN + be16_get(((const struct ip6_hdr *)(p->data + l3))->len);
	return min_u32(end, p->total);
}

/* True for an IPv4 header at `l3` that ends at l4, of an unfragmented packet of that protocol that
 * ends with the last piece. */
static bool fits_ip4(const struct pkt *p, uint32_t l3, uint8_t proto)
{
	const struct ip4_hdr *h = (const struct ip4_hdr *)(p->data + l3);
	if (p->l4 < l3 + IP4_MIN)
		return false;
	return h->version_ihl >> 4 == 4 && l3 + (uint32_t)(h->version_ihl & 15) * 4 == p->l4 &&
	       be16_get(h->len) == p->total - l3 && h->proto == proto &&
	       !(be16_get(h->frag) & (IP4_MF | IP4_OFFSET));
}

/* The same for IPv6. Between the headers may stand those extension headers that a whole packet
 * has: hop-by-hop options, routing, destination options (RFC 8200 section 4). */
static bool fits_ip6(const struct pkt *p, uint32_t l3, uint8_t proto)
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
	return at == p->l4 && next == proto;
}

/* True for the right checksum of an IPv4 header at `l3`. Cutting writes a new one, so here a wrong
 * one is seen last. */
static bool sum_is_right(const struct pkt *p)
{
	uint32_t l3 = offload_l3(p);
	return p->flags & PKT_TSO6 || csum_sum(p->data + l3, p->l4 - l3) == 0xffff;
}

static bool fits_ip(const struct pkt *p, uint8_t proto)
{
	uint32_t l3 = offload_l3(p);
	uint16_t type = load16(p->data + l3 - 2);
	if (p->flags & PKT_TSO6)
		return type == swap16(ETH_IP6) && fits_ip6(p, l3, proto);
	return type == swap16(ETH_IP4) && fits_ip4(p, l3, proto);
}

/* True for a super-segment of TCP whose headers agree with it. RST and SYN are never cut. */
static bool fits_tcp(const struct pkt *p)
{
	const struct tcp_hdr *tcp = (const struct tcp_hdr *)(p->data + p->l4);
	return p->len - p->l4 >= sizeof *tcp && p->l4_len == OFFLOAD_SUM_TCP &&
	       tcp->offset >> 4 >= 5 && offload_header(p) <= p->len &&
	       !(tcp->flags & (TCP_SYN | TCP_RST)) && fits_ip(p, PROTO_TCP);
}

/* The same of UDP, whose length is that of all datagrams in one. */
static bool fits_udp(const struct pkt *p)
{
	const struct udp_hdr *udp = (const struct udp_hdr *)(p->data + p->l4);
	return p->len - p->l4 >= sizeof *udp && p->l4_len == OFFLOAD_SUM_UDP &&
	       be16_get(udp->len) == p->total - p->l4 && fits_ip(p, PROTO_UDP);
}

/* Checks a super-segment and sets what its header says. False for one that is wrong. */
static bool take_segments(struct pkt *p)
{
	bool udp = p->flags & PKT_USO;
	if (p->len < sizeof(struct eth_hdr) + 4 + IP4_MIN || p->l4 > p->len)
		return false;
	if (udp && load16(p->data + offload_l3(p) - 2) == swap16(ETH_IP6))
		p->flags |= PKT_TSO6;
	if (!(udp ? fits_udp(p) : fits_tcp(p)))
		return false;
	uint32_t header = offload_header(p), payload = p->total - header;
	p->flags &= (uint16_t)~PKT_ECN;
	if (payload <= p->segment) {
		p->segment = 0;
		p->flags &= (uint16_t) ~(PKT_TSO6 | PKT_USO);
		return true;
	}
	if (header + p->segment > FRAME_MAX || payload > SEGMENTS_MAX * p->segment)
		return false;
	if (!udp && ((const struct tcp_hdr *)(p->data + p->l4))->flags & TCP_CWR)
		p->flags |= PKT_ECN;
	/* One division for all segments. */
	p->segments = (uint16_t)((payload + p->segment - 1) / p->segment);
	return true;
}

enum drop offload_check(struct pkt *p)
{
	p->segments = 1;
	if (p->segment && !take_segments(p))
		return DROP_OFFLOAD;
	if (p->segment)
		return sum_is_right(p) ? DROP_NONE : DROP_IP_CHECKSUM;
	uint32_t sum = (uint32_t)p->l4 + p->l4_len, end = ip_end(p);
	if (end < p->total)
		offload_trim(p, end);
	return p->total <= FRAME_MAX && sum + 2 <= p->len ? DROP_NONE : DROP_OFFLOAD;
}

uint32_t offload_bytes(const struct pkt *p, uint32_t least)
{
	if (!p->segment)
		return max_u32(p->total, least);
	uint32_t header = offload_header(p);
	return (p->segments - 1u) * max_u32(header + p->segment, least) +
	       max_u32(header + offload_last_bytes(p), least);
}
