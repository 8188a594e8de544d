/* Translates ICMPv4 errors into ICMPv6 errors, with the packet that they quote (RFC 7915
 * section 4.3) and its extensions (RFC 4884). */
#include "apps/translate/xlat_packet.h"

#define ERROR_BYTES IP6_MTU_MIN /* of the whole error (RFC 4443 section 2.4 (c)) */

static const struct ip4_hdr *header_of(const uint8_t *icmp)
{
	return (const struct ip4_hdr *)(icmp + sizeof(struct icmp_hdr));
}

/* Reads the quoted packet of an error of n bytes. False when it cannot be used: its header
 * is not complete, it is an ICMP error itself (which ends the recursion, RFC 7915 section
 * 4.3), or its message is not translated. */
static bool read_quote(uint8_t *icmp, uint32_t n, struct xlat46_quote *q)
{
	const struct ip4_hdr *h = header_of(icmp);
	if (n < sizeof(struct icmp_hdr) + IP4_MIN)
		return false;
	uint32_t have = n - (uint32_t)sizeof(struct icmp_hdr);
	uint32_t field = (uint32_t)icmp[5] * 4;           /* RFC 4884 section 4.1 */
	bool extended = field >= IP4_MIN && field < have; /* a smaller value is no length */
	q->ip = h;
	q->hlen = (uint32_t)(h->version_ihl & 15) * 4;
	q->len = be16_get(h->len);
	q->frag = be16_get(h->frag);
	q->first = !(q->frag & IP4_OFFSET);
	q->ext = icmp + sizeof(struct icmp_hdr) + field;
	q->n_ext = extended ? have - field : 0;
	/* In front of extensions the quoted packet may be padded. */
	if (extended)
		have = min_u32(field, max_u32(q->len, IP4_MIN));
	if (h->version_ihl >> 4 != 4 || q->hlen < IP4_MIN || q->hlen > have || q->len < q->hlen)
		return false;
	q->l4 = icmp + sizeof(struct icmp_hdr) + q->hlen;
	q->data = have - q->hlen;
	if (h->proto != PROTO_ICMP || !q->first || q->data == 0)
		return h->proto != PROTO_ICMP6;
	return q->l4[0] == ICMP_ECHO || q->l4[0] == ICMP_ECHO_REPLY;
}

uint32_t xlat46_quoted_port(const uint8_t *icmp, uint32_t n)
{
	struct xlat46_quote q;
	if (!read_quote((uint8_t *)(uintptr_t)icmp, n, &q) || !q.first)
		return XLAT_NO_PORT;
	return xlat46_port(q.l4, q.data, header_of(icmp)->proto, true);
}

/* Adjusts the part of the quoted transport header that is there. Its checksum may be wrong
 * or missing. */
static void change_l4(const struct xlat46_quote *q, const struct xlat46 *x, uint8_t proto)
{
	if (!q->first)
		return;
	if (proto == PROTO_TCP && q->data >= offsetof(struct tcp_hdr, sum) + 2) {
		struct tcp_hdr *tcp = (struct tcp_hdr *)q->l4;
		tcp->sum = csum_apply(tcp->sum, x->delta);
	} else if (proto == PROTO_UDP && q->data >= sizeof(struct udp_hdr)) {
		struct udp_hdr *udp = (struct udp_hdr *)q->l4;
		udp->sum = csum_apply_udp(udp->sum, x->delta);
	} else if (proto == PROTO_ICMP && q->data > 0) {
		uint8_t type = q->l4[0] == ICMP_ECHO ? ICMP6_ECHO : ICMP6_ECHO_REPLY;
		uint32_t delta = xlat_pseudo(&x->from, &x->to, q->len - q->hlen);
		delta += csum_delta16(q->l4[0], type);
		q->l4[0] = type;
		if (q->data >= 4)
			store16(q->l4 + 2,
			        be16_raw(csum_apply(be16_from_raw(load16(q->l4 + 2)), delta)));
	}
}

/* Maps the quoted packet's addresses. The packet went from an IPv6 host to an IPv4 host;
 * the destination of a hairpinned one is not mapped (RFC 7757 section 4.2.1, rule 2). */
static bool map_quote(const struct translator *v, const struct xlat46_quote *q,
                      const struct xlat46 *outer, struct xlat46 *x)
{
	const struct ip4_hdr *h = q->ip;
	uint32_t from = ip4_raw(h->from), to = ip4_raw(h->to), port = XLAT_NO_PORT;
	if (UNLIKELY(v->n_shares) && q->first)
		port = xlat46_port(q->l4, q->data, h->proto, true);
	if (xlat_to6(v, from, port, &x->from) == XLAT_UNMAPPED)
		return false;
	enum xlat_way way = outer->hairpinned ? xlat_form_to6(v, to, XLAT_NO_PORT, &x->to)
	                                      : xlat_to6(v, to, XLAT_NO_PORT, &x->to);
	return way != XLAT_UNMAPPED;
}

