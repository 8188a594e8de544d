/* The application `nat`: network address and port translation between inside hosts (LAN)
 * and external addresses (WAN), RFC 3022, RFC 4787, RFC 5382, RFC 5508, RFC 7857. This file
 * has the two directions, UDP, TCP and fragments. nat_open.c opens sessions, nat_icmp.c
 * translates ICMP, nat_other.c other protocols; the tables are in nat_table.c and
 * nat_session.c, eviction is in nat_evict.c.
 *
 * Invariants: a packet is changed only after all checks that can refuse it (except for
 * recorded routes, which are blanked before). A packet that leaves by the WAN has an
 * external address as its source. */
#include "apps/nat/nat.h"

#include "kernel/lib/log.h"
#include "net/lib/csum.h"
#include "net/gw_address.h"
#include "net/ip4/frag.h"
#include "net/ip4/icmp.h"

/* --- start ------------------------------------------------------------------------- */

bool nat_may_be_inside(const struct gw *gw, ip4 a)
{
	const struct route4 *r = route4_for(&gw->routes4, a);
	return r && interface_is_inside(r->iface) && !gw_is_own(gw, a) &&
	       !interface_is_broadcast4(&gw->iface[r->iface], a);
}

static const char *set_forwards(struct gw *gw, struct nat *n)
{
	const struct nat_config *c = nat_config(gw->config);
	for (uint32_t i = 0; i < c->n_forward; i++) {
		const struct nat_config_forward *f = &c->forward[i];
		if (!nat_may_be_inside(gw, f->inside))
			return "nat.forward: the inside address is not on the LAN side, or no "
			       "host's";
		if (!nat_mapping_static(&n->table, f->tcp ? NAT_TCP : NAT_UDP, 0,
		                        swap16(f->public_port), ip4_raw(f->inside),
		                        swap16(f->inside_port)))
			return "nat.forward: a public port or an inside endpoint is given twice";
	}
	return NULL;
}

static bool has_inside4(const struct gw *gw)
{
	for (uint32_t i = 0; i < gw->n_iface; i++)
		if (interface_is_inside(i) && gw->iface[i].n_addr > 0)
			return true;
	return false;
}

void nat_tune(struct gw *gw)
{
	nat_core_tune(nat_of(gw), nat_config(gw->config));
}

const char *nat_start(struct gw *gw)
{
	const struct nat_config *c = nat_config(gw->config);
	struct nat *n = nat_of(gw);
	if (!has_inside4(gw))
		return "lan.address: an IPv4 address is required by the NAT";
	if (gw->iface[IF_WAN].n_addr == 0 && !net_has_dhcp(gw->config))
		return "wan.address: an IPv4 address is required by the NAT";
	n->has_router41 = c->has_protocol41 && !n->no_protocol41;
	n->router41 = ip4_raw(c->protocol41);
	if (n->has_router41 && !nat_may_be_inside(gw, c->protocol41))
		return "nat.protocol41: the address is not on the LAN side, or no host's";
	const char *bad = nat_core_start(gw, n, "nat", c);
	return bad ? bad : set_forwards(gw, n);
}

/* --- UDP and TCP ------------------------------------------------------------------------ */

static inline const struct tcp_hdr *tcp_of(const struct pkt *p)
{
	return (const struct tcp_hdr *)(p->data + p->l4);
}

/* One body, compiled for each of the two protocols. */
ALWAYS_INLINE enum verdict port_out(struct gw *gw, struct nat *n, struct pkt *p, uint8_t proto)
{
	uint8_t *l4 = p->data + p->l4;
	enum verdict v = V_DROP;
	if (UNLIKELY(!nat_l4_complete(l4, p->l4_len, proto, p->flags & PKT_FRAGMENT)))
		return gw_drop(gw, p, DROP_L4_HEADER);
	const struct ip4_hdr *h = ip4_header(p);
	uint32_t ports = load32(l4), clock = timing_start(gw);
	struct nat_session *s =
	        nat_session_find(&n->table, proto, ip4_raw(h->from), ip4_raw(h->to), ports);
	timing_end(gw, TIMING_LOOKUP, clock);
	if (!s && !(s = nat_open_out(gw, n, p, proto, ports, &v)))
		return v;
	if (proto == NAT_TCP)
		nat_follow(gw, n, s, tcp_of(p), p->l4_len, NAT_INSIDE);
	else
		nat_refresh(gw, n, s);
	if (UNLIKELY(s->flags & NAT_UNINVITED))
		nat_take_up(n, s);
	store16(l4, s->ext_port);
	nat_fix_l4(l4, proto, s->l4_delta);
	nat_finish_out(gw, p, s);
	return V_SEND;
}

