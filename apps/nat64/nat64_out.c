/* From IPv6 to IPv4: finds or opens the session of a packet, and translates it (RFC 6146 sections
 * 3.5 to 3.8). A packet is changed only after all checks that can refuse it. */
#include "apps/nat64/nat64.h"

#include "net/client.h"
#include "net/gw_address.h"
#include "net/ip6/icmp6.h"

/* --- ways ------------------------------------------------------------------------------------- */

static void addresses_of(const struct nat64 *n, uint32_t number, uint32_t rem_ip, uint32_t prefix,
                         const ip6 **in, ip6 *rem)
{
	*in = &nat_inside_of(&n->inside, number)->addr;
	embed_to6(&n->prefix[prefix].form, rem_ip, rem);
}

/* The change of a checksum from IPv6 to IPv4 by addresses and port; of ICMP by the identifier. */
static uint16_t delta_of(const struct nat64 *n, const struct nat_mapping *m, uint32_t rem_ip,
                         uint32_t prefix)
{
	uint16_t port = csum_delta16(m->in_port, m->ext_port);
	const ip6 *in;
	ip6 rem;
	if (m->proto == NAT_ICMP)
		return port;
	addresses_of(n, m->in_ip, rem_ip, prefix, &in, &rem);
	return csum_plus((uint16_t)~xlat_delta46(in, &rem, m->ext_ip, rem_ip), port);
}

void nat64_set_way(const struct nat64 *n, struct nat64_way *w, const struct nat_mapping *m,
                   uint32_t rem_ip, uint32_t prefix)
{
	*w = (struct nat64_way){.in_ip = m->in_ip,
	                        .ext_ip = m->ext_ip,
	                        .rem_ip = rem_ip,
	                        .in_port = m->in_port,
	                        .ext_port = m->ext_port,
	                        .delta = delta_of(n, m, rem_ip, prefix),
	                        .prefix = (uint8_t)prefix,
	                        .proto = m->proto};
}

void nat64_set_prefix(const struct nat64 *n, struct nat_session *s, uint32_t prefix)
{
	s->route_in = (uint8_t)prefix;
	s->l4_delta = delta_of(n, nat_mapping_of(&n->nat, s), s->rem_ip, prefix);
	s->ip_delta = csum_fold(csum_add32(s->ext_ip, s->rem_ip));
}

/* --- routes ----------------------------------------------------------------------------------- */

enum verdict nat64_route_out(struct gw *gw, const struct nat64 *n, struct pkt *p, uint32_t to)
{
	ip4 a = ip4_from_raw(to);
	if (nat_external_find(&n->nat.table, to) != NAT_NONE || gw_is_own(gw, a)) {
		p->out = PKT_IF_SELF; /* it is reinjected: hairpinning, or to the gateway itself */
		p->flags |= PKT_ROUTED;
		return V_SEND;
	}
	if (ip4_route(gw, p, a) && p->out == IF_WAN)
		return V_SEND;
	icmp6_error(gw, p, ICMP6_UNREACHABLE, ICMP6_NO_ROUTE, 0);
	return gw_drop(gw, p, DROP_NO_ROUTE);
}

/* --- checks ----------------------------------------------------------------------------------- */

/* Checks the addresses and finds the IPv4 destination; *prefix is the number of its prefix. A
 * packet from an address under a prefix of ours would loop (section 3.5). */
static enum verdict map(struct gw *gw, const struct nat64 *n, struct pkt *p, struct xlat64 *x,
                        uint32_t *prefix)
{
	const struct ip6_hdr *h = ip6_header(p);
	if (p->iface != PKT_IF_SELF &&
	    (nat64_prefix_of(n, &h->from) != NAT64_NO_PREFIX || ip6_bad_source(gw, p)))
		return gw_drop(gw, p, DROP_MARTIAN_SOURCE);
	*prefix = nat64_prefix_of(n, &h->to);
	if (*prefix == NAT64_NO_PREFIX)
		return gw_drop(gw, p, DROP_NO_MAP);
	x->to = embed_to4(&n->prefix[*prefix].form, &h->to);
	ip4 a = ip4_from_raw(x->to);
	if (xlat_is_no_host(a) || interface_is_broadcast4(&gw->iface[IF_WAN], a))
		return xlat_refuse6(gw, &n->core, p,
		                    a.b[0] >> 4 == 14 ? DROP_MULTICAST : DROP_MARTIAN_DESTINATION);
	return nat64_may_embed(n, *prefix, x->to) ? V_SEND
	                                          : xlat_refuse6(gw, &n->core, p, DROP_NO_MAP);
}

