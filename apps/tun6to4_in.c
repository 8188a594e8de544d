/* Packets out of the tunnel: every check of RFC 3964 section 5.2 and RFC 4213
 * section 3.6, then the inner packet goes its way as one that came in on PORT_APP.
 *
 * Whatever is refused here is dropped in silence: an answer would go to whoever the
 * packet says it comes from. That the inner destination must be ours keeps us from
 * being an open relay and breaks the loops of RFC 6324. See tun6to4.h. */
#include "apps/tun6to4.h"

/* What an inner ECN field becomes under an outer one (RFC 6040 section 4.2, figure 4).
 * Upper bits: the packet is dropped; the combination should not be and is counted. */
enum { ECN_NONE, ECN_1, ECN_0, ECN_CE, ECN_DROP = 4, ECN_ODD = 8 };
static const uint8_t ecn_of[4][4] = {
        /* outer:    none      ECT(1)              ECT(0)              CE */
        [ECN_NONE] = {ECN_NONE, ECN_NONE | ECN_ODD, ECN_NONE | ECN_ODD, ECN_DROP},
        [ECN_1] = {ECN_1, ECN_1, ECN_1 | ECN_ODD, ECN_CE},
        [ECN_0] = {ECN_0, ECN_1, ECN_0, ECN_CE},
        [ECN_CE] = {ECN_CE, ECN_CE | ECN_ODD, ECN_CE, ECN_CE},
};

/* Carries a congestion mark of the outer header over to the inner one; false when the
 * packet must be dropped for it. */
static inline bool merge_ecn(struct tun *t, uint8_t tos, uint8_t *inner)
{
	uint8_t outer = tos & 3, was = inner[1] >> 4 & 3;
	if (LIKELY(outer == was || outer == ECN_NONE))
		return true;
	uint8_t is = ecn_of[was][outer];
	t->ecn_odd += (is & ECN_ODD) != 0;
	if (is & ECN_DROP)
		return false;
	inner[1] = (uint8_t)((inner[1] & 0xcf) | (is & 3) << 4);
	return true;
}

/* True for a native source that a host may have (RFC 3964 section 5.3.2). */
static inline bool good_native(const ip6 *a)
{
	return a->b[0] < 0xfc && (a->b[0] | a->b[1]) != 0;
}

/* What is wrong with the inner source, given the outer one (raw). */
static inline enum drop bad_source(const struct tun *t, const ip6 *from, uint32_t outer)
{
	bool relay = outer == t->relay;
	if (tun_in(&t->domain, from)) {
		bool same = tun_embedded(t, from) == swap32(outer);
		/* A 6rd relay may pass on what one site sends another (RFC 5969 section
		 * 12), but nothing that says it comes from here. */
		bool passed = relay && t->relay_may_all && !tun_in(&t->site, from);
		return LIKELY(same || passed) ? DROP_NONE : DROP_INNER_SOURCE;
	}
	if (UNLIKELY(!good_native(from)))
		return DROP_INNER_ADDRESS;
	return t->native_any || relay ? DROP_NONE : DROP_NATIVE_SOURCE;
}

/* What is wrong with a whole tunnel packet; *inner is its IPv6 header. */
static inline enum drop check(struct gw *gw, const struct tun *t, const struct pkt *p,
                              struct ip6_hdr **inner)
{
	ip4 from = ip4_header(p)->from;
	if (UNLIKELY(!tun_good_end(t, ip4_get(from))))
		return DROP_TUNNEL_END;
	if (UNLIKELY(ip4_bad_source(gw, p)))
		return DROP_MARTIAN_SOURCE;
	struct ip6_hdr *h = (struct ip6_hdr *)pkt_at(p, p->l4, sizeof *h);
	if (UNLIKELY(!h || h->first.b[0] >> 4 != 6))
		return DROP_IP_HEADER;
	*inner = h;
	if (UNLIKELY(!tun_in(&t->site, &h->to)))
		return DROP_INNER_DESTINATION;
	if (UNLIKELY(tun_is_nested(h->next)))
		return DROP_NESTED_TUNNEL;
	return bad_source(t, &h->from, ip4_raw(from));
}

enum verdict tun_unwrap(struct gw *gw, struct tun *t, struct pkt *p)
{
	struct ip6_hdr *inner = NULL;
	if (UNLIKELY(p->flags & PKT_L2_GROUP))
		return gw_drop(gw, p, DROP_MULTICAST);
	if (UNLIKELY(p->flags & PKT_FRAGMENT))
		return reasm_ip4(gw, &t->reasm, p);
	enum drop bad = check(gw, t, p, &inner);
	if (UNLIKELY(bad != DROP_NONE))
		return gw_drop(gw, p, bad);
	uint8_t tos = ip4_header(p)->tos;
	if (UNLIKELY(!pkt_pull(p, p->l4)))
		return gw_drop(gw, p, DROP_IP_LENGTH); /* cannot be: ip4_parse looked */
	if (UNLIKELY(!merge_ecn(t, tos, p->data)))
		return gw_drop(gw, p, DROP_ECN);
	t->in++;
	return gw_input6(gw, p);
}
