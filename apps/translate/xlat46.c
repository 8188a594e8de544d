/* Translates IPv4 packets into IPv6 packets, in place (RFC 7915 section 4). ICMP errors are
 * in xlat46_error.c.
 *
 * All checks that can refuse the packet come before its first byte changes, so that an ICMP
 * error quotes it as it came in. */
#include "apps/translate/xlat_cache.h"

#include "kernel/lib/fmt.h"
#include "kernel/lib/log.h"
#include "net/ip4/icmp.h"
#include "net/lib/mss.h"

/* --- headers ------------------------------------------------------------------------- */

void xlat46_put(uint8_t *at, const struct xlat46 *x, uint32_t n)
{
	struct ip6_hdr *h = (struct ip6_hdr *)at;
	uint32_t more = x->fragment ? (uint32_t)sizeof(struct ip6_frag) : 0;
	h->first = be32_of(0x60000000u | (uint32_t)x->tc << 20); /* flow label 0 */
	h->len = be16_of((uint16_t)(n + more));
	h->next = x->fragment ? PROTO_FRAGMENT : x->next;
	h->hops = x->hops;
	h->from = x->from;
	h->to = x->to;
	if (!x->fragment)
		return;
	struct ip6_frag *f = (struct ip6_frag *)(h + 1);
	f->next = x->next;
	f->reserved = 0;
	f->offset = be16_of(x->offset);
	f->id = be32_of(x->id);
}

enum verdict xlat46_replace_header(struct gw *gw, struct xlat_core *c, struct pkt *p,
                                   const struct xlat46 *x)
{
	uint32_t n = p->l4_len;
	uint32_t front = IP6_MIN + (x->fragment ? (uint32_t)sizeof(struct ip6_frag) : 0);
	if (UNLIKELY(!pkt_pull(p, p->l4) || !pkt_push(p, front)))
		return gw_drop(gw, p, DROP_NO_PACKET);
	xlat46_put(p->data, x, n);
	c->translated[XLAT_46]++;
	return V_SEND6;
}

/* --- fragments --------------------------------------------------------------------- */

/* Makes a packet of n bytes of the payload from offset `at`, NULL when there is no packet. */
static struct pkt *fragment(struct gw *gw, const struct pkt *p, const struct xlat46 *x, uint32_t at,
                            uint32_t n)
{
	struct pkt *f = pkt_alloc(gw->pool);
	uint32_t head = IP6_MIN + (uint32_t)sizeof(struct ip6_frag);
	uint8_t *to = f ? pkt_put(f, head + n) : NULL;
	if (!to) {
		if (f)
			pkt_free(f);
		return NULL;
	}
	xlat46_put(to, x, n);
	memcpy(to + head, p->data + p->l4 + at, n);
	f->iface = PKT_IF_SELF;
	f->out = p->out;
	f->hop = p->hop;
	f->flags = PKT_ROUTED;
	return f;
}

/* Sends an IPv4 packet without DF that would be too large, as fragments of at most
 * c->limit46 bytes (RFC 7915 section 4.1). Its transport header is translated already. */
static enum verdict split(struct gw *gw, struct xlat_core *c, struct pkt *p, struct xlat46 *x)
{
	uint32_t most = (c->limit46 - IP6_MIN - (uint32_t)sizeof(struct ip6_frag)) & ~7u;
	uint16_t first = x->offset, last_more = first & IP6_MF;
	struct pkt *list = NULL, **end = &list;
	x->fragment = true;
	for (uint32_t at = most; at < p->l4_len; at += most) {
		uint32_t n = min_u32(p->l4_len - at, most);
		bool more = at + n < p->l4_len;
		x->offset = (uint16_t)(((first & IP6_OFFSET) + at) | (more ? IP6_MF : last_more));
		struct pkt *f = fragment(gw, p, x, at, n);
		if (!f) {
			for (struct pkt *next; list; list = next) {
				next = list->next;
				pkt_free(list);
			}
			return gw_drop(gw, p, DROP_NO_PACKET);
		}
		f->next = NULL;
		*end = f;
		end = &f->next;
	}
	x->offset = (first & IP6_OFFSET) | IP6_MF;
	pkt_trim(p, p->l4 + most);
	p->l4_len = (uint16_t)most;
	if (xlat46_replace_header(gw, c, p, x) != V_SEND6)
		pkt_free(p);
	else
		gw_forward6(gw, p);
	for (struct pkt *next; list; list = next) {
		next = list->next;
		gw_send6(gw, list);
	}
	return V_KEPT;
}

