/* See ip4.h. */
#include "net/ip4/ip4.h"

#include "net/lib/csum.h"

/* Walks the options. Gives the offset of the first malformed one, 0 when all are
 * well-formed. Sets *route when there is a source route. */
static uint8_t walk_options(const uint8_t *h, uint32_t hlen, bool *route)
{
	*route = false;
	for (uint32_t i = IP4_MIN; i < hlen;) {
		uint8_t kind = h[i];
		if (kind == IP4_OPT_END)
			return 0;
		if (kind == IP4_OPT_NOP) {
			i++;
			continue;
		}
		if (hlen - i < 2 || h[i + 1] < 2 || h[i + 1] > hlen - i)
			return (uint8_t)i;
		if (kind == IP4_OPT_LSRR || kind == IP4_OPT_SSRR)
			*route = true;
		i += h[i + 1];
	}
	return 0;
}

uint8_t ip4_option_error(const struct pkt *p)
{
	bool route;
	return walk_options(p->data, (uint32_t)(p->data[0] & 15) * 4, &route);
}

void ip4_blank_records(struct pkt *p)
{
	uint8_t *h = p->data;
	uint32_t hlen = (uint32_t)(h[0] & 15) * 4;
	if (!(p->flags & PKT_OPTIONS))
		return;
	for (uint32_t i = IP4_MIN; i < hlen && h[i] != IP4_OPT_END;) {
		uint32_t len = h[i] == IP4_OPT_NOP ? 1 : h[i + 1];
		if (len == 0 || len > hlen - i)
			break; /* does not happen: ip4_parse checked the options */
		if (h[i] == IP4_OPT_RECORD || h[i] == IP4_OPT_TIMESTAMP)
			memset(h + i, IP4_OPT_NOP, len);
		i += len;
	}
	struct ip4_hdr *ip = ip4_header(p);
	ip->sum = be16_of(0);
	ip->sum = be16_from_raw((uint16_t)~csum_sum(h, hlen));
}

bool ip4_route_done(const struct pkt *p)
{
	const uint8_t *h = p->data;
	for (uint32_t i = IP4_MIN; i < p->l4 && h[i] != IP4_OPT_END;) {
		if ((h[i] == IP4_OPT_LSRR || h[i] == IP4_OPT_SSRR) &&
		    (h[i + 1] < 3 || h[i + 2] <= h[i + 1]))
			return false;
		i += h[i] == IP4_OPT_NOP ? 1 : h[i + 1];
	}
	return true;
}

/* Checks the options of a packet whose other fields are set. */
static enum drop parse_options(struct pkt *p, uint32_t hlen)
{
	bool route;
	if (csum_sum(p->data, hlen) != 0xffff)
		return DROP_IP_CHECKSUM;
	p->flags |= PKT_OPTIONS;
	if (walk_options(p->data, hlen, &route))
		return DROP_IP_OPTIONS;
	return route ? DROP_SOURCE_ROUTE : DROP_NONE;
}

enum drop ip4_parse_rare(struct pkt *p)
{
	const struct ip4_hdr *h = ip4_header(p);
	if (UNLIKELY(p->len < IP4_MIN))
		return DROP_IP_HEADER;
	uint32_t hlen = (uint32_t)(h->version_ihl & 15) * 4;
	uint32_t len = be16_get(h->len);
	if (UNLIKELY(h->version_ihl >> 4 != 4 || hlen < IP4_MIN))
		return DROP_IP_HEADER;
	if (UNLIKELY(len > p->len || hlen > len))
		return DROP_IP_LENGTH;
	pkt_trim(p, len);
	p->l4 = (uint16_t)hlen;
	p->l4_len = (uint16_t)(len - hlen);
	p->proto = h->proto;
	p->flags &= (uint16_t) ~(PKT_FRAGMENT | PKT_LATER | PKT_OPTIONS);
	uint32_t frag = be16_get(h->frag);
	if ((frag & IP4_OFFSET) * 8 + len > 0xffff) /* ends behind the largest possible packet */
		return DROP_IP_LENGTH;
	if (UNLIKELY(frag & (IP4_MF | IP4_OFFSET)))
		p->flags |= frag & IP4_OFFSET ? PKT_FRAGMENT | PKT_LATER : PKT_FRAGMENT;
	if (UNLIKELY(hlen > IP4_MIN))
		return parse_options(p, hlen);
	return csum_ip4_header(h) == 0xffff ? DROP_NONE : DROP_IP_CHECKSUM;
}

bool ip4_bad_source(const struct gw *gw, const struct pkt *p)
{
	ip4 from = ip4_header(p)->from;
	if (ip4_no_host(from))
		return true;
	const struct route4 *r = route4_for(&gw->routes4, from);
	if (route4_claimed(&gw->routes4, from) || (r && r->own == ip4_get(from)))
		return true;
	return !r || r->iface != p->iface || interface_is_broadcast4(&gw->iface[p->iface], from);
}

