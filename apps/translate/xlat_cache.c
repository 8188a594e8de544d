/* The fast path of the translator, from frame to frame; see xlat_cache.h. It makes the same
 * checks as the slow path, all of them before the first byte changes. */
#include "apps/translate/xlat_cache.h"

/* A free entry is all zeros. It matches the pair of zero addresses, but no such packet is
 * sent by it: its next hop is no neighbour. */
void xlat_cache_set_up(struct xlat_cache *t, struct rng *rng)
{
	for (unsigned i = 0; i < 2; i++) {
		t->mul46[i] = rng_u32(rng) | 1;
		t->mul64[i] = rng_u32(rng) | 1;
	}
}

void xlat_cache_note46(struct translator *v, const struct pkt *p, uint32_t from, uint32_t to,
                       const struct xlat46 *x)
{
	*xlat_pair46(v->cache, from, to) = (struct xlat_pair46){
	        .from = from,
	        .to = to,
	        .hop = p->hop,
	        .delta = x->delta,
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
	};
}

/* True for a frame of this type to our own MAC address that has room for an IP header of
 * `head` bytes and a UDP header. */
static inline bool is_ours(const struct interface *in, const struct pkt *p, uint16_t type,
                           uint32_t head)
{
	const struct eth_hdr *eth = (const struct eth_hdr *)p->data;
	return p->len >= sizeof *eth + head + sizeof(struct udp_hdr) &&
	       mac_eq(&eth->to, &in->address) && be16_raw(eth->type) == swap16(type);
}

/* Adds `delta` to the checksum of n bytes of TCP or UDP. False, with nothing changed, for
 * other protocols, for a packet whose MSS must be clamped and for UDP without checksum. */
ALWAYS_INLINE bool change_sum(const struct translator *v, uint8_t proto, uint8_t *l4, uint32_t n,
                              uint16_t delta)
{
	if (proto == PROTO_TCP && LIKELY(n >= sizeof(struct tcp_hdr) && !v->mss)) {
		struct tcp_hdr *tcp = (struct tcp_hdr *)l4;
		tcp->sum = csum_apply(tcp->sum, delta);
		return true;
	}
	struct udp_hdr *udp = (struct udp_hdr *)l4;
	if (proto != PROTO_UDP || UNLIKELY(n < sizeof *udp || be16_raw(udp->sum) == 0))
		return false;
	udp->sum = csum_apply_icmp(udp->sum, delta);
	return true;
}

/* True for a large packet with DF that fits the LAN unsplit: most packets that come from a
 * TCP server. */
static inline bool fits_unsplit(const struct translator *v, const struct ip4_hdr *h, uint32_t n)
{
	return n <= v->unsplit46 && be16_raw(h->frag) & swap16(IP4_DF) &&
	       v->cache_max[XLAT_46] != 0;
}

/* The IPv4 header is read before the longer IPv6 header is written over it. */
ALWAYS_INLINE bool forward46(struct gw *gw, const struct interface *in, struct pkt *p)
{
	struct translator *v = gw->state;
	const struct ip4_hdr *h = (const struct ip4_hdr *)(p->data + sizeof(struct eth_hdr));
	if (UNLIKELY(!is_ours(in, p, ETH_IP4, IP4_MIN)))
		return false;
	uint32_t from = ip4_raw(h->from), to = ip4_raw(h->to), n = be16_get(h->len) - IP4_MIN;
	const struct xlat_pair46 *k = xlat_pair46(v->cache, from, to);
	if (UNLIKELY(k->from != from || k->to != to || h->version_ihl != 0x45 || h->ttl <= 1 ||
	             (n > v->cache_max[XLAT_46] && !fits_unsplit(v, h, n)) ||
	             n > p->len - sizeof(struct eth_hdr) - IP4_MIN ||
	             be16_raw(h->frag) & swap16(IP4_MF | IP4_OFFSET) ||
	             csum_ip4_header(h) != 0xffff))
		return false;
	const ip6 *hop = LIKELY(k->hop == 0) ? &k->to6 : &gw->route6[k->hop - 1].via;
	struct neigh *next = neigh_ready6(&gw->neigh, IF_LAN, hop);
	uint8_t *l4 = p->data + sizeof(struct eth_hdr) + IP4_MIN;
	if (UNLIKELY(!next || !change_sum(v, h->proto, l4, n, k->delta)))
		return false;
	v->translated[XLAT_46]++;
	uint32_t tc = (h->tos & v->tos_mask) | v->tos_set;
	uint32_t rest =
	        swap16((uint16_t)n) | (uint32_t)h->proto << 16 | (uint32_t)(h->ttl - 1) << 24;
	struct ip6_hdr *six = (struct ip6_hdr *)(l4 - IP6_MIN);
	six->first = be32_of(0x60000000u | tc << 20);
	store32(&six->len, rest);
	six->from = k->from6;
	six->to = k->to6;
	gw_pass(gw, &gw->iface[IF_LAN], next, p, (uint8_t *)six, IP6_MIN + n);
	return true;
}
_Static_assert(offsetof(struct ip6_hdr, next) == 6 && offsetof(struct ip6_hdr, hops) == 7,
               "length, next header and hop limit are one word");
