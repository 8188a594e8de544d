/* The fast path of the translator; see xlat_cache.h. */
#include "apps/translate/xlat_cache.h"

#include "apps/translate/xlat_flow.h"

/* A free entry matches the pair of zero addresses, but no such packet is sent by it: its next hop
 * is no neighbour. */
static void forget_all(struct gw *gw, struct xlat_cache *t)
{
	struct neigh_hint none = neigh_no_hint(&gw->neigh, 0);
	for (uint32_t i = 0; i < ARRAY_SIZE(t->at46); i++)
		t->at46[i] = (struct xlat_pair46){.next = none};
	for (uint32_t i = 0; i < ARRAY_SIZE(t->at64); i++)
		t->at64[i] = (struct xlat_pair64){.next = none};
}

void xlat_cache_set_up(struct gw *gw, struct xlat_cache *t)
{
	t->key46 = flow_key(gw->rng);
	t->key64 = flow_key(gw->rng);
	forget_all(gw, t);
}

ALWAYS_INLINE bool is_pair46(const struct xlat_pair46 *k, uint32_t from, uint32_t to)
{
	return k->from == from && k->to == to;
}

ALWAYS_INLINE bool is_pair64(const struct xlat_pair64 *k, const ip6 *from, const ip6 *to)
{
	return ip6_eq(&k->from6, from) && ip6_eq(&k->to6, to);
}

void xlat_cache_note46(struct gw *gw, struct translator *v, const struct pkt *p, uint32_t from,
                       uint32_t to, const struct xlat46 *x)
{
	struct xlat_pair46 *k = xlat_pair46(v->cache, from, to);
	if (!is_pair46(k, from, to) && !is_pair46(k, 0, 0))
		*flow_other(v->cache->at46, k) = *k;
	*k = (struct xlat_pair46){
	        .from = from,
	        .to = to,
	        .next = neigh_no_hint(&gw->neigh, p->hop),
	        .change = (uint16_t)~x->delta,
	        .iface = p->out,
	        .from6 = x->from,
	        .to6 = x->to,
	};
}

