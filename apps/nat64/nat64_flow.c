/* The fast path (net/flow.h) of the UDP and TCP packets of known sessions, which are the entries of
 * the flow cache. An entry dies with its session. */
#include "apps/nat64/nat64.h"

#include "apps/translate/xlat_flow.h"

/* The enum nat_proto of a packet whose transport header the fast path can translate: not a UDP
 * packet without checksum, nor a segment whose MSS may have to be clamped. NAT_OTHER for others. */
ALWAYS_INLINE uint8_t proto_of(const struct nat64 *n, const struct flow_packet *f)
{
	if (*f->proto == PROTO_TCP)
		return LIKELY(nat_l4_complete(f->l4, f->n, NAT_TCP, false)) &&
		                       LIKELY(!n->core.mss || !flow_has_mss(f))
		               ? NAT_TCP
		               : NAT_OTHER;
	return *f->proto == PROTO_UDP && LIKELY(nat_l4_complete(f->l4, f->n, NAT_UDP, false)) &&
	                       LIKELY(be16_raw(((const struct udp_hdr *)f->l4)->sum) != 0)
	               ? NAT_UDP
	               : NAT_OTHER;
}

/* Looks up the route to an inside host, so that its packets need not. False unless it leads to one;
 * then the slow path says what becomes of the packet. */
static __attribute__((noinline)) bool learn_inside(struct gw *gw, struct nat_inside *e)
{
	struct pkt p = {.flags = 0};
	if (!ip6_route(gw, &p, &e->addr) || !interface_is_inside(p.out))
		return false;
	e->iface = p.out;
	e->hop = neigh_no_hint(&gw->neigh, p.hop);
	e->changes = gw->changes;
	return true;
}

/* Looks up the route to a remote host, as an index that a session keeps. False when it is no host
 * outside: an external address is hairpinned. */
static __attribute__((noinline)) bool learn_outside(const struct gw *gw, struct nat_session *s)
{
	uint32_t rem_ip = swap32(s->rem_ip);
	const struct route4 *out = route4_find(&gw->routes4, rem_ip);
	if (nat_external_find(&nat64_of(gw)->nat.table, s->rem_ip) != NAT_NONE || !out ||
	    out->iface != IF_WAN || out->own == rem_ip)
		return false;
	s->route_out = (uint8_t)(out - gw->routes4.entry);
	return true;
}

/* Changes a partial checksum by the addresses: the sum of those that were there, and those of the
 * new ones. */
ALWAYS_INLINE void change_addresses(const struct flow_packet *f, uint16_t was, uint16_t from,
                                    uint16_t to)
{
	flow_fix_partial(f, csum_plus(csum_plus(from, to), (uint16_t)~was));
}

/* --- from inside ------------------------------------------------------------------------------ */

/* Searches the number of an inside address, and notes where the next packet finds it. */
static __attribute__((noinline)) const struct nat_inside *search(struct nat64 *n, const ip6 *a,
                                                                 uint32_t at)
{
	uint32_t number = nat_inside_find(&n->inside, a);
	if (number == NAT_INSIDE_NONE)
		return NULL;
	n->recent[at] = number;
	return nat_inside_of(&n->inside, number);
}

/* The entry of an inside address that sent lately, found without the table's strong hash. */
ALWAYS_INLINE struct nat_inside *find_inside(struct nat64 *n, const ip6 *a)
{
	uint32_t at = (flow_mix(ip6_word(a, 3) + ip6_word(a, 2)) * n->recent_key.mul[0]) >>
	              (32 - NAT64_RECENT_BITS);
	struct nat_inside *e = nat_inside_of(&n->inside, n->recent[at]);
	if (LIKELY(e->n_users > 0 && e->len == 128 && ip6_eq(&e->addr, a)))
		return e;
	return (struct nat_inside *)(uintptr_t)search(n, a, at);
}

/* A packet to an external address is hairpinned, the checksum of one whose destination has a suffix
 * changes otherwise (RFC 6052 section 2.2), one through another prefix than the last one
 * changes the session, and one that comes from another interface than its source is on is refused:
 * these take the slow path. */
