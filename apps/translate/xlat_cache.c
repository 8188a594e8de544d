/* The fast path of the translator; see xlat_cache.h. */
#include "apps/translate/xlat_cache.h"

/* A free entry is all zeros. It matches the pair of zero addresses, but no such packet is
 * sent by it: its next hop is no neighbour. */
void xlat_cache_set_up(struct xlat_cache *t, struct rng *rng)
{
	t->key46 = flow_key(rng);
	t->key64 = flow_key(rng);
}

void xlat_cache_note46(struct translator *v, const struct pkt *p, uint32_t from, uint32_t to,
                       const struct xlat46 *x)
{
	*xlat_pair46(v->cache, from, to) = (struct xlat_pair46){
	        .from = from,
	        .to = to,
	        .hop = p->hop,
	        .delta = x->delta,
	        .iface = p->out,
	        .from6 = x->from,
	        .to6 = x->to,
	};
}

void xlat_cache_note64(struct translator *v, const struct pkt *p, const ip6 *from, const ip6 *to,
                       const struct xlat64 *x)
{
	*xlat_pair64(v->cache, from, to) = (struct xlat_pair64){
	        .from6 = *from,
	        .to6 = *to,
	        .from = x->from,
	        .to = x->to,
	        .sum = csum_add32(x->from, x->to),
	        .hop = p->hop,
	        .delta = x->delta,
	        .iface = p->iface,
	};
}

/* True for a packet whose transport header the fast path can translate: not for UDP without
 * checksum, nor for a segment whose MSS may have to be clamped. */
ALWAYS_INLINE bool has_sum(const struct translator *v, const struct flow_packet *f)
{
	if (!flow_has_ports(f))
		return false;
	if (*f->proto == PROTO_UDP)
		return LIKELY(be16_raw(((const struct udp_hdr *)f->l4)->sum) != 0);
	return LIKELY(!v->core.mss || !flow_has_mss(f));
}

/* Adds `delta` to the checksum of TCP or UDP. Both pseudo headers have the same length and
 * protocol, so delta is the difference of the addresses. */
ALWAYS_INLINE void change_sum(const struct flow_packet *f, uint16_t delta)
{
	if (f->partial) {
		flow_fix_partial(f, delta);
	} else if (*f->proto == PROTO_TCP) {
		struct tcp_hdr *tcp = (struct tcp_hdr *)f->l4;
		tcp->sum = csum_apply(tcp->sum, delta);
	} else {
		struct udp_hdr *udp = (struct udp_hdr *)f->l4;
		udp->sum = csum_apply_icmp(udp->sum, delta);
	}
}

/* True for a packet that is not split: it is short enough, or it has DF, as most packets that come
 * from a TCP server. */
ALWAYS_INLINE bool stays_whole(const struct translator *v, const struct flow_packet *f)
{
	return flow_largest(f) + IP6_MIN <= v->core.limit46 ||
	       be16_raw(f->h4->frag) & swap16(IP4_DF);
}

ALWAYS_INLINE void *find46(struct gw *gw, struct flow_packet *f, struct flow_exit *to)
{
	struct translator *v = gw->state;
	uint32_t from = ip4_raw(f->h4->from), dest = ip4_raw(f->h4->to);
	struct xlat_pair46 *k = xlat_pair46(v->cache, from, dest);
	if (UNLIKELY(k->from != from || k->to != dest || !stays_whole(v, f) || !has_sum(v, f)))
		return NULL;
	*to = (struct flow_exit){.iface = k->iface, .hop = k->hop, .to = &k->to6};
	return k;
}

/* The IPv4 header is read before the longer IPv6 header is written over it. */
ALWAYS_INLINE uint8_t *rewrite46(struct gw *gw, void *entry, const struct flow_packet *f)
{
	struct translator *v = gw->state;
	const struct xlat_pair46 *k = entry;
	change_sum(f, k->delta);
	v->core.translated[XLAT_46] += f->partial ? f->p->segments : 1u;
	if (f->partial && f->p->segment)
		f->p->flags |= PKT_TSO6;
	uint32_t tc = (f->h4->tos & v->core.tos_mask) | v->core.tos_set;
	uint32_t rest =
	        swap16((uint16_t)f->n) | (uint32_t)*f->proto << 16 | (uint32_t)(*f->hops - 1) << 24;
	struct ip6_hdr *six = (struct ip6_hdr *)(f->l4 - IP6_MIN);
	six->first = be32_of(0x60000000u | tc << 20);
	store32(&six->len, rest);
	six->from = k->from6;
	six->to = k->to6;
	return (uint8_t *)six;
}
_Static_assert(offsetof(struct ip6_hdr, next) == 6 && offsetof(struct ip6_hdr, hops) == 7,
               "length, next header and hop limit are one word");
_Static_assert(PKT_HEADROOM >= IP6_MIN - IP4_MIN, "the larger header fits in front");

