/* Translates ICMPv6 errors into ICMPv4 errors, with the packet that they quote (RFC 7915
 * section 5.3) and its extensions (RFC 4884). The source of an error may have no IPv4
 * address (RFC 6791). */
#include "apps/translate/xlat_packet.h"

#define ERROR_BYTES   576u  /* of the whole error (RFC 1812 section 4.3.2.3) */
#define HAIRPIN_BYTES 2000u /* the second half of hairpinning shortens it */

static const struct ip6_hdr *header_of(const uint8_t *icmp)
{
	return (const struct ip6_hdr *)(icmp + sizeof(struct icmp6_hdr));
}

/* Reads the quoted packet of an error of n bytes; false when it cannot be used. */
static bool read_quote(uint8_t *icmp, uint32_t n, struct xlat64_quote *q)
{
	const struct ip6_hdr *h = header_of(icmp);
	if (n < sizeof(struct icmp6_hdr) + IP6_MIN || h->first.b[0] >> 4 != 6)
		return false;
	uint32_t have = n - (uint32_t)sizeof(struct icmp6_hdr), len = IP6_MIN + be16_get(h->len);
	bool extensible = icmp[0] == ICMP6_UNREACHABLE || icmp[0] == ICMP6_TIME_EXCEEDED;
	uint32_t field = extensible ? (uint32_t)icmp[4] * 8 : 0; /* RFC 4884 section 4.4 */
	bool extended = field >= IP6_MIN && field < have;
	q->ip = h;
	q->ext = icmp + sizeof(struct icmp6_hdr) + field;
	q->n_ext = extended ? have - field : 0;
	if (extended) /* in front of extensions the quoted packet may be padded */
		have = min_u32(field, len);
	const struct xlat64_chain *c = &q->chain;
	if (xlat64_chain((const uint8_t *)h, have, &q->chain) != CHAIN_GOOD || len < c->l4)
		return false;
	q->payload = len - c->l4;
	q->first = (c->offset & IP6_OFFSET) == 0;
	q->l4 = icmp + sizeof(struct icmp6_hdr) + c->l4;
	q->data = have - c->l4;
	if (IP4_MIN + q->payload + (c->offset & IP6_OFFSET) > 0xffff)
		return false;
	if (c->proto != PROTO_ICMP6 || !q->first || q->data == 0)
		return c->proto != PROTO_ICMP;
	/* An error ends the recursion (RFC 7915 section 5.3). */
	return q->l4[0] == ICMP6_ECHO || q->l4[0] == ICMP6_ECHO_REPLY;
}

uint32_t xlat64_quoted_port(const uint8_t *icmp, uint32_t n)
{
	struct xlat64_quote q;
	if (!read_quote((uint8_t *)(uintptr_t)icmp, n, &q) || !q.first)
		return XLAT_NO_PORT;
	return xlat64_port(q.l4, q.data, q.chain.proto, false);
}

/* Maps the quoted packet's addresses. The packet went from an IPv4 host to an IPv6 host;
 * *from is how its source was mapped. */
static bool map_quote(const struct translator *v, const struct ip6_hdr *h, struct xlat64 *x,
                      enum xlat_way *from)
{
	*from = xlat_to4(v, &h->from, &x->from);
	return *from != XLAT_UNMAPPED && xlat_to4(v, &h->to, &x->to) != XLAT_UNMAPPED;
}

