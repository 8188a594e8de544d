/* The fast path of the NAT (net/flow.h): its sessions are the entries of the flow cache. An entry
 * dies with its session. See nat.h. */
#include "apps/nat/nat.h"
#include "net/flow.h"

/* Reads the first word of a session, so that it is in the cache when a packet needs it. */
static inline void fetch_session(const struct nat_table *t, uint32_t index)
{
	if (LIKELY(index < NAT_BARE))
		(void)*(const volatile uint32_t *)&t->session[index].in_ip;
}

/* True for a frame that is long enough for what fetch_out and fetch_in read. */
static inline bool has_ports(const struct pkt *p)
{
	return LIKELY(p->len >= sizeof(struct eth_hdr) + IP4_MIN + 4);
}

/* Fetch the sessions that UDP and TCP packets without IP options will need. On the way out it is
 * the first one in the bucket of the hash, and p->hint keeps the bucket. On the way in it is the
 * one that the port names, on the first external address. Loads of one packet depend on each
 * other, those of different packets overlap. For other packets this only costs its time. */
static inline void fetch_out(const struct nat_table *t, struct pkt **burst, struct pkt **end)
{
	for (struct pkt **p = burst; p != end; p++) {
		const uint8_t *ip = (*p)->data + sizeof(struct eth_hdr);
		(*p)->hint = 0;
		if (has_ports(*p))
			(*p)->hint = nat_session_hash(t, load32(ip + 12), load32(ip + 16),
			                              load32(ip + 20));
	}
	for (struct pkt **p = burst; p != end; p++)
		fetch_session(t, t->session_bucket[(*p)->hint]);
}

static inline void fetch_in(const struct nat_table *t, struct pkt **burst, struct pkt **end)
{
	const uint32_t *udp = t->external[0].ports[NAT_UDP]->owner;
	const uint32_t *tcp = t->external[0].ports[NAT_TCP]->owner;
	for (struct pkt **p = burst; p != end; p++) {
		const uint8_t *ip = (*p)->data + sizeof(struct eth_hdr);
		if (has_ports(*p))
			fetch_session(t, (ip[9] == PROTO_TCP ? tcp : udp)[load16(ip + 22)]);
	}
}

/* The enum nat_proto of a packet whose transport header the fast path can translate; NAT_OTHER for
 * any other packet. */
ALWAYS_INLINE uint8_t proto_of(const struct flow_packet *f)
{
	if (*f->proto == PROTO_TCP)
		return LIKELY(nat_l4_complete(f->l4, f->n, NAT_TCP, false)) ? NAT_TCP : NAT_OTHER;
	if (LIKELY(*f->proto == PROTO_UDP) && LIKELY(nat_l4_complete(f->l4, f->n, NAT_UDP, false)))
		return NAT_UDP;
	return NAT_OTHER;
}

/* Looks up the routes of a session, so that its packets need not. False unless they lead to an
 * inside host and to an outside one; then the slow path says what becomes of the packet. It does so
 * for a session with an external address too: a packet to one is hairpinned, and only we have such
 * an address. */
static __attribute__((noinline)) bool learn_routes(const struct gw *gw, struct nat_session *s)
{
	uint32_t in_ip = swap32(s->in_ip), rem_ip = swap32(s->rem_ip);
	const struct route4 *in = route4_find(&gw->routes4, in_ip);
	const struct route4 *out = route4_find(&gw->routes4, rem_ip);
	_Static_assert(ROUTES4 < NAT_NO_ROUTE, "an index fits");
	if (!in || in->iface == IF_WAN || in->own == in_ip || !out || out->iface != IF_WAN ||
	    out->own == rem_ip || nat_external_find(&nat_of(gw)->table, s->rem_ip) != NAT_NONE)
		return false;
	s->route_in = (uint8_t)(in - gw->routes4.entry);
	s->route_out = (uint8_t)(out - gw->routes4.entry);
	return true;
}

/* The exit to an address (raw) by a route. */
ALWAYS_INLINE struct flow_exit exit_by(const struct route4 *r, uint32_t to)
{
	return (struct flow_exit){.iface = r->iface, .hop = r->via ? r->via : to};
}

