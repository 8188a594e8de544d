/* From IPv4 to IPv6: finds the session or the binding of a packet, and translates it (RFC 6146
 * sections 3.5 to 3.8). See nat64_out.c. */
#include "apps/nat64/nat64.h"

#include "net/gw_address.h"
#include "net/ip4/frag.h"
#include "net/ip4/icmp.h"

/* --- routes ----------------------------------------------------------------------------------- */

enum verdict nat64_route_in(struct gw *gw, const struct nat64 *n, struct pkt *p, uint32_t number,
                            ip6 *to)
{
	*to = nat_inside_of(&n->inside, number)->addr;
	/* The network of the host may be gone. */
	return ip6_route(gw, p, to) && interface_is_inside(p->out) ? V_SEND
	                                                           : gw_drop(gw, p, DROP_NO_ROUTE);
}

/* --- packets that are not translated ------------------------------------------------------ */

static bool is_for_us(const struct gw *gw, const struct pkt *p)
{
	return p->flags & PKT_HAIRPIN ? gw_is_own(gw, ip4_to(p))
	                              : interface_has4(&gw->iface[p->iface], ip4_to(p));
}

static enum verdict not_translated(struct gw *gw, struct pkt *p)
{
	enum drop bad = ip4_bad_destination(gw, p);
	if (bad != DROP_NONE)
		return gw_drop(gw, p, bad);
	return is_for_us(gw, p) ? V_LOCAL : gw_drop(gw, p, DROP_FOREIGN);
}

/* Drops a packet with a source route that has hops left (RFC 7915 section 4.1). */
static enum verdict source_route(struct gw *gw, const struct nat64 *n, struct pkt *p)
{
	return is_for_us(gw, p) || nat_is_external(&n->nat, ip4_to(p))
	               ? xlat_refuse4_as(gw, &n->core, p, DROP_SOURCE_ROUTE, ICMP_SOURCE_ROUTE)
	               : gw_drop(gw, p, DROP_SOURCE_ROUTE);
}

/* --- checks ----------------------------------------------------------------------------------- */

/* Checks the transport header. *local and *remote are the ports (raw), or the identifier and 0. */
static enum verdict check_l4(struct gw *gw, struct pkt *p, uint8_t proto, uint16_t *local,
                             uint16_t *remote)
{
	const uint8_t *l4 = p->data + p->l4;
	if (proto == NAT_ICMP) {
		if (p->l4_len < sizeof(struct icmp_hdr))
			return gw_drop(gw, p, DROP_L4_HEADER);
		*local = load16(l4 + 4);
		*remote = 0;
		return l4[0] == ICMP_ECHO || l4[0] == ICMP_ECHO_REPLY ? V_SEND : V_LOCAL;
	}
	if (!nat_l4_complete(l4, p->l4_len, proto, p->flags & PKT_FRAGMENT))
		return gw_drop(gw, p, DROP_L4_HEADER);
	*remote = load16(l4);
	*local = load16(l4 + 2);
	return V_SEND;
}

/* A packet to a port that has no binding: it may be for a socket of ours, or for the host that we
 * are; every external address answers an echo request from inside. An unsolicited SYN is held, also
 * one that is hairpinned (sections 3.5.2.2 and 3.8). */
static enum verdict no_binding(struct gw *gw, struct nat64 *n, struct pkt *p, uint32_t external,
                               uint8_t proto, uint16_t local)
{
	const uint8_t *l4 = p->data + p->l4;
	bool asks = proto == NAT_ICMP && l4[0] == ICMP_ECHO;
	bool opens = proto == NAT_TCP && nat_tcp_opens((const struct tcp_hdr *)l4);
	if (nat_port_is_taken(&n->nat.table, external, proto, local) ||
	    (asks && (gw_is_own(gw, ip4_to(p)) || p->flags & PKT_HAIRPIN)) ||
	    (!opens && p->flags & PKT_HAIRPIN && is_for_us(gw, p)))
		return V_LOCAL;
	if (opens)
		nat_syn_hold(gw, &n->nat.syns, p);
	return gw_drop(gw, p, DROP_NO_MAPPING);
}