void xlat_cache_note64(struct gw *gw, struct translator *v, const struct pkt *p, const ip6 *from,
                       const ip6 *to, const struct xlat64 *x)
{
	struct xlat_pair64 *k = xlat_pair64(v->cache, from, to);
	if (!is_pair64(k, from, to) && (k->from | k->to))
		*flow_other(v->cache->at64, k) = *k;
	*k = (struct xlat_pair64){
	        .from6 = *from,
	        .to6 = *to,
	        .from = x->from,
	        .to = x->to,
	        .sum = csum_add32(x->from, x->to),
	        .next = neigh_no_hint(&gw->neigh, p->hop),
	        .change = (uint16_t)~x->delta,
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

/* Changes the checksum of TCP or UDP. Both pseudo headers have the same length and protocol, so
 * only the addresses matter. That of UDP is not zero (has_sum), and so does not become zero. */
ALWAYS_INLINE void change_sum(const struct flow_packet *f, uint32_t change)
{
	if (f->partial) {
		flow_fix_partial(f, (uint16_t)~change);
	} else if (*f->proto == PROTO_TCP) {
		struct tcp_hdr *tcp = (struct tcp_hdr *)f->l4;
		tcp->sum = csum_apply(tcp->sum, (uint16_t)~change);
	} else {
		struct udp_hdr *udp = (struct udp_hdr *)f->l4;
		udp->sum = be16_from_raw(csum_fold(be16_raw(udp->sum) + change));
	}
}

/* True for a packet that is not split: it is short enough, or it has DF, as most packets that come
 * from a TCP server. */
ALWAYS_INLINE bool stays_whole(const struct translator *v, const struct flow_packet *f)
{
	return flow_largest(f) + IP6_MIN <= v->core.limit46 ||
	       be16_raw(f->h4->frag) & swap16(IP4_DF);
}

/* The entry of a pair; NULL if there is none. */
ALWAYS_INLINE struct xlat_pair46 *known46(struct xlat_cache *t, uint32_t from, uint32_t to)
{
	struct xlat_pair46 *k = flow_entry(xlat_pair46(t, from, to));
	if (LIKELY(is_pair46(k, from, to)))
		return k;
	k = flow_other(t->at46, k);
	return is_pair46(k, from, to) ? k : NULL;
}

/* The entry of a pair; NULL if there is none. */
ALWAYS_INLINE struct xlat_pair64 *known64(struct xlat_cache *t, const ip6 *from, const ip6 *to)
{
	struct xlat_pair64 *k = flow_entry(xlat_pair64(t, from, to));
	if (LIKELY(is_pair64(k, from, to)))
		return k;
	k = flow_other(t->at64, k);
	return is_pair64(k, from, to) ? k : NULL;
}

ALWAYS_INLINE void *find46(struct gw *gw, struct flow_packet *f, struct flow_exit *to)
{
	struct translator *v = gw->state;
	uint32_t from = ip4_raw(f->h4->from), dest = ip4_raw(f->h4->to);
	struct xlat_pair46 *k = known46(v->cache, from, dest);
	if (UNLIKELY(!k || !stays_whole(v, f) || !has_sum(v, f)))
		return NULL;
	*to = (struct flow_exit){.iface = k->iface, .to = &k->to6, .hint = &k->next};
	return k;
}

/* The IPv4 header is read before the longer IPv6 header is written over it. */
ALWAYS_INLINE uint8_t *rewrite46(struct gw *gw, void *entry, const struct flow_packet *f)
{
	struct translator *v = gw->state;
	const struct xlat_pair46 *k = entry;
	change_sum(f, k->change);
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
	struct xlat_pair64 *k = known64(v->cache, &h->from, &h->to);
	if (UNLIKELY(!k || k->iface != f->p->iface || !has_sum(v, f)) ||
	    (f->partial && UNLIKELY(f->n + IP4_MIN > 0xffff))) /* no IPv4 packet has so many */
		return NULL;
	*to = (struct flow_exit){.iface = IF_WAN, .hint = &k->next};
	return k;
}

ALWAYS_INLINE uint8_t *rewrite64(struct gw *gw, void *entry, const struct flow_packet *f)
{
	const struct translator *v = gw->state;
	const struct xlat_pair64 *k = entry;
	change_sum(f, k->change);
	return xlat_flow4(gw, &v->core, f, k->from, k->to, k->sum);
}

static __attribute__((noinline)) void forget_stale(struct gw *gw)
{
	struct xlat_cache *t = ((const struct translator *)gw->state)->cache;
	if (flow_is_stale(gw, &t->changes))
		forget_all(gw, t);
}

/* Counts n packets that were translated; gives n. */
static uint32_t count(const struct gw *gw, unsigned direction, uint32_t n)
{
	((struct translator *)gw->state)->core.translated[direction] += n;
	return n;
}

static __attribute__((noinline)) uint32_t pass46(struct gw *gw, const struct interface *in,
                                                 struct pkt **burst, uint32_t n)
{
	forget_stale(gw);
	return count(gw, XLAT_46,
	             flow_forward(gw, in, burst, n, FAMILY_IP4, IP6_MIN, find46, rewrite46));
}

static __attribute__((noinline)) uint32_t pass64(struct gw *gw, const struct interface *in,
                                                 struct pkt **burst, uint32_t n)
{
	forget_stale(gw);
	return count(gw, XLAT_64,
	             flow_forward(gw, in, burst, n, FAMILY_IP6, IP4_MIN, find64, rewrite64));
}

static __attribute__((noinline)) bool partial64(struct gw *gw, uint32_t iface, struct pkt *p)
{
	uint32_t n = p->segments;
	return flow_partial(gw, &gw->iface[iface], p, FAMILY_IP6, IP4_MIN, find64, rewrite64) &&
	       count(gw, XLAT_64, n);
}

bool xlat_cache_partial(struct gw *gw, uint32_t iface, struct pkt *p)
{
	forget_stale(gw);
	if (interface_is_inside(iface))
		return xlat_partial64(gw, iface, p, partial64);
	uint32_t n = p->segments;
	return flow_partial(gw, &gw->iface[iface], p, FAMILY_IP4, IP6_MIN, find46, rewrite46) &&
	       count(gw, XLAT_46, n);
}

void xlat_cache_frames(struct gw *gw, uint32_t iface, struct pkt **burst, uint32_t n)
{
	if (interface_is_inside(iface))
		flow_frames(gw, iface, burst, n, pass64);
	else
		flow_frames(gw, iface, burst, n, pass46);
}
