/* From IPv4 to IPv6 (RFC 7915 section 4). The packet comes from the NAT or from a socket of ours;
 * the NAT has checked its size and counted the hop. */
#include "apps/clat/clat.h"

#include "net/gw_address.h"
#include "net/ip4/icmp.h"

/* Drops a packet with an ICMP error: it reaches the inside host through the NAT. */
static enum verdict unreachable(struct gw *gw, struct pkt *p, enum drop reason, uint8_t code)
{
	icmp_error(gw, p, ICMP_UNREACHABLE, code, 0);
	return gw_drop(gw, p, reason);
}

/* Finds the addresses and routes the packet. */
static enum verdict map(struct gw *gw, const struct clat *c, struct pkt *p, struct xlat46 *x)
{
	const struct ip4_hdr *h = ip4_header(p);
	if (clat_stopped(gw))
		return unreachable(gw, p, DROP_NO_PREFIX64, ICMP_NET);
	if (!clat_to6(c, ip4_raw(h->from), &x->from))
		return gw_drop(gw, p, DROP_MARTIAN_SOURCE);
	if (!clat_may_embed(c, ip4_raw(h->to)))
		return unreachable(gw, p, DROP_MARTIAN_DESTINATION, ICMP_ADMIN);
	embed_to6(&c->form, ip4_raw(h->to), &x->to);
	return ip6_route(gw, p, &x->to) && p->out == IF_WAN
	               ? V_SEND
	               : unreachable(gw, p, DROP_NO_ROUTE, ICMP_NET);
}

/* A fragment with DF may be too large with the fragment header that it gets. */
static enum verdict check_size(struct gw *gw, struct pkt *p, const struct xlat46 *x)
{
	uint32_t more = x->fragment ? (uint32_t)sizeof(struct ip6_frag) : 0;
	uint32_t mtu = gw->iface[IF_WAN].mtu6;
	if (!(be16_get(ip4_header(p)->frag) & IP4_DF) || IP6_MIN + more + p->l4_len <= mtu)
		return V_SEND;
	icmp_error(gw, p, ICMP_UNREACHABLE, ICMP_TOO_BIG, mtu - (IP6_MIN - IP4_MIN) - more);
	return gw_drop(gw, p, DROP_TOO_BIG);
}

/* An error of an inside host, or of ours, about a packet from outside. */
static enum verdict error(struct gw *gw, struct clat *c, struct pkt *p, struct xlat46 *x)
{
	struct xlat46 inner = {.hops = 0};
	struct xlat46_quote q;
	struct xlat_icmp to;
	if (xlat46_read_error(gw, &c->core, p, x, &q, &to) != V_SEND)
		return V_DROP;
	if (!clat_may_embed(c, ip4_raw(q.ip->from)) || !clat_to6(c, ip4_raw(q.ip->to), &inner.to))
		return gw_drop(gw, p, DROP_ICMP_QUOTE);
	embed_to6(&c->form, ip4_raw(q.ip->from), &inner.from);
	return xlat46_write_error(gw, &c->core, p, &q, x, &inner, &to);
}

static bool is_error(const struct pkt *p)
{
	return p->proto == PROTO_ICMP && !(p->flags & PKT_LATER) && p->l4_len > 0 &&
	       xlat_is_error4(p->data[p->l4]);
}

static enum verdict translate(struct gw *gw, struct clat *c, struct pkt *p)
{
	const struct ip4_hdr *h = ip4_header(p);
	struct xlat46 x;
	enum drop wrong = ip4_parse(p); /* its fields are those of what came in */
	if (wrong != DROP_NONE)
		return gw_drop(gw, p, wrong);
	enum verdict v = map(gw, c, p, &x);
	if (v != V_SEND)
		return v;
	xlat46_set_header(&c->core, p, &x);
	x.hops = h->ttl;
	if (is_error(p))
		return error(gw, c, p, &x);
	v = check_size(gw, p, &x);
	if (v == V_SEND && p->proto == PROTO_ICMP && p->flags & PKT_FRAGMENT)
		return clat_gather_up(gw, c, p, &x);
	if (v == V_SEND)
		v = xlat46_check_l4(gw, &c->core, p);
	if (v != V_SEND)
		return v;
	x.delta = xlat_delta46(&x.from, &x.to, ip4_raw(h->from), ip4_raw(h->to));
	v = xlat46_change_l4(gw, &c->core, p, &x);
	return v == V_SEND ? xlat46_send(gw, &c->core, p, &x) : v;
}

void clat_up(struct gw *gw, struct pkt *p)
{
	enum verdict v = translate(gw, clat_of(gw), p);
	if (v == V_SEND6)
		gw_send6(gw, p);
	else if (v == V_DROP)
		pkt_free(p);
}