/* --- sessions --------------------------------------------------------------------------------- */

/* Opens a session for a packet from outside to a binding, if the filter accepts the remote host. A
 * TCP segment that opens none is forwarded without one. Gives V_SEND with the way. */
static enum verdict open_way(struct gw *gw, struct nat64 *n, struct pkt *p, struct nat_mapping *m,
                             uint16_t remote, struct nat64_way *w)
{
	const struct tcp_hdr *tcp = (const struct tcp_hdr *)(p->data + p->l4);
	uint32_t rem_ip = ip4_raw(ip4_header(p)->from), prefix = nat64_prefix_for(n, rem_ip);
	bool opens = m->proto != NAT_TCP || nat_tcp_opens(tcp);
	struct nat_session *s = NULL;
	ip6 to;
	enum drop bad = nat_filter(gw, &n->nat, p, m);
	if (bad == DROP_FILTERED && m->proto == NAT_TCP && opens)
		nat_syn_hold(gw, &n->nat.syns, p);
	if (bad != DROP_NONE)
		return gw_drop(gw, p, bad);
	if (prefix == NAT64_NO_PREFIX)
		return xlat_refuse4(gw, &n->core, p, DROP_NO_MAP);
	if (!opens) {
		nat64_set_way(n, w, m, rem_ip, prefix);
		return V_SEND;
	}
	if (nat64_route_in(gw, n, p, m->in_ip, &to) != V_SEND)
		return V_DROP;
	if (UNLIKELY(nat_inside_of(&n->inside, m->in_ip)->station == 0))
		nat64_find_station(gw, n, p->out, m->in_ip, NULL);
	bad = nat_open_session_in(gw, &n->nat, m, rem_ip, remote, &s);
	if (bad != DROP_NONE)
		return gw_drop(gw, p, bad);
	nat64_set_prefix(n, s, prefix);
	nat64_take_way(w, s);
	return V_SEND;
}

/* Finds the way of a packet to an external address (index). Gives V_SEND, or another verdict. */
static enum verdict find_way(struct gw *gw, struct nat64 *n, struct pkt *p, uint32_t external,
                             struct nat64_way *w)
{
	struct nat_table *t = &n->nat.table;
	uint8_t proto = nat_proto_of(p->proto);
	uint32_t from = ip4_raw(ip4_header(p)->from);
	uint16_t local = 0, remote = 0;
	enum verdict v = check_l4(gw, p, proto, &local, &remote);
	if (v == V_LOCAL)
		return gw_is_own(gw, ip4_to(p)) ? V_LOCAL : gw_drop(gw, p, DROP_ICMP_TYPE);
	if (v != V_SEND)
		return v;
	/* The identifier of a query is that of its sender's own binding too, or an IPv4 host's. */
	struct nat_mapping *m = nat_mapping_of_port(t, external, proto, local);
	if (proto == NAT_ICMP && p->data[p->l4] == ICMP_ECHO &&
	    (p->flags & PKT_HAIRPIN || (m && !nat_inside_is6(m->in_ip))))
		return no_binding(gw, n, p, external, proto, local);
	uint32_t clock = timing_start(gw);
	struct nat_session *s = nat_session_at_port(t, external, proto, local, from, remote);
	timing_end(gw, TIMING_LOOKUP, clock);
	if (!s)
		return m ? open_way(gw, n, p, m, remote, w)
		         : no_binding(gw, n, p, external, proto, local);
	nat64_take_way(w, s);
	return V_SEND;
}

/* --- translation ------------------------------------------------------------------------------ */

/* Notes in the session that a packet from outside passes. */
static void pass(struct gw *gw, struct nat64 *n, const struct pkt *p, uint32_t whole,
                 struct nat_session *s)
{
	if (!s)
		return;
	s->flags |= NAT_ANSWERED;
	if (s->proto == NAT_TCP)
		nat64_follow(gw, &n->nat, s, (const struct tcp_hdr *)(p->data + p->l4), whole,
		             NAT_OUTSIDE);
	else
		nat64_refresh(gw, &n->nat, s, NAT_OUTSIDE);
}

