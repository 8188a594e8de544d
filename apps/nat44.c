/* The application `nat`: network address and port translation between inside
 * hosts (LAN) and one external address (WAN), RFC 3022, RFC 4787, RFC 5382,
 * RFC 5508. UDP and TCP are here, ICMP in nat44_icmp.c, the tables in
 * nat_table.c.
 *
 * Invariants: a packet is changed only when all that can refuse it has been
 * asked; what leaves by the WAN has our external address as source. Fragments
 * are dropped, counted as `fragment`. */
#include "apps/nat44.h"

#include "apps/apps.h"
#include "kernel/alloc.h"
#include "kernel/fmt.h"
#include "net/csum.h"
#include "net/ip4.h"

#define TICK_SESSIONS 64u /* looked at in one turn of MAIN */

static uint32_t seconds(uint32_t ms)
{
	return (ms + 999) / 1000;
}

static const char *nat_init(struct gw *gw)
{
	const struct config_nat *c = &gw->config->nat;
	if (gw->port[PORT_LAN].n_addr == 0)
		return "lan.address: an IPv4 address is required by nat";
	if (gw->port[PORT_WAN].n_addr == 0)
		return "wan.address: an IPv4 address is required by nat";
	struct nat *n = alloc(sizeof *n, 64);
	if (!n)
		return "not enough memory";
	n->external = gw->port[PORT_WAN].addr[0].addr;
	n->filtering = c->filtering;
	n->hairpin = c->hairpin;
	n->udp_s = seconds(c->udp_timeout_ms);
	n->icmp_s = seconds(c->icmp_timeout_ms);
	n->tcp_s = seconds(c->tcp_timeout_ms);
	n->tcp_transitory_s = seconds(c->tcp_transitory_timeout_ms);
	gw->state = n;
	return nat_table_init(&n->table, c->sessions, n->external, gw->rng);
}

/* --- lifetimes ---------------------------------------------------------------------- */

static inline uint32_t lifetime(const struct nat *n, uint8_t proto, uint8_t state)
{
	if (proto == NAT_UDP)
		return n->udp_s;
	if (proto == NAT_ICMP)
		return n->icmp_s;
	return state == NAT_ESTABLISHED || state == NAT_IN_FIN || state == NAT_OUT_FIN
	               ? n->tcp_s
	               : n->tcp_transitory_s;
}

/* A packet from inside passes: the session lives on (RFC 4787 REQ-6). */
static inline void refresh(const struct gw *gw, const struct nat *n, struct nat_session *s)
{
	s->expire_s = gw->now_s + lifetime(n, s->proto, s->state);
}

/* The state after a segment (RFC 7857 section 2; a SYN only opens, a segment
 * other than RST revives, RFC 6146 section 3.5.2.2). */
static uint8_t tcp_next(uint8_t state, uint8_t flags, bool inside)
{
	if (flags & TCP_RST)
		return state == NAT_INIT ? NAT_INIT : NAT_TRANS;
	switch (state) {
	case NAT_INIT:
		return !inside && flags & TCP_SYN ? NAT_ESTABLISHED : NAT_INIT;
	case NAT_ESTABLISHED:
		return !(flags & TCP_FIN) ? NAT_ESTABLISHED : inside ? NAT_IN_FIN : NAT_OUT_FIN;
	case NAT_IN_FIN:
		return flags & TCP_FIN && !inside ? NAT_BOTH_FIN : NAT_IN_FIN;
	case NAT_OUT_FIN:
		return flags & TCP_FIN && inside ? NAT_BOTH_FIN : NAT_OUT_FIN;
	case NAT_BOTH_FIN:
		return inside && flags & TCP_SYN ? NAT_INIT : NAT_BOTH_FIN; /* used anew */
	default:
		return inside && flags & TCP_SYN ? NAT_INIT : NAT_ESTABLISHED;
	}
}

/* A TCP segment passes: follows the connection's state. */
static void tcp_track(struct gw *gw, struct nat *n, struct nat_session *s, uint8_t flags,
                      bool inside)
{
	uint8_t was = s->state;
	if (LIKELY(was == NAT_ESTABLISHED && !(flags & (TCP_SYN | TCP_FIN | TCP_RST))))
		return;
	s->state = tcp_next(was, flags, inside);
	if (s->state == was)
		return;
	uint32_t expire_s = gw->now_s + lifetime(n, s->proto, s->state);
	if ((int32_t)(expire_s - s->expire_s) < 0)
		nat_session_sooner(&n->table, s, expire_s);
	else
		s->expire_s = expire_s;
}

/* --- new sessions --------------------------------------------------------------------- */

