/* Opening sessions of the NAT: who may have one, and the ICMP error when there is none. The two
 * functions nat_open_session_… are for every application with such sessions. See nat.h. */
#include "apps/nat/nat.h"
#include "net/ip4/icmp.h"

/* True for a packet that may open a session. A TCP segment in the middle of an unknown
 * connection may not (RFC 5382 section 5 leaves it open). */
static bool may_open(const struct pkt *p, uint8_t proto)
{
	return proto != NAT_TCP || nat_tcp_opens((const struct tcp_hdr *)(p->data + p->l4));
}

/* Drops a packet that got no session and sends the ICMP error of RFC 5508 REQ-8. */
static enum verdict refuse(struct gw *gw, struct pkt *p, enum drop reason)
{
	icmp_error(gw, p, ICMP_UNREACHABLE, ICMP_ADMIN, 0);
	return gw_drop(gw, p, reason);
}

/* Makes a session that lasts at most `most_s` seconds at first. */
static struct nat_session *open_session(struct gw *gw, struct nat *n, struct nat_mapping *m,
                                        uint32_t rem_ip, uint16_t rem_port, uint32_t most_s)
{
	enum nat_state state = m->proto == NAT_TCP ? NAT_INIT : NAT_OPEN;
	return nat_session_new(&n->table, m, rem_ip, rem_port, state,
	                       gw->clock.s + min_u32(n->life_s[m->proto][state], most_s));
}

static bool at_limit(const struct nat *n, uint32_t in_ip)
{
	return n->host_limit && nat_host_sessions(&n->table, in_ip) >= n->host_limit;
}

static struct nat_session *open_session_out(struct gw *gw, struct nat *n, uint8_t proto,
                                            uint32_t in_ip, uint32_t rem_ip, uint32_t ports,
                                            enum drop *why)
{
	struct nat_table *t = &n->table;
	enum nat_lack lack = NAT_HAS_ALL;
	if (at_limit(n, in_ip) && !nat_evict_neighbour(t, in_ip)) {
		*why = DROP_HOST_LIMIT;
		return NULL;
	}
	*why = DROP_TABLE_FULL;
	struct nat_mapping *m = NULL;
	if (proto != NAT_OTHER)
		m = nat_mapping_find(t, proto, in_ip, (uint16_t)ports);
	bool full = t->n_sessions == t->size || (!m && t->n_mappings == t->size);
	if (full && !nat_evict_session(t, in_ip, m)) {
		n->table_full++;
		return NULL;
	}
	if (nat_lacks_host(t, in_ip))
		(void)nat_evict_address(t); /* when it frees no host, there is no mapping */
	if (!m && proto == NAT_OTHER)
		m = nat_mapping_other(t, in_ip, (uint16_t)ports, rem_ip, &lack);
	else if (!m)
		m = nat_mapping_new(t, proto, in_ip, (uint16_t)ports, &lack);
	if (!m) {
		if (lack != NAT_LACKS_ENTRY)
			*why = lack == NAT_LACKS_PORT ? DROP_NO_PORT : DROP_AMBIGUOUS;
		else
			n->table_full++;
		return NULL;
	}
	struct nat_session *s = open_session(gw, n, m, rem_ip, (uint16_t)(ports >> 16), NAT_LIFE_S);
	if (!s && m->n_sessions == 0 && !m->is_static)
		nat_mapping_drop(t, m);
	if (s && proto == NAT_TCP)
		nat_syn_solicited(&n->syns, rem_ip, m->ext_ip,
		                  ports >> 16 | (uint32_t)m->ext_port << 16);
	return s;
}

struct nat_session *nat_open_session_out(struct gw *gw, struct nat *n, uint8_t proto,
                                         uint32_t in_ip, uint32_t rem_ip, uint32_t ports,
                                         enum drop *why)
{
	uint32_t clock = timing_start(gw);
	struct nat_session *s = open_session_out(gw, n, proto, in_ip, rem_ip, ports, why);
	if (LIKELY(s))
		timing_end(gw, TIMING_ADD, clock);
	return s;
}

struct nat_session *nat_open_out(struct gw *gw, struct nat *n, struct pkt *p, uint8_t proto,
                                 uint32_t ports, enum verdict *v)
{
	const struct ip4_hdr *h = ip4_header(p);
	struct nat_session *s = NULL;
	enum drop bad = ip4_bad_destination(gw, p);
	if (bad == DROP_NONE && !may_open(p, proto))
		bad = DROP_NO_SESSION;
	if (bad != DROP_NONE) {
		*v = gw_drop(gw, p, bad);
		return NULL;
	}
	uint32_t rem_ip = nat_other_remote(p->proto, ip4_raw(h->to));
	s = nat_open_session_out(gw, n, proto, ip4_raw(h->from), rem_ip, ports, &bad);
	if (!s) /* no error when another host has the session */
		*v = bad == DROP_AMBIGUOUS ? gw_drop(gw, p, bad) : refuse(gw, p, bad);
	return s;
}

