/* Decapsulation: all checks of RFC 3964 section 5.2 and RFC 4213 section 3.6; then the
 * inner packet is forwarded as one that came in on IF_APP.
 *
 * A packet that is refused here is dropped without an ICMP error, because its sender
 * address may be forged. The inner destination must be ours. So the gateway is not an open
 * relay, and the loops of RFC 6324 are impossible. See tun.h. */
#include "apps/tunnel/tun.h"
#include "net/gw_address.h"
#include "net/lib/mss.h"

/* The inner ECN field after decapsulation, by inner and outer field (RFC 6040 section 4.2,
 * figure 4). ECN_DROP: the packet is dropped. ECN_ODD: the combination is not valid and is
 * counted. */
enum { ECN_NONE, ECN_1, ECN_0, ECN_CE, ECN_DROP = 4, ECN_ODD = 8 };
static const uint8_t ecn_of[4][4] = {
        /* outer:    none      ECT(1)              ECT(0)              CE */
        [ECN_NONE] = {ECN_NONE, ECN_NONE | ECN_ODD, ECN_NONE | ECN_ODD, ECN_DROP},
        [ECN_1] = {ECN_1, ECN_1, ECN_1 | ECN_ODD, ECN_CE},
        [ECN_0] = {ECN_0, ECN_1, ECN_0, ECN_CE},
        [ECN_CE] = {ECN_CE, ECN_CE | ECN_ODD, ECN_CE, ECN_CE},
};

/* Copies a congestion mark of the outer header to the inner one; false when the packet must
 * be dropped because of it. */
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

/* True for a native source address that a host may have (RFC 3964 section 5.3.2). */
static inline bool good_native(const ip6 *a)
{
	return a->b[0] < 0xfc && (a->b[0] | a->b[1]) != 0;
}

/* Checks the inner source against the outer one (raw). When the outer source does not prove
 * the inner one, the route back to the inner source must lead into the tunnel (reverse
 * path, RFC 2827): addresses of our own site and of other networks on the LAN do not come
 * from outside. */
static inline enum drop bad_source(const struct gw *gw, const struct tun *t, const ip6 *from,
                                   uint32_t outer)
{
	if (LIKELY(tun_in(&t->domain, from))) {
		if (LIKELY(tun_embedded(t, from) == outer))
			return DROP_NONE;
		/* A 6rd relay may forward what one site sends to another (RFC 5969 section
		 * 12). */
		if (outer != t->relay || !t->relay_may_all)
			return DROP_INNER_SOURCE;
	} else if (UNLIKELY(!good_native(from))) {
		return DROP_INNER_ADDRESS;
	} else if (UNLIKELY(!t->native_any && outer != t->relay)) {
		return DROP_NATIVE_SOURCE;
	}
	const struct route6 *back = route6_for(&gw->routes6, from);
	return back && back->iface == IF_APP ? DROP_NONE : DROP_INNER_SOURCE;
}

/* Forwards a decapsulated packet, which came from `outer` (raw), to a host of the site. */
static inline enum verdict deliver(struct gw *gw, struct tun *t, struct pkt *p, uint32_t outer)
{
	if (UNLIKELY(ip6_may_forward(gw, p) != V_SEND6))
		return V_DROP;
	if (ip6_is_plain[p->proto])
		tun_flow_note_in(t, p, outer);
	if (UNLIKELY(t->mss))
		mss_clamp(p, t->mss);
	ip6_hop(ip6_header(p));
	return V_SEND6;
}

/* Checks an outer sender that is not in the table, and enters it there. */
static __attribute__((noinline)) enum drop new_sender(const struct gw *gw, struct tun *t,
                                                      uint32_t from)
{
	enum drop bad = tun_bad_end(gw, t, from);
	return bad == DROP_NO_ROUTE ? DROP_MARTIAN_SOURCE : bad;
}

