/* IPv6 packets into the tunnel: who may send, where to, and the outer header
 * (RFC 3056 section 5.3, RFC 3964 section 5.1, RFC 4213 section 3.5).
 *
 * The tunnel's MTU is static (RFC 4213 section 3.2.1): the outer header has DF clear,
 * so the identification must be fresh (RFC 6864). See tun6to4.h. */
#include "apps/tun6to4.h"

#include "net/csum.h"
#include "net/mss.h"

/* A source from elsewhere. One that embeds an address which cannot be a tunnel's end
 * gets no answer (RFC 3056 section 9). */
static __attribute__((noinline)) enum verdict stranger(struct gw *gw, const struct tun *t,
                                                       struct pkt *p)
{
	const ip6 *from = &ip6_header(p)->from;
	if (tun_in(&t->domain, from) && !tun_good_end(t, tun_embedded(t, from)))
		return gw_drop(gw, p, DROP_TUNNEL_END);
	gw_error6(gw, p, ICMP6_UNREACHABLE, ICMP6_POLICY, 0);
	return gw_drop(gw, p, DROP_INGRESS);
}

/* No outer destination. */
static __attribute__((noinline)) enum verdict nowhere(struct gw *gw, struct pkt *p, bool bad)
{
	if (bad)
		return gw_drop(gw, p, DROP_TUNNEL_END); /* in silence, as above */
	gw_error6(gw, p, ICMP6_UNREACHABLE, ICMP6_NO_ROUTE, 0);
	return gw_drop(gw, p, DROP_NO_RELAY);
}

static __attribute__((noinline)) enum verdict nested(struct gw *gw, struct pkt *p)
{
	gw_error6(gw, p, ICMP6_UNREACHABLE, ICMP6_ADMIN, 0);
	return gw_drop(gw, p, DROP_NESTED_TUNNEL);
}

/* Whether a packet from inside may go into the tunnel at all. */
static inline enum verdict may_leave(struct gw *gw, const struct tun *t, struct pkt *p)
{
	if (UNLIKELY(p->port != PORT_LAN))
		return gw_drop(gw, p, DROP_LOOP); /* out of the tunnel and in again */
	if (UNLIKELY(!tun_in(&t->site, &ip6_header(p)->from)))
		return stranger(gw, t, p);
	if (UNLIKELY(gw_is_own6(gw, PORT_LAN, &ip6_header(p)->from)))
		return gw_drop(gw, p, DROP_MARTIAN_SOURCE);
	return UNLIKELY(tun_is_nested(p->proto)) ? nested(gw, p) : V_SEND6;
}

/* A neighbour on the WAN, or one of several addresses of ours: is it a host's? */
static __attribute__((noinline)) bool odd_end(const struct gw *gw, uint32_t to)
{
	ip4 a = ip4_from_raw(to);
	return gw_owned(gw, a) || ip4_is_broadcast(&gw->port[PORT_WAN], a);
}

/* Routes the outer packet. An end on the LAN, an own address and a broadcast are no
 * better than a private one. */
static inline enum verdict route_outer(struct gw *gw, struct pkt *p, uint32_t to)
{
	if (UNLIKELY(!ip4_route(gw, p, ip4_from_raw(to)))) {
		gw_error6(gw, p, ICMP6_UNREACHABLE, ICMP6_NO_ROUTE, 0);
		return gw_drop(gw, p, DROP_NO_ROUTE);
	}
	bool look = p->hop == to || gw->n_owned;
	if (UNLIKELY(p->out != PORT_WAN || (look && odd_end(gw, to))))
		return gw_drop(gw, p, DROP_TUNNEL_END);
	return V_SEND;
}

/* Puts the outer header in front; false when there is no room, which cannot be. */
static inline bool put_header(struct gw *gw, const struct tun *t, struct pkt *p, uint32_t to)
{
	const uint8_t *inner = p->data;
	uint8_t tos = (uint8_t)((inner[0] << 4 | inner[1] >> 4) & t->tos_mask);
	struct ip4_hdr *h = (struct ip4_hdr *)pkt_push(p, sizeof *h);
	if (UNLIKELY(!h))
		return false;
	*h = t->header;
	be16 len = be16_of((uint16_t)p->len), id = gw_ip_id(gw, ip4_from_raw(to));
	h->tos = tos;
	h->len = len;
	h->id = id;
	h->to = ip4_from_raw(to);
	/* TOS is the upper half of its word as the machine loads it. */
	uint32_t sum = t->header_sum + ((uint32_t)tos << 8) + be16_raw(len) + be16_raw(id) +
	               (to & 0xffff) + (to >> 16);
	h->sum = be16_from_raw((uint16_t)~csum_fold(sum));
	return true;
}

enum verdict tun_wrap(struct gw *gw, struct tun *t, struct pkt *p)
{
	bool bad, ours = p->port == PKT_PORT_SELF;
	if (!ours && UNLIKELY(may_leave(gw, t, p) != V_SEND6))
		return V_DROP;
	uint32_t to = tun_end_of(t, &ip6_header(p)->to, &bad);
	if (UNLIKELY(to == 0))
		return nowhere(gw, p, bad);
	if (!ours && UNLIKELY(ip6_may_forward(gw, p) != V_SEND6))
		return V_DROP;
	if (UNLIKELY(route_outer(gw, p, to) != V_SEND))
		return V_DROP;
	if (!ours) {
		if (UNLIKELY(t->n_soft) && tun_soft_error(gw, t, p, to) != V_SEND6)
			return V_DROP;
		if (UNLIKELY(t->mss))
			mss_clamp(p, t->mss);
		ip6_hop(ip6_header(p));
	}
	if (UNLIKELY(!put_header(gw, t, p, to)))
		return gw_drop(gw, p, DROP_NO_PACKET);
	t->out++;
	return V_SEND;
}