ALWAYS_INLINE void *find_out(struct gw *gw, struct flow_packet *f, struct flow_exit *to)
{
	struct nat64 *n = nat64_of(gw);
	const struct ip6_hdr *h = f->h6;
	uint8_t proto = proto_of(n, f);
	uint32_t prefix = n->n_prefixes == 1 ? 0 : nat64_prefix_of(n, &h->to);
	if (UNLIKELY(proto == NAT_OTHER || prefix == NAT64_NO_PREFIX ||
	             !embed_has(&n->prefix[prefix].form, &h->to) ||
	             !embed_is_plain(&n->prefix[prefix].form, &h->to)))
		return NULL;
	struct nat_inside *e = find_inside(n, &h->from);
	if (UNLIKELY(!e))
		return NULL;
	uint32_t rem_ip = embed_to4(&n->prefix[prefix].form, &h->to);
	struct nat_session *s = nat_session_find(
	        &n->nat.table, proto, nat_inside_number(&n->inside, e), rem_ip, load32(f->l4));
	if (UNLIKELY(!s || s->flags & NAT_UNINVITED || s->route_in != prefix) ||
	    (UNLIKELY(e->changes != gw->changes) && !learn_inside(gw, e)) ||
	    UNLIKELY(e->iface != f->p->iface) ||
	    (UNLIKELY(s->route_out == NAT_NO_ROUTE) && !learn_outside(gw, s)) ||
	    (f->partial && UNLIKELY(f->n + IP4_MIN > 0xffff))) /* no IPv4 packet has so many */
		return NULL;
	const struct route4 *r = &gw->routes4.entry[s->route_out];
	*to = (struct flow_exit){.iface = IF_WAN, .hop = r->via ? r->via : rem_ip};
	return s;
}

ALWAYS_INLINE uint8_t *rewrite_out(struct gw *gw, void *entry, const struct flow_packet *f)
{
	struct nat64 *n = nat64_of(gw);
	struct nat_session *s = entry;
	if (s->proto == NAT_TCP)
		nat64_follow(gw, &n->nat, s, (const struct tcp_hdr *)f->l4, f->n, NAT_INSIDE);
	else
		nat_refresh(gw, &n->nat, s);
	store16(f->l4, s->ext_port);
	if (f->partial)
		change_addresses(f, csum_sum(&f->h6->from, 2 * sizeof(ip6)),
		                 csum_delta32(0, s->ext_ip), csum_delta32(0, s->rem_ip));
	else
		nat_fix_l4(f->l4, s->proto, s->l4_delta);
	n->core.translated[XLAT_64] += f->partial ? f->p->segments : 1u;
	return xlat_flow4(gw, &n->core, f, s->ext_ip, s->rem_ip, s->ip_delta);
}

/* --- from outside ----------------------------------------------------------------------------- */

/* True for a packet that is not split: it is short enough, or has DF. */
ALWAYS_INLINE bool stays_whole(const struct nat64 *n, const struct flow_packet *f)
{
	return flow_largest(f) + IP6_MIN <= n->core.limit46 ||
	       be16_raw(f->h4->frag) & swap16(IP4_DF);
}

/* With `beside` some ports are those of inside hosts with IPv4. */
ALWAYS_INLINE void *find_in_any(struct gw *gw, struct flow_packet *f, struct flow_exit *to,
                                bool beside)
{
	struct nat64 *n = nat64_of(gw);
	const struct ip4_hdr *h = f->h4;
	uint32_t external = nat_external_find(&n->nat.table, ip4_raw(h->to));
	uint8_t proto = proto_of(n, f);
	if (UNLIKELY(external == NAT_NONE || proto == NAT_OTHER ||
	             nat_is_external(&n->nat, h->from) || !stays_whole(n, f)))
		return NULL;
	struct nat_session *s = nat_session_at_port(
	        &n->nat.table, external, proto, load16(f->l4 + 2), ip4_raw(h->from), load16(f->l4));
	if (UNLIKELY(!s) || (beside && !nat_inside_is6(s->in_ip)))
		return NULL;
	struct nat_inside *e = nat_inside_of(&n->inside, s->in_ip);
	if (UNLIKELY(e->changes != gw->changes) && !learn_inside(gw, e))
		return NULL;
	*to = (struct flow_exit){.iface = e->iface, .to = &e->addr, .hint = &e->hop};
	return s;
}

ALWAYS_INLINE void *find_in(struct gw *gw, struct flow_packet *f, struct flow_exit *to)
{
	return find_in_any(gw, f, to, false);
}

ALWAYS_INLINE void *find_in_beside(struct gw *gw, struct flow_packet *f, struct flow_exit *to)
{
	return find_in_any(gw, f, to, true);
}