/* A new session for a packet from outside. NULL with the verdict in *v. */
static struct nat_session *open_at_port(struct gw *gw, struct nat *n, struct pkt *p, uint8_t proto,
                                        uint32_t external, enum verdict *v)
{
	const uint8_t *l4 = p->data + p->l4;
	struct nat_mapping *m = nat_mapping_of_port(&n->table, external, proto, load16(l4 + 2));
	if (!m && nat_port_is_taken(&n->table, external, proto, load16(l4 + 2))) {
		*v = V_LOCAL;
		return NULL;
	}
	if (!m) {
		if (proto == NAT_TCP && nat_tcp_opens(tcp_of(p)) && !(p->flags & PKT_HAIRPIN))
			nat_syn_hold(gw, &n->syns, p);
		*v = gw_drop(gw, p, DROP_NO_MAPPING);
		return NULL;
	}
	return nat_open_in(gw, n, p, m, load16(l4), v);
}

ALWAYS_INLINE enum verdict port_in(struct gw *gw, struct nat *n, struct pkt *p, uint8_t proto,
                                   uint32_t external)
{
	uint8_t *l4 = p->data + p->l4;
	enum verdict v = V_DROP;
	if (UNLIKELY(!nat_l4_complete(l4, p->l4_len, proto, p->flags & PKT_FRAGMENT)))
		return gw_drop(gw, p, DROP_L4_HEADER);
	uint32_t clock = timing_start(gw);
	struct nat_session *s = nat_session_at_port(&n->table, external, proto, load16(l4 + 2),
	                                            ip4_raw(ip4_header(p)->from), load16(l4));
	timing_end(gw, TIMING_LOOKUP, clock);
	if (UNLIKELY(!s) && !(s = open_at_port(gw, n, p, proto, external, &v)))
		return v;
	if (UNLIKELY(nat_route_in(gw, p, s->in_ip) != V_SEND))
		return V_DROP;
	s->flags |= NAT_ANSWERED;
	if (proto == NAT_TCP)
		nat_follow(gw, n, s, tcp_of(p), p->l4_len, NAT_OUTSIDE);
	store16(l4 + 2, (uint16_t)s->ports);
	nat_fix_l4(l4, proto, (uint16_t)~s->l4_delta);
	nat_finish_in(p, s, s->in_ip);
	return V_SEND;
}

/* --- fragments ---------------------------------------------------------------------------- */

/* Follows a later fragment of a TCP segment: it moves the end of the bytes seen, because
 * the first fragment does not say how much follows. f->flow holds the ports as a session
 * has them, and nat_tcp_base of the segment. */
static void follow_fragment(struct nat *n, const struct frag *f, const struct pkt *p, bool out)
{
	const struct ip4_hdr *h = ip4_header(p);
	uint32_t in_ip = out ? ip4_raw(h->from) : f->new_addr;
	uint32_t rem_ip = ip4_raw(out ? h->to : h->from);
	struct nat_session *s = nat_session_find(&n->table, NAT_TCP, in_ip, rem_ip, f->flow[0]);
	uint32_t at = (uint32_t)(be16_get(h->frag) & IP4_OFFSET) * 8;
	if (s)
		nat_tcp_fragment(s, f->flow[1], at + p->l4_len, out ? NAT_INSIDE : NAT_OUTSIDE);
}

/* Translates a fragment other than the first, or parks it until the first one arrived. It
 * must not begin inside the transport header (RFC 3128). */
static enum verdict later_fragment(struct gw *gw, struct pkt *p, bool out)
{
	struct ip4_hdr *h = ip4_header(p);
	if ((be16_get(h->frag) & IP4_OFFSET) == 1 && p->proto == PROTO_TCP)
		return gw_drop(gw, p, DROP_FRAGMENT);
	const struct frag_key key = frag_key(p);
	struct frag *f = frag_known(gw, &key);
	if (!f)
		return frag_park(gw, p) ? V_KEPT : gw_drop(gw, p, DROP_FRAGMENT);
	ip4 *addr = out ? &h->from : &h->to;
	ip4 was = *addr, is = ip4_from_raw(f->new_addr);
	enum verdict v = out ? ip4_may_forward(gw, p) : nat_route_in(gw, p, f->new_addr);
	if (v != V_SEND)
		return v;
	frag_count(f, p);
	if (p->proto == PROTO_TCP)
		follow_fragment(gw->state, f, p, out);
	uint32_t delta = (uint32_t)csum_delta32(ip4_raw(was), ip4_raw(is)) +
	                 csum_delta16(be16_raw(h->id), f->new_id);
	*addr = is;
	h->id = be16_from_raw(f->new_id);
	if (!out && p->flags & PKT_HAIRPIN)
		h->sum = csum_apply(h->sum, delta);
	else
		ip4_hop(h, delta);
	p->flags |= out ? PKT_TRANSLATED : PKT_INBOUND;
	return V_SEND;
}