ALWAYS_INLINE void *find64(struct gw *gw, struct flow_packet *f, struct flow_exit *to)
{
	struct translator *v = gw->state;
	const struct ip6_hdr *h = f->h6;
	struct xlat_pair64 *k = xlat_pair64(v->cache, &h->from, &h->to);
	if (UNLIKELY(!ip6_eq(&k->from6, &h->from) || !ip6_eq(&k->to6, &h->to) ||
	             k->iface != f->p->iface || !has_sum(v, f)) ||
	    (f->partial && UNLIKELY(f->n + IP4_MIN > 0xffff))) /* no IPv4 packet has so many */
		return NULL;
	*to = (struct flow_exit){.iface = IF_WAN, .hop = k->hop};
	return k;
}

ALWAYS_INLINE uint8_t *rewrite64(struct gw *gw, void *entry, const struct flow_packet *f)
{
	struct translator *v = gw->state;
	const struct xlat_pair64 *k = entry;
	const struct ip6_hdr *h = f->h6;
	change_sum(f, k->delta);
	v->core.translated[XLAT_64] += f->partial ? f->p->segments : 1u;
	/* Words of the IPv4 header in memory order; their sum is that of the whole header. */
	uint32_t tos = (be32_get(h->first) >> 20 & v->core.tos_mask) | v->core.tos_set,
	         len = IP4_MIN + f->n;
	uint32_t w0 = 0x45 | (tos & 0xff) << 8 | (uint32_t)swap16((uint16_t)len) << 16;
	uint32_t w1 = be16_raw(ip4_id(&gw->ids, ip4_from_raw(k->to))) |
	              (uint32_t)swap16(xlat_df(IP4_MIN + flow_largest(f))) << 16;
	uint32_t w2 = (uint32_t)(*f->hops - 1) | (uint32_t)*f->proto << 8;
	uint16_t sum = csum_fold(csum_add32(csum_add32(w0, w1), csum_add32(w2, k->sum)));
	uint8_t *four = f->l4 - IP4_MIN;
	store32(four, w0);
	store32(four + 4, w1);
	store32(four + 8, w2 | (uint32_t)(uint16_t)~sum << 16);
	store32(four + 12, k->from);
	store32(four + 16, k->to);
	if (f->partial) { /* the next segments go on from this identification */
		ip4_id_skip(&gw->ids, ip4_from_raw(k->to), f->p->segments - 1u);
		f->p->flags &= (uint16_t)~PKT_TSO6;
	}
	return four;
}

static __attribute__((noinline)) void forget_stale(const struct gw *gw)
{
	struct xlat_cache *t = ((const struct translator *)gw->state)->cache;
	if (!flow_is_stale(gw, &t->changes))
		return;
	memset(t->at46, 0, sizeof t->at46);
	memset(t->at64, 0, sizeof t->at64);
}

static __attribute__((noinline)) uint32_t pass46(struct gw *gw, const struct interface *in,
                                                 struct pkt **burst, uint32_t n)
{
	forget_stale(gw);
	return flow_forward(gw, in, burst, n, FAMILY_IP4, IP6_MIN, find46, rewrite46);
}

static __attribute__((noinline)) uint32_t pass64(struct gw *gw, const struct interface *in,
                                                 struct pkt **burst, uint32_t n)
{
	forget_stale(gw);
	return flow_forward(gw, in, burst, n, FAMILY_IP6, IP4_MIN, find64, rewrite64);
}

/* Handles a packet while one is to be timed: here, or, when the cache does not know it, by its
 * steps in the slow path. */
static __attribute__((noinline)) void time_packet(struct gw *gw, const struct interface *in,
                                                  struct pkt *p, unsigned direction)
{
	struct translator *v = gw->state;
	if (v->due[direction] == XLAT_DUE_ALL) {
		uint32_t clock = gw->cycles();
		if (direction == XLAT_46 ? pass46(gw, in, &p, 1) : pass64(gw, in, &p, 1)) {
			xlat_timing_note(v, gw->cycles() - clock, direction, XLAT_STEP_CACHED);
			v->due[direction] = XLAT_DUE_NOTHING;
			return;
		}
		v->due[direction] = XLAT_DUE_STEPS;
	}
	gw_frame(gw, p);
}

static __attribute__((noinline)) bool partial64(struct gw *gw, uint32_t iface, struct pkt *p)
{
	return flow_partial(gw, &gw->iface[iface], p, FAMILY_IP6, IP4_MIN, find64, rewrite64);
}

bool xlat_cache_partial(struct gw *gw, uint32_t iface, struct pkt *p)
{
	forget_stale(gw);
	if (interface_is_inside(iface))
		return xlat_partial64(gw, iface, p, partial64);
	return flow_partial(gw, &gw->iface[iface], p, FAMILY_IP4, IP6_MIN, find46, rewrite46);
}

void xlat_cache_frames(struct gw *gw, uint32_t iface, struct pkt **burst, uint32_t n)
{
	const struct translator *v = gw->state;
	unsigned direction = interface_is_inside(iface) ? XLAT_64 : XLAT_46;
	for (; UNLIKELY(v->due[direction] != XLAT_DUE_NOTHING) && n > 0; n--)
		time_packet(gw, &gw->iface[iface], *burst++, direction);
	if (direction == XLAT_64)
		flow_frames(gw, iface, burst, n, pass64);
	else
		flow_frames(gw, iface, burst, n, pass46);
}