/* The IPv4 header is read before the longer IPv6 header is written over it. */
ALWAYS_INLINE uint8_t *rewrite_in(struct gw *gw, void *entry, const struct flow_packet *f)
{
	struct nat64 *n = nat64_of(gw);
	struct nat_session *s = entry;
	s->flags |= NAT_ANSWERED;
	if (s->proto == NAT_TCP)
		nat64_follow(gw, &n->nat, s, (const struct tcp_hdr *)f->l4, f->n, NAT_OUTSIDE);
	else
		nat64_refresh(gw, &n->nat, s, NAT_OUTSIDE);
	store16(f->l4 + 2, (uint16_t)s->ports);
	if (!f->partial)
		nat_fix_l4(f->l4, s->proto, (uint16_t)~s->l4_delta);
	n->core.translated[XLAT_46] += f->partial ? f->p->segments : 1u;
	uint16_t was = f->partial ? csum_sum(&f->h4->from, 2 * sizeof(ip4)) : 0;
	uint32_t tc = xlat_tos(&n->core, f->h4->tos);
	uint32_t rest =
	        swap16((uint16_t)f->n) | (uint32_t)*f->proto << 16 | (uint32_t)(*f->hops - 1) << 24;
	struct ip6_hdr *six = (struct ip6_hdr *)(f->l4 - IP6_MIN);
	six->first = be32_of(0x60000000u | tc << 20);
	store32(&six->len, rest);
	embed_to6(&n->prefix[s->route_in].form, s->rem_ip, &six->from);
	six->to = nat_inside_of(&n->inside, s->in_ip)->addr;
	if (f->partial) {
		change_addresses(f, was, csum_sum(&six->from, sizeof six->from),
		                 csum_sum(&six->to, sizeof six->to));
		if (f->p->segment)
			f->p->flags |= PKT_TSO6;
	}
	return (uint8_t *)six;
}
_Static_assert(offsetof(struct ip6_hdr, next) == 6 && offsetof(struct ip6_hdr, hops) == 7,
               "length, next header and hop limit are one word");

static __attribute__((noinline)) uint32_t pass_out(struct gw *gw, const struct interface *in,
                                                   struct pkt **burst, uint32_t n)
{
	return flow_forward(gw, in, burst, n, FAMILY_IP6, IP4_MIN, find_out, rewrite_out);
}

static __attribute__((noinline)) uint32_t pass_in(struct gw *gw, const struct interface *in,
                                                  struct pkt **burst, uint32_t n)
{
	return flow_forward(gw, in, burst, n, FAMILY_IP4, IP6_MIN, find_in, rewrite_in);
}

/* The same beside a NAT44: what is not for the one is shown to the other. */
static uint32_t pass_out_beside(struct gw *gw, const struct interface *in, struct pkt **burst,
                                uint32_t n)
{
	uint32_t passed = pass_out(gw, in, burst, n);
	return passed ? passed : nat_flow_beside(gw, in, burst, n, NAT_INSIDE);
}

static __attribute__((noinline)) uint32_t pass_in_six(struct gw *gw, const struct interface *in,
                                                      struct pkt **burst, uint32_t n)
{
	return flow_forward(gw, in, burst, n, FAMILY_IP4, IP6_MIN, find_in_beside, rewrite_in);
}

static uint32_t pass_in_beside(struct gw *gw, const struct interface *in, struct pkt **burst,
                               uint32_t n)
{
	uint32_t passed = pass_in_six(gw, in, burst, n);
	return passed ? passed : nat_flow_beside(gw, in, burst, n, NAT_OUTSIDE);
}

static __attribute__((noinline)) void frames_beside(struct gw *gw, uint32_t iface,
                                                    struct pkt **burst, uint32_t n)
{
	if (interface_is_inside(iface))
		flow_frames(gw, iface, burst, n, pass_out_beside);
	else
		flow_frames(gw, iface, burst, n, pass_in_beside);
}

void nat64_flow_frames(struct gw *gw, uint32_t iface, struct pkt **burst, uint32_t n)
{
	if (UNLIKELY(nat64_of(gw)->had_nat44))
		frames_beside(gw, iface, burst, n);
	else if (interface_is_inside(iface))
		flow_frames(gw, iface, burst, n, pass_out);
	else
		flow_frames(gw, iface, burst, n, pass_in);
}

/* Partial packets beside a NAT44, as above. */
static __attribute__((noinline)) bool partial_beside(struct gw *gw, uint32_t iface, struct pkt *p)
{
	if (interface_is_inside(iface))
		return nat_flow_partial_beside(gw, &gw->iface[iface], p, NAT_INSIDE);
	return flow_partial(gw, &gw->iface[iface], p, FAMILY_IP4, IP6_MIN, find_in_beside,
	                    rewrite_in) ||
	       nat_flow_partial_beside(gw, &gw->iface[iface], p, NAT_OUTSIDE);
}

static __attribute__((noinline)) bool partial_out(struct gw *gw, uint32_t iface, struct pkt *p)
{
	return flow_partial(gw, &gw->iface[iface], p, FAMILY_IP6, IP4_MIN, find_out, rewrite_out) ||
	       (nat64_of(gw)->had_nat44 && partial_beside(gw, iface, p));
}

bool nat64_flow_partial(struct gw *gw, uint32_t iface, struct pkt *p)
{
	if (interface_is_inside(iface))
		return xlat_partial64(gw, iface, p, partial_out);
	if (nat64_of(gw)->had_nat44)
		return partial_beside(gw, iface, p);
	return flow_partial(gw, &gw->iface[iface], p, FAMILY_IP4, IP6_MIN, find_in, rewrite_in);
}