enum drop nat_filter(struct gw *gw, const struct nat *n, const struct pkt *p,
                     const struct nat_mapping *m)
{
	if (!(p->flags & PKT_HAIRPIN) && ip4_bad_source(gw, p))
		return DROP_MARTIAN_SOURCE;
	if (m->is_static)
		return DROP_NONE;
	switch (n->filtering) {
	case NAT_FILTER_ENDPOINT_INDEPENDENT:
		return DROP_NONE;
	case NAT_FILTER_ADDRESS_DEPENDENT:
		return nat_knows_peer(&n->table, m, ip4_raw(ip4_header(p)->from)) ? DROP_NONE
		                                                                  : DROP_FILTERED;
	default:
		return DROP_FILTERED;
	}
}

void nat_take_up(struct nat *n, struct nat_session *s)
{
	if (s->state != NAT_INIT && !at_limit(n, nat_mapping_of(n, s)->in_ip))
		nat_session_invite(&n->table, s);
}

/* The most seconds that a session of a mapping may last which a stranger opens. It keeps the
 * mapping no longer than the session does that the mapping is known to have: the only one, or one
 * with this remote host. Among several others it lives as RFC 6146 section 3.5.2.2 says, unless the
 * inside host has no session of its own, so that strangers do not keep the mapping among
 * themselves. */
static uint32_t most_let_in(const struct gw *gw, const struct nat_table *t,
                            const struct nat_mapping *m, uint32_t rem_ip)
{
	uint32_t left = nat_mapping_left(t, m, rem_ip, gw->clock.s);
	if (left > 0)
		return left;
	return m->n_sessions > 1 && nat_host_sessions(t, m->in_ip) > 0 ? NAT_LIFE_S : 1;
}

enum drop nat_open_session_in(struct gw *gw, struct nat *n, struct nat_mapping *m, uint32_t rem_ip,
                              uint16_t rem_port, struct nat_session **s)
{
	struct nat_table *t = &n->table;
	if (at_limit(n, m->in_ip) && !(m->is_static && nat_evict_neighbour(t, m->in_ip)))
		return DROP_HOST_LIMIT;
	uint32_t most_s = NAT_LIFE_S, clock = timing_start(gw);
	bool room = t->n_sessions < t->size;
	if (m->is_static) { /* a forwarded service has the share of a host */
		room = room || nat_evict_session(t, m->in_ip, m);
	} else {
		most_s = most_let_in(gw, t, m, rem_ip);
		room = room || nat_evict_uninvited(t, m);
	}
	if (room)
		*s = open_session(gw, n, m, rem_ip, rem_port, most_s);
	if (!*s) {
		n->table_full++;
		return DROP_TABLE_FULL; /* without an error to the outside */
	}
	nat_session_uninvited(t, *s);
	timing_end(gw, TIMING_ADD, clock);
	if (m->proto == NAT_TCP) /* an earlier SYN of the same connection needs no answer now */
		nat_syn_solicited(&n->syns, rem_ip, m->ext_ip,
		                  rem_port | (uint32_t)m->ext_port << 16);
	return DROP_NONE;
}

struct nat_session *nat_open_in(struct gw *gw, struct nat *n, struct pkt *p, struct nat_mapping *m,
                                uint16_t rem_port, enum verdict *v)
{
	struct nat_session *s = NULL;
	enum drop bad = nat_filter(gw, n, p, m);
	if (bad == DROP_NONE && !may_open(p, m->proto))
		bad = DROP_NO_SESSION;
	if (bad == DROP_FILTERED && m->proto == NAT_TCP && may_open(p, NAT_TCP) &&
	    !(p->flags & PKT_HAIRPIN))
		nat_syn_hold(gw, &n->syns, p);
	if (bad == DROP_NONE) {
		*v = nat_route_in(gw, p, m->in_ip); /* counts what it refuses */
		if (*v != V_SEND)
			return NULL;
		bad = nat_open_session_in(gw, n, m, ip4_raw(ip4_header(p)->from), rem_port, &s);
	}
	if (bad != DROP_NONE)
		*v = gw_drop(gw, p, bad);
	return s;
}
