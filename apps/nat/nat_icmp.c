/* Translates ICMP (RFC 5508): echo and timestamp by their identifier, errors by the packet
 * that they quote. Other types are dropped (REQ-11).
 *
 * Eight quoted transport bytes are enough to translate an error. An error never opens,
 * refreshes or ends a session (REQ-6; RFC 4787 REQ-12). */
#include "apps/nat/nat.h"

#include "net/lib/csum.h"
#include "net/gw_address.h"
#include "net/ip4/ip4.h"

/* The packet that an error quotes. */
struct quote {
	struct ip4_hdr *ip;
	uint8_t *l4;
	uint32_t len;      /* transport bytes that are quoted, at least 8 */
	uint8_t proto;     /* enum nat_proto */
	uint16_t from, to; /* ports or identifier, raw; for ICMP both are the inside's */
};

static bool is_error(uint8_t type)
{
	return type == ICMP_UNREACHABLE || type == ICMP_TIME_EXCEEDED || type == ICMP_PARAMETER;
}

static bool is_query(uint8_t type)
{
	return type == ICMP_ECHO || type == ICMP_TIMESTAMP;
}

static bool is_reply(uint8_t type)
{
	return type == ICMP_ECHO_REPLY || type == ICMP_TIMESTAMP_REPLY;
}

static inline struct icmp_hdr *icmp_of(const struct pkt *p)
{
	return (struct icmp_hdr *)(p->data + p->l4);
}

/* Reads the quoted packet of the ICMP error in p, whose length is checked. `fits` decides
 * which type a quoted ICMP message must have. False when the error cannot be translated. */
static bool read_quote(const struct pkt *p, bool (*fits)(uint8_t type), struct quote *q)
{
	uint8_t *at = p->data + p->l4 + sizeof(struct icmp_hdr);
	uint32_t n = p->l4_len - (uint32_t)sizeof(struct icmp_hdr);
	if (n < IP4_MIN)
		return false;
	q->ip = (struct ip4_hdr *)at;
	uint32_t hlen = (uint32_t)(at[0] & 15) * 4; /* options are skipped, REQ-3b */
	if (at[0] >> 4 != 4 || hlen < IP4_MIN || hlen > n || n - hlen < 8)
		return false;
	if (be16_get(q->ip->frag) & IP4_OFFSET)
		return false; /* a later fragment has no ports */
	if (csum_sum(at, hlen) != 0xffff)
		return false; /* REQ-3a */
	q->l4 = at + hlen;
	q->len = n - hlen;
	q->proto = nat_proto_of(q->ip->proto);
	if (q->proto == NAT_OTHER) {
		q->from = q->to = 0;
		return true;
	}
	if (q->proto != NAT_ICMP) {
		q->from = load16(q->l4);
		q->to = load16(q->l4 + 2);
		return true;
	}
	q->from = q->to = load16(q->l4 + 4);
	return fits(q->l4[0]);
}

/* Adjusts the quoted transport checksum when the quote includes it. */
static void fix_quoted_sum(const struct quote *q, uint16_t delta)
{
	static const uint8_t offset[] = {[NAT_UDP] = 6, [NAT_TCP] = 16, [NAT_ICMP] = 2};
	uint32_t at = offset[q->proto];
	if (q->len < at + 2)
		return;
	be16 *sum = (be16 *)(q->l4 + at);
	*sum = q->proto == NAT_UDP ? csum_apply_udp(*sum, delta) : csum_apply(*sum, delta);
}

/* Changes one endpoint of the quoted packet, address and port (or identifier; raw), and
 * adjusts all checksums of the quote. */
static void change_quote(const struct quote *q, ip4 *addr, ip4 to, uint8_t *port, uint16_t number)
{
	uint16_t ip_delta = csum_delta32(ip4_raw(*addr), ip4_raw(to));
	if (q->proto == NAT_OTHER) { /* nothing but the address */
		q->ip->sum = csum_apply(q->ip->sum, ip_delta);
		*addr = to;
		return;
	}
	uint16_t delta = csum_delta16(load16(port), number);
	fix_quoted_sum(q, q->proto == NAT_ICMP ? delta : csum_plus(delta, ip_delta));
	q->ip->sum = csum_apply(q->ip->sum, ip_delta);
	*addr = to;
	store16(port, number);
}

