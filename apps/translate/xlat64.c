/* Translates IPv6 packets into IPv4 packets, in place (RFC 7915 section 5). ICMP errors are
 * in xlat64_error.c.
 *
 * As in the other direction, all checks that can refuse the packet come before its first
 * byte changes. */
#include "apps/translate/xlat_cache.h"

#include "kernel/lib/fmt.h"
#include "kernel/lib/log.h"
#include "net/gw_address.h"
#include "net/ip6/icmp6.h"
#include "net/lib/mss.h"

/* --- extension headers ---------------------------------------------------------------- */

/* True for extension headers that must not stand behind a fragment header (RFC 7915 section
 * 5.1.1): all but ESP. */
static bool is_extension(uint8_t proto)
{
	switch (proto) {
	case PROTO_HOP_BY_HOP:
	case PROTO_ROUTING:
	case PROTO_FRAGMENT:
	case PROTO_AH:
	case PROTO_DESTINATION:
	case PROTO_MOBILITY:
	case PROTO_HIP:
	case PROTO_SHIM6:
		return true;
	default:
		return false;
	}
}

static bool is_skipped(uint8_t proto)
{
	return proto == PROTO_HOP_BY_HOP || proto == PROTO_ROUTING || proto == PROTO_DESTINATION;
}

enum xlat_chain_end xlat64_chain(const uint8_t *packet, uint32_t len, struct xlat64_chain *c)
{
	*c = (struct xlat64_chain){.l4 = IP6_MIN};
	c->proto = ((const struct ip6_hdr *)packet)->next;
	while (is_skipped(c->proto)) {
		const struct ip6_ext *e = (const struct ip6_ext *)(packet + c->l4);
		if (len - c->l4 < sizeof *e || (e->len + 1u) * 8 > len - c->l4)
			return CHAIN_SHORT;
		if (c->proto == PROTO_ROUTING && e->left != 0) {
			c->at = c->l4 + (uint32_t)offsetof(struct ip6_ext, left);
			return CHAIN_ROUTED;
		}
		c->l4 += (e->len + 1u) * 8;
		c->proto = e->next;
	}
	if (c->proto != PROTO_FRAGMENT)
		return CHAIN_GOOD;
	const struct ip6_frag *f = (const struct ip6_frag *)(packet + c->l4);
	if (len - c->l4 < sizeof *f)
		return CHAIN_SHORT;
	c->fragment = true;
	c->offset = be16_get(f->offset);
	c->id = be32_get(f->id);
	c->proto = f->next;
	c->l4 += (uint32_t)sizeof *f;
	return is_extension(c->proto) ? CHAIN_HIDDEN : CHAIN_GOOD;
}

enum verdict xlat64_read_chain(struct gw *gw, struct xlat_core *core, struct pkt *p,
                               struct xlat64 *x)
{
	const struct ip6_hdr *h = ip6_header(p);
	struct xlat64_chain c;
	char from[FMT_IP6], to[FMT_IP6];
	switch (xlat64_chain(p->data, p->len, &c)) {
	case CHAIN_SHORT:
		return xlat_refuse6(gw, core, p, DROP_EXTENSION);
	case CHAIN_ROUTED:
		if (core->errors)
			icmp6_error(gw, p, ICMP6_PARAMETER, ICMP6_FIELD, c.at);
		return gw_drop(gw, p, DROP_SOURCE_ROUTE);
	case CHAIN_HIDDEN:
		log_limited(&core->extension_us, 10000,
		            "%s: header %u behind a fragment header dropped: %s to %s", core->name,
		            c.proto, fmt_ip6(from, &h->from), fmt_ip6(to, &h->to));
		return xlat_refuse6(gw, core, p, DROP_EXTENSION);
	case CHAIN_GOOD:
		break;
	}
	x->l4 = c.l4;
	x->l4_len = x->whole = p->len - c.l4;
	x->proto = c.proto;
	x->fragment = c.fragment;
	x->id = (uint16_t)c.id;
	x->frag = (uint16_t)(c.offset >> 3 | (c.offset & IP6_MF ? IP4_MF : 0));
	/* The largest IPv4 packet has less payload than the largest IPv6 packet. */
	if ((c.offset & IP6_OFFSET) + IP4_MIN + x->l4_len > 0xffff)
		return xlat_refuse6(gw, core, p, DROP_IP_LENGTH);
	return V_SEND;
}