/* --- the two directions ---------------------------------------------------------------- */

ALWAYS_INLINE enum verdict translate_out(struct gw *gw, struct nat *n, struct pkt *p)
{
	switch (p->proto) {
	case PROTO_UDP:
		return port_out(gw, n, p, NAT_UDP);
	case PROTO_TCP:
		return port_out(gw, n, p, NAT_TCP);
	case PROTO_ICMP:
		return nat_icmp_out(gw, n, p);
	default:
		return nat_other_out(gw, n, p);
	}
}

ALWAYS_INLINE enum verdict translate_in(struct gw *gw, struct nat *n, struct pkt *p,
                                        uint32_t external)
{
	switch (p->proto) {
	case PROTO_UDP:
		return port_in(gw, n, p, NAT_UDP, external);
	case PROTO_TCP:
		return port_in(gw, n, p, NAT_TCP, external);
	case PROTO_ICMP:
		return nat_icmp_in(gw, n, p, external);
	default:
		return nat_other_in(gw, n, p, external);
	}
}

/* True for a packet from inside to an external address that belongs to a mapping of an
 * inside host (hairpinning, RFC 4787 REQ-9); false when it is for the gateway itself. A
 * later fragment follows its first one. */
static bool is_hairpin(const struct nat *n, const struct pkt *p, uint32_t external)
{
	uint8_t proto = nat_proto_of(p->proto);
	if (p->flags & PKT_LATER)
		return true;
	if (proto == NAT_OTHER || p->l4_len < 8)
		return false;
	const uint8_t *l4 = p->data + p->l4;
	if (proto == NAT_ICMP) /* errors about hairpinned packets, RFC 5508 REQ-7 */
		return l4[0] == ICMP_UNREACHABLE || l4[0] == ICMP_TIME_EXCEEDED ||
		       l4[0] == ICMP_PARAMETER;
	return nat_mapping_of_port(&n->table, external, proto, load16(l4 + 2)) != NULL;
}

/* A packet from inside that is not translated: it is for another inside network (plain
 * forwarding) or for the gateway. */
static enum verdict not_translated(struct gw *gw, struct pkt *p)
{
	enum drop bad = ip4_bad_destination(gw, p);
	if (bad != DROP_NONE)
		return gw_drop(gw, p, bad);
	if (p->out == PKT_IF_SELF)
		return V_LOCAL;
	if (ip4_bad_source(gw, p))
		return gw_drop(gw, p, DROP_MARTIAN_SOURCE);
	if (ip4_may_forward(gw, p) != V_SEND)
		return V_DROP;
	ip4_hop(ip4_header(p), 0);
	return V_SEND;
}

/* Translates out of line: translate_out and translate_in are long. */
static __attribute__((noinline)) enum verdict
translate_noinline(struct gw *gw, struct nat *n, struct pkt *p, uint32_t external, bool out)
{
	return out ? translate_out(gw, n, p) : translate_in(gw, n, p, external);
}

/* Translates a packet with IP options, or a fragment. The first fragment is translated like
 * a whole packet, and the later ones follow it. `external` is for incoming packets. */
static enum verdict options_or_fragment(struct gw *gw, struct nat *n, struct pkt *p,
                                        uint32_t external, bool out)
{
	if (p->flags & PKT_LATER)
		return later_fragment(gw, p, out);
	if (!(p->flags & PKT_FRAGMENT)) /* it has options */
		return translate_noinline(gw, n, p, external, out);
	const struct frag_key key = frag_key(p);
	const uint8_t *l4 = p->data + p->l4;
	uint32_t ports = out && p->l4_len >= 4 ? load32(l4) : 0;
	enum verdict v = translate_noinline(gw, n, p, external, out);
	if (v != V_SEND)
		return v;
	struct ip4_hdr *h = ip4_header(p);
	struct frag *f = frag_decide(gw, &key);
	if (f->n_seen) { /* the first fragment again: it gets the identification of the others */
		h->sum = csum_apply(h->sum, csum_delta16(be16_raw(h->id), f->new_id));
		h->id = be16_from_raw(f->new_id);
	}
	frag_count(f, p);
	f->new_id = be16_raw(h->id);
	f->new_addr = ip4_raw(out ? h->from : h->to);
	if (p->proto == PROTO_TCP) {
		f->flow[0] = out ? ports : load16(l4 + 2) | (uint32_t)load16(l4) << 16;
		f->flow[1] = nat_tcp_base(tcp_of(p));
	}
	gw_forward(gw, p);
	frag_release(gw, f);
	return V_KEPT;
}

