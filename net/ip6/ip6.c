/* See ip6.h. */
#include "net/ip6/ip6.h"

#include "net/lib/csum.h"
#include "net/gw_address.h"

const bool ip6_is_plain[256] = {[PROTO_TCP] = true, [PROTO_UDP] = true, [PROTO_ICMP6] = true};

bool ip6_is_extension(uint8_t proto)
{
	return proto == PROTO_HOP_BY_HOP || proto == PROTO_ROUTING || proto == PROTO_FRAGMENT ||
	       proto == PROTO_AH || proto == PROTO_DESTINATION;
}

uint32_t ip6_extension_len(uint8_t proto, const struct ip6_ext *e)
{
	if (proto == PROTO_FRAGMENT)
		return sizeof(struct ip6_frag);
	if (proto == PROTO_AH) /* in words of 4 bytes (RFC 4302 section 2.2) */
		return (e->len + 2u) * 4;
	return (e->len + 1u) * 8;
}

/* Finds the transport header of a packet whose length is correct. Each header takes at
 * least eight bytes of the packet, so the packet's length bounds the walk. */
static enum drop walk(struct pkt *p)
{
	uint32_t at = IP6_MIN;
	uint8_t proto = ip6_header(p)->next;
	enum drop found = DROP_NONE;
	if (ip6_is_extension(proto))
		p->flags |= PKT_OPTIONS;
	while (ip6_is_extension(proto)) {
		const struct ip6_ext *e = (const struct ip6_ext *)pkt_at(p, at, sizeof *e);
		if (!e || ip6_extension_len(proto, e) > p->len - at)
			break;
		/* A routing header of type 0 is a source route (RFC 5095; RFC 9288 section
		 * 3.4.2.5). */
		if (proto == PROTO_ROUTING && e->kind == 0 && e->left != 0)
			found = DROP_SOURCE_ROUTE;
		at += ip6_extension_len(proto, e);
		if (proto == PROTO_FRAGMENT) {
			uint32_t offset = be16_get(((const struct ip6_frag *)e)->offset);
			if (offset & (IP6_OFFSET | IP6_MF)) /* else an atomic fragment (RFC 6946) */
				p->flags |= PKT_FRAGMENT;
			if (offset & IP6_OFFSET) {
				p->flags |= PKT_LATER;
				proto = e->next;
				break;
			}
		}
		proto = e->next;
	}
	p->l4 = (uint16_t)at;
	p->l4_len = (uint16_t)(p->len - at);
	p->proto = proto;
	return found;
}

enum drop ip6_parse_rare(struct pkt *p)
{
	const struct ip6_hdr *h = ip6_header(p);
	uint32_t len = be16_get(h->len);
	/* Only hop-by-hop options: a jumbogram (RFC 2675). */
	if (len == 0 && h->next == PROTO_HOP_BY_HOP)
		return DROP_IP_LENGTH;
	pkt_trim(p, IP6_MIN + len);
	p->flags &= (uint16_t) ~(PKT_FRAGMENT | PKT_LATER | PKT_OPTIONS);
	return walk(p);
}

bool ip6_bad_source(const struct gw *gw, const struct pkt *p)
{
	const ip6 *from = &ip6_header(p)->from;
	if (gw_address6(gw, p->iface, from))
		return true;
	if (ip6_is_special(from))
		return p->iface >= INTERFACES || !ip6_is_link_local(from);
	const struct route6 *r = route6_for(&gw->routes6, from);
	return !r || r->iface != p->iface || route6_own(r, from);
}

bool ip6_source_elsewhere(const struct gw *gw, const struct pkt *p)
{
	const struct route6 *r = route6_for(&gw->routes6, &ip6_header(p)->from);
	return p->iface < INTERFACES && r && r->iface < INTERFACES && r->iface != p->iface;
}

enum drop ip6_bad_destination(const struct pkt *p)
{
	const ip6 *to = &ip6_header(p)->to;
	if (ip6_is_group(to) || p->flags & PKT_L2_GROUP)
		return DROP_MULTICAST;
	return ip6_is_special(to) ? DROP_MARTIAN_DESTINATION : DROP_NONE;
}

/* --- our own packets --------------------------------------------------------------- */

void ip6_build(struct pkt *p, const ip6 *from, const ip6 *to, uint8_t proto, uint8_t hops)
{
	struct ip6_hdr *h = ip6_header(p);
	h->first = be32_of(0x60000000u);
	h->len = be16_of((uint16_t)(p->len - IP6_MIN));
	h->next = proto;
	h->hops = hops;
	h->from = *from;
	h->to = *to;
	p->l4 = IP6_MIN;
	p->l4_len = (uint16_t)(p->len - IP6_MIN);
	p->proto = proto;
}

void ip6_sum(struct pkt *p, uint32_t at)
{
	const struct ip6_hdr *h = ip6_header(p);
	uint8_t *l4 = p->data + p->l4;
	store16(l4 + at, 0);
	uint16_t sum = csum_plus(csum_sum(l4, p->l4_len),
	                         csum_pseudo6(&h->from, &h->to, p->proto, p->l4_len));
	store16(l4 + at, sum == 0xffff && p->proto == PROTO_UDP ? 0xffff : (uint16_t)~sum);
}

void ip6_send_group(struct gw *gw, uint32_t iface, struct pkt *p)
{
	const ip6 *to = &ip6_header(p)->to;
	mac group = {{0x33, 0x33, to->b[12], to->b[13], to->b[14], to->b[15]}};
	struct eth_hdr *eth = (struct eth_hdr *)pkt_push(p, sizeof *eth);
	if (!eth) {
		gw_discard(gw, p, DROP_NO_PACKET);
		return;
	}
	eth->to = group;
	eth->from = gw->iface[iface].address;
	eth->type = be16_of(ETH_IP6);
	gw_transmit(gw, &gw->iface[iface], p);
}

void ip6_fragment(struct gw *gw, struct pkt *p, uint32_t mtu)
{
	const struct ip6_hdr *h = ip6_header(p);
	uint32_t most = (mtu - IP6_MIN - (uint32_t)sizeof(struct ip6_frag)) & ~7u;
	uint32_t left = p->len - IP6_MIN, at = 0, id = rng_u32(gw->rng); /* RFC 7739 */
	while (left > 0) {
		uint32_t n = min_u32(left, most);
		struct pkt *f = pkt_alloc(gw->pool);
		uint8_t *to =
		        f ? pkt_put(f, IP6_MIN + (uint32_t)sizeof(struct ip6_frag) + n) : NULL;
		if (!to) {
			if (f)
				pkt_free(f);
			gw_discard(gw, p, DROP_NO_PACKET);
			return;
		}
		left -= n;
		memcpy(to + IP6_MIN + sizeof(struct ip6_frag), p->data + IP6_MIN + at, n);
		f->iface = PKT_IF_SELF;
		f->out = p->out;
		f->hop = p->hop;
		f->flags = p->flags & (uint16_t)~PKT_UNTAGGED;
		ip6_build(f, &h->from, &h->to, PROTO_FRAGMENT, h->hops);
		ip6_header(f)->first = h->first;
		struct ip6_frag *piece = (struct ip6_frag *)(to + IP6_MIN);
		piece->next = h->next;
		piece->reserved = 0;
		piece->offset = be16_of((uint16_t)(at | (left ? IP6_MF : 0)));
		piece->id = be32_of(id);
		at += n;
		gw_send6(gw, f);
	}
	pkt_free(p);
}