/* Checks the transport header; *ports are those of a session (in_port | rem_port << 16). Protocols
 * without ports are refused (section 3.5). */
static enum verdict check_l4(struct gw *gw, const struct nat64 *n, struct pkt *p,
                             const struct xlat64 *x, uint32_t *ports)
{
	const uint8_t *l4 = p->data + x->l4;
	uint8_t proto = nat64_proto_of(x->proto);
	bool fragment = x->frag & (IP4_MF | IP4_OFFSET);
	if (proto == NAT_OTHER) {
		icmp6_error(gw, p, ICMP6_UNREACHABLE, ICMP6_PORT, 0);
		return gw_drop(gw, p, DROP_PROTOCOL);
	}
	if (proto == NAT_ICMP) {
		if (x->l4_len < sizeof(struct icmp_hdr))
			return gw_drop(gw, p, DROP_L4_HEADER);
		*ports = load16(l4 + 4);
		return l4[0] == ICMP6_ECHO || l4[0] == ICMP6_ECHO_REPLY
		               ? V_SEND
		               : gw_drop(gw, p, DROP_ICMP_TYPE);
	}
	if (!nat_l4_complete(l4, x->l4_len, proto, fragment))
		return gw_drop(gw, p, DROP_L4_HEADER);
	*ports = load32(l4);
	return proto == NAT_UDP && be16_raw(((const struct udp_hdr *)l4)->sum) == 0
	               ? xlat_refuse6(gw, &n->core, p, DROP_NO_CHECKSUM)
	               : V_SEND;
}

/* --- sessions --------------------------------------------------------------------------------- */

/* Drops a packet that got no session. The error is that of sections 3.5.1.1 and 3.5.2.3; none where
 * the host has as many sessions as it may, but "administratively prohibited" (RFC 5508 REQ-8). */
static enum verdict refuse(struct gw *gw, struct pkt *p, enum drop why)
{
	icmp6_error(gw, p, ICMP6_UNREACHABLE, why == DROP_HOST_LIMIT ? ICMP6_ADMIN : ICMP6_ADDRESS,
	            0);
	return gw_drop(gw, p, why);
}

/* The number of an inside address, which gets one if it has none. When there is none left, a
 * session of another address is evicted, which may free one. */
static uint32_t number_for(struct nat64 *n, const ip6 *a)
{
	uint32_t number = nat_inside_get(&n->inside, a);
	if (number == NAT_INSIDE_NONE && nat_evict_address(&n->nat.table))
		number = nat_inside_get(&n->inside, a);
	return number;
}

__attribute__((noinline)) void nat64_find_station(struct gw *gw, struct nat64 *n, uint32_t iface,
                                                  uint32_t number, const mac *sender)
{
	const struct addr a = {.is6 = true, .v6 = nat_inside_of(&n->inside, number)->addr};
	bool known;
	if (iface >= INTERFACES)
		return;
	uint32_t client = client_find(gw, iface, &a, &known);
	/* Any station can say in a solicitation that it has an address; what it sends says more. */
	if (sender && interface_on_link6(&gw->iface[iface], &a.v6) &&
	    client != client_station(gw, iface, sender))
		known = false;
	if (known)
		nat_inside_join(&n->inside, number, client);
}

/* Opens a session for a new flow. NULL when there is none; *v is the verdict then. The number is
 * held, because a session that is evicted for this one may be the host's last. */
static struct nat_session *open_session(struct gw *gw, struct nat64 *n, struct pkt *p,
                                        const struct xlat64 *x, uint8_t proto, uint32_t ports,
                                        enum verdict *v)
{
	enum drop why = DROP_TABLE_FULL;
	uint32_t number = number_for(n, &ip6_header(p)->from);
	if (number == NAT_INSIDE_NONE) {
		n->nat.table_full++;
		*v = refuse(gw, p, why);
		return NULL;
	}
	if (UNLIKELY(nat_inside_of(&n->inside, number)->station == 0))
		nat64_find_station(gw, n, p->iface, number, &ip6_ethernet(p)->from);
	nat_inside_hold(&n->inside, number);
	struct nat_session *s =
	        nat_open_session_out(gw, &n->nat, proto, number, x->to, ports, &why);
	nat_inside_release(&n->inside, number);
	if (!s)
		*v = refuse(gw, p, why);
	return s;
}

/* A TCP segment without a session that opens none: it is forwarded by the binding, if there is one,
 * without a state (section 3.5.2.2, CLOSED). */