/* --- addresses ---------------------------------------------------------------------------- */

/* Refuses a destination that stands for no IPv4 host. */
static enum verdict no_destination(struct gw *gw, struct translator *v, struct pkt *p, uint32_t to)
{
	const struct xlat_core *c = &v->core;
	ip4 a = ip4_from_raw(to);
	if (gw_is_own(gw, a))
		return xlat_refuse6(gw, c, p, DROP_OWN_ADDRESS);
	if (a.b[0] >> 4 == 14 || to == 0xffffffff || xlat_is_reserved(v, to))
		return xlat_refuse6(gw, c, p, DROP_MULTICAST);
	return xlat_refuse6(gw, c, p, DROP_MARTIAN_DESTINATION);
}

static enum verdict no_route(struct gw *gw, struct pkt *p)
{
	icmp6_error(gw, p, ICMP6_UNREACHABLE, ICMP6_NO_ROUTE, 0);
	return gw_drop(gw, p, DROP_NO_ROUTE);
}

/* Finds the IPv4 destination, and whether the packet is for the WAN or for the IPv6 side. */
static inline enum verdict map_to(struct gw *gw, struct translator *v, struct pkt *p, bool error,
                                  struct xlat64 *x)
{
	enum xlat_way way = xlat_to4(v, &ip6_header(p)->to, &x->to);
	if (UNLIKELY(way == XLAT_UNMAPPED))
		return xlat_refuse6(gw, &v->core, p, DROP_NO_MAP);
	if (UNLIKELY(xlat_is_no_host(ip4_from_raw(x->to)) || xlat_is_reserved(v, x->to)))
		return no_destination(gw, v, p, x->to);
	if (way == XLAT_BY_MAP)
		return V_SEND;
	const struct embed_map *m = embed_find4(&v->maps, x->to);
	if (UNLIKELY(m != NULL)) {
		if (!error) { /* RFC 7757 section 4.2.2, conditions A */
			x->hairpin = true;
			embed_map_to6(m, x->to, &x->back);
		}
		return V_SEND;
	}
	/* An IPv6 host without a native route. */
	return UNLIKELY(xlat_is_host6(gw, v, x->to)) ? no_route(gw, p) : V_SEND;
}

/* Checks an IPv4 source. It must be that of an IPv6 host. A host with a shared address may
 * use the ports of its set only (RFC 7599 section 8.3), and may send errors only about
 * packets to these ports. Sets x->set to the number of the port set. */
static enum drop bad_source(const struct gw *gw, const struct translator *v, const struct pkt *p,
                            struct xlat64 *x, const struct embed_map *m, bool error)
{
	ip4 a = ip4_from_raw(x->from);
	if (xlat_is_no_host(a) || xlat_is_reserved(v, x->from))
		return DROP_MARTIAN_SOURCE;
	if (m) { /* a mapping may name hosts of both sides */
		const struct route6 *r = route6_for(&gw->routes6, &ip6_header(p)->from);
		return r && interface_is_inside(r->iface) ? DROP_NONE : DROP_MARTIAN_SOURCE;
	}
	/* An address with a mapping belongs to the host that the mapping names. */
	if (!xlat_is_host6(gw, v, x->from) || embed_find4(&v->maps, x->from))
		return DROP_NO_MAP;
	const struct embed_share *s = xlat_share_of(v, x->from);
	if (!s)
		return DROP_NONE;
	uint32_t set = embed_set_in(&v->form, &ip6_header(p)->from);
	if (set > s->sets)
		return DROP_NO_MAP;
	x->set = (uint16_t)set;
	if (x->frag & IP4_OFFSET)
		return DROP_NONE;
	const uint8_t *l4 = p->data + x->l4;
	uint32_t port = error ? xlat64_quoted_port(l4, x->l4_len)
	                      : xlat64_port(l4, x->l4_len, x->proto, true);
	if (port != XLAT_NO_PORT && (embed_set_of(s, port) != set || !embed_has_owner(s, port)))
		return DROP_PORT_SET;
	return DROP_NONE;
}

/* Finds the IPv4 source with all checks. An error whose source has no IPv4 address gets one
 * of ours (RFC 6791). */
