/* Encapsulation: checks of IPv6 packets from inside, the outer destination and the outer
 * header (RFC 3056 section 5.3, RFC 3964 section 5.1, RFC 4213 section 3.5).
 *
 * The tunnel's MTU is static (RFC 4213 section 3.2.1): the outer header has DF clear, so
 * the identification must be unique (RFC 6864). See tun.h. */
#include "apps/tunnel/tun.h"
#include "net/gw_address.h"
#include "net/ip6/icmp6.h"
#include "net/lib/mss.h"

#define SELDOM static __attribute__((noinline))

/* Drops a packet whose source is not of our site. There is no ICMP error when the source
 * embeds an address that cannot be a tunnel's end (RFC 3056 section 9). */
SELDOM enum verdict foreign_source(struct gw *gw, const struct tun *t, struct pkt *p)
{
	const ip6 *from = &ip6_header(p)->from;
	if (tun_in(&t->domain, from) && !tun_may_be_end(t, ip4_from_raw(tun_embedded(t, from))))
		return gw_drop(gw, p, DROP_TUNNEL_END);
	icmp6_error(gw, p, ICMP6_UNREACHABLE, ICMP6_POLICY, 0);
	return gw_drop(gw, p, DROP_INGRESS);
}

SELDOM enum verdict drop_nested(struct gw *gw, struct pkt *p)
{
	icmp6_error(gw, p, ICMP6_UNREACHABLE, ICMP6_ADMIN, 0);
	return gw_drop(gw, p, DROP_NESTED_TUNNEL);
}

/* Checks whether a packet from inside may enter the tunnel at all. */
static inline enum verdict may_leave(struct gw *gw, const struct tun *t, struct pkt *p)
{
	const ip6 *from = &ip6_header(p)->from;
	if (UNLIKELY(!interface_is_inside(p->iface)))
		return gw_drop(gw, p, DROP_LOOP); /* it came out of the tunnel */
	if (UNLIKELY(!tun_in(&t->site, from)))
		return foreign_source(gw, t, p);
	if (UNLIKELY(gw_is_own6(gw, p->iface, from)) || ip6_from_elsewhere(gw, p))
		return gw_drop(gw, p, DROP_MARTIAN_SOURCE);
	return UNLIKELY(tun_is_nested(p)) ? drop_nested(gw, p) : V_SEND6;
}

/* Finds an outer destination that is not in the table. NULL, with the packet dropped, when
 * there is none (to = 0) or when it cannot be a tunnel's end. */
SELDOM const struct tun_end *new_end(struct gw *gw, struct tun *t, struct pkt *p, uint32_t to)
{
	enum drop bad = DROP_NO_RELAY;
	if (to || tun_in(&t->domain, &ip6_header(p)->to))
		bad = tun_bad_end(gw, t, to);
	if (bad == DROP_NONE)
		return tun_known_end(gw, t, to);
	if (bad != DROP_TUNNEL_END) /* no error about that reason, as above */
		icmp6_error(gw, p, ICMP6_UNREACHABLE, ICMP6_NO_ROUTE, 0);
	gw_drop(gw, p, bad);
	return NULL;
}

/* Encapsulates a packet. `ours`: the gateway itself made it. */
static enum verdict encapsulate(struct gw *gw, struct tun *t, struct pkt *p, bool ours)
{
	if (UNLIKELY(!t->up))
		return gw_drop(gw, p, DROP_NO_ROUTE);
	if (!ours && UNLIKELY(may_leave(gw, t, p) != V_SEND6))
		return V_DROP;
	uint32_t to = tun_outer_to(t, &ip6_header(p)->to);
	const struct tun_end *end = tun_known_end(gw, t, to);
	if (UNLIKELY(!end) && !(end = new_end(gw, t, p, to)))
		return V_DROP;
	if (!ours) {
		if (UNLIKELY(ip6_may_forward(gw, p) != V_SEND6))
			return V_DROP;
		if (UNLIKELY(t->n_soft) && tun_soft_error(gw, t, p, to) != V_SEND6)
			return V_DROP;
		if (UNLIKELY(t->mss))
			mss_clamp(p, t->mss);
		ip6_hop(ip6_header(p));
		if (ip6_is_plain[p->proto])
			tun_flow_note_out(t, p, to, end->hop);
	}
	uint8_t *inner = p->data;
	uint32_t len = p->len;
	if (UNLIKELY(!pkt_push(p, IP4_MIN)))
		return gw_drop(gw, p, DROP_NO_PACKET);
	tun_put_header(gw, t, inner, len, to);
	t->out++;
	p->out = IF_WAN;
	p->hop = end->hop;
	p->flags |= PKT_ROUTED;
	return V_SEND;
}

enum verdict tun_ip6(struct gw *gw, struct pkt *p)
{
	if (UNLIKELY(p->out != IF_APP))
		return ip6_forward(gw, p);
	return encapsulate(gw, tun_of(gw), p, p->iface == PKT_IF_SELF);
}
