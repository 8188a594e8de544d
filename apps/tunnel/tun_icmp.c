/* Translates ICMP errors about our own tunnel packets into ICMPv6 errors to the sender of
 * the inner packet (RFC 4213 section 3.4, RFC 3056 section 7).
 *
 * When the error quotes the inner header, an ICMPv6 error is sent at once, about as much of
 * the inner packet as is quoted. Old routers quote only eight bytes behind the outer
 * header. Then the error is remembered for the outer destination, and the next packet to
 * that destination is answered with it. Both need a quote of a packet that we may have
 * sent, and both use icmp6_error, which limits the rate. See tun.h. */
#include "apps/tunnel/tun.h"

#include "kernel/lib/when.h"
#include "net/lib/csum.h"
#include "net/ip6/icmp6.h"

#define LOOK_MS     1000u
#define QUOTE_LEAST 8u /* bytes that every quote has behind the outer header (RFC 792) */

/* An ICMPv6 error. */
struct error6 {
	uint8_t type, code;
	uint32_t rest;
};

/* --- translation of the type ------------------------------------------------------- */

static bool is_error(uint8_t type)
{
	return type == ICMP_UNREACHABLE || type == ICMP_QUENCH || type == ICMP_TIME_EXCEEDED ||
	       type == ICMP_PARAMETER;
}

static struct error6 unreachable(const struct icmp_hdr *icmp)
{
	switch (icmp->code) {
	case ICMP_NET:
	case ICMP_NET_UNKNOWN:
	case ICMP_NET_TOS:
		return (struct error6){ICMP6_UNREACHABLE, ICMP6_NO_ROUTE, 0};
	case ICMP_NET_ADMIN:
	case ICMP_HOST_ADMIN:
	case ICMP_ADMIN:
		return (struct error6){ICMP6_UNREACHABLE, ICMP6_ADMIN, 0};
	case ICMP_TOO_BIG: {
		/* Less the outer header. The MTU is 0 when the router does not support path
		 * MTU discovery. */
		uint32_t mtu = be16_get(icmp->seq);
		mtu = max_u32(mtu, TUN_MTU_LEAST + IP4_MIN) - IP4_MIN;
		return (struct error6){ICMP6_TOO_BIG, 0, mtu};
	}
	default: /* host, protocol: there is no tunnel at that end */
		return (struct error6){ICMP6_UNREACHABLE, ICMP6_ADDRESS, 0};
	}
}

/* The ICMPv6 error for an ICMP error; type 0 when it is of no use for an IPv6 host. */
static struct error6 translate(const struct icmp_hdr *icmp)
{
	if (icmp->type == ICMP_UNREACHABLE)
		return unreachable(icmp);
	if (icmp->type == ICMP_TIME_EXCEEDED && icmp->code <= 1)
		return (struct error6){ICMP6_TIME_EXCEEDED, icmp->code, 0};
	return (struct error6){0, 0, 0};
}

/* --- remembered errors ------------------------------------------------------------- */

static struct tun_soft *soft_of(const struct gw *gw, struct tun *t, uint32_t to)
{
	_Static_assert(TUN_SOFT == 1u << 6, "the upper six bits");
	return &t->soft[to * gw->ids.mul >> 26];
}

static void soft_remove(struct tun *t, struct tun_soft *s)
{
	t->n_soft -= s->to != 0;
	s->to = 0;
}

static void soft_set(struct gw *gw, struct tun *t, uint32_t to, struct error6 e)
{
	struct tun_soft *s = soft_of(gw, t, to);
	soft_remove(t, s);
	*s = (struct tun_soft){to, gw->clock.ms + TUN_SOFT_MS, e.type, e.code, (uint16_t)e.rest};
	t->n_soft++;
}

enum verdict tun_soft_error(struct gw *gw, struct tun *t, struct pkt *p, uint32_t to)
{
	struct tun_soft *s = soft_of(gw, t, to);
	bool too_big = s->type == ICMP6_TOO_BIG;
	if (LIKELY(s->to != to) || (too_big && p->len <= s->mtu))
		return V_SEND6;
	soft_remove(t, s);
	if (when_come(gw->clock.ms, s->due_ms, TUN_SOFT_MS))
		return V_SEND6;
	t->errors++;
	icmp6_error(gw, p, s->type, s->code, too_big ? s->mtu : 0);
	/* Other errors were about an earlier packet; this one may reach its destination. */
	return too_big ? gw_drop(gw, p, DROP_TOO_BIG) : V_SEND6;
}

void tun_soft_tick(struct gw *gw, struct tun *t)
{
	if (t->n_soft == 0 || !when_again(gw->clock.ms, &t->next_look_ms, LOOK_MS))
		return;
	for (uint32_t i = 0; i < TUN_SOFT; i++)
		if (t->soft[i].to && when_come(gw->clock.ms, t->soft[i].due_ms, TUN_SOFT_MS))
			soft_remove(t, &t->soft[i]);
}