/* Computes the error's own checksum. */
static void finish_error(struct pkt *p)
{
	struct icmp_hdr *icmp = icmp_of(p);
	icmp->sum = be16_of(0);
	icmp->sum = be16_from_raw((uint16_t)~csum_sum(icmp, p->l4_len));
}

/* Checks an ICMP message of either direction. */
static enum drop check(const struct pkt *p)
{
	if (p->l4_len < sizeof(struct icmp_hdr))
		return DROP_L4_HEADER;
	if (!is_error(icmp_of(p)->type))
		return DROP_NONE;
	if (p->flags & PKT_FRAGMENT)
		return DROP_FRAGMENT; /* the checksum of the whole message is not here */
	if (csum_sum(icmp_of(p), p->l4_len) != 0xffff)
		return DROP_ICMP_CHECKSUM; /* REQ-3 */
	return DROP_NONE;
}

/* The session of the packet that an error from inside quotes: it went to that host. */
static const struct nat_session *quoted_inwards(const struct nat *n, const struct quote *q)
{
	uint32_t in_ip = ip4_raw(q->ip->to), rem_ip = ip4_raw(q->ip->from);
	if (q->proto == NAT_OTHER) {
		uint32_t external = nat_external_of(&n->table, in_ip);
		if (external == NAT_NONE)
			return NULL;
		const struct nat_session *s =
		        nat_other_find(n, n->table.external[external].ip, rem_ip, q->ip->proto);
		return s && nat_mapping_of(n, s)->in_ip == in_ip ? s : NULL;
	}
	uint32_t rem_port = q->proto == NAT_ICMP ? 0 : q->from;
	return nat_session_find(&n->table, q->proto, in_ip, rem_ip, q->to | rem_port << 16);
}

/* The session of the packet that an error from outside quotes: the NAT sent it. */
static const struct nat_session *quoted_outwards(const struct nat *n, const struct quote *q)
{
	uint32_t external = nat_external_find(&n->table, ip4_raw(q->ip->from));
	uint32_t rem_ip = ip4_raw(q->ip->to);
	if (external == NAT_NONE)
		return NULL;
	if (q->proto == NAT_OTHER)
		return nat_other_find(n, ip4_raw(q->ip->from), rem_ip, q->ip->proto);
	const struct nat_mapping *m = nat_mapping_of_port(&n->table, external, q->proto, q->from);
	uint32_t rem_port = q->proto == NAT_ICMP ? 0 : q->to;
	return !m ? NULL
	          : nat_session_find(&n->table, q->proto, m->in_ip, rem_ip,
	                             m->in_port | rem_port << 16);
}

/* True when the quoted packet left from a port of the gateway itself. */
static bool quotes_own(const struct nat *n, const struct quote *q)
{
	uint32_t external = nat_external_find(&n->table, ip4_raw(q->ip->from));
	return external != NAT_NONE && q->proto != NAT_OTHER &&
	       nat_port_is_taken(&n->table, external, q->proto, q->from);
}

/* Translates an error from inside about a packet that came from outside: the quoted packet
 * went to an inside host (REQ-5). The error's source becomes that host's external address,
 * whichever inside node sent the error. */
static enum verdict error_out(struct gw *gw, struct nat *n, struct pkt *p)
{
	struct quote q;
	if (!read_quote(p, is_reply, &q))
		return gw_drop(gw, p, DROP_ICMP_QUOTE);
	const struct nat_session *s = quoted_inwards(n, &q);
	bool own = p->flags & PKT_TRANSLATED; /* the gateway itself made it; no hop to take */
	if (!s)
		return gw_drop(gw, p, DROP_NO_MAPPING);
	const struct nat_mapping *m = nat_mapping_of(n, s);
	struct ip4_hdr *h = ip4_header(p);
	change_quote(&q, &q.ip->to, ip4_from_raw(m->ext_ip), q.l4 + (q.proto == NAT_ICMP ? 4 : 2),
	             m->ext_port);
	finish_error(p);
	be16 id = ip4_id(&gw->ids, h->to);
	uint32_t delta = (uint32_t)csum_delta32(ip4_raw(h->from), m->ext_ip) +
	                 csum_delta16(be16_raw(h->id), be16_raw(id));
	h->from = ip4_from_raw(m->ext_ip);
	h->id = id;
	if (own)
		h->sum = csum_apply(h->sum, delta);
	else
		ip4_hop(h, delta);
	p->flags |= PKT_TRANSLATED;
	return V_SEND;
}