static enum verdict map_checked_source(struct gw *gw, struct translator *v, struct pkt *p,
                                       bool error, struct xlat64 *x)
{
	const struct ip6_hdr *h = ip6_header(p);
	const struct embed_map *m = embed_find6(&v->maps, &h->from);
	enum drop wrong = DROP_NO_MAP;
	if (xlat_to4(v, &h->from, &x->from) != XLAT_UNMAPPED)
		wrong = bad_source(gw, v, p, x, m, error);
	if (LIKELY(wrong == DROP_NONE))
		return V_SEND;
	if (error && wrong != DROP_PORT_SET) {
		x->from = ip4_raw(xlat_error_source4(gw, v, ip4_from_raw(x->to)));
		x->foreign = true;
		return V_SEND;
	}
	if (wrong == DROP_MARTIAN_SOURCE)
		return gw_drop(gw, p, wrong);
	return xlat_refuse6_as(gw, &v->core, p, wrong,
	                       wrong == DROP_PORT_SET ? ICMP6_POLICY : ICMP6_ADMIN);
}

static inline enum verdict map_from(struct gw *gw, struct translator *v, struct pkt *p, bool error,
                                    struct xlat64 *x)
{
	const ip6 *from = &ip6_header(p)->from;
	if (UNLIKELY(error) && p->iface == PKT_IF_SELF) { /* see xlat_no_neighbour */
		x->from = ip4_raw(xlat_error_source4(gw, v, ip4_from_raw(x->to)));
		return V_SEND;
	}
	if (UNLIKELY(gw_is_own6(gw, p->iface, from)) || ip6_from_elsewhere(gw, p))
		return gw_drop(gw, p, DROP_MARTIAN_SOURCE);
	if (LIKELY(v->simple && v->maps.n == 0 && embed_has(&v->form, from))) {
		x->from = embed_to4(&v->form, from);
		if (LIKELY(xlat_is_host6(gw, v, x->from) && !xlat_is_reserved(v, x->from)))
			return V_SEND;
	}
	return map_checked_source(gw, v, p, error, x);
}

/* --- transport headers ---------------------------------------------------------------------- */

be16 xlat64_icmp4_sum(const uint8_t *icmp, uint32_t n, uint32_t delta)
{
	const struct icmp_hdr *h = (const struct icmp_hdr *)icmp;
	be16 sum = csum_apply(h->sum, delta);
	if (LIKELY(be16_raw(sum) != 0))
		return sum;
	/* One's complement has two zeros, and the update cannot tell which one is right
	 * (RFC 1624 section 3). */
	bool zeros = h->type == 0 && h->code == 0;
	for (uint32_t i = 4; zeros && i < n; i++)
		zeros = icmp[i] == 0;
	return zeros ? be16_from_raw(0xffff) : sum;
}

uint32_t xlat64_port(const uint8_t *l4, uint32_t n, uint8_t proto, bool source)
{
	if (proto != PROTO_ICMP6)
		return proto == PROTO_ICMP ? XLAT_NO_PORT : xlat46_port(l4, n, proto, source);
	if (n < 6 || (l4[0] != ICMP6_ECHO && l4[0] != ICMP6_ECHO_REPLY))
		return XLAT_NO_PORT;
	return swap16(load16(l4 + 4));
}

enum verdict xlat64_check_l4(struct gw *gw, const struct xlat_core *c, struct pkt *p,
                             const struct xlat64 *x)
{
	const uint8_t *l4 = p->data + x->l4;
	bool later = x->frag & IP4_OFFSET;
	switch (x->proto) {
	case PROTO_TCP:
		return x->l4_len < sizeof(struct tcp_hdr) && !later
		               ? xlat_refuse6(gw, c, p, DROP_L4_HEADER)
		               : V_SEND;
	case PROTO_UDP:
		if (later)
			return V_SEND;
		if (x->l4_len < sizeof(struct udp_hdr))
			return xlat_refuse6(gw, c, p, DROP_L4_HEADER);
		return be16_raw(((const struct udp_hdr *)l4)->sum) == 0
		               ? xlat_refuse6(gw, c, p, DROP_NO_CHECKSUM)
		               : V_SEND;
	case PROTO_ICMP6: /* fragments: RFC 7915 section 1.2 */
		if (x->frag & (IP4_OFFSET | IP4_MF))
			return gw_drop(gw, p, DROP_FRAGMENT);
		if (x->l4_len < sizeof(struct icmp_hdr))
			return gw_drop(gw, p, DROP_L4_HEADER);
		return l4[0] == ICMP6_ECHO || l4[0] == ICMP6_ECHO_REPLY
		               ? V_SEND
		               : gw_drop(gw, p, DROP_ICMP_TYPE);
	case PROTO_IGMP:
		return gw_drop(gw, p, DROP_PROTOCOL);
	case PROTO_ICMP: /* it would look like a translated ICMPv6 message */
		return xlat_refuse6(gw, c, p, DROP_PROTOCOL);
	default:
		return V_SEND;
	}
}