/* A session cannot be had: the sender is told (RFC 5508 REQ-8). */
static enum verdict refuse(struct gw *gw, struct nat *n, struct pkt *p, enum drop reason)
{
	if (reason == DROP_TABLE_FULL)
		n->table_full++;
	gw_error(gw, p, ICMP_UNREACHABLE, ICMP_ADMIN, 0);
	return gw_drop(gw, p, reason);
}

static uint8_t tcp_flags(const struct pkt *p)
{
	return ((const struct tcp_hdr *)(p->data + p->l4))->flags;
}

/* True for the segment that opens a connection. */
static bool opens(const struct pkt *p, uint8_t proto)
{
	return proto != NAT_TCP ||
	       (tcp_flags(p) & (TCP_SYN | TCP_ACK | TCP_RST | TCP_FIN)) == TCP_SYN;
}

static struct nat_session *open_session(struct gw *gw, struct nat *n, struct nat_mapping *m,
                                        uint32_t rem_ip, uint16_t rem_port)
{
	enum nat_state state = m->proto == NAT_TCP ? NAT_INIT : NAT_OPEN;
	return nat_session_new(&n->table, m, rem_ip, rem_port, state,
	                       gw->now_s + lifetime(n, m->proto, (uint8_t)state));
}

struct nat_session *nat_outgoing(struct gw *gw, struct nat *n, struct pkt *p, uint8_t proto,
                                 uint32_t ports, enum verdict *v)
{
	const struct ip4_hdr *h = ip4_header(p);
	struct nat_table *t = &n->table;
	uint32_t in_ip = ip4_raw(h->from), rem_ip = ip4_raw(h->to);
	struct nat_session *s = nat_session_find(t, proto, in_ip, rem_ip, ports);
	if (LIKELY(s))
		return s;
	enum drop bad = ip4_bad_destination(gw, p);
	if (bad == DROP_NONE && ip4_bad_source(gw, p))
		bad = DROP_MARTIAN_SOURCE;
	if (bad == DROP_NONE && !opens(p, proto))
		bad = DROP_NO_SESSION;
	if (bad != DROP_NONE) {
		*v = gw_drop(gw, p, bad);
		return NULL;
	}
	bool no_port = false;
	struct nat_mapping *m = nat_mapping_find(t, proto, in_ip, (uint16_t)ports);
	if (!m)
		m = nat_mapping_new(t, proto, in_ip, (uint16_t)ports, &no_port);
	if (m)
		s = open_session(gw, n, m, rem_ip, (uint16_t)(ports >> 16));
	if (!s) {
		if (m && m->n_sessions == 0)
			nat_mapping_drop(t, m);
		*v = refuse(gw, n, p, no_port ? DROP_NO_PORT : DROP_TABLE_FULL);
	}
	return s;
}

/* The session for a packet from outside to a mapping, made if the filter lets
 * a new remote endpoint in (RFC 4787 section 5). */
static struct nat_session *incoming(struct gw *gw, struct nat *n, struct pkt *p,
                                    struct nat_mapping *m, uint16_t rem_port, enum verdict *v)
{
	struct nat_table *t = &n->table;
	uint32_t rem_ip = ip4_raw(ip4_header(p)->from);
	struct nat_session *s = nat_session_find(t, m->proto, m->in_ip, rem_ip,
	                                         m->in_port | (uint32_t)rem_port << 16);
	if (LIKELY(s))
		return s;
	enum drop bad = DROP_NONE;
	if (!(p->flags & PKT_HAIRPIN) && ip4_bad_source(gw, p))
		bad = DROP_MARTIAN_SOURCE;
	else if (n->filtering == NAT_FILTER_ADDRESS_AND_PORT_DEPENDENT ||
	         (n->filtering == NAT_FILTER_ADDRESS_DEPENDENT && !nat_knows_peer(t, m, rem_ip)))
		bad = DROP_FILTERED;
	else if (!opens(p, m->proto))
		bad = DROP_NO_SESSION;
	if (bad == DROP_NONE) {
		s = open_session(gw, n, m, rem_ip, rem_port);
		if (s)
			return s;
		n->table_full++;
		bad = DROP_TABLE_FULL; /* the outside is not told */
	}
	*v = gw_drop(gw, p, bad);
	return NULL;
}

/* --- UDP and TCP ------------------------------------------------------------------------ */

/* Corrects the transport checksum; p holds at least the header. */
static inline void fix_l4(struct pkt *p, uint8_t proto, uint16_t delta)
{
	uint8_t *l4 = p->data + p->l4;
	if (proto == NAT_TCP) {
		struct tcp_hdr *tcp = (struct tcp_hdr *)l4;
		tcp->sum = csum_apply(tcp->sum, delta);
	} else {
		struct udp_hdr *udp = (struct udp_hdr *)l4;
		udp->sum = csum_apply_udp(udp->sum, delta);
	}
}

