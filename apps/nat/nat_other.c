/* Translates protocols without ports by address alone (RFC 4787 section 1 leaves them
 * open): GRE, ESP, SCTP and others. One external address serves one inside host for each
 * remote address and protocol. Packets of a second host could not be told apart; they are
 * dropped as `ambiguous`.
 *
 * Protocol 41 (IPv6 in IPv4) belongs to a single inside host, the 6to4 router: the
 * configured one, or else the first that sends it (RFC 3056 section 5.8). AH and protocols
 * whose checksum covers the addresses (DCCP, UDP-Lite) cannot be translated without
 * knowledge of them and are dropped. */
#include "apps/nat/nat.h"
#include "net/ip4/icmp.h"

static bool cannot_pass(const struct nat *n, uint8_t ip_proto)
{
	return ip_proto == PROTO_AH || ip_proto == PROTO_DCCP || ip_proto == PROTO_UDPLITE ||
	       (ip_proto == PROTO_IP6 && n->no_protocol41);
}

struct nat_session *nat_other_find(const struct nat *n, uint32_t ext_ip, uint32_t rem_ip,
                                   uint8_t ip_proto)
{
	return nat_session_find(&n->table, NAT_OTHER, ext_ip, nat_other_remote(ip_proto, rem_ip),
	                        ip_proto);
}

enum verdict nat_other_out(struct gw *gw, struct nat *n, struct pkt *p)
{
	const struct ip4_hdr *h = ip4_header(p);
	uint32_t in_ip = ip4_raw(h->from);
	enum verdict v = V_DROP;
	if (cannot_pass(n, p->proto)) {
		icmp_error(gw, p, ICMP_UNREACHABLE, ICMP_PROTOCOL, 0);
		return gw_drop(gw, p, DROP_PROTOCOL);
	}
	if (p->proto == PROTO_IP6 && n->has_router41 && in_ip != n->router41)
		return gw_drop(gw, p, DROP_AMBIGUOUS);
	uint32_t external = nat_external_of(&n->table, in_ip);
	struct nat_session *s = external == NAT_NONE
	                                ? NULL
	                                : nat_other_find(n, n->table.external[external].ip,
	                                                 ip4_raw(h->to), p->proto);
	if (!s && !(s = nat_open_out(gw, n, p, NAT_OTHER, p->proto, &v)))
		return v;
	const struct nat_mapping *m = nat_mapping_of(n, s);
	if (m->in_ip != in_ip)
		return gw_drop(gw, p, DROP_AMBIGUOUS);
	nat_refresh(gw, n, s);
	if (s->flags & NAT_UNINVITED)
		nat_take_up(n, s);
	nat_finish_out(gw, p, s);
	return V_SEND;
}

/* Opens the session of the configured 6to4 router again after it expired, for a packet from
 * outside to an external address. NULL when there is no room or the router has another
 * external address by then. */
static struct nat_session *open_router41(struct gw *gw, struct nat *n, uint32_t external)
{
	struct nat_table *t = &n->table;
	enum nat_lack lack;
	if (t->n_sessions == t->size && !nat_evict_session(t, n->router41, NULL))
		return NULL;
	struct nat_mapping *m = nat_mapping_other(t, n->router41, PROTO_IP6, 0, &lack);
	struct nat_session *s = NULL;
	if (m && m->external == external)
		s = nat_session_new(t, m, 0, 0, NAT_OPEN,
		                    gw->clock.s + n->life_s[NAT_OTHER][NAT_OPEN]);
	if (m && !s)
		nat_mapping_drop(t, m);
	if (s)
		nat_session_uninvited(t, s);
	return s;
}

enum verdict nat_other_in(struct gw *gw, struct nat *n, struct pkt *p, uint32_t external)
{
	struct nat_session *s = nat_other_find(n, n->table.external[external].ip,
	                                       ip4_raw(ip4_header(p)->from), p->proto);
	/* Any remote host may send protocol 41 in this session, so its source must be
	 * checked. */
	if (p->proto == PROTO_IP6 && ip4_bad_source(gw, p))
		return gw_drop(gw, p, DROP_MARTIAN_SOURCE);
	bool reopen = !s && p->proto == PROTO_IP6 && n->has_router41 &&
	              nat_external_for(&n->table, n->router41) == external;
	if (!s && !reopen)
		return gw_drop(gw, p, cannot_pass(n, p->proto) ? DROP_PROTOCOL : DROP_NO_MAPPING);
	if (nat_route_in(gw, p, reopen ? n->router41 : nat_mapping_of(n, s)->in_ip) != V_SEND)
		return V_DROP;
	if (reopen && !(s = open_router41(gw, n, external))) {
		n->table_full++;
		return gw_drop(gw, p, DROP_TABLE_FULL);
	}
	const struct nat_mapping *m = nat_mapping_of(n, s);
	s->flags |= NAT_ANSWERED;
	nat_finish_in(p, s, m->in_ip);
	return V_SEND;
}