/* Bytes of an IPv6 packet with the header of x. */
static inline uint32_t size6(const struct pkt *p, const struct xlat46 *x)
{
	return IP6_MIN + (x->fragment ? (uint32_t)sizeof(struct ip6_frag) : 0) + p->l4_len;
}

enum verdict xlat46_send(struct gw *gw, struct xlat_core *c, struct pkt *p, struct xlat46 *x)
{
	bool df = be16_get(ip4_header(p)->frag) & IP4_DF;
	return UNLIKELY(!df && size6(p, x) > c->limit46) ? split(gw, c, p, x)
	                                                 : xlat46_replace_header(gw, c, p, x);
}

/* --- transport headers ------------------------------------------------------------------ */

uint32_t xlat46_port(const uint8_t *l4, uint32_t n, uint8_t proto, bool source)
{
	switch (proto) {
	case PROTO_TCP:
	case PROTO_UDP:
	case PROTO_DCCP:
	case PROTO_SCTP:
	case PROTO_UDPLITE:
		return n < 4 ? XLAT_NO_PORT : swap16(load16(l4 + (source ? 0 : 2)));
	case PROTO_ICMP:
		if (n < 6 || (l4[0] != ICMP_ECHO && l4[0] != ICMP_ECHO_REPLY))
			return XLAT_NO_PORT;
		return swap16(load16(l4 + 4));
	default:
		return XLAT_NO_PORT;
	}
}

/* A UDP packet without checksum, which IPv6 does not allow: computes the checksum or drops
 * the packet (RFC 7915 section 4.5). */
static enum verdict no_checksum(struct gw *gw, struct xlat_core *c, struct pkt *p,
                                const struct xlat46 *x)
{
	const struct ip4_hdr *h = ip4_header(p);
	struct udp_hdr *udp = (struct udp_hdr *)(p->data + p->l4);
	uint32_t n = be16_get(udp->len);
	bool sound = n >= sizeof *udp && n <= p->l4_len;
	if (c->compute_zero && !(p->flags & PKT_FRAGMENT) && sound) {
		uint16_t sum = csum_plus(csum_sum(udp, n),
		                         csum_pseudo6(&x->from, &x->to, PROTO_UDP, (uint16_t)n));
		udp->sum = be16_from_raw(sum == 0xffff ? 0xffff : (uint16_t)~sum);
		return V_SEND;
	}
	char from[FMT_IP4], to[FMT_IP4];
	log_limited(&c->no_checksum_us, 10000, "%s: UDP without checksum dropped: %s:%u to %s:%u",
	            c->name, fmt_ip4(from, h->from), be16_get(udp->from), fmt_ip4(to, h->to),
	            be16_get(udp->to));
	return xlat_refuse4(gw, c, p, DROP_NO_CHECKSUM);
}

enum verdict xlat46_check_l4(struct gw *gw, const struct xlat_core *c, struct pkt *p)
{
	const uint8_t *l4 = p->data + p->l4;
	switch (p->proto) {
	case PROTO_TCP:
		return p->l4_len < sizeof(struct tcp_hdr) && !(p->flags & PKT_LATER)
		               ? xlat_refuse4(gw, c, p, DROP_L4_HEADER)
		               : V_SEND;
	case PROTO_UDP:
		return p->l4_len < sizeof(struct udp_hdr) && !(p->flags & PKT_LATER)
		               ? xlat_refuse4(gw, c, p, DROP_L4_HEADER)
		               : V_SEND;
	case PROTO_ICMP: /* fragments: RFC 7915 section 1.2 */
		if (p->flags & PKT_FRAGMENT)
			return xlat_refuse4(gw, c, p, DROP_FRAGMENT);
		if (p->l4_len < sizeof(struct icmp_hdr))
			return gw_drop(gw, p, DROP_L4_HEADER);
		return l4[0] == ICMP_ECHO || l4[0] == ICMP_ECHO_REPLY
		               ? V_SEND
		               : gw_drop(gw, p, DROP_ICMP_TYPE);
	case PROTO_IGMP:
		return gw_drop(gw, p, DROP_PROTOCOL);
	case PROTO_HOP_BY_HOP: /* would be headers of IPv6, not payload */
	case PROTO_ROUTING:
	case PROTO_FRAGMENT:
	case PROTO_ICMP6:
	case PROTO_DESTINATION:
		return xlat_refuse4(gw, c, p, DROP_PROTOCOL);
	default:
		return V_SEND;
	}
}