enum verdict xlat64_read_error(struct gw *gw, const struct xlat_core *c, struct pkt *p,
                               const struct xlat64 *x, struct xlat64_quote *q, struct xlat_icmp *to)
{
	uint8_t *icmp = p->data + x->l4;
	const struct ip6_hdr *h = ip6_header(p);
	if (x->frag & (IP4_OFFSET | IP4_MF))
		return gw_drop(gw, p, DROP_FRAGMENT);
	if (x->l4_len < sizeof(struct icmp6_hdr))
		return gw_drop(gw, p, DROP_L4_HEADER);
	/* The message gets a new checksum, which would hide that the old one is wrong. */
	if (csum_plus(csum_sum(icmp, x->l4_len), xlat_pseudo(&h->from, &h->to, x->l4_len)) !=
	    0xffff)
		return gw_drop(gw, p, DROP_ICMP_CHECKSUM);
	bool usable = read_quote(icmp, x->l4_len, q);
	const struct xlat_mtu mtu = {
	        .mtu4 = x->hairpin ? UINT16_MAX : gw->iface[IF_WAN].mtu,
	        .mtu6 = c->mtu6,
	        .more = usable && q->chain.fragment ? (uint32_t)sizeof(struct ip6_frag) : 0,
	};
	*to = (struct xlat_icmp){icmp[0], icmp[1], swap32(load32(icmp + 4))};
	if (!xlat_icmp_to4(to, &mtu))
		return gw_drop(gw, p, DROP_ICMP_TYPE);
	if (to->type == ICMP_UNREACHABLE && to->code == ICMP_TOO_BIG)
		to->rest &= 0xffff;
	return usable ? V_SEND : gw_drop(gw, p, DROP_ICMP_QUOTE);
}

enum verdict xlat64_quote(struct gw *gw, struct translator *v, struct pkt *p, struct xlat64 *x)
{
	struct xlat64_quote q = {.ip = ip6_header(p), .l4 = p->data};
	struct xlat64 inner;
	struct xlat_icmp to;
	enum xlat_way way;
	if (xlat64_read_error(gw, &v->core, p, x, &q, &to) != V_SEND)
		return V_DROP;
	if (!map_quote(v, q.ip, &inner, &way))
		return gw_drop(gw, p, DROP_ICMP_QUOTE);
	if (way == XLAT_BY_FORM && embed_find4(&v->maps, inner.from)) {
		x->hairpin = true;
		if (xlat_to6(v, x->to, XLAT_NO_PORT, &x->back) == XLAT_UNMAPPED)
			return gw_drop(gw, p, DROP_NO_MAP);
	}
	return V_SEND;
}

/* Adjusts the part of the quoted transport header that is there. */
static void change_l4(const struct xlat64_quote *q, const struct ip6_hdr *h, uint16_t delta)
{
	uint8_t proto = q->chain.proto;
	if (!q->first)
		return;
	if (proto == PROTO_TCP && q->data >= offsetof(struct tcp_hdr, sum) + 2) {
		struct tcp_hdr *tcp = (struct tcp_hdr *)q->l4;
		tcp->sum = csum_apply(tcp->sum, delta);
	} else if (proto == PROTO_UDP && q->data >= sizeof(struct udp_hdr)) {
		struct udp_hdr *udp = (struct udp_hdr *)q->l4;
		udp->sum = csum_apply_udp(udp->sum, delta);
	} else if (proto == PROTO_ICMP6 && q->data > 0) {
		uint8_t type = q->l4[0] == ICMP6_ECHO ? ICMP_ECHO : ICMP_ECHO_REPLY;
		uint32_t change = (uint16_t)~xlat_pseudo(&h->from, &h->to, q->payload);
		change += csum_delta16(q->l4[0], type);
		q->l4[0] = type;
		if (q->data >= 4)
			store16(q->l4 + 2, be16_raw(xlat64_icmp4_sum(q->l4, q->data, change)));
	}
}

/* Fills in the quoted packet's IPv4 header. */
static void make_inner(struct gw *gw, const struct xlat_core *core, const struct xlat64_quote *q,
                       struct xlat64 *x)
{
	const struct ip6_hdr *h = q->ip;
	const struct xlat64_chain *c = &q->chain;
	x->tos = (uint8_t)xlat_tos(core, be32_get(h->first) >> 20);
	x->ttl = h->hops;
	x->proto = c->proto == PROTO_ICMP6 ? PROTO_ICMP : c->proto;
	x->delta = (uint16_t)~xlat_delta46(&h->from, &h->to, x->from, x->to);
	if (c->fragment) {
		x->id = (uint16_t)c->id;
		x->frag = (uint16_t)(c->offset >> 3 | (c->offset & IP6_MF ? IP4_MF : 0));
	} else {
		x->id = be16_get(ip4_id(&gw->ids, ip4_from_raw(x->to)));
		x->frag = xlat_df(IP4_MIN + q->payload);
	}
}

/* Writes an extension structure with the IPv6 source of an error: interface information
 * with an IP address (RFC 5837 section 4, RFC 6791 section 4). */
