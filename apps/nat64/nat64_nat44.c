/* Inside hosts that still have IPv4: the NAT of apps/nat beside the NAT64. Both have one struct
 * nat, so external ports, limits and sessions are shared; who holds a port decides which of the two
 * translates a packet to it. The NAT64 never sees the session of an IPv4 host, nor the NAT that of
 * an IPv6 host: inside, the version of a packet decides, and 240.0.0.0/4, where IPv6 hosts have
 * their numbers, has no hosts (ip4_no_host). */
#include "apps/nat64/nat64.h"

#include "net/ip4/icmp.h"

static bool has_inside4(const struct gw *gw)
{
	for (uint32_t i = 0; i < gw->n_iface; i++)
		if (interface_is_inside(i) && gw->iface[i].n_addr > 0)
			return true;
	return false;
}

const char *nat64_nat44_follow(struct gw *gw, struct nat64 *n)
{
	const struct nat64_config *c = nat64_config(gw->config);
	bool four = has_inside4(gw);
	n->nat44 = four && (!c->has_nat44 || c->nat44);
	n->had_nat44 |= n->nat44;
	return c->has_nat44 && c->nat44 && !four
	               ? "lan.address: an IPv4 address is required by nat64.nat"
	               : NULL;
}

/* --- who owns a packet ------------------------------------------------------------------------ */

/* True when an external port (raw; of ICMP an identifier) belongs to an inside host with IPv4. */
static bool owns_port(const struct nat_table *t, uint32_t external, uint8_t proto, uint16_t port)
{
	const struct nat_mapping *m = nat_mapping_of_port(t, external, proto, port);
	return m && !nat_inside_is6(m->in_ip);
}

static bool owns_other(const struct nat64 *n, uint32_t external, uint32_t rem_ip, uint8_t ip_proto)
{
	return nat_other_find(&n->nat, n->nat.table.external[external].ip, rem_ip, ip_proto);
}

/* True when the packet that an ICMP error of `len` bytes quotes was sent for an inside host with
 * IPv4. */
static bool owns_quote(const struct nat64 *n, const uint8_t *icmp, uint32_t len)
{
	const struct ip4_hdr *q = (const struct ip4_hdr *)(icmp + sizeof(struct icmp_hdr));
	uint32_t room = len - (uint32_t)sizeof(struct icmp_hdr);
	if (len < sizeof(struct icmp_hdr) + IP4_MIN)
		return false;
	uint32_t at = (uint32_t)(q->version_ihl & 15) * 4;
	uint32_t external = nat_external_find(&n->nat.table, ip4_raw(q->from));
	uint8_t proto = nat_proto_of(q->proto);
	if (at < IP4_MIN || at > room || room - at < 8 || external == NAT_NONE)
		return false;
	const uint8_t *l4 = (const uint8_t *)q + at;
	return proto == NAT_OTHER ? owns_other(n, external, ip4_raw(q->to), q->proto)
	                          : owns_port(&n->nat.table, external, proto,
	                                      load16(l4 + (proto == NAT_ICMP ? 4 : 0)));
}

bool nat64_nat44_owns(const struct nat64 *n, const struct pkt *p, uint32_t external)
{
	const uint8_t *l4 = p->data + p->l4;
	uint8_t proto = nat_proto_of(p->proto);
	if (!n->had_nat44)
		return false;
	if (proto == NAT_OTHER)
		return owns_other(n, external, ip4_raw(ip4_header(p)->from), p->proto);
	if (p->l4_len < 8)
		return false;
	if (proto != NAT_ICMP)
		return owns_port(&n->nat.table, external, proto, load16(l4 + 2));
	if (xlat_is_error4(l4[0]))
		return owns_quote(n, l4, p->l4_len);
	/* A request has the identifier of its sender. */
	return (l4[0] == ICMP_ECHO_REPLY || l4[0] == ICMP_TIMESTAMP_REPLY) &&
	       owns_port(&n->nat.table, external, NAT_ICMP, load16(l4 + 4));
}

bool nat64_nat44_takes(const struct nat64 *n, const struct pkt *p)
{
	if (!n->had_nat44 || (p->flags & PKT_OPTIONS && !ip4_route_done(p)))
		return false;
	if (interface_is_inside(p->iface))
		return n->nat44;
	uint32_t external = nat_external_find(&n->nat.table, ip4_raw(ip4_to(p)));
	return external != NAT_NONE && !(p->flags & PKT_FRAGMENT) &&
	       nat64_nat44_owns(n, p, external);
}

/* --- fragments -------------------------------------------------------------------------------- */

void nat64_nat44_fragments(struct gw *gw, struct pkt *list)
{
	for (struct pkt *p = list, *next; p; p = next) {
		next = p->next;
		p->next = NULL;
		enum verdict v = nat_ip4(gw, p);
		if (v == V_SEND)
			gw_forward(gw, p);
		else if (v == V_LOCAL)
			gw_discard(gw, p, DROP_FRAGMENT);
		else if (v == V_DROP)
			pkt_free(p);
	}
}

/* --- neighbours that do not answer ------------------------------------------------------------ */

/* True for an IPv4 packet that the NAT44 sends, to an inside host or for one. */
static bool is_nat44(const struct nat64 *n, const struct pkt *p)
{
	const uint8_t *l4 = p->data + p->l4;
	uint32_t external = nat_external_find(&n->nat.table, ip4_raw(ip4_header(p)->from));
	uint8_t proto = nat_proto_of(p->proto);
	if (p->out != IF_WAN)
		return true;
	if (!n->had_nat44 || external == NAT_NONE)
		return false;
	if (proto == NAT_OTHER)
		return owns_other(n, external, ip4_raw(ip4_to(p)), p->proto);
	return p->l4_len >= 8 &&
	       owns_port(&n->nat.table, external, proto, load16(l4 + (proto == NAT_ICMP ? 4 : 0)));
}

void nat64_no_neighbour(struct gw *gw, struct pkt *p, bool six)
{
	if (!six && ip4_parse(p) == DROP_NONE && is_nat44(nat64_of(gw), p))
		icmp_error(gw, p, ICMP_UNREACHABLE, ICMP_HOST, 0);
	else
		xlat_no_neighbour(gw, p, six);
}