/* Makes the quoted packet's IPv6 header. */
static void make_inner(const struct xlat_core *c, const struct xlat46_quote *q, struct xlat46 *x)
{
	const struct ip4_hdr *h = q->ip;
	x->delta = xlat_delta46(&x->from, &x->to, ip4_raw(h->from), ip4_raw(h->to));
	x->id = be16_get(h->id);
	x->offset = (uint16_t)((q->frag & IP4_OFFSET) << 3 | (q->frag & IP4_MF ? IP6_MF : 0));
	x->tc = (uint8_t)xlat_tos(c, h->tos);
	x->hops = h->ttl;
	x->next = h->proto == PROTO_ICMP ? PROTO_ICMP6 : h->proto;
	x->fragment = q->frag & (IP4_MF | IP4_OFFSET);
}

enum verdict xlat46_write_error(struct gw *gw, struct xlat_core *c, struct pkt *p,
                                const struct xlat46_quote *q, struct xlat46 *outer,
                                struct xlat46 *inner, const struct xlat_icmp *to)
{
	make_inner(c, q, inner);
	change_l4(q, inner, q->ip->proto);
	bool extensible = to->type == ICMP6_UNREACHABLE || to->type == ICMP6_TIME_EXCEEDED;
	struct xlat_parts x = {
	        .head = IP6_MIN + (inner->fragment ? (uint32_t)sizeof(struct ip6_frag) : 0),
	        .data = q->data,
	        .ext = q->n_ext,
	};
	uint32_t front = IP6_MIN + (uint32_t)sizeof(struct icmp6_hdr);
	uint32_t rest = to->rest, quoted = q->len - q->hlen;
	xlat_fit(&x, ERROR_BYTES - front, extensible ? 8 : 0);
	uint32_t field = x.head + x.data + x.pad;
	uint32_t n = (uint32_t)sizeof(struct icmp6_hdr) + field + x.ext;
	if (!xlat_arrange(p, &x, q->l4, q->ext, front + x.head))
		return gw_drop(gw, p, DROP_NO_PACKET);
	if (x.ext)
		rest |= field / 8 << 24;
	xlat46_put(p->data + front, inner, quoted);
	struct icmp6_hdr *icmp = (struct icmp6_hdr *)(p->data + IP6_MIN);
	*icmp = (struct icmp6_hdr){.type = to->type, .code = to->code, .rest = be32_of(rest)};
	icmp->sum = be16_from_raw(
	        (uint16_t)~csum_plus(csum_sum(icmp, n), xlat_pseudo(&outer->from, &outer->to, n)));
	outer->fragment = false;
	outer->next = PROTO_ICMP6;
	xlat46_put(p->data, outer, n);
	c->translated[XLAT_46]++;
	return V_SEND6;
}

enum verdict xlat46_read_error(struct gw *gw, const struct xlat_core *c, struct pkt *p,
                               const struct xlat46 *x, struct xlat46_quote *q, struct xlat_icmp *to)
{
	uint8_t *icmp = p->data + p->l4;
	if (p->flags & PKT_FRAGMENT)
		return gw_drop(gw, p, DROP_FRAGMENT);
	if (p->l4_len < sizeof(struct icmp_hdr))
		return gw_drop(gw, p, DROP_L4_HEADER);
	/* The message gets a new checksum, which would hide that the old one is wrong. */
	if (csum_sum(icmp, p->l4_len) != 0xffff)
		return gw_drop(gw, p, DROP_ICMP_CHECKSUM);
	*to = (struct xlat_icmp){icmp[0], icmp[1], swap32(load32(icmp + 4))};
	struct xlat_mtu mtu = {.mtu4 = x->hairpinned ? UINT16_MAX : gw->iface[IF_WAN].mtu,
	                       .mtu6 = c->mtu6};
	bool usable = read_quote(icmp, p->l4_len, q);
	mtu.quoted = usable ? q->len : 0;
	if (!xlat_icmp_to6(to, &mtu))
		return gw_drop(gw, p, DROP_ICMP_TYPE);
	return usable ? V_SEND : gw_drop(gw, p, DROP_ICMP_QUOTE);
}

enum verdict xlat46_error(struct gw *gw, struct translator *v, struct pkt *p, struct xlat46 *x)
{
	struct xlat46_quote q = {.ip = ip4_header(p), .l4 = p->data};
	struct xlat46 inner = {.hops = 0};
	struct xlat_icmp to;
	if (xlat46_read_error(gw, &v->core, p, x, &q, &to) != V_SEND)
		return V_DROP;
	if (!map_quote(v, &q, x, &inner))
		return gw_drop(gw, p, DROP_ICMP_QUOTE);
	return xlat46_write_error(gw, &v->core, p, &q, x, &inner, &to);
}