#define INTERFACE_BYTES 28u
static void interface_object(uint8_t *to, const ip6 *from)
{
	static const uint8_t head[12] = {
	        0x20, 0,  0, 0,    /* version 2, checksum (RFC 4884 section 7) */
	        0,    24, 2, 0x04, /* length, class 2; incoming interface, IP address */
	        0,    2,  0, 0,    /* address family 2: IPv6 */
	};
	memcpy(to, head, sizeof head);
	memcpy(to + sizeof head, from, sizeof *from);
	store16(to + 2, (uint16_t)~csum_sum(to, INTERFACE_BYTES));
}

/* Writes the whole message. `foreign` is the IPv6 source to add as an extension, or NULL. */
static bool build_error(struct pkt *p, const struct xlat64_quote *q, struct xlat64 *outer,
                        const struct xlat64 *inner, const struct xlat_icmp *to, const ip6 *foreign)
{
	bool too_big = to->type == ICMP_UNREACHABLE && to->code == ICMP_TOO_BIG;
	uint8_t object[INTERFACE_BYTES];
	const uint8_t *ext = q->ext;
	struct xlat_parts x = {.head = IP4_MIN, .data = q->data, .ext = q->n_ext};
	uint32_t front = IP4_MIN + (uint32_t)sizeof(struct icmp_hdr);
	if (foreign && x.ext == 0) {
		interface_object(object, foreign);
		ext = object;
		x.ext = sizeof object;
	}
	xlat_fit(&x, (outer->hairpin ? HAIRPIN_BYTES : ERROR_BYTES) - front, too_big ? 0 : 4);
	uint32_t field = x.head + x.data + x.pad;
	uint32_t n = (uint32_t)sizeof(struct icmp_hdr) + field + x.ext;
	if (!xlat_arrange(p, &x, q->l4, ext, front + x.head))
		return false;
	xlat_put4(p->data + front, inner, q->payload);
	struct icmp_hdr *icmp = (struct icmp_hdr *)(p->data + IP4_MIN);
	uint32_t rest = to->rest | (x.ext ? field / 4 << 16 : 0);
	*icmp = (struct icmp_hdr){.type = to->type, .code = to->code};
	store32(&icmp->id, swap32(rest));
	icmp->sum = be16_from_raw((uint16_t)~csum_sum(icmp, n));
	outer->proto = PROTO_ICMP;
	outer->l4_len = n;
	if (!outer->fragment)
		outer->frag = xlat_df(IP4_MIN + n);
	xlat_put4(p->data, outer, n);
	return true;
}

enum verdict xlat64_write_error(struct gw *gw, struct xlat_core *c, struct pkt *p,
                                const struct xlat64_quote *q, struct xlat64 *x,
                                struct xlat64 *inner, const struct xlat_icmp *to)
{
	const ip6 from = ip6_header(p)->from;
	make_inner(gw, c, q, inner);
	change_l4(q, q->ip, inner->delta);
	bool add_source = x->foreign && c->icmp_interface && !x->hairpin;
	if (!build_error(p, q, x, inner, to, add_source ? &from : NULL))
		return gw_drop(gw, p, DROP_NO_PACKET);
	c->translated[XLAT_64]++;
	return V_SEND;
}

enum verdict xlat64_error(struct gw *gw, struct translator *v, struct pkt *p, struct xlat64 *x)
{
	struct xlat64_quote q = {.ip = ip6_header(p), .l4 = p->data};
	struct xlat64 inner = {.l4 = 0};
	struct xlat_icmp to;
	enum xlat_way way;
	if (xlat64_read_error(gw, &v->core, p, x, &q, &to) != V_SEND)
		return V_DROP; /* not possible: xlat64_quote checked it */
	if (!map_quote(v, q.ip, &inner, &way))
		return gw_drop(gw, p, DROP_ICMP_QUOTE); /* nor this */
	enum verdict w = xlat64_write_error(gw, &v->core, p, &q, x, &inner, &to);
	if (w != V_SEND || !x->hairpin)
		return w;
	gw->counts.hairpinned++;
	return xlat46_hairpin(gw, v, p, x);
}
