/* From IPv6 to IPv4 (RFC 7915 section 5). The result is reinjected as if it had come in on the WAN:
 * the NAT counts the hop. */
#include "apps/clat/clat.h"

/* True for an IPv4 source (raw) that hosts beyond the WAN may have; not one of the inside. */
static bool is_outside(const struct gw *gw, const struct clat *c, uint32_t a)
{
	const struct route4 *r = route4_for(&gw->routes4, ip4_from_raw(a));
	return clat_may_embed(c, a) && r && r->iface == IF_WAN && r->len == 0;
}

static bool is_error(const struct pkt *p, const struct xlat64 *x)
{
	return x->proto == PROTO_ICMP6 && !(x->frag & IP4_OFFSET) && x->l4_len > 0 &&
	       xlat_is_error6(p->data[x->l4]);
}

/* Translates an error about a packet that we translated; another one is for the gateway itself. The
 * source of one from a node without an IPv4 address is CLAT_DUMMY (RFC 6791 section 3). */
static enum verdict error(struct gw *gw, struct clat *c, struct pkt *p, struct xlat64 *x)
{
	struct xlat64 inner = {.l4 = 0};
	struct xlat64_quote q = {.ip = ip6_header(p)};
	struct xlat_icmp to;
	/* What cannot be read is for nobody else either. */
	if (xlat64_read_error(gw, &c->core, p, x, &q, &to) != V_SEND)
		return V_DROP;
	if (!clat_to4(c, &q.ip->from, &inner.from) || !embed_has(&c->form, &q.ip->to))
		return c->routed ? gw_drop(gw, p, DROP_ICMP_QUOTE) : V_LOCAL6;
	inner.to = embed_to4(&c->form, &q.ip->to);
	x->foreign = !embed_has(&c->form, &ip6_header(p)->from);
	if (x->foreign)
		x->from = swap32(CLAT_DUMMY);
	else if (!is_outside(gw, c, x->from))
		return gw_drop(gw, p, DROP_MARTIAN_SOURCE);
	xlat64_set_header(gw, &c->core, p, x);
	x->ttl = ip6_header(p)->hops;
	return xlat64_write_error(gw, &c->core, p, &q, x, &inner, &to);
}

static enum verdict message(struct gw *gw, struct clat *c, struct pkt *p, struct xlat64 *x)
{
	const struct ip6_hdr *h = ip6_header(p);
	if (!is_outside(gw, c, x->from))
		return gw_drop(gw, p, DROP_MARTIAN_SOURCE);
	if (x->proto == PROTO_ICMP6 && x->frag & (IP4_OFFSET | IP4_MF))
		return clat_gather_down(gw, c, p, x);
	if (xlat64_check_l4(gw, &c->core, p, x) != V_SEND)
		return V_DROP;
	xlat64_set_header(gw, &c->core, p, x);
	x->ttl = h->hops;
	x->delta = (uint16_t)~xlat_delta46(&h->from, &h->to, x->from, x->to);
	xlat64_change_l4(&c->core, p, x);
	return xlat64_replace_header(gw, &c->core, p, x);
}

enum verdict clat_down(struct gw *gw, struct clat *c, struct pkt *p)
{
	const struct ip6_hdr *h = ip6_header(p);
	struct xlat64 x = {
	        .l4 = IP6_MIN, .l4_len = p->l4_len, .whole = p->l4_len, .proto = p->proto};
	bool mapped = c->has_prefix && embed_has(&c->form, &h->from);
	if (!clat_to4(c, &h->to, &x.to) || !c->has_prefix)
		return c->routed ? gw_drop(gw, p, DROP_NO_MAP) : V_LOCAL6;
	if (p->iface != IF_WAN) /* only the provider's side has the prefix */
		return mapped ? gw_drop(gw, p, DROP_MARTIAN_SOURCE) : V_LOCAL6;
	if (!mapped && p->proto != PROTO_ICMP6)
		return c->routed ? gw_drop(gw, p, DROP_NO_MAP) : V_LOCAL6;
	if ((p->flags & PKT_OPTIONS || h->next != p->proto) &&
	    xlat64_read_chain(gw, &c->core, p, &x) != V_SEND)
		return V_DROP;
	if (mapped)
		x.from = embed_to4(&c->form, &h->from);
	bool is_about = is_error(p, &x);
	if (!mapped && !is_about)
		return c->routed ? gw_drop(gw, p, DROP_NO_MAP) : V_LOCAL6;
	enum verdict v = is_about ? error(gw, c, p, &x) : message(gw, c, p, &x);
	if (v != V_SEND)
		return v;
	gw_reinject(gw, p, IF_WAN, FAMILY_IP4);
	return V_KEPT;
}