/* Translates an error from outside about a packet that the NAT sent for an inside host
 * (REQ-4). */
static enum verdict error_in(struct gw *gw, struct nat *n, struct pkt *p)
{
	struct quote q;
	if (!read_quote(p, is_query, &q))
		return gw_drop(gw, p, DROP_ICMP_QUOTE);
	const struct nat_session *s = quoted_outwards(n, &q);
	if (!s && quotes_own(n, &q))
		return V_LOCAL;
	if (!s)
		return gw_drop(gw, p, DROP_NO_MAPPING);
	if (!(p->flags & PKT_HAIRPIN) && ip4_bad_source(gw, p))
		return gw_drop(gw, p, DROP_MARTIAN_SOURCE);
	const struct nat_mapping *m = nat_mapping_of(n, s);
	if (nat_route_in(gw, p, m->in_ip) != V_SEND)
		return V_DROP;
	struct ip4_hdr *h = ip4_header(p);
	ip4 to = ip4_from_raw(m->in_ip);
	change_quote(&q, &q.ip->from, to, q.l4 + (q.proto == NAT_ICMP ? 4 : 0), m->in_port);
	finish_error(p);
	uint16_t delta = csum_delta32(ip4_raw(h->to), m->in_ip);
	h->to = to;
	if (p->flags & PKT_HAIRPIN)
		h->sum = csum_apply(h->sum, delta);
	else
		ip4_hop(h, delta);
	p->flags |= PKT_INBOUND;
	return V_SEND;
}

enum verdict nat_icmp_out(struct gw *gw, struct nat *n, struct pkt *p)
{
	enum drop bad = check(p);
	if (bad != DROP_NONE)
		return gw_drop(gw, p, bad);
	struct icmp_hdr *icmp = icmp_of(p);
	if (is_error(icmp->type))
		return error_out(gw, n, p);
	if (!is_query(icmp->type))
		return gw_drop(gw, p, DROP_ICMP_TYPE);
	enum verdict v = V_DROP;
	uint32_t id = be16_raw(icmp->id);
	struct nat_session *s = nat_session_find(&n->table, NAT_ICMP, ip4_raw(ip4_header(p)->from),
	                                         ip4_raw(ip4_to(p)), id);
	if (!s && !(s = nat_open_out(gw, n, p, NAT_ICMP, id, &v)))
		return v;
	nat_refresh(gw, n, s);
	icmp->id = be16_from_raw(s->ext_port);
	icmp->sum = csum_apply_icmp(icmp->sum, s->l4_delta);
	nat_finish_out(gw, p, s);
	return V_SEND;
}

static enum verdict reply_in(struct gw *gw, struct nat *n, struct pkt *p, struct icmp_hdr *icmp,
                             uint32_t external)
{
	const struct nat_mapping *m =
	        nat_mapping_of_port(&n->table, external, NAT_ICMP, be16_raw(icmp->id));
	if (!m && nat_port_is_taken(&n->table, external, NAT_ICMP, be16_raw(icmp->id)))
		return V_LOCAL;
	struct nat_session *s = !m ? NULL
	                           : nat_session_find(&n->table, NAT_ICMP, m->in_ip,
	                                              ip4_raw(ip4_header(p)->from), m->in_port);
	if (!s)
		return gw_drop(gw, p, DROP_NO_MAPPING);
	if (nat_route_in(gw, p, m->in_ip) != V_SEND)
		return V_DROP;
	s->flags |= NAT_ANSWERED;
	icmp->id = be16_from_raw(m->in_port);
	icmp->sum = csum_apply_icmp(icmp->sum, (uint16_t)~m->l4_delta);
	nat_finish_in(p, s, m->in_ip);
	return V_SEND;
}

enum verdict nat_icmp_in(struct gw *gw, struct nat *n, struct pkt *p, uint32_t external)
{
	enum drop bad = check(p);
	if (bad != DROP_NONE)
		return gw_drop(gw, p, bad);
	struct icmp_hdr *icmp = icmp_of(p);
	if (is_error(icmp->type))
		return error_in(gw, n, p);
	if (is_reply(icmp->type))
		return reply_in(gw, n, p, icmp, external);
	/* The gateway itself answers echo to its own address, and counts the other types. */
	return gw_is_own(gw, ip4_to(p)) ? V_LOCAL : gw_drop(gw, p, DROP_NO_MAPPING);
}
