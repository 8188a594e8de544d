/* ICMP errors, which are translated by the packet that they quote (RFC 6146 section 3.4; RFC 7915
 * sections 4.3 and 5.3). An error opens, refreshes and ends no session. */
#include "apps/nat64/nat64.h"

#include "net/gw_address.h"

/* Bytes of transport header that the quote must have: ports, or type, code, checksum, identifier.
 */
#define QUOTED_MIN 8u

/* Changes a port or an identifier of the quoted transport header, `at` bytes into it, and its
 * checksum where that is there. The checksum of UDP may be missing. */
static void change_port(uint8_t *l4, uint32_t n, uint8_t proto, uint32_t at, uint16_t to)
{
	static const uint8_t place[] = {[NAT_UDP] = 6, [NAT_TCP] = 16, [NAT_ICMP] = 2};
	uint16_t delta = csum_delta16(load16(l4 + at), to);
	uint32_t sum = place[proto];
	store16(l4 + at, to);
	if (n < sum + 2)
		return;
	be16 was = be16_from_raw(load16(l4 + sum));
	be16 is = proto == NAT_UDP ? csum_apply_udp(was, delta) : csum_apply(was, delta);
	store16(l4 + sum, be16_raw(is));
}

/* --- from inside ------------------------------------------------------------------------------ */

/* The session of the packet that an error from inside quotes: it went to an inside host. */
static const struct nat_session *quoted_inwards(const struct nat64 *n, const struct xlat64_quote *q)
{
	uint8_t proto = nat64_proto_of(q->chain.proto);
	uint32_t prefix = nat64_prefix_of(n, &q->ip->from);
	uint32_t number = nat_inside_find(&n->inside, &q->ip->to);
	if (!q->first || q->data < QUOTED_MIN || proto == NAT_OTHER || number == NAT_INSIDE_NONE ||
	    prefix == NAT64_NO_PREFIX)
		return NULL;
	uint32_t rem_ip = embed_to4(&n->prefix[prefix].form, &q->ip->from);
	uint32_t ports = proto == NAT_ICMP ? load16(q->l4 + 4)
	                                   : load16(q->l4 + 2) | (uint32_t)load16(q->l4) << 16;
	return nat_session_find(&n->nat.table, proto, number, rem_ip, ports);
}

/* The source is the external address of the host that the quoted packet went to, whichever inside
 * node sent the error. */
enum verdict nat64_error_out(struct gw *gw, struct nat64 *n, struct pkt *p, struct xlat64 *x)
{
	struct xlat64_quote q;
	struct xlat_icmp to;
	if (xlat64_read_error(gw, &n->core, p, x, &q, &to) != V_SEND)
		return V_DROP;
	const struct nat_session *s = quoted_inwards(n, &q);
	if (!s)
		return gw_drop(gw, p, DROP_NO_MAPPING);
	if (x->to !=
	    s->rem_ip) /* an error goes to the source of the packet (RFC 4443 section 2.4) */
		return gw_drop(gw, p, DROP_ICMP_QUOTE);
	if (nat64_route_out(gw, n, p, x->to) != V_SEND ||
	    xlat64_may_forward(gw, p, x, true) != V_SEND)
		return V_DROP;
	xlat64_set_header(gw, &n->core, p, x);
	x->from = s->ext_ip;
	struct xlat64 inner = {.from = s->rem_ip, .to = s->ext_ip};
	change_port(q.l4, q.data, s->proto, s->proto == NAT_ICMP ? 4 : 2, s->ext_port);
	p->flags |= PKT_TRANSLATED;
	return xlat64_write_error(gw, &n->core, p, &q, x, &inner, &to);
}

/* --- from outside ----------------------------------------------------------------------------- */

/* The session of the packet that an error from outside quotes: we sent it for an inside host. *own
 * is true when a socket of ours sent it. */
static const struct nat_session *quoted_outwards(const struct nat64 *n,
                                                 const struct xlat46_quote *q, bool *own)
{
	const struct nat_table *t = &n->nat.table;
	uint8_t proto = nat_proto_of(q->ip->proto);
	uint32_t external = nat_external_find(t, ip4_raw(q->ip->from));
	*own = false;
	if (!q->first || q->data < QUOTED_MIN || proto == NAT_OTHER || external == NAT_NONE)
		return NULL;
	uint16_t port = load16(q->l4 + (proto == NAT_ICMP ? 4 : 0));
	uint32_t rem_port = proto == NAT_ICMP ? 0 : load16(q->l4 + 2);
	const struct nat_mapping *m = nat_mapping_of_port(t, external, proto, port);
	if (m && !nat_inside_is6(m->in_ip)) /* the NAT44 has refused it */
		return NULL;
	*own = !m && nat_port_is_taken(t, external, proto, port);
	return m ? nat_session_find(t, proto, m->in_ip, ip4_raw(q->ip->to),
	                            m->in_port | rem_port << 16)
	         : NULL;
}

/* The source of an error from outside, in IPv6: the address of the router that sent it, so that
 * traceroute shows it. Ours where no prefix may stand for it. */
static void set_source(struct gw *gw, const struct nat64 *n, const struct pkt *p, uint32_t prefix,
                       struct xlat46 *x)
{
	uint32_t from = ip4_raw(ip4_header(p)->from);
	if (!nat64_may_embed(n, prefix, from))
		prefix = nat64_prefix_for(n, from);
	const ip6 *own = gw_own_address6(gw, p->out, &x->to);
	if (prefix != NAT64_NO_PREFIX)
		embed_to6(&n->prefix[prefix].form, from, &x->from);
	else if (own)
		x->from = *own;
	else
		x->from = gw->iface[p->out].addr6[0].addr;
}

enum verdict nat64_error_in(struct gw *gw, struct nat64 *n, struct pkt *p)
{
	struct xlat46 x = {.hairpinned = p->flags & PKT_HAIRPIN};
	struct xlat46 inner = {.hops = 0};
	struct xlat46_quote q;
	struct xlat_icmp to;
	bool own;
	if (xlat46_read_error(gw, &n->core, p, &x, &q, &to) != V_SEND)
		return V_DROP;
	const struct nat_session *s = quoted_outwards(n, &q, &own);
	if (!s)
		return own ? V_LOCAL : gw_drop(gw, p, DROP_NO_MAPPING);
	bool ours = p->flags & (PKT_HAIRPIN | PKT_TRANSLATED);
	if (!ours && ip4_bad_source(gw, p))
		return gw_drop(gw, p, DROP_MARTIAN_SOURCE);
	if (nat64_route_in(gw, n, p, s->in_ip, &x.to) != V_SEND)
		return V_DROP;
	bool hairpinned = x.hairpinned;
	xlat46_set_header(&n->core, p, &x);
	x.hairpinned = hairpinned;
	if (ours)
		x.hops = ip4_header(p)->ttl;
	else if (xlat46_may_forward(gw, p, &x, true) != V_SEND)
		return V_DROP;
	set_source(gw, n, p, s->route_in, &x);
	inner.from = x.to;
	embed_to6(&n->prefix[s->route_in].form, s->rem_ip, &inner.to);
	change_port(q.l4, q.data, s->proto, s->proto == NAT_ICMP ? 4 : 0, (uint16_t)s->ports);
	return xlat46_write_error(gw, &n->core, p, &q, &x, &inner, &to);
}