static enum verdict stray(struct gw *gw, const struct nat64 *n, struct pkt *p,
                          const struct xlat64 *x, uint32_t number, uint32_t ports, uint32_t prefix,
                          struct nat64_way *w)
{
	const struct nat_mapping *m =
	        number == NAT_INSIDE_NONE
	                ? NULL
	                : nat_mapping_find(&n->nat.table, NAT_TCP, number, (uint16_t)ports);
	if (!m)
		return gw_drop(gw, p, DROP_NO_SESSION);
	nat64_set_way(n, w, m, x->to, prefix);
	return V_SEND;
}

/* Finds the way of a packet; opens its session if needed. `len` is the length of the whole
 * transport message. Gives V_SEND, or the verdict of the drop. */
static enum verdict find_way(struct gw *gw, struct nat64 *n, struct pkt *p, const struct xlat64 *x,
                             uint32_t prefix, uint32_t ports, struct nat64_way *w)
{
	uint8_t proto = nat64_proto_of(x->proto);
	const struct tcp_hdr *tcp = (const struct tcp_hdr *)(p->data + x->l4);
	uint32_t number = nat_inside_find(&n->inside, &ip6_header(p)->from);
	struct nat_session *s = NULL;
	enum verdict v = V_DROP;
	uint32_t clock = timing_start(gw);
	if (number != NAT_INSIDE_NONE)
		s = nat_session_find(&n->nat.table, proto, number, x->to, ports);
	timing_end(gw, TIMING_LOOKUP, clock);
	if (!s && proto == NAT_TCP && !nat_tcp_opens(tcp))
		return stray(gw, n, p, x, number, ports, prefix, w);
	bool fresh = !s;
	uint32_t held = n->nat.syns.n_held;
	if (!s && !(s = open_session(gw, n, p, x, proto, ports, &v)))
		return v;
	if (fresh || s->route_in != prefix)
		nat64_set_prefix(n, s, prefix);
	if (proto == NAT_TCP)
		nat64_follow(gw, &n->nat, s, tcp, x->whole, NAT_INSIDE);
	if (fresh && n->nat.syns.n_held < held)
		nat64_meet(gw, &n->nat, s);
	if (proto != NAT_TCP)
		nat_refresh(gw, &n->nat, s);
	if (s->flags & NAT_UNINVITED)
		nat_take_up(&n->nat, s);
	nat64_take_way(w, s);
	return V_SEND;
}

/* --- translation ------------------------------------------------------------------------------ */

/* The change of a checksum from the destination as the host wrote it, whose suffix is ignored (RFC
 * 6052 section 2.2), to that of the way. */
static uint16_t suffix_delta(const struct nat64 *n, const struct pkt *p, const struct nat64_way *w)
{
	const ip6 *is = &ip6_header(p)->to;
	uint32_t delta = 0;
	ip6 plain;
	embed_to6(&n->prefix[w->prefix].form, w->rem_ip, &plain);
	for (unsigned i = 0; i < 4; i++)
		delta += csum_delta32(ip6_word(is, i), ip6_word(&plain, i));
	return csum_fold(delta);
}

/* Translates the port or identifier, and the transport header. */
static void change_l4(const struct nat64 *n, struct pkt *p, struct xlat64 *x,
                      const struct nat64_way *w)
{
	uint8_t *l4 = p->data + x->l4;
	x->delta = csum_plus(w->delta, suffix_delta(n, p, w));
	if (w->proto == NAT_ICMP) {
		struct icmp_hdr *icmp = (struct icmp_hdr *)l4;
		icmp->id = be16_from_raw(w->ext_port);
		icmp->sum = csum_apply(icmp->sum, w->delta);
	} else {
		store16(l4, w->ext_port);
	}
	xlat64_change_l4(&n->core, p, x);
}

/* Translates the fragments behind the first one, which left by way of x: each has its own headers.
 * The packets are taken. */
static void send_rest(struct gw *gw, struct nat64 *n, struct pkt *list, const struct xlat64 *first,
                      uint8_t out, uint32_t hop)
{
	for (struct pkt *p = list, *next; p; p = next) {
		struct xlat64 x = {.to = first->to};
		next = p->next;
		p->out = out;
		p->hop = hop;
		p->flags |= PKT_ROUTED;
		if (xlat64_read_chain(gw, &n->core, p, &x) != V_SEND ||
		    xlat64_may_forward(gw, p, &x, false) != V_SEND) {
			pkt_free(p);
			continue;
		}
		xlat64_set_header(gw, &n->core, p, &x);
		x.from = first->from;
		p->flags |= PKT_TRANSLATED;
		if (xlat64_replace_header(gw, &n->core, p, &x) == V_SEND)
			gw_forward(gw, p);
		else
			pkt_free(p);
	}
}