static enum verdict change_l4(struct gw *gw, struct nat64 *n, struct pkt *p, struct xlat46 *x,
                              const struct nat64_way *w)
{
	uint8_t *l4 = p->data + p->l4;
	x->delta = (uint16_t)~w->delta;
	if (w->proto == NAT_ICMP) {
		struct icmp_hdr *icmp = (struct icmp_hdr *)l4;
		icmp->id = be16_from_raw(w->in_port);
		icmp->sum = csum_apply(icmp->sum, x->delta);
	} else {
		store16(l4 + 2, w->in_port);
	}
	return xlat46_change_l4(gw, &n->core, p, x);
}

/* Completes the header of a packet from outside and checks whether it may be forwarded. The first
 * half of hairpinning has taken the hop and checked the size. */
static enum verdict set_header(struct gw *gw, const struct nat64 *n, struct pkt *p,
                               struct xlat46 *x)
{
	xlat46_set_header(&n->core, p, x);
	if (p->flags & PKT_HAIRPIN) {
		x->hops = ip4_header(p)->ttl;
		return V_SEND;
	}
	return xlat46_may_forward(gw, p, x, false);
}

/* Translates a packet, or the first fragment of one, to an external address (index), but for its
 * header, which is in x; `whole` is the length of the whole transport message. Gives V_SEND, or
 * another verdict. */
static enum verdict translate(struct gw *gw, struct nat64 *n, struct pkt *p, uint32_t external,
                              uint32_t whole, struct xlat46 *x)
{
	struct nat64_way w = {.session = NULL};
	enum verdict v = find_way(gw, n, p, external, &w);
	if (v == V_SEND)
		v = nat64_route_in(gw, n, p, w.in_ip, &x->to);
	if (v == V_SEND)
		v = set_header(gw, n, p, x);
	if (v != V_SEND)
		return v;
	x->whole = whole;
	embed_to6(&n->prefix[w.prefix].form, w.rem_ip, &x->from);
	pass(gw, n, p, whole, w.session);
	return change_l4(gw, n, p, x, &w);
}

/* Refuses a protocol without ports (section 3.5). */
static enum verdict foreign_protocol(struct gw *gw, struct pkt *p)
{
	if (gw_is_own(gw, ip4_to(p)) && p->flags & PKT_HAIRPIN)
		return V_LOCAL;
	icmp_error(gw, p, ICMP_UNREACHABLE, ICMP_PROTOCOL, 0);
	return gw_drop(gw, p, DROP_PROTOCOL);
}

/* --- fragments -------------------------------------------------------------------------------- */

/* Gives a UDP packet in fragments that has no checksum one, because IPv6 demands it (section 3.4).
 * False when the packet is malformed. */
static bool compute_sum(struct pkt *list, uint32_t whole)
{
	const struct ip4_hdr *h = ip4_header(list);
	struct udp_hdr *udp = (struct udp_hdr *)(list->data + list->l4);
	if (be16_get(udp->len) != whole)
		return false;
	uint32_t sum = csum_pseudo4(h->from, h->to, PROTO_UDP, (uint16_t)whole);
	for (const struct pkt *k = list; k; k = k->next)
		sum += csum_sum(k->data + k->l4, k->l4_len);
	uint16_t all = csum_fold(sum);
	udp->sum = be16_from_raw(all == 0xffff ? 0xffff : (uint16_t)~all);
	return true;
}

static bool lacks_sum(const struct pkt *p)
{
	return p->proto == PROTO_UDP && p->l4_len >= sizeof(struct udp_hdr) &&
	       be16_raw(((const struct udp_hdr *)(p->data + p->l4))->sum) == 0;
}

/* Sends the fragments of a packet. The first one is translated but for its header, which is in
 * *first. The packets are taken. */