static enum verdict from_inside(struct gw *gw, struct nat *n, struct pkt *p)
{
	uint32_t external = nat_external_find(&n->table, ip4_raw(ip4_to(p)));
	if (UNLIKELY(external != NAT_NONE)) {
		p->out = PKT_IF_SELF;
		p->flags |= PKT_ROUTED;
		if (!is_hairpin(n, p, external))
			return gw_is_own(gw, ip4_to(p)) ? V_LOCAL : gw_drop(gw, p, DROP_NO_MAPPING);
		if (!n->hairpin)
			return gw_drop(gw, p, DROP_HAIRPIN);
	} else if (UNLIKELY(!ip4_route(gw, p, ip4_to(p)))) {
		icmp_error(gw, p, ICMP_UNREACHABLE, ICMP_NET, 0);
		return gw_drop(gw, p, DROP_NO_ROUTE);
	} else if (UNLIKELY(p->out != IF_WAN)) {
		return not_translated(gw, p);
	}
	if (!(p->flags & PKT_TRANSLATED) && UNLIKELY(ip4_bad_source(gw, p)))
		return gw_drop(gw, p, DROP_MARTIAN_SOURCE);
	if (UNLIKELY(ip4_may_forward(gw, p) != V_SEND))
		return V_DROP;
	if (UNLIKELY(p->flags & (PKT_FRAGMENT | PKT_L2_GROUP | PKT_OPTIONS))) {
		if (p->flags & PKT_L2_GROUP) /* RFC 1812 section 5.3.4 */
			return gw_drop(gw, p, DROP_MULTICAST);
		ip4_blank_records(p);
		return options_or_fragment(gw, n, p, NAT_NONE, true);
	}
	return translate_out(gw, n, p);
}

static enum verdict from_outside(struct gw *gw, struct nat *n, struct pkt *p)
{
	uint32_t external = nat_external_find(&n->table, ip4_raw(ip4_to(p)));
	if (UNLIKELY(external == NAT_NONE)) {
		enum drop bad = ip4_bad_destination(gw, p);
		if (bad != DROP_NONE)
			return gw_drop(gw, p, bad);
		return interface_has4(&gw->iface[IF_WAN], ip4_to(p)) ? V_LOCAL
		                                                     : gw_drop(gw, p, DROP_FOREIGN);
	}
	if (UNLIKELY(p->flags & PKT_L2_GROUP))
		return gw_drop(gw, p, DROP_MULTICAST);
	if (!(p->flags & PKT_HAIRPIN) && UNLIKELY(nat_is_external(n, ip4_header(p)->from)))
		return gw_drop(gw, p, DROP_MARTIAN_SOURCE); /* only we have such an address */
	if (UNLIKELY(p->flags & (PKT_FRAGMENT | PKT_OPTIONS))) {
		ip4_blank_records(p);
		return options_or_fragment(gw, n, p, external, false);
	}
	return translate_in(gw, n, p, external);
}

enum verdict nat_ip4(struct gw *gw, struct pkt *p)
{
	struct nat *n = nat_of(gw);
	return interface_is_inside(p->iface) ? from_inside(gw, n, p) : from_outside(gw, n, p);
}

bool nat_concerns4(const struct gw *gw, const struct pkt *p)
{
	ip4 to = ip4_to(p);
	return interface_is_inside(p->iface) || nat_is_external(nat_of(gw), to) ||
	       interface_has4(&gw->iface[IF_WAN], to);
}

void nat_changed(struct gw *gw)
{
	if (!has_inside4(gw))
		log_line("nat: no IPv4 address inside: nothing is translated");
	nat_core_changed(gw, nat_of(gw), nat_config(gw->config)->n_pool > 0);
}

bool nat_tick(struct gw *gw)
{
	return nat_core_tick(gw, nat_of(gw));
}