/* A packet that comes from another interface than its source is on is refused, by the slow path. */
ALWAYS_INLINE void *find_out(struct gw *gw, struct flow_packet *f, struct flow_exit *to)
{
	const struct nat_table *t = &nat_of(gw)->table;
	const struct ip4_hdr *h = f->h4;
	uint8_t proto = proto_of(f);
	if (UNLIKELY(proto == NAT_OTHER))
		return NULL;
	struct nat_session *s = nat_session_in(t, f->p->hint, proto, ip4_raw(h->from),
	                                       ip4_raw(h->to), load32(f->l4));
	if (UNLIKELY(!s || s->flags & NAT_UNINVITED) ||
	    (UNLIKELY(s->route_out == NAT_NO_ROUTE) && !learn_routes(gw, s)) ||
	    UNLIKELY(gw->routes4.entry[s->route_in].iface != f->p->iface))
		return NULL;
	*to = exit_by(&gw->routes4.entry[s->route_out], s->rem_ip);
	to->iface = IF_WAN; /* known at compile time */
	return s;
}

ALWAYS_INLINE uint8_t *rewrite_out(struct gw *gw, void *entry, const struct flow_packet *f)
{
	struct nat *n = nat_of(gw);
	struct nat_session *s = entry;
	store16(f->l4, s->ext_port);
	if (s->proto == NAT_TCP) {
		nat_follow(gw, n, s, (const struct tcp_hdr *)f->l4, f->n, NAT_INSIDE);
		if (!f->partial)
			nat_fix_l4(f->l4, NAT_TCP, s->l4_delta);
	} else {
		s->expire_s = gw->clock.s + n->life_s[NAT_UDP][NAT_OPEN]; /* its only state */
		if (!f->partial)
			nat_fix_l4(f->l4, NAT_UDP, s->l4_delta);
	}
	struct ip4_hdr *h = (struct ip4_hdr *)(f->l4 - IP4_MIN);
	if (f->partial)
		flow_fix_partial(f, s->ip_delta);
	nat_put_source(gw, h, s, false);
	if (f->partial && !(be16_get(h->frag) & IP4_DF)) /* the next segments go on from here */
		ip4_id_skip(&gw->ids, h->to, f->p->segments - 1u);
	return (uint8_t *)h;
}

ALWAYS_INLINE void *find_in(struct gw *gw, struct flow_packet *f, struct flow_exit *to)
{
	struct nat *n = nat_of(gw);
	const struct ip4_hdr *h = f->h4;
	uint32_t external = nat_external_find(&n->table, ip4_raw(h->to));
	uint8_t proto = proto_of(f);
	if (UNLIKELY(external == NAT_NONE || proto == NAT_OTHER))
		return NULL;
	struct nat_session *s = nat_session_at_port(&n->table, external, proto, load16(f->l4 + 2),
	                                            ip4_raw(h->from), load16(f->l4));
	if (UNLIKELY(!s) || (UNLIKELY(s->route_in == NAT_NO_ROUTE) && !learn_routes(gw, s)))
		return NULL;
	*to = exit_by(&gw->routes4.entry[s->route_in], s->in_ip);
	return s;
}

ALWAYS_INLINE uint8_t *rewrite_in(struct gw *gw, void *entry, const struct flow_packet *f)
{
	struct nat_session *s = entry;
	s->flags |= NAT_ANSWERED;
	store16(f->l4 + 2, (uint16_t)s->ports);
	if (s->proto == NAT_TCP) {
		nat_follow(gw, nat_of(gw), s, (const struct tcp_hdr *)f->l4, f->n, NAT_OUTSIDE);
		if (!f->partial)
			nat_fix_l4(f->l4, NAT_TCP, (uint16_t)~s->l4_delta);
	} else if (!f->partial) {
		nat_fix_l4(f->l4, NAT_UDP, (uint16_t)~s->l4_delta);
	}
	if (f->partial)
		flow_fix_partial(f, (uint16_t)~s->ip_delta);
	struct ip4_hdr *h = (struct ip4_hdr *)(f->l4 - IP4_MIN);
	h->to = ip4_from_raw(s->in_ip);
	ip4_hop(h, (uint16_t)~s->ip_delta);
	return (uint8_t *)h;
}

static __attribute__((noinline)) uint32_t pass_known(struct gw *gw, const struct interface *in,
                                                     struct pkt **burst, uint32_t n)
{
	return flow_forward(gw, in, burst, n, FAMILY_IP4, IP4_MIN, find_out, rewrite_out);
}