void xlat64_change_l4(const struct xlat_core *c, struct pkt *p, const struct xlat64 *x)
{
	const struct ip6_hdr *h = ip6_header(p);
	uint8_t *l4 = p->data + x->l4;
	if (UNLIKELY(x->frag & IP4_OFFSET))
		return;
	if (LIKELY(x->proto == PROTO_TCP && x->l4_len >= sizeof(struct tcp_hdr))) {
		struct tcp_hdr *tcp = (struct tcp_hdr *)l4;
		tcp->sum = csum_apply(tcp->sum, x->delta);
		if (UNLIKELY(c->mss))
			mss_clamp(p, c->mss);
	} else if (x->proto == PROTO_UDP && x->l4_len >= sizeof(struct udp_hdr)) {
		struct udp_hdr *udp = (struct udp_hdr *)l4;
		udp->sum = csum_apply_udp(udp->sum, x->delta);
	} else if (x->proto == PROTO_ICMP6 && x->l4_len >= sizeof(struct icmp_hdr)) {
		struct icmp_hdr *icmp = (struct icmp_hdr *)l4;
		uint8_t type = icmp->type == ICMP6_ECHO ? ICMP_ECHO : ICMP_ECHO_REPLY;
		uint32_t delta = (uint16_t)~xlat_pseudo(&h->from, &h->to, x->whole);
		delta += csum_delta16(icmp->type, type);
		icmp->type = type;
		icmp->sum = xlat64_icmp4_sum(l4, x->l4_len, delta);
	}
}

/* --- slow path --------------------------------------------------------------------- */

enum verdict xlat64_replace_header(struct gw *gw, struct xlat_core *c, struct pkt *p,
                                   struct xlat64 *x)
{
	if (UNLIKELY(!pkt_pull(p, x->l4) || !pkt_push(p, IP4_MIN)))
		return gw_drop(gw, p, DROP_NO_PACKET);
	x->proto = x->proto == PROTO_ICMP6 ? PROTO_ICMP : x->proto;
	xlat_put4(p->data, x, x->l4_len);
	c->translated[XLAT_64]++;
	return V_SEND;
}

/* Hairpinning: translates the packet back to the IPv6 side (RFC 7757 section 4.2.2). */
static enum verdict hairpin(struct gw *gw, struct translator *v, struct pkt *p, struct xlat64 *x)
{
	enum verdict w = xlat64_replace_header(gw, &v->core, p, x);
	if (w != V_SEND)
		return w;
	gw->counts.hairpinned++;
	return xlat46_hairpin(gw, v, p, x);
}

static enum verdict cannot_forward(struct gw *gw, struct pkt *p, uint32_t mtu)
{
	if (ip6_header(p)->hops <= 1) {
		icmp6_error(gw, p, ICMP6_TIME_EXCEEDED, 0, 0);
		return gw_drop(gw, p, DROP_TTL);
	}
	icmp6_error(gw, p, ICMP6_TOO_BIG, 0, mtu);
	return gw_drop(gw, p, DROP_TOO_BIG);
}

enum verdict xlat64_may_forward(struct gw *gw, struct pkt *p, const struct xlat64 *x, bool error)
{
	if (UNLIKELY(p->iface == PKT_IF_SELF))
		return V_SEND;
	uint32_t mtu = gw->iface[IF_WAN].mtu, len = IP4_MIN + x->l4_len;
	if (UNLIKELY(ip6_header(p)->hops <= 1 || (len > mtu && !error && !x->hairpin)))
		return cannot_forward(gw, p, max_u32(mtu + IP6_MIN - IP4_MIN, IP6_MTU_MIN));
	return V_SEND;
}

