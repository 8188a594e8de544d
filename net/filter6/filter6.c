/* See filter6.h. */
#include "net/filter6/filter6.h"

#include "kernel/lib/when.h"
#include "net/client.h"
#include "net/ip6/icmp6.h"
#include "net/ip6/ip6.h"
#include "net/ra/ra.h"

#define SWEEP_MS 100u

/* --- what a packet says ---------------------------------------------------------------------- */

/* True for protocols whose header begins with two ports. */
static bool has_ports(uint8_t proto)
{
	return proto == PROTO_TCP || proto == PROTO_UDP || proto == PROTO_UDPLITE ||
	       proto == PROTO_DCCP || proto == PROTO_SCTP;
}

static bool is_echo(uint8_t type)
{
	return type == ICMP6_ECHO || type == ICMP6_ECHO_REPLY;
}

/* Sets the ports of a key from a transport header of which `n` bytes are there, and which goes
 * from the inside host out, or in. False when too little is there, or it is an ICMPv6 message that
 * belongs to no session. */
static bool read_ports(struct filter6_key *key, const uint8_t *l4, uint32_t n, bool out)
{
	key->inside_port = key->outside_port = 0;
	if (key->proto == PROTO_ICMP6) {
		if (n < 8 || !is_echo(l4[0]))
			return false;
		key->inside_port = load16(l4 + 4);
		return true;
	}
	if (!has_ports(key->proto))
		return true;
	if (n < 4)
		return false;
	key->inside_port = load16(l4 + (out ? 0 : 2));
	/* UDP: any port of that host may answer. */
	if (key->proto != PROTO_UDP && key->proto != PROTO_UDPLITE)
		key->outside_port = load16(l4 + (out ? 2 : 0));
	return true;
}

/* The key of a packet that goes out, or comes in. */
static bool read_key(struct filter6_key *key, const struct pkt *p, bool out)
{
	const struct ip6_hdr *h = ip6_header(p);
	key->inside = out ? h->from : h->to;
	key->outside = out ? h->to : h->from;
	key->proto = p->proto;
	return read_ports(key, p->data + p->l4, p->l4_len, out);
}

static uint8_t tcp_flags(const struct pkt *p)
{
	const struct tcp_hdr *tcp = (const struct tcp_hdr *)pkt_at(p, p->l4, sizeof *tcp);
	return p->proto == PROTO_TCP && tcp ? tcp->flags : 0;
}

/* The key of the packet that an ICMPv6 error quotes, and which went the other way. False when too
 * little of it is there, or the error does not go to its source. */
static bool read_quote(struct filter6_key *key, const struct pkt *p, bool out)
{
	uint32_t at = p->l4 + (uint32_t)sizeof(struct icmp6_hdr);
	const struct ip6_hdr *q = (const struct ip6_hdr *)pkt_at(p, at, sizeof *q);
	if (!q || q->first.b[0] >> 4 != 6 || !ip6_eq(&q->from, &ip6_header(p)->to))
		return false;
	key->inside = out ? q->to : q->from;
	key->outside = out ? q->from : q->to;
	key->proto = q->next;
	for (at += IP6_MIN; ip6_is_extension(key->proto);) {
		const struct ip6_ext *e = (const struct ip6_ext *)pkt_at(p, at, sizeof *e);
		const struct ip6_frag *f = (const struct ip6_frag *)pkt_at(p, at, sizeof *f);
		if (!e ||
		    (key->proto == PROTO_FRAGMENT && (!f || be16_get(f->offset) & IP6_OFFSET)))
			return false;
		at += ip6_extension_len(key->proto, e);
		key->proto = e->next;
	}
	return at <= p->len && read_ports(key, p->data + at, p->len - at, !out);
}

/* --- ICMPv6 (RFC 4890 section 4.3) --------------------------------------------------------------
 */

/* True for an error that hosts need (sections 4.3.1 and 4.3.2). */
static bool is_error(uint8_t type)
{
	return type >= ICMP6_UNREACHABLE && type <= ICMP6_PARAMETER;
}

/* Decides about an ICMPv6 error, which must be about a packet of a session: *found. */
static enum drop judge_error(struct gw *gw, struct filter6 *f, const struct pkt *p, bool out,
                             const struct filter6_session **found)
{
	struct filter6_key key;
	if (!read_quote(&key, p, out))
		return DROP_ICMP_QUOTE;
	*found = filter6_table_find(&f->table, &key, gw->clock.s);
	return *found ? DROP_NONE : DROP_UNSOLICITED;
}

/* --- sessions -----------------------------------------------------------------------------------
 */

/* True when a rule lets a packet in that no session has. */
static bool is_allowed(const struct gw *gw, const struct pkt *p)
{
	const struct filter6_config *c = filter6_config(gw->config);
	const ip6 *to = &ip6_header(p)->to;
	for (uint32_t i = 0; i < c->n_rule; i++) {
		const struct filter6_rule *r = &c->rule[i];
		if (!ip6_eq(&r->addr, to))
			continue;
		if (r->proto == 0)
			return true;
		if (r->proto == p->proto && p->l4_len >= 4 &&
		    be16_get(*(const be16 *)(p->data + p->l4 + 2)) == r->port)
			return true;
	}
	return p->proto == PROTO_ICMP6 && p->data[p->l4] == ICMP6_ECHO; /* RFC 4890 4.3.1 */
}

/* True for the first packet of a TCP connection on the ports of one that is ending, or has ended.
 */
static bool is_another(const struct filter6_session *s, uint8_t flags)
{
	return s->state > FILTER6_OPEN && (flags & (TCP_SYN | TCP_ACK)) == TCP_SYN;
}

