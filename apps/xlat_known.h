/* The way of nearly every packet: TCP and UDP between two hosts that have been
 * translated lately.
 *
 * What becomes of such a packet depends on its two addresses and, for the rest, on a
 * few fields. So each direction has a table of address pairs with all that the whole
 * way (xlat46.c, xlat64.c) found out about them once: the other addresses, what these
 * change in a checksum, the route. Pairs are a function of the configuration; none
 * ever gets wrong, and a flood of pairs costs no more than the whole way. Packets with
 * anything unusual about them take that. */
#ifndef APPS_XLAT_KNOWN_H
#define APPS_XLAT_KNOWN_H

#include "apps/xlat.h"

#define XLAT_PAIR_BITS 11u

struct xlat_pair46 {
	uint32_t from, to; /* raw */
	uint32_t hop;
	uint16_t delta;
	uint8_t out;
	ip6 from6, to6;
};

struct xlat_pair64 {
	ip6 from6, to6;
	uint32_t from, to; /* raw */
	uint32_t sum;      /* of these two */
	uint32_t hop;
	uint16_t delta;
	uint8_t out;
};

struct xlat_pairs {
	uint32_t mul46[2], mul64[2]; /* secret odd multipliers */
	struct xlat_pair46 at46[1u << XLAT_PAIR_BITS];
	struct xlat_pair64 at64[1u << XLAT_PAIR_BITS];
};

/* Makes the secret, and no pair known; t is zeroed memory. */
void xlat_pairs_set_up(struct xlat_pairs *t, struct rng *rng);

static inline struct xlat_pair46 *xlat_pair46(struct xlat_pairs *t, uint32_t from, uint32_t to)
{
	return &t->at46[(from * t->mul46[0] + to * t->mul46[1]) >> (32 - XLAT_PAIR_BITS)];
}

/* Adding words up is enough of a hash: hosts differ in few places, and whoever makes
 * collisions on purpose only makes his own packets go the whole way. */
static inline struct xlat_pair64 *xlat_pair64(struct xlat_pairs *t, const ip6 *from, const ip6 *to)
{
	uint32_t a = ip6_word(from, 1) + ip6_word(from, 2) + ip6_word(from, 3);
	uint32_t b = ip6_word(to, 1) + ip6_word(to, 2) + ip6_word(to, 3);
	return &t->at64[(a * t->mul64[0] + b * t->mul64[1]) >> (32 - XLAT_PAIR_BITS)];
}

/* True for a packet from a port that is no fragment, has no options or extension headers
 * and came to us alone. Protocol, port and flags are looked at as one word. */
static inline bool xlat_is_plain(const struct pkt *p, uint8_t port)
{
	const uint32_t odd = PKT_FRAGMENT | PKT_OPTIONS | PKT_L2_GROUP, mask = 0xff00u | odd << 16;
	return (load32(&p->proto) & mask) == (uint32_t)port << 8;
}
_Static_assert(offsetof(struct pkt, port) == offsetof(struct pkt, proto) + 1 &&
                       offsetof(struct pkt, flags) == offsetof(struct pkt, proto) + 2,
               "one word");

/* Lowers nothing, refuses nothing: true when the packet is translated now. */
static inline bool xlat46_known(struct ivi *v, struct pkt *p)
{
	const struct ip4_hdr *h = ip4_header(p);
	uint32_t n = p->l4_len, from = ip4_raw(h->from), to = ip4_raw(h->to);
	const struct xlat_pair46 *k = xlat_pair46(v->pairs, from, to);
	uint8_t *l4 = p->data + p->l4;
	if (UNLIKELY(k->from != from || k->to != to || h->ttl <= 1 || n > v->most46 ||
	             !xlat_is_plain(p, PORT_WAN) || v->until_sample <= 1))
		return false;
	if (p->proto == PROTO_TCP && LIKELY(n >= sizeof(struct tcp_hdr) && !v->mss)) {
		struct tcp_hdr *tcp = (struct tcp_hdr *)l4;
		tcp->sum = csum_apply(tcp->sum, k->delta);
	} else {
		struct udp_hdr *udp = (struct udp_hdr *)l4;
		if (p->proto != PROTO_UDP || UNLIKELY(n < sizeof *udp || be16_raw(udp->sum) == 0))
			return false;
		udp->sum = csum_apply_icmp(udp->sum, k->delta);
	}
	v->until_sample--;
	v->translated[IVI_46]++;
	uint32_t tc = (h->tos & v->tos_mask) | v->tos_set;
	uint32_t rest =
	        swap16((uint16_t)n) | (uint32_t)h->proto << 16 | (uint32_t)(h->ttl - 1) << 24;
	struct ip6_hdr *six = (struct ip6_hdr *)(l4 - IP6_MIN);
	six->first = be32_of(0x60000000u | tc << 20);
	store32(&six->len, rest);
	six->from = k->from6;
	six->to = k->to6;
	p->data = (uint8_t *)six;
	p->len = IP6_MIN + n;
	p->out = k->out;
	p->hop = k->hop;
	p->flags |= PKT_ROUTED;
	return true;
}
_Static_assert(offsetof(struct ip6_hdr, next) == 6 && offsetof(struct ip6_hdr, hops) == 7,
               "length, next header and hop limit are one word");
_Static_assert(PKT_HEADROOM >= IP6_MIN, "the larger header fits in front");

static inline bool xlat64_known(struct gw *gw, struct ivi *v, struct pkt *p)
{
	const struct ip6_hdr *h = ip6_header(p);
	const struct xlat_pair64 *k = xlat_pair64(v->pairs, &h->from, &h->to);
	uint32_t n = p->l4_len;
	uint8_t *l4 = p->data + IP6_MIN;
	if (UNLIKELY(!ip6_eq(&k->from6, &h->from) || !ip6_eq(&k->to6, &h->to) || h->hops <= 1 ||
	             n > v->most64 || !xlat_is_plain(p, PORT_LAN) || v->until_sample <= 1))
		return false;
	if (p->proto == PROTO_TCP && LIKELY(n >= sizeof(struct tcp_hdr) && !v->mss)) {
		struct tcp_hdr *tcp = (struct tcp_hdr *)l4;
		tcp->sum = csum_apply(tcp->sum, k->delta);
	} else {
		struct udp_hdr *udp = (struct udp_hdr *)l4;
		if (p->proto != PROTO_UDP || UNLIKELY(n < sizeof *udp || be16_raw(udp->sum) == 0))
			return false;
		udp->sum = csum_apply_icmp(udp->sum, k->delta);
	}
	v->until_sample--;
	v->translated[IVI_64]++;
	/* Words of the IPv4 header as they stand in memory; their sum is that of all. */
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
	p->data = four;
	p->len = len;
	p->out = k->out;
	p->hop = k->hop;
	p->flags |= PKT_ROUTED;
	return true;
}

#endif