enum verdict xlat46_change_l4(struct gw *gw, struct xlat_core *c, struct pkt *p,
                              const struct xlat46 *x)
{
	uint8_t *l4 = p->data + p->l4;
	if (UNLIKELY(p->flags & PKT_LATER))
		return V_SEND;
	if (LIKELY(p->proto == PROTO_TCP && p->l4_len >= sizeof(struct tcp_hdr))) {
		struct tcp_hdr *tcp = (struct tcp_hdr *)l4;
		tcp->sum = csum_apply(tcp->sum, x->delta);
		if (UNLIKELY(c->mss))
			mss_clamp(p, c->mss);
	} else if (p->proto == PROTO_UDP && p->l4_len >= sizeof(struct udp_hdr)) {
		struct udp_hdr *udp = (struct udp_hdr *)l4;
		if (UNLIKELY(be16_raw(udp->sum) == 0))
			return no_checksum(gw, c, p, x);
		udp->sum = csum_apply_udp(udp->sum, x->delta);
	} else if (p->proto == PROTO_ICMP && p->l4_len >= sizeof(struct icmp_hdr)) {
		struct icmp_hdr *icmp = (struct icmp_hdr *)l4;
		uint8_t type = icmp->type == ICMP_ECHO ? ICMP6_ECHO : ICMP6_ECHO_REPLY;
		uint32_t delta = xlat_pseudo(&x->from, &x->to, x->whole);
		delta += csum_delta16(icmp->type, type);
		icmp->sum = csum_apply(icmp->sum, delta);
		icmp->type = type;
	}
	return V_SEND;
}

/* --- slow path --------------------------------------------------------------------- */

static inline bool is_error(const struct pkt *p)
{
	return p->proto == PROTO_ICMP && !(p->flags & PKT_LATER) && p->l4_len > 0 &&
	       xlat_is_error4(p->data[p->l4]);
}

/* Finds the IPv6 destination; `port` selects one of the hosts that share it. */
static inline enum verdict map_to(struct gw *gw, struct translator *v, struct pkt *p,
                                  const struct embed_map *m, uint32_t port, struct xlat46 *x)
{
	uint32_t to = ip4_raw(ip4_to(p));
	if (UNLIKELY(m != NULL)) {
		embed_map_to6(m, to, &x->to);
		return V_SEND;
	}
	if (LIKELY(v->simple)) {
		embed_to6(&v->form, to, &x->to);
		return V_SEND;
	}
	return xlat_form_to6(v, to, port, &x->to) == XLAT_UNMAPPED
	               ? xlat_refuse4(gw, &v->core, p, DROP_NO_MAP)
	               : V_SEND;
}

/* True for the address of an IPv6 host that a native route other than the default route
 * leads to. Needed because a mapping may name hosts of both sides. */
static bool is_inside(const struct gw *gw, const ip6 *a)
{
	const struct route6 *r = route6_for(&gw->routes6, a);
	return r && interface_is_inside(r->iface) && r->len > 0;
}

/* Finds the IPv6 source. A packet whose source no host of the WAN can have is dropped
 * without an error (RFC 7915 section 4.1). ICMP errors pass from any source, because they
 * help to find faults. */
static inline enum verdict map_from(struct gw *gw, struct translator *v, struct pkt *p, bool error,
                                    struct xlat46 *x)
{
	ip4 a = ip4_header(p)->from;
	uint32_t from = ip4_raw(a);
	if (UNLIKELY(xlat_is_no_host(a) || xlat_is_reserved(v, from) ||
	             xlat_is_host6(gw, v, from)) &&
	    !error)
		return gw_drop(gw, p, DROP_MARTIAN_SOURCE);
	if (UNLIKELY(error) && p->flags & PKT_TRANSLATED) { /* our own, see xlat_no_neighbour */
		x->from = xlat_error_source6(gw, v, &x->to);
		return V_SEND;
	}
	const struct embed_map *m = embed_find4(&v->maps, from);
	if (UNLIKELY(m != NULL)) {
		uint32_t i = (uint32_t)(m - v->maps.map);
		bool native = v->map_native[i] && xlat_is_native4(gw, from, m->len4);
		embed_map_to6(m, from, &x->from);
		if (!native && !error && (v->map_is6[i] || is_inside(gw, &x->from)))
			return gw_drop(gw, p, DROP_MARTIAN_SOURCE);
		return V_SEND;
	}
	if (LIKELY(v->simple)) {
		embed_to6(&v->form, from, &x->from);
		return V_SEND;
	}
	if (xlat_form_to6(v, from, XLAT_NO_PORT, &x->from) != XLAT_UNMAPPED)
		return V_SEND;
	if (!error)
		return xlat_refuse4(gw, &v->core, p, DROP_NO_MAP);
	x->from = xlat_error_source6(gw, v, &x->to);
	return V_SEND;
}