/* True for the network or broadcast address of a network of ours. The route says whether the
 * address is on one: a default route, that it is on none; a longer route to a router may hide one.
 */
static bool is_broadcast(const struct gw *gw, ip4 a)
{
	const struct route4 *r = route4_for(&gw->routes4, a);
	if (!r || r->len == 0)
		return false;
	if (r->via == 0)
		return interface_is_broadcast4(&gw->iface[r->iface], a);
	for (uint32_t i = 0; i < gw->n_iface; i++)
		if (interface_is_broadcast4(&gw->iface[i], a))
			return true;
	return false;
}

enum drop ip4_bad_destination(const struct gw *gw, const struct pkt *p)
{
	ip4 to = ip4_to(p);
	if (to.b[0] >= 224 && (to.b[0] < 240 || ip4_raw(to) == 0xffffffff))
		return DROP_MULTICAST;
	if (ip4_no_host(to))
		return DROP_MARTIAN_DESTINATION;
	if (is_broadcast(gw, to))
		return DROP_MULTICAST;
	/* A unicast packet in a broadcast frame (RFC 1812 section 5.3.4). */
	return p->flags & PKT_L2_GROUP ? DROP_MULTICAST : DROP_NONE;
}

void ip4_build(struct gw *gw, struct pkt *p, ip4 from, ip4 to, uint8_t proto, uint8_t tos)
{
	struct ip4_hdr *h = ip4_header(p);
	h->version_ihl = 0x45;
	h->tos = tos;
	h->len = be16_of((uint16_t)p->len);
	h->id = ip4_id(&gw->ids, to);
	h->frag = be16_of(0);
	h->ttl = IP4_TTL;
	h->proto = proto;
	h->sum = be16_of(0);
	h->from = from;
	h->to = to;
	h->sum = be16_from_raw((uint16_t)~csum_ip4_header(h));
}

/* Writes the header of a later fragment: only options with the copy flag are copied (RFC
 * 791 section 3.1, options). Gives the header's length. */
static uint32_t copy_header(uint8_t *to, const uint8_t *from, uint32_t hlen)
{
	uint32_t n = IP4_MIN;
	memcpy(to, from, IP4_MIN);
	for (uint32_t i = IP4_MIN; i < hlen && from[i] != IP4_OPT_END;) {
		uint32_t len = from[i] == IP4_OPT_NOP ? 1 : from[i + 1];
		if (from[i] & 0x80) {
			memcpy(to + n, from + i, len);
			n += len;
		}
		i += len;
	}
	while (n % 4)
		to[n++] = IP4_OPT_END;
	to[0] = (uint8_t)(0x40 | n / 4);
	return n;
}

static void finish_fragment(struct pkt *f, uint32_t hlen, uint32_t offset, bool more)
{
	struct ip4_hdr *h = ip4_header(f);
	h->len = be16_of((uint16_t)f->len);
	h->frag = be16_of((uint16_t)(offset / 8 | (more ? IP4_MF : 0)));
	h->sum = be16_of(0);
	h->sum = be16_from_raw((uint16_t)~csum_sum(h, hlen));
}

void ip4_fragment(struct gw *gw, struct pkt *p)
{
	uint32_t mtu = gw->iface[p->out].mtu, hlen = (uint32_t)(p->data[0] & 15) * 4;
	uint32_t frag = be16_get(ip4_header(p)->frag);
	if (frag & IP4_DF) { /* our own answer, or translated: no error can be sent */
		gw_discard(gw, p, DROP_TOO_BIG);
		return;
	}
	uint32_t base = (frag & IP4_OFFSET) * 8, left = p->len - hlen, at = 0;
	bool last_more = frag & IP4_MF;
	uint8_t header[60];
	uint32_t later = copy_header(header, p->data, hlen);
	while (left > 0) {
		uint32_t h = at == 0 ? hlen : later;
		uint32_t n = min_u32(left, (mtu - h) & ~7u);
		struct pkt *f = pkt_alloc(gw->pool);
		uint8_t *to = f ? pkt_put(f, h + n) : NULL;
		if (!to) {
			if (f)
				pkt_free(f);
			gw_discard(gw, p, DROP_NO_PACKET);
			return;
		}
		memcpy(to, at == 0 ? p->data : header, h);
		memcpy(to + h, p->data + hlen + at, n);
		left -= n;
		f->iface = PKT_IF_SELF;
		f->out = p->out;
		f->hop = p->hop;
		f->flags = PKT_ROUTED;
		finish_fragment(f, h, base + at, left > 0 || last_more);
		at += n;
		gw_send(gw, f);
	}
	pkt_free(p);
}