void xlat64_set_header(struct gw *gw, const struct xlat_core *c, const struct pkt *p,
                       struct xlat64 *x)
{
	const struct ip6_hdr *h = ip6_header(p);
	x->tos = (uint8_t)xlat_tos(c, be32_get(h->first) >> 20);
	x->ttl = (uint8_t)(h->hops - (p->iface != PKT_IF_SELF));
	if (LIKELY(!x->fragment)) {
		x->id = be16_get(ip4_id(&gw->ids, ip4_from_raw(x->to)));
		x->frag = xlat_df(IP4_MIN + x->l4_len);
	}
}

/* Routes the packet by its new destination, and checks hop limit and size. */
static inline enum verdict route(struct gw *gw, struct pkt *p, const struct xlat64 *x, bool error)
{
	if (UNLIKELY(x->hairpin)) {
		if (!ip6_route(gw, p, &x->back) || !interface_is_inside(p->out))
			return no_route(gw, p);
	} else if (UNLIKELY(!ip4_route(gw, p, ip4_from_raw(x->to)) || p->out != IF_WAN)) {
		return no_route(gw, p);
	}
	return xlat64_may_forward(gw, p, x, error);
}

static inline bool is_error(const struct pkt *p, const struct xlat64 *x)
{
	return x->proto == PROTO_ICMP6 && !(x->frag & IP4_OFFSET) && x->l4_len > 0 &&
	       xlat_is_error6(p->data[x->l4]);
}

static inline enum timing_step step_of(uint8_t proto)
{
	return proto == PROTO_TCP ? TIMING_TCP : proto == PROTO_UDP ? TIMING_UDP : TIMING_ICMP;
}

/* One body, compiled with and without a clock in it. */
ALWAYS_INLINE enum verdict translate(struct gw *gw, struct translator *v, struct pkt *p, bool timed)
{
	const struct ip6_hdr *h = ip6_header(p);
	struct xlat64 x = {
	        .l4 = IP6_MIN, .l4_len = p->l4_len, .whole = p->l4_len, .proto = p->proto};
	enum verdict w;
	if (UNLIKELY(p->flags & PKT_OPTIONS || is_skipped(p->proto) ||
	             p->proto == PROTO_FRAGMENT)) {
		w = xlat64_read_chain(gw, &v->core, p, &x);
		if (w != V_SEND)
			return w;
	}
	bool error = is_error(p, &x);
	uint32_t clock = xlat_timing_start(gw, timed);
	w = map_to(gw, v, p, error, &x);
	if (LIKELY(w == V_SEND))
		w = map_from(gw, v, p, error, &x);
	if (UNLIKELY(w != V_SEND))
		return w;
	x.delta = (uint16_t)~xlat_delta46(&h->from, &h->to, x.from, x.to);
	xlat_timing_end(gw, timed, clock, TIMING_ADDRESS);

	if (UNLIKELY(error)) {
		w = xlat64_quote(gw, v, p, &x);
		if (w != V_SEND)
			return w;
	}
	w = route(gw, p, &x, error);
	if (LIKELY(w == V_SEND) && !error)
		w = xlat64_check_l4(gw, &v->core, p, &x);
	if (UNLIKELY(w != V_SEND))
		return w;
	xlat64_set_header(gw, &v->core, p, &x);
	if (UNLIKELY(error))
		return xlat64_error(gw, v, p, &x);
	if (!v->n_shares && !x.hairpin && interface_is_inside(p->iface) && x.proto != PROTO_ICMP6)
		xlat_cache_note64(gw, v, p, &h->from, &h->to, &x);
	clock = xlat_timing_start(gw, timed);
	xlat64_change_l4(&v->core, p, &x);
	xlat_timing_end(gw, timed, clock, step_of(x.proto));
	if (UNLIKELY(x.hairpin))
		return hairpin(gw, v, p, &x);
	clock = xlat_timing_start(gw, timed);
	w = xlat64_replace_header(gw, &v->core, p, &x);
	xlat_timing_end(gw, timed, clock, TIMING_HEADER);
	return w;
}

static __attribute__((noinline)) enum verdict translate_timed(struct gw *gw, struct translator *v,
                                                              struct pkt *p)
{
	return translate(gw, v, p, true);
}

enum verdict xlat64(struct gw *gw, struct translator *v, struct pkt *p)
{
	if (UNLIKELY(gw->timing.on))
		return translate_timed(gw, v, p);
	return translate(gw, v, p, false);
}