/* Drops a packet whose time to live is over, or which is too large although DF forbids to
 * split it. `more` is the size of the fragment header that it gets. */
static __attribute__((noinline)) enum verdict cannot_forward(struct gw *gw, struct pkt *p,
                                                             uint32_t more)
{
	if (ip4_header(p)->ttl <= 1) {
		icmp_error(gw, p, ICMP_TIME_EXCEEDED, 0, 0);
		return gw_drop(gw, p, DROP_TTL);
	}
	/* The MTU that an unfragmented packet may use, as most packets are. A fragment that
	 * fits this MTU gets an MTU that is 8 bytes smaller: its IPv6 fragment header needs
	 * them. */
	uint32_t mtu = gw->iface[p->out].mtu - (IP6_MIN - IP4_MIN);
	uint32_t len = IP4_MIN + p->l4_len;
	if (len <= mtu)
		mtu -= more;
	icmp_error(gw, p, ICMP_UNREACHABLE, ICMP_TOO_BIG, mtu);
	return gw_drop(gw, p, DROP_TOO_BIG);
}

enum verdict xlat46_may_forward(struct gw *gw, struct pkt *p, const struct xlat46 *x, bool error)
{
	const struct ip4_hdr *h = ip4_header(p);
	bool df = be16_raw(h->frag) & swap16(IP4_DF);
	if (UNLIKELY(h->ttl <= 1 || (df && !error && size6(p, x) > gw->iface[p->out].mtu)))
		return cannot_forward(gw, p, x->fragment ? (uint32_t)sizeof(struct ip6_frag) : 0);
	return V_SEND;
}

void xlat46_set_header(const struct xlat_core *c, const struct pkt *p, struct xlat46 *x)
{
	const struct ip4_hdr *h = ip4_header(p);
	uint32_t frag = be16_get(h->frag);
	x->fragment = frag & (IP4_MF | IP4_OFFSET);
	x->id = be16_get(h->id);
	x->offset = (uint16_t)((frag & IP4_OFFSET) << 3 | (frag & IP4_MF ? IP6_MF : 0));
	x->tc = (uint8_t)xlat_tos(c, h->tos);
	x->hops = (uint8_t)(h->ttl - 1);
	x->next = p->proto == PROTO_ICMP ? PROTO_ICMP6 : p->proto;
	x->whole = p->l4_len;
	x->hairpinned = false;
}

static enum verdict no_route(struct gw *gw, const struct xlat_core *c, struct pkt *p)
{
	if (p->flags & PKT_ROUTED && p->out == PKT_IF_SELF)
		return xlat_refuse4(gw, c, p, DROP_OWN_ADDRESS);
	icmp_error(gw, p, ICMP_UNREACHABLE, ICMP_NET, 0);
	return gw_drop(gw, p, DROP_NO_ROUTE);
}

static enum timing_step step_of(const struct pkt *p)
{
	return p->proto == PROTO_TCP   ? TIMING_TCP
	       : p->proto == PROTO_UDP ? TIMING_UDP
	                               : TIMING_ICMP;
}

/* One body, compiled with and without a clock in it. */
ALWAYS_INLINE enum verdict translate(struct gw *gw, struct translator *v, struct pkt *p,
                                     const struct embed_map *m, uint32_t port, bool timed)
{
	const struct ip4_hdr *h = ip4_header(p);
	struct xlat46 x;
	bool error = UNLIKELY(p->proto == PROTO_ICMP) && is_error(p);
	uint32_t clock = xlat_timing_start(gw, timed);
	enum verdict w = map_to(gw, v, p, m, port, &x);
	if (LIKELY(w == V_SEND))
		w = map_from(gw, v, p, error, &x);
	if (UNLIKELY(w != V_SEND))
		return w;
	x.delta = xlat_delta46(&x.from, &x.to, ip4_raw(h->from), ip4_raw(h->to));
	xlat_timing_end(gw, timed, clock, TIMING_ADDRESS);

	if (UNLIKELY(!ip6_route(gw, p, &x.to) || !interface_is_inside(p->out)))
		return no_route(gw, &v->core, p);
	xlat46_set_header(&v->core, p, &x);
	if (UNLIKELY(xlat46_may_forward(gw, p, &x, error) != V_SEND))
		return V_DROP;
	if (UNLIKELY(error))
		return xlat46_error(gw, v, p, &x);
	w = xlat46_check_l4(gw, &v->core, p);
	if (UNLIKELY(w != V_SEND))
		return w;
	if (!v->n_shares && !x.fragment && p->proto != PROTO_ICMP)
		xlat_cache_note46(gw, v, p, ip4_raw(h->from), ip4_raw(h->to), &x);
	clock = xlat_timing_start(gw, timed);
	w = xlat46_change_l4(gw, &v->core, p, &x);
	xlat_timing_end(gw, timed, clock, step_of(p));
	if (UNLIKELY(w != V_SEND))
		return w;
	clock = xlat_timing_start(gw, timed);
	w = xlat46_send(gw, &v->core, p, &x);
	xlat_timing_end(gw, timed, clock, TIMING_HEADER);
	return w;
}

