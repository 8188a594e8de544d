/* The IPv4 header that the fast paths (net/flow.h) put in place of an IPv6 header (RFC 7915 section
 * 5.1): of the stateless translator, and of the sessions of a stateful one. */
#ifndef APPS_TRANSLATE_XLAT_FLOW_H
#define APPS_TRANSLATE_XLAT_FLOW_H

#include "apps/translate/xlat_packet.h"
#include "net/flow.h"

/* Stores a word given in host order; gives the sum with it added. The compiler must not put the
 * additions off: it has no registers to keep so many words. */
ALWAYS_INLINE uint32_t xlat_put_word(uint8_t *at, uint32_t word, uint32_t sum)
{
	uint32_t raw = swap32(word);
	store32(at, raw);
	sum = csum_add32(sum, raw);
	__asm__("" : "+r"(sum));
	return sum;
}

/* Writes the IPv4 header in front of f->l4, with one hop less than f has; `sum` is that of the two
 * raw addresses. Gives its place. It covers no field of the IPv6 header that is read here. */
ALWAYS_INLINE uint8_t *xlat_flow4(struct gw *gw, const struct xlat_core *c,
                                  const struct flow_packet *f, uint32_t from, uint32_t to,
                                  uint32_t sum)
{
	uint8_t *four = f->l4 - IP4_MIN;
	store32(four + 12, from);
	store32(four + 16, to);
	uint32_t id = be16_get(ip4_id(&gw->ids, ip4_from_raw(to)));
	sum = xlat_put_word(four + 4, id << 16 | xlat_df(IP4_MIN + flow_largest(f)), sum);
	uint32_t tos = xlat_tos(c, be32_get(f->h6->first) >> 20);
	sum = xlat_put_word(four, 0x45000000u | tos << 16 | (IP4_MIN + f->n), sum);
	/* Protocol and hop limit change places. */
	uint32_t w2 = swap16(load16(f->proto)) - 1u;
	store32(four + 8, w2 | (uint32_t)(uint16_t)~csum_fold(csum_add32(sum, w2)) << 16);
	if (f->partial) { /* the next segments go on from this identification */
		ip4_id_skip(&gw->ids, ip4_from_raw(to), f->p->segments - 1u);
		f->p->flags &= (uint16_t)~PKT_TSO6;
	}
	return four;
}
_Static_assert(offsetof(struct ip6_hdr, next) == 6 && offsetof(struct ip6_hdr, hops) == 7 &&
                       offsetof(struct ip4_hdr, ttl) == 8 && offsetof(struct ip4_hdr, proto) == 9,
               "protocol and hop limit are neighbours");

#endif