_Static_assert(PKT_HEADROOM >= IP6_MIN - IP4_MIN, "the larger header fits in front");

ALWAYS_INLINE bool forward64(struct gw *gw, const struct interface *in, struct pkt *p)
{
	struct translator *v = gw->state;
	const struct ip6_hdr *h = (const struct ip6_hdr *)(p->data + sizeof(struct eth_hdr));
	if (UNLIKELY(!is_ours(in, p, ETH_IP6, IP6_MIN)))
		return false;
	const struct xlat_pair64 *k = xlat_pair64(v->cache, &h->from, &h->to);
	uint32_t n = be16_get(h->len);
	if (UNLIKELY(!ip6_eq(&k->from6, &h->from) || !ip6_eq(&k->to6, &h->to) ||
	             h->first.b[0] >> 4 != 6 || h->hops <= 1 || n > v->cache_max[XLAT_64] ||
	             n > p->len - sizeof(struct eth_hdr) - IP6_MIN))
		return false;
	struct neigh *next = neigh_ready4(&gw->neigh, IF_WAN, k->hop);
	uint8_t *l4 = p->data + sizeof(struct eth_hdr) + IP6_MIN;
	if (UNLIKELY(!next || !change_sum(v, h->next, l4, n, k->delta)))
		return false;
	v->translated[XLAT_64]++;
	/* Words of the IPv4 header in memory order; their sum is that of the whole header. */
	uint32_t tos = (be32_get(h->first) >> 20 & v->tos_mask) | v->tos_set, len = IP4_MIN + n;
	uint32_t w0 = 0x45 | (tos & 0xff) << 8 | (uint32_t)swap16((uint16_t)len) << 16;
	uint32_t w1 = be16_raw(gw_ip_id(gw, ip4_from_raw(k->to))) | (uint32_t)swap16(xlat_df(len))
	                                                                    << 16;
	uint32_t w2 = (uint32_t)(h->hops - 1) | (uint32_t)h->next << 8;
	uint16_t sum = csum_fold(csum_add32(csum_add32(w0, w1), csum_add32(w2, k->sum)));
	uint8_t *four = l4 - IP4_MIN;
	store32(four, w0);
	store32(four + 4, w1);
	store32(four + 8, w2 | (uint32_t)(uint16_t)~sum << 16);
	store32(four + 12, k->from);
	store32(four + 16, k->to);
	gw_pass(gw, &gw->iface[IF_WAN], next, p, four, len);
	return true;
}

/* The fast path did not take a packet. When the reason is that one is to be timed, tries
 * the same packet again with a clock. */
static __attribute__((noinline)) bool time_packet(struct gw *gw, const struct interface *in,
                                                  struct pkt *p, unsigned direction)
{
	struct translator *v = gw->state;
	if (v->due[direction] != XLAT_DUE_ALL)
		return false;
	xlat_timing_set_due(v, direction, XLAT_DUE_NOTHING);
	uint32_t clock = gw->cycles();
	bool taken = xlat_cache_forward(gw, in, p);
	if (taken)
		xlat_timing_note(v, gw->cycles() - clock, direction, XLAT_STEP_CACHED);
	else
		xlat_timing_set_due(v, direction, XLAT_DUE_ALL);
	return taken;
}

static __attribute__((noinline)) bool from_wan(struct gw *gw, const struct interface *in,
                                               struct pkt *p)
{
	return LIKELY(forward46(gw, in, p)) || time_packet(gw, in, p, XLAT_46);
}

static __attribute__((noinline)) bool from_lan(struct gw *gw, const struct interface *in,
                                               struct pkt *p)
{
	return LIKELY(forward64(gw, in, p)) || time_packet(gw, in, p, XLAT_64);
}

bool xlat_cache_forward(struct gw *gw, const struct interface *in, struct pkt *p)
{
	return p->iface == IF_LAN ? from_lan(gw, in, p) : from_wan(gw, in, p);
}