static void send_all(struct gw *gw, struct nat64 *n, struct pkt *list, struct xlat46 *first)
{
	uint8_t out = list->out;
	uint32_t hop = list->hop;
	for (struct pkt *p = list, *next; p; p = next) {
		struct xlat46 x = *first;
		enum verdict v = V_SEND;
		next = p->next;
		if (p != list) {
			p->out = out;
			p->hop = hop;
			p->flags |= PKT_ROUTED;
			v = set_header(gw, n, p, &x);
		}
		if (v == V_SEND)
			v = xlat46_send(gw, &n->core, p, &x);
		if (v == V_SEND6)
			gw_forward6(gw, p);
		else if (v == V_DROP)
			pkt_free(p);
	}
}

/* Adds a fragment to those of its packet, and translates the packet when it is complete. */
static enum verdict fragment(struct gw *gw, struct nat64 *n, struct pkt *p, uint32_t external)
{
	const struct ip4_hdr *h = ip4_header(p);
	uint32_t frag = be16_get(h->frag);
	const struct nat64_gather_key key = {.from = {[3] = ip4_raw(h->from)},
	                                     .to = {[3] = ip4_raw(h->to)},
	                                     .id = be16_get(h->id),
	                                     .what = p->proto | (uint32_t)p->iface << 8 | 4u << 16};
	struct pkt *first =
	        nat64_gather_add(gw, &n->gathers, &key, p, (frag & IP4_OFFSET) * 8, frag & IP4_MF);
	if (!first)
		return V_KEPT;
	if (nat64_nat44_owns(n, first, external)) {
		nat64_nat44_fragments(gw, first);
		return V_KEPT;
	}
	struct pkt *rest = first->next;
	uint32_t whole = first->l4_len;
	for (const struct pkt *k = rest; k; k = k->next)
		whole += k->l4_len;
	struct xlat46 x;
	enum verdict v = V_SEND;
	if (nat_proto_of(first->proto) == NAT_OTHER)
		v = foreign_protocol(gw, first);
	else if (lacks_sum(first) && !compute_sum(first, whole))
		v = gw_drop(gw, first, DROP_NO_CHECKSUM);
	if (v == V_SEND)
		v = translate(gw, n, first, external, whole, &x);
	if (v == V_LOCAL) /* we have no reassembly here */
		v = gw_drop(gw, first, DROP_FRAGMENT);
	if (v != V_SEND) {
		pkt_free(first);
		nat64_gather_discard(gw, rest, DROP_FRAGMENT);
		return V_KEPT;
	}
	first->next = rest;
	send_all(gw, n, first, &x);
	return V_KEPT;
}

/* --- the way in ------------------------------------------------------------------------------- */

static bool is_error(const struct pkt *p)
{
	return p->proto == PROTO_ICMP && !(p->flags & PKT_FRAGMENT) && p->l4_len > 0 &&
	       xlat_is_error4(p->data[p->l4]);
}

enum verdict nat64_in(struct gw *gw, struct nat64 *n, struct pkt *p)
{
	uint32_t external = nat_external_find(&n->nat.table, ip4_raw(ip4_to(p)));
	struct xlat46 x;
	if (p->flags & PKT_OPTIONS && !ip4_route_done(p))
		return source_route(gw, n, p);
	if (interface_is_inside(p->iface) || external == NAT_NONE)
		return not_translated(gw, p);
	if (p->flags & PKT_L2_GROUP)
		return gw_drop(gw, p, DROP_MULTICAST);
	bool own = p->flags & (PKT_HAIRPIN | PKT_TRANSLATED);
	if (!own && nat_is_external(&n->nat, ip4_header(p)->from))
		return gw_drop(gw, p, DROP_MARTIAN_SOURCE); /* only we have such an address */
	if (xlat_is_no_host(ip4_header(p)->from))
		return gw_drop(gw, p, DROP_MARTIAN_SOURCE);
	if (nat_proto_of(p->proto) == NAT_OTHER && !(p->flags & PKT_FRAGMENT && n->had_nat44))
		return foreign_protocol(gw, p);
	if (is_error(p))
		return nat64_error_in(gw, n, p);
	if (p->flags & PKT_FRAGMENT)
		return fragment(gw, n, p, external);
	enum verdict v = translate(gw, n, p, external, p->l4_len, &x);
	return v == V_SEND ? xlat46_send(gw, &n->core, p, &x) : v;
}