/* Translates a packet, or the first fragment of one, whose destination is found. */
static enum verdict translate(struct gw *gw, struct nat64 *n, struct pkt *p, struct xlat64 *x,
                              uint32_t prefix)
{
	struct nat64_way w = {.session = NULL};
	uint32_t ports = 0;
	enum verdict v = check_l4(gw, n, p, x, &ports);
	if (v == V_SEND)
		v = nat64_route_out(gw, n, p, x->to);
	if (v == V_SEND && p->out == PKT_IF_SELF && !n->nat.hairpin &&
	    !gw_is_own(gw, ip4_from_raw(x->to)))
		v = gw_drop(gw, p, DROP_HAIRPIN);
	if (v == V_SEND)
		v = xlat64_may_forward(gw, p, x, false);
	if (v == V_SEND)
		v = find_way(gw, n, p, x, prefix, ports, &w);
	if (v != V_SEND)
		return v;
	x->from = w.ext_ip;
	xlat64_set_header(gw, &n->core, p, x);
	change_l4(n, p, x, &w);
	p->flags |= PKT_TRANSLATED;
	return xlat64_replace_header(gw, &n->core, p, x);
}

static enum verdict fragment(struct gw *gw, struct nat64 *n, struct pkt *p, struct xlat64 *x,
                             uint32_t prefix)
{
	const struct ip6_hdr *h = ip6_header(p);
	struct nat64_gather_key key = {
	        .id = be32_get(((const struct ip6_frag *)(p->data + x->l4) - 1)->id),
	        .what = x->proto | (uint32_t)p->iface << 8 | 6u << 16};
	memcpy(key.from, &h->from, sizeof key.from);
	memcpy(key.to, &h->to, sizeof key.to);
	p->l4 = (uint16_t)x->l4;
	p->l4_len = (uint16_t)x->l4_len;
	struct pkt *first = nat64_gather_add(
	        gw, &n->gathers, &key, p, (uint32_t)(x->frag & IP4_OFFSET) * 8, x->frag & IP4_MF);
	if (!first)
		return V_KEPT;
	struct pkt *rest = first->next;
	uint32_t whole = first->l4_len;
	for (const struct pkt *k = rest; k; k = k->next)
		whole += k->l4_len;
	struct xlat64 head = {.to = x->to};
	enum verdict v = xlat64_read_chain(gw, &n->core, first, &head);
	head.whole = whole;
	if (v == V_SEND)
		v = translate(gw, n, first, &head, prefix);
	if (v != V_SEND) {
		pkt_free(first);
		nat64_gather_discard(gw, rest, DROP_FRAGMENT);
		return V_KEPT;
	}
	uint8_t out = first->out;
	uint32_t hop = first->hop;
	gw_forward(gw, first);
	send_rest(gw, n, rest, &head, out, hop);
	return V_KEPT;
}

static bool is_error(const struct pkt *p, const struct xlat64 *x)
{
	return x->proto == PROTO_ICMP6 && !(x->frag & IP4_OFFSET) && x->l4_len > 0 &&
	       xlat_is_error6(p->data[x->l4]);
}

enum verdict nat64_out(struct gw *gw, struct nat64 *n, struct pkt *p)
{
	struct xlat64 x = {
	        .l4 = IP6_MIN, .l4_len = p->l4_len, .whole = p->l4_len, .proto = p->proto};
	uint32_t prefix = NAT64_NO_PREFIX;
	enum verdict v = V_SEND;
	if (p->flags & PKT_OPTIONS || ip6_header(p)->next != p->proto)
		v = xlat64_read_chain(gw, &n->core, p, &x);
	if (v == V_SEND)
		v = map(gw, n, p, &x, &prefix);
	if (v != V_SEND)
		return v;
	bool error = is_error(p, &x);
	if (p->iface == PKT_IF_SELF && !error) /* our own sockets are not translated */
		return gw_drop(gw, p, DROP_OWN_ADDRESS);
	if (error)
		return nat64_error_out(gw, n, p, &x);
	return x.frag & (IP4_MF | IP4_OFFSET) ? fragment(gw, n, p, &x, prefix)
	                                      : translate(gw, n, p, &x, prefix);
}