/* Decapsulates a packet of protocol 41 to our outer address that is not a fragment. */
static enum verdict decapsulate(struct gw *gw, struct tun *t, struct pkt *p)
{
	uint32_t from = ip4_raw(ip4_header(p)->from);
	uint8_t tos = ip4_header(p)->tos;
	enum drop bad = DROP_NONE;
	if (UNLIKELY(!tun_known_end(gw, t, from)))
		bad = new_sender(gw, t, from);
	if (LIKELY(bad == DROP_NONE))
		bad = pkt_pull(p, p->l4) ? ip6_parse(p) : DROP_IP_LENGTH;
	if (UNLIKELY(bad != DROP_NONE))
		return gw_drop(gw, p, bad);
	const struct ip6_hdr *h = ip6_header(p);
	if (UNLIKELY(!tun_in(&t->site, &h->to)))
		return gw_drop(gw, p, DROP_INNER_DESTINATION);
	bad = bad_source(gw, t, &h->from, from);
	if (UNLIKELY(bad != DROP_NONE))
		return gw_drop(gw, p, bad);
	if (UNLIKELY(tun_is_nested(p)))
		return gw_drop(gw, p, DROP_NESTED_TUNNEL);
	if (UNLIKELY(!merge_ecn(t, tos, p->data)))
		return gw_drop(gw, p, DROP_ECN);
	t->in++;
	p->iface = IF_APP;
	/* Packets that are not for a host on the LAN (for the gateway itself, or to an unused
	 * network of the site) are reinjected as IPv6 packets. */
	if (UNLIKELY(!ip6_route(gw, p, &h->to)) || UNLIKELY(!interface_is_inside(p->out))) {
		gw_reinject(gw, p, IF_APP, FAMILY_IP6);
		return V_KEPT;
	}
	return deliver(gw, t, p, from);
}

/* IPv4 without a NAT: accepts only packets for the gateway itself. */
static enum verdict plain_ip4(struct gw *gw, struct pkt *p)
{
	enum drop bad = ip4_bad_destination(gw, p);
	if (bad != DROP_NONE)
		return gw_drop(gw, p, bad);
	if (gw_is_own(gw, ip4_to(p)))
		return V_LOCAL;
	return gw_drop(gw, p, interface_is_inside(p->iface) ? DROP_IPV4 : DROP_FOREIGN);
}

/* IPv4 packets other than complete tunnel packets. */
static __attribute__((noinline)) enum verdict other_ip4(struct gw *gw, struct tun *t, struct pkt *p,
                                                        bool to_us)
{
	enum verdict v;
	if (to_us && p->proto == PROTO_IP6) {
		/* A sender that cannot be a tunnel's end gets no room for reassembly
		 * either. */
		enum drop bad = p->flags & PKT_L2_GROUP
		                        ? DROP_MULTICAST
		                        : new_sender(gw, t, ip4_raw(ip4_header(p)->from));
		return bad == DROP_NONE ? reasm_ip4(gw, &t->reasm, p) : gw_drop(gw, p, bad);
	}
	if (to_us && p->proto == PROTO_ICMP && tun_icmp(gw, t, p, &v))
		return v;
	return t->has_nat ? nat_ip4(gw, p) : plain_ip4(gw, p);
}

enum verdict tun_ip4(struct gw *gw, struct pkt *p)
{
	struct tun *t = tun_of(gw);
	bool to_us = p->iface == IF_WAN && t->up && ip4_raw(ip4_to(p)) == t->outer;
	if (LIKELY(to_us && p->proto == PROTO_IP6 && !(p->flags & (PKT_L2_GROUP | PKT_FRAGMENT))))
		return decapsulate(gw, t, p);
	/* Packets of the NAT take the same path as with the application `nat`. */
	if (t->has_nat && !(to_us && (p->proto == PROTO_IP6 || p->proto == PROTO_ICMP)))
		return nat_ip4(gw, p);
	return other_ip4(gw, t, p, to_us);
}