/* Decides about a packet by its session, *found, which a packet from inside begins. */
static enum drop judge_session(struct gw *gw, struct filter6 *f, const struct pkt *p, bool out,
                               const struct filter6_session **found)
{
	struct filter6_key key;
	uint32_t now = gw->clock.s;
	if (!read_key(&key, p, out))
		return p->proto == PROTO_ICMP6 ? DROP_ICMP_TYPE : DROP_L4_HEADER;
	struct filter6_session *s = filter6_table_find(&f->table, &key, now);
	if (!s && out && p->proto == PROTO_ICMP6 && p->data[p->l4] == ICMP6_ECHO_REPLY)
		return DROP_UNSOLICITED;
	if ((!s || is_another(s, tcp_flags(p))) && !out && !is_allowed(gw, p))
		return DROP_UNSOLICITED;
	if (!s) {
		const struct addr inside = {.is6 = true, .v6 = key.inside};
		uint32_t client = client_of(gw, out ? p->iface : p->out, &inside);
		s = filter6_table_open(&f->table, &key, client, !out, now);
	}
	if (!s)
		return DROP_FILTER_FULL;
	filter6_table_seen(s, out, tcp_flags(p), now);
	*found = s;
	return DROP_NONE;
}

/* The identification of a fragment; false when p is none. */
static bool fragment_id(const struct pkt *p, uint32_t *id)
{
	uint32_t at = IP6_MIN;
	uint8_t proto = ip6_header(p)->next;
	while (p->flags & PKT_FRAGMENT && ip6_is_extension(proto)) {
		const struct ip6_ext *e = (const struct ip6_ext *)pkt_at(p, at, sizeof *e);
		const struct ip6_frag *f = (const struct ip6_frag *)pkt_at(p, at, sizeof *f);
		if (!e || !f)
			return false;
		if (proto == PROTO_FRAGMENT) {
			*id = be32_get(f->id);
			return true;
		}
		at += ip6_extension_len(proto, e);
		proto = e->next;
	}
	return false;
}

/* Decides about a packet that goes out, or comes in. */
static enum drop judge(struct gw *gw, struct filter6 *f, const struct pkt *p, bool out)
{
	const struct ip6_hdr *h = ip6_header(p);
	uint32_t id = 0, now = gw->clock.s;
	bool fragment = fragment_id(p, &id);
	if (p->flags & PKT_LATER)
		return out || filter6_table_noted(&f->table, &h->from, &h->to, id, now)
		               ? DROP_NONE
		               : DROP_FRAGMENT;
	if (ip6_is_extension(p->proto)) /* the transport header is not there (RFC 7112) */
		return DROP_EXTENSION;
	if ((p->proto == PROTO_ICMP6 && p->l4_len < sizeof(struct icmp6_hdr)) ||
	    (p->proto == PROTO_TCP && p->l4_len < sizeof(struct tcp_hdr)))
		return DROP_L4_HEADER;
	bool error = p->proto == PROTO_ICMP6 && is_error(p->data[p->l4]);
	const struct filter6_session *s = NULL;
	enum drop bad = error ? judge_error(gw, f, p, out, &s) : judge_session(gw, f, p, out, &s);
	if (bad == DROP_NONE && fragment && !out)
		filter6_table_note(&f->table, &h->from, &h->to, id, s->by_outside, now);
	return bad;
}

/* --- the forwarder's calls
 * ------------------------------------------------------------------------ */

const char *filter6_init(struct gw *gw, struct filter6 *f)
{
	return filter6_table_init(&f->table, gw->rng) ? NULL : "not enough memory";
}

/* True for what must not leave the site: a source of fc00::/7 that an address of the Internet could
 * never answer (RFC 4193 section 4.3). */
static bool stays_here(const struct pkt *p)
{
	const struct ip6_hdr *h = ip6_header(p);
	return (h->from.b[0] & 0xfe) == 0xfc && (h->to.b[0] & 0xfe) != 0xfc;
}

enum verdict filter6_forward(struct gw *gw, struct filter6 *f, struct pkt *p)
{
	bool out = interface_is_inside(p->iface), to_inside = interface_is_inside(p->out);
	if (filter6_config(gw->config)->filter == FILTER6_OFF || (out && to_inside))
		return ip6_forward(gw, p);
	if (ip6_bad_source(gw, p)) {
		/* RFC 7084 L-14: the host is to leave a prefix that is gone. */
		if (out && ra_was_ours(gw, p->iface, &ip6_header(p)->from))
			icmp6_error(gw, p, ICMP6_UNREACHABLE, ICMP6_POLICY, 0);
		return gw_drop(gw, p, DROP_MARTIAN_SOURCE);
	}
	if (out && UNLIKELY(stays_here(p))) {
		icmp6_error(gw, p, ICMP6_UNREACHABLE, ICMP6_POLICY, 0);
		return gw_drop(gw, p, DROP_MARTIAN_SOURCE);
	}
	enum drop bad = out || to_inside ? judge(gw, f, p, out) : DROP_UNSOLICITED;
	if (bad == DROP_FILTER_FULL && out)
		icmp6_error(gw, p, ICMP6_UNREACHABLE, ICMP6_ADMIN, 0);
	if (bad != DROP_NONE)
		return gw_drop(gw, p, bad);
	if (ip6_may_forward(gw, p) != V_SEND6)
		return V_DROP;
	ip6_hop(ip6_header(p));
	return V_SEND6;
}

void filter6_tick(struct gw *gw, struct filter6 *f)
{
	if (f->table.n && when_again(gw->clock.ms, &f->sweep_ms, SWEEP_MS))
		filter6_table_sweep(&f->table, gw->clock.s);
}