/* The transport header is all there (RFC 3128: no header split to hide in). */
static inline bool l4_complete(const struct pkt *p, uint8_t proto)
{
	return p->l4_len >= (proto == NAT_TCP ? sizeof(struct tcp_hdr) : sizeof(struct udp_hdr));
}

static enum verdict port_out(struct gw *gw, struct nat *n, struct pkt *p, uint8_t proto)
{
	struct ip4_hdr *h = ip4_header(p);
	uint8_t *l4 = p->data + p->l4;
	enum verdict v = V_DROP;
	if (UNLIKELY(!l4_complete(p, proto)))
		return gw_drop(gw, p, DROP_L4_HEADER);
	struct nat_session *s = nat_outgoing(gw, n, p, proto, load32(l4), &v);
	if (UNLIKELY(!s))
		return v;
	refresh(gw, n, s);
	if (proto == NAT_TCP)
		tcp_track(gw, n, s, tcp_flags(p), true);
	const struct nat_mapping *m = &n->table.mapping[s->mapping];
	h->from = ip4_from_raw(m->ext_ip);
	store16(l4, m->ext_port);
	fix_l4(p, proto, m->l4_delta);
	ip4_hop(h, m->ip_delta);
	p->flags |= PKT_TRANSLATED;
	return V_SEND;
}

static enum verdict port_in(struct gw *gw, struct nat *n, struct pkt *p, uint8_t proto)
{
	struct ip4_hdr *h = ip4_header(p);
	uint8_t *l4 = p->data + p->l4;
	enum verdict v = V_DROP;
	if (UNLIKELY(!l4_complete(p, proto)))
		return gw_drop(gw, p, DROP_L4_HEADER);
	struct nat_mapping *m = nat_mapping_of_port(&n->table, proto, load16(l4 + 2));
	if (UNLIKELY(!m))
		return gw_drop(gw, p, DROP_NO_MAPPING);
	struct nat_session *s = incoming(gw, n, p, m, load16(l4), &v);
	if (UNLIKELY(!s))
		return v;
	ip4 to = ip4_from_raw(m->in_ip);
	if (UNLIKELY(!ip4_route(gw, p, to)))
		return gw_drop(gw, p, DROP_NO_ROUTE);
	bool turned = p->flags & PKT_HAIRPIN; /* its hop was counted on the way out */
	if (!turned && UNLIKELY(ip4_may_forward(gw, p) != V_SEND))
		return V_DROP;
	if (proto == NAT_TCP)
		tcp_track(gw, n, s, tcp_flags(p), false);
	h->to = to;
	store16(l4 + 2, m->in_port);
	fix_l4(p, proto, (uint16_t)~m->l4_delta);
	if (turned)
		h->sum = csum_apply(h->sum, (uint16_t)~m->ip_delta);
	else
		ip4_hop(h, (uint16_t)~m->ip_delta);
	p->flags |= PKT_INBOUND;
	return V_SEND;
}

/* --- the two directions ---------------------------------------------------------------- */

/* From an inside host to one of our own addresses: to a mapping of another
 * inside host (hairpinning, RFC 4787 REQ-9), or to the gateway. */
static bool is_hairpin(const struct nat *n, const struct pkt *p, uint8_t proto)
{
	if (!ip4_eq(ip4_to(p), n->external) || p->l4_len < 8)
		return false;
	const uint8_t *l4 = p->data + p->l4;
	if (proto == NAT_ICMP) /* errors about hairpinned packets, RFC 5508 REQ-7 */
		return l4[0] == ICMP_UNREACHABLE || l4[0] == ICMP_TIME_EXCEEDED ||
		       l4[0] == ICMP_PARAMETER;
	return nat_mapping_of_port(&n->table, proto, load16(l4 + 2)) != NULL;
}

static enum verdict from_inside(struct gw *gw, struct nat *n, struct pkt *p)
{
	uint8_t proto = nat_proto_of(p->proto);
	if (UNLIKELY(!ip4_route(gw, p, ip4_to(p)))) {
		gw_error(gw, p, ICMP_UNREACHABLE, ICMP_NET, 0);
		return gw_drop(gw, p, DROP_NO_ROUTE);
	}
	if (UNLIKELY(p->out != PORT_WAN)) {
		enum drop bad = ip4_bad_destination(gw, p);
		if (bad != DROP_NONE)
			return gw_drop(gw, p, bad);
		if (p->out == PKT_PORT_SELF) {
			if (proto == NAT_PROTOS || p->flags & PKT_FRAGMENT ||
			    !is_hairpin(n, p, proto))
				return V_LOCAL;
			if (!n->hairpin)
				return gw_drop(gw, p, DROP_HAIRPIN);
		} else { /* between two inside networks: plain forwarding */
			if (ip4_bad_source(gw, p))
				return gw_drop(gw, p, DROP_MARTIAN_SOURCE);
			if (ip4_may_forward(gw, p) != V_SEND)
				return V_DROP;
			ip4_hop(ip4_header(p), 0);
			return V_SEND;
		}
	}
	if (UNLIKELY(ip4_may_forward(gw, p) != V_SEND))
		return V_DROP;
	if (UNLIKELY(p->flags & (PKT_FRAGMENT | PKT_L2_GROUP)))
		return gw_drop(gw, p, p->flags & PKT_FRAGMENT ? DROP_FRAGMENT : DROP_MULTICAST);
	if (UNLIKELY(proto == NAT_PROTOS)) {
		gw_error(gw, p, ICMP_UNREACHABLE, ICMP_PROTOCOL, 0);
		return gw_drop(gw, p, DROP_PROTOCOL);
	}
	return proto == NAT_ICMP ? nat_icmp_out(gw, n, p) : port_out(gw, n, p, proto);
}