/* --- the quote -------------------------------------------------------------------------- */

/* The length of the quoted packet behind the ICMP header, without extensions (RFC 4884
 * section 4) and without padding. */
static uint32_t quoted_bytes(const struct pkt *p)
{
	const uint8_t *icmp = p->data + p->l4;
	uint32_t n = p->l4_len - (uint32_t)sizeof(struct icmp_hdr), original = icmp[5] * 4u;
	if (original >= IP4_MIN && original < n)
		n = original;
	const struct ip4_hdr *h = (const struct ip4_hdr *)(icmp + sizeof(struct icmp_hdr));
	return min_u32(n, be16_get(h->len));
}

/* Cuts p down to the quoted inner packet and parses as much as is there. False when we
 * cannot have sent it: it must be from our site and to this outer destination (raw). */
static bool inner_packet(const struct gw *gw, const struct tun *t, struct pkt *p, uint32_t skip,
                         uint32_t n, uint32_t outer_to)
{
	if (!pkt_pull(p, skip))
		return false;
	pkt_trim(p, n);
	struct ip6_hdr *h = ip6_header(p);
	if (h->first.b[0] >> 4 != 6 || !tun_in(&t->site, &h->from) ||
	    tun_outer_to(t, &h->to) != outer_to)
		return false;
	/* The quote is shorter than the packet was: parse with the length that is there. */
	be16 len = h->len;
	if (be16_get(len) > p->len - IP6_MIN)
		h->len = be16_of((uint16_t)(p->len - IP6_MIN));
	bool good = ip6_parse(p) == DROP_NONE;
	h->len = len;
	/* Where the packet came from, and where the error goes. */
	const struct route6 *r = route6_for(&gw->routes6, &h->from);
	p->iface = r && interface_is_inside(r->iface) ? r->iface : IF_LAN;
	return good;
}

/* Handles an error about protocol 41: sends or remembers the ICMPv6 error. Takes p unless
 * it drops it. */
static enum verdict error_about_tunnel(struct gw *gw, struct tun *t, struct pkt *p)
{
	const struct icmp_hdr *icmp = (const struct icmp_hdr *)(p->data + p->l4);
	struct error6 e = translate(icmp);
	uint32_t skip = p->l4 + (uint32_t)sizeof *icmp, n = quoted_bytes(p);
	const struct ip4_hdr *outer = (const struct ip4_hdr *)(p->data + skip);
	uint32_t hlen = (uint32_t)(outer->version_ihl & 15) * 4, to = ip4_raw(outer->to);
	if (hlen < IP4_MIN || hlen > n || n - hlen < QUOTE_LEAST ||
	    ip4_raw(outer->from) != t->outer || be16_get(outer->frag) & IP4_OFFSET ||
	    ((const uint8_t *)outer)[hlen] >> 4 != 6)
		return gw_drop(gw, p, DROP_ICMP_QUOTE);
	if (!tun_known_end(gw, t, to) && tun_bad_end(gw, t, to) != DROP_NONE)
		return gw_drop(gw, p, DROP_ICMP_QUOTE); /* we send no packets to that end */
	if (e.type == 0)
		return gw_drop(gw, p, DROP_ICMP_TYPE);
	if (n - hlen < IP6_MIN) {
		soft_set(gw, t, to, e);
	} else {
		if (!inner_packet(gw, t, p, skip + hlen, n - hlen, to))
			return gw_drop(gw, p, DROP_ICMP_QUOTE);
		t->errors++;
		icmp6_error(gw, p, e.type, e.code, e.rest);
	}
	pkt_free(p);
	return V_KEPT;
}

bool tun_icmp(struct gw *gw, struct tun *t, struct pkt *p, enum verdict *v)
{
	const uint8_t *icmp = p->data + p->l4;
	if (p->flags & (PKT_FRAGMENT | PKT_HAIRPIN | PKT_L2_GROUP) ||
	    p->l4_len < sizeof(struct icmp_hdr) + IP4_MIN || !is_error(icmp[0]))
		return false;
	const struct ip4_hdr *outer = (const struct ip4_hdr *)(icmp + sizeof(struct icmp_hdr));
	if (outer->version_ihl >> 4 != 4 || outer->proto != PROTO_IP6)
		return false;
	if (csum_sum(icmp, p->l4_len) != 0xffff)
		*v = gw_drop(gw, p, DROP_ICMP_CHECKSUM);
	else if (ip4_bad_source(gw, p))
		*v = gw_drop(gw, p, DROP_MARTIAN_SOURCE);
	else
		*v = error_about_tunnel(gw, t, p);
	return true;
}
