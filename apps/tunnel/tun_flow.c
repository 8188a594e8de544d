/* The fast path of the tunnel (net/flow.h). Each direction has a table of pairs of inner addresses
 * with what the slow path (tun_out.c, tun_in.c) found out about them: the other end of the tunnel
 * and the next hop. Both follow from configuration, routes and addresses. See tun.h. */
#include "apps/tunnel/tun.h"

#include "kernel/lib/alloc.h"
#include "net/flow.h"

struct tun_flow {
	ip6 from, to;
	uint32_t end;           /* the other end of the tunnel, raw; 0: the entry is free */
	uint32_t hop;           /* as in struct pkt */
	uint8_t iface;          /* of the inside: the packet comes from there, or goes there */
} __attribute__((aligned(64))); /* a line of the processor's cache */

enum { OUT, IN };

struct tun_flows {
	struct flow_key key;
	uint32_t changes; /* flow_is_stale */
	struct tun_flow at[2][1u << FLOW_BITS];
};

bool tun_flow_init(struct gw *gw, struct tun *t)
{
	t->flows = alloc(sizeof *t->flows, 64);
	if (!t->flows)
		return false;
	t->flows->key = flow_key(gw->rng);
	return true;
}

/* The first place of a pair of addresses (flow_other). */
static inline struct tun_flow *place(struct tun_flows *t, unsigned direction,
                                     const struct ip6_hdr *h)
{
	return &t->at[direction][flow_hash6(&t->key, &h->from, &h->to)];
}

static __attribute__((noinline)) void forget_stale(const struct gw *gw)
{
	struct tun_flows *t = tun_of(gw)->flows;
	if (flow_is_stale(gw, &t->changes))
		memset(t->at, 0, sizeof t->at);
}

static inline bool is_flow(const struct tun_flow *e, const struct ip6_hdr *h)
{
	return e->end != 0 && ip6_eq(&e->from, &h->from) && ip6_eq(&e->to, &h->to);
}

static void note(struct tun_flows *t, unsigned direction, const struct ip6_hdr *h,
                 struct tun_flow flow)
{
	struct tun_flow *e = place(t, direction, h);
	if (!is_flow(e, h) && e->end != 0)
		*flow_other(t->at[direction], e) = *e;
	*e = flow;
}

void tun_flow_note_out(struct tun *t, const struct pkt *p, uint32_t end, uint32_t hop)
{
	const struct ip6_hdr *h = ip6_header(p);
	note(t->flows, OUT, h, (struct tun_flow){h->from, h->to, end, hop, p->iface});
}

void tun_flow_note_in(struct tun *t, const struct pkt *p, uint32_t end)
{
	const struct ip6_hdr *h = ip6_header(p);
	note(t->flows, IN, h, (struct tun_flow){h->from, h->to, end, p->hop, p->out});
}

/* True when nothing but its addresses decides about an inner packet. */
static inline bool is_usual(const struct tun *t, const struct flow_packet *f)
{
	return ip6_is_plain[*f->proto] && LIKELY(!t->mss || !flow_has_mss(f));
}

/* The entry of a packet; NULL if there is none. */
ALWAYS_INLINE struct tun_flow *known(struct tun_flows *t, unsigned direction,
                                     const struct ip6_hdr *h)
{
	struct tun_flow *e = place(t, direction, h);
	if (LIKELY(is_flow(e, h)))
		return e;
	e = flow_other(t->at[direction], e);
	return is_flow(e, h) ? e : NULL;
}

ALWAYS_INLINE void *find_out(struct gw *gw, struct flow_packet *f, struct flow_exit *to)
{
	struct tun *t = tun_of(gw);
	struct tun_flow *e = known(t->flows, OUT, f->h6);
	if (UNLIKELY(!e || e->iface != f->p->iface || !is_usual(t, f) || t->n_soft ||
	             f->n + IP6_MIN > gw->app_mtu))
		return NULL;
	*to = (struct flow_exit){.iface = IF_WAN, .hop = e->hop};
	return e;
}

ALWAYS_INLINE uint8_t *rewrite_out(struct gw *gw, void *entry, const struct flow_packet *f)
{
	struct tun *t = tun_of(gw);
	const struct tun_flow *e = entry;
	uint8_t *inner = f->l4 - IP6_MIN;
	ip6_hop((struct ip6_hdr *)inner);
	t->out++;
	return tun_put_header(gw, t, inner, f->n + IP6_MIN, e->end);
}

/* A mark of congestion, and a combination of ECN fields that is not valid, take the slow path. */
ALWAYS_INLINE void *find_in(struct gw *gw, struct flow_packet *f, struct flow_exit *to)
{
	struct tun *t = tun_of(gw);
	const struct ip4_hdr *outer = f->h4;
	if (*f->proto != PROTO_IP6 || ip4_raw(outer->to) != t->outer || f->n < IP6_MIN ||
	    !flow_inner6(f, f->l4, f->n))
		return NULL;
	struct tun_flow *e = known(t->flows, IN, f->h6);
	uint8_t ecn = outer->tos & 3;
	if (UNLIKELY(!e || e->end != ip4_raw(outer->from) || !is_usual(t, f) ||
	             (ecn && ecn != (f->h6->first.b[1] >> 4 & 3))))
		return NULL;
	*to = (struct flow_exit){.iface = e->iface, .hop = e->hop, .to = &e->to};
	return e;
}

ALWAYS_INLINE uint8_t *rewrite_in(struct gw *gw, void *entry, const struct flow_packet *f)
{
	(void)entry;
	uint8_t *inner = f->l4 - IP6_MIN;
	ip6_hop((struct ip6_hdr *)inner);
	tun_of(gw)->in++;
	f->p->iface = IF_APP; /* for the list of drops */
	return inner;
}

static __attribute__((noinline)) uint32_t pass_out(struct gw *gw, const struct interface *in,
                                                   struct pkt **burst, uint32_t n)
{
	forget_stale(gw);
	return flow_forward(gw, in, burst, n, FAMILY_IP6, IP4_MIN + IP6_MIN, find_out, rewrite_out);
}

static __attribute__((noinline)) uint32_t pass_in(struct gw *gw, const struct interface *in,
                                                  struct pkt **burst, uint32_t n)
{
	forget_stale(gw);
	return flow_forward(gw, in, burst, n, FAMILY_IP4, IP6_MIN, find_in, rewrite_in);
}

/* What the tunnel's fast path does not take may be a packet of the NAT. */
void tun_flow_frames(struct gw *gw, uint32_t iface, struct pkt **burst, uint32_t n)
{
	const struct interface *in = &gw->iface[iface];
	for (struct pkt **end = burst + n; burst != end; burst++) {
		uint32_t left = (uint32_t)(end - burst);
		burst += interface_is_inside(iface) ? pass_out(gw, in, burst, left)
		                                    : pass_in(gw, in, burst, left);
		if (burst == end)
			break;
		if (tun_of(gw)->has_nat)
			nat_flow_frames(gw, iface, burst, 1);
		else
			gw_frame(gw, *burst);
	}
}

/* No card cuts segments inside a tunnel. */
bool tun_flow_partial(struct gw *gw, uint32_t iface, struct pkt *p)
{
	return tun_of(gw)->has_nat && nat_flow_partial(gw, iface, p);
}