static enum verdict from_outside(struct gw *gw, struct nat *n, struct pkt *p)
{
	uint8_t proto = nat_proto_of(p->proto);
	if (UNLIKELY(!ip4_eq(ip4_to(p), n->external))) {
		enum drop bad = ip4_bad_destination(gw, p);
		if (bad != DROP_NONE)
			return gw_drop(gw, p, bad);
		return gw_port_has(&gw->port[PORT_WAN], ip4_to(p)) ? V_LOCAL
		                                                   : gw_drop(gw, p, DROP_FOREIGN);
	}
	if (UNLIKELY(p->flags & (PKT_FRAGMENT | PKT_L2_GROUP)))
		return gw_drop(gw, p, p->flags & PKT_FRAGMENT ? DROP_FRAGMENT : DROP_MULTICAST);
	if (proto == NAT_PROTOS)
		return gw_drop(gw, p, DROP_PROTOCOL);
	return proto == NAT_ICMP ? nat_icmp_in(gw, n, p) : port_in(gw, n, p, proto);
}

static enum verdict nat_ip4(struct gw *gw, struct pkt *p)
{
	struct nat *n = gw->state;
	return p->port == PORT_LAN ? from_inside(gw, n, p) : from_outside(gw, n, p);
}

static bool nat_tick(struct gw *gw)
{
	struct nat *n = gw->state;
	return nat_table_tick(&n->table, gw->now_s, TICK_SESSIONS);
}

/* --- listings ----------------------------------------------------------------------------- */

static bool show_stats(const struct nat *n, uint32_t *cursor, char *buf, size_t size)
{
	const struct {
		const char *name;
		uint64_t value;
	} row[] = {
	        {"nat_sessions", n->table.n_sessions},
	        {"nat_sessions_created", n->table.created},
	        {"nat_sessions_expired", n->table.expired},
	        {"nat_mappings", n->table.n_mappings},
	        {"nat_table_full", n->table_full},
	};
	uint32_t i = (*cursor)++;
	if (i >= ARRAY_SIZE(row))
		return false;
	fmt(buf, size, "%s %llu", row[i].name, (unsigned long long)row[i].value);
	return true;
}

static bool show_session(const struct gw *gw, const struct nat *n, uint32_t *cursor, char *buf,
                         size_t size)
{
	static const char *const proto[] = {"udp", "tcp", "icmp"};
	static const char *const state[] = {"free",   "open",    "init",     "established",
	                                    "in-fin", "out-fin", "both-fin", "transitory"};
	buf[0] = 0;
	for (uint32_t looked = 0; *cursor < n->table.size; looked++) {
		if (looked == 1024)
			return true; /* enough for one turn */
		const struct nat_session *s = &n->table.session[(*cursor)++];
		if (s->state == NAT_FREE)
			continue;
		const struct nat_mapping *m = &n->table.mapping[s->mapping];
		char in[FMT_IP4], ext[FMT_IP4], rem[FMT_IP4];
		fmt(buf, size, "%s %s:%u %s:%u %s:%u %s expires=%u", proto[s->proto],
		    fmt_ip4(in, ip4_from_raw(s->in_ip)), swap16(m->in_port),
		    fmt_ip4(ext, ip4_from_raw(m->ext_ip)), swap16(m->ext_port),
		    fmt_ip4(rem, ip4_from_raw(s->rem_ip)), swap16((uint16_t)(s->ports >> 16)),
		    state[s->state], max_u32(s->expire_s, gw->now_s) - gw->now_s);
		return true;
	}
	return false;
}

static bool nat_show(struct gw *gw, enum app_show what, uint32_t *cursor, char *buf, size_t size)
{
	const struct nat *n = gw->state;
	return what == SHOW_STATS ? show_stats(n, cursor, buf, size)
	                          : show_session(gw, n, cursor, buf, size);
}

const struct app app_nat44 = {
        .init = nat_init,
        .ip4 = nat_ip4,
        .tick = nat_tick,
        .show = nat_show,
};