/* A new flow, whose bucket is mostly empty, does not even try the fast path. The slow path takes
 * the first frame that is left over; the bucket of its packet is known already. */
ALWAYS_INLINE uint32_t pass_out(struct gw *gw, const struct interface *in, struct pkt **burst,
                                uint32_t n)
{
	struct nat_table *t = &nat_of(gw)->table;
	bool empty = t->session_bucket[(*burst)->hint] == NAT_NONE;
	uint32_t passed = empty ? 0 : pass_known(gw, in, burst, n);
	if (passed < n && has_ports(burst[passed])) {
		const uint8_t *ip = burst[passed]->data + sizeof(struct eth_hdr);
		nat_bucket_note(t, load32(ip + 12), load32(ip + 16), load32(ip + 20),
		                burst[passed]->hint);
	}
	return passed;
}

static __attribute__((noinline)) uint32_t pass_in(struct gw *gw, const struct interface *in,
                                                  struct pkt **burst, uint32_t n)
{
	return flow_forward(gw, in, burst, n, FAMILY_IP4, IP4_MIN, find_in, rewrite_in);
}

/* --- beside a NAT64 --------------------------------------------------------------------------- */

/* An inside host with IPv6 has a number for an address, with which no host may send. */
ALWAYS_INLINE void *find_out_beside(struct gw *gw, struct flow_packet *f, struct flow_exit *to)
{
	uint32_t from = ip4_raw(f->h4->from);
	if (UNLIKELY(nat_inside_is6(from) || f->n < 4))
		return NULL;
	f->p->hint = nat_session_hash(&nat_of(gw)->table, from, ip4_raw(f->h4->to), load32(f->l4));
	return find_out(gw, f, to);
}

/* The session of a port may be that of an IPv6 host. */
ALWAYS_INLINE void *find_in_beside(struct gw *gw, struct flow_packet *f, struct flow_exit *to)
{
	struct nat_table *t = &nat_of(gw)->table;
	uint32_t external = nat_external_find(t, ip4_raw(f->h4->to));
	uint8_t proto = proto_of(f);
	if (UNLIKELY(external == NAT_NONE || proto == NAT_OTHER))
		return NULL;
	const struct nat_session *s = nat_session_at_port(t, external, proto, load16(f->l4 + 2),
	                                                  ip4_raw(f->h4->from), load16(f->l4));
	return UNLIKELY(!s) || nat_inside_is6(s->in_ip) ? NULL : find_in(gw, f, to);
}

uint32_t nat_flow_beside(struct gw *gw, const struct interface *in, struct pkt **burst, uint32_t n,
                         enum nat_side side)
{
	return side == NAT_INSIDE ? flow_forward(gw, in, burst, n, FAMILY_IP4, IP4_MIN,
	                                         find_out_beside, rewrite_out)
	                          : flow_forward(gw, in, burst, n, FAMILY_IP4, IP4_MIN,
	                                         find_in_beside, rewrite_in);
}

bool nat_flow_partial_beside(struct gw *gw, const struct interface *in, struct pkt *p,
                             enum nat_side side)
{
	return side == NAT_INSIDE
	               ? flow_partial(gw, in, p, FAMILY_IP4, IP4_MIN, find_out_beside, rewrite_out)
	               : flow_partial(gw, in, p, FAMILY_IP4, IP4_MIN, find_in_beside, rewrite_in);
}

bool nat_flow_partial(struct gw *gw, uint32_t iface, struct pkt *p)
{
	const struct nat_table *t = &nat_of(gw)->table;
	const struct interface *in = &gw->iface[iface];
	if (!interface_is_inside(iface))
		return flow_partial(gw, in, p, FAMILY_IP4, IP4_MIN, find_in, rewrite_in);
	fetch_out(t, &p, &p + 1);
	return flow_partial(gw, in, p, FAMILY_IP4, IP4_MIN, find_out, rewrite_out);
}

void nat_flow_frames(struct gw *gw, uint32_t iface, struct pkt **burst, uint32_t n)
{
	const struct nat_table *t = &nat_of(gw)->table;
	if (interface_is_inside(iface)) {
		fetch_out(t, burst, burst + n);
		flow_frames(gw, iface, burst, n, pass_out);
	} else {
		fetch_in(t, burst, burst + n);
		flow_frames(gw, iface, burst, n, pass_in);
	}
}