static __attribute__((noinline)) enum verdict translate_timed(struct gw *gw, struct translator *v,
                                                              struct pkt *p,
                                                              const struct embed_map *m,
                                                              uint32_t port)
{
	return translate(gw, v, p, m, port, true);
}

enum verdict xlat46(struct gw *gw, struct translator *v, struct pkt *p, const struct embed_map *m,
                    uint32_t port)
{
	if (UNLIKELY(gw->timing.on))
		return translate_timed(gw, v, p, m, port);
	return translate(gw, v, p, m, port, false);
}

/* Finds the IPv6 source of a hairpinned packet: by the form, not by mapping, so that the
 * answer comes through the translator too (RFC 7757 section 4.2.1). The rule does not apply
 * to an error whose source is not the quoted packet's destination. */
static enum xlat_way hairpin_source(const struct translator *v, const struct pkt *p, bool error,
                                    uint16_t set, ip6 *out)
{
	uint32_t from = ip4_raw(ip4_header(p)->from);
	bool elsewhere = false;
	if (error && p->l4_len >= sizeof(struct icmp_hdr) + IP4_MIN) {
		const uint8_t *quote = p->data + p->l4 + sizeof(struct icmp_hdr);
		elsewhere = ip4_raw(((const struct ip4_hdr *)quote)->to) != from;
	}
	enum xlat_way way = elsewhere ? xlat_to6(v, from, XLAT_NO_PORT, out)
	                              : xlat_form_to6(v, from, XLAT_NO_PORT, out);
	if (way == XLAT_BY_FORM && set != 0)
		embed_put_set(&v->form, set, out);
	return way;
}

/* Sets the fields of a packet that xlat64 made as ip4_parse would set them. */
static void set_ip4_fields(struct pkt *p, const struct xlat64 *first)
{
	p->l4 = IP4_MIN;
	p->l4_len = (uint16_t)first->l4_len;
	p->proto = first->proto;
	p->flags &= (uint16_t) ~(PKT_FRAGMENT | PKT_LATER | PKT_OPTIONS);
	if (first->frag & (IP4_MF | IP4_OFFSET))
		p->flags |= first->frag & IP4_OFFSET ? PKT_FRAGMENT | PKT_LATER : PKT_FRAGMENT;
}

/* The first half counted the hop and checked the size; fragments keep the size that their
 * sender chose. */
enum verdict xlat46_hairpin(struct gw *gw, struct translator *v, struct pkt *p,
                            const struct xlat64 *first)
{
	const struct ip4_hdr *h = ip4_header(p);
	uint32_t frag = be16_get(h->frag);
	set_ip4_fields(p, first);
	bool error = is_error(p);
	struct xlat46 x = {
	        .to = first->back,
	        .id = be16_get(h->id),
	        .offset = (uint16_t)((frag & IP4_OFFSET) << 3 | (frag & IP4_MF ? IP6_MF : 0)),
	        .whole = p->l4_len,
	        .tc = h->tos,
	        .hops = h->ttl,
	        .next = p->proto == PROTO_ICMP ? PROTO_ICMP6 : p->proto,
	        .fragment = frag & (IP4_MF | IP4_OFFSET),
	        .hairpinned = true,
	};
	if (hairpin_source(v, p, error, first->set, &x.from) == XLAT_UNMAPPED)
		return gw_drop(gw, p, DROP_NO_MAP);
	if (error)
		return xlat46_error(gw, v, p, &x);
	x.delta = xlat_delta46(&x.from, &x.to, ip4_raw(h->from), ip4_raw(h->to));
	enum verdict w = xlat46_change_l4(gw, &v->core, p, &x);
	return w == V_SEND ? xlat46_replace_header(gw, &v->core, p, &x) : w;
}
