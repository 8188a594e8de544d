/* IPv6 packets that are forwarded, and those that cannot be. See ip6.h. */
#include "net/ip6/icmp6.h"
#include "net/gw_address.h"
#include "net/ip6/ip6.h"

/* Where the routing header of type 0 is that the walk found. */
static uint32_t source_route_at(const struct pkt *p)
{
	uint32_t at = IP6_MIN;
	uint8_t proto = ip6_header(p)->next;
	while (ip6_is_extension(proto)) {
		const struct ip6_ext *e = (const struct ip6_ext *)pkt_at(p, at, sizeof *e);
		if (!e || (proto == PROTO_ROUTING && e->kind == 0))
			break;
		at += ip6_extension_len(proto, e);
		proto = e->next;
	}
	return at;
}

enum verdict ip6_malformed(struct gw *gw, struct pkt *p, enum drop wrong)
{
	/* The kind of routing header is what is wrong (RFC 8200 section 4.4); only the
	 * destination tells. */
	if (wrong == DROP_SOURCE_ROUTE && gw_is_own6(gw, p->iface, &ip6_header(p)->to))
		icmp6_error(gw, p, ICMP6_PARAMETER, ICMP6_FIELD, source_route_at(p) + 2);
	return gw_drop(gw, p, wrong);
}

enum verdict ip6_special(struct gw *gw, struct pkt *p)
{
	const struct ip6_hdr *h = ip6_header(p);
	if (ip6_is_group(&h->from) || (ip6_is_special(&h->from) && !ip6_is_link_local(&h->from) &&
	                               !ip6_is_unspecified(&h->from)))
		return gw_drop(gw, p, DROP_MARTIAN_SOURCE);
	if (p->iface >= INTERFACES) /* a tunnel has no link (RFC 3964 section 4.1.1) */
		return gw_drop(gw, p,
		               ip6_is_special(&h->from) ? DROP_MARTIAN_SOURCE
		                                        : ip6_bad_destination(p));
	if (ip6_is_group(&h->to) || gw_address6(gw, p->iface, &h->to))
		return V_LOCAL6;
	if (ip6_is_unspecified(&h->from))
		return gw_drop(gw, p, DROP_MARTIAN_SOURCE);
	enum drop bad = ip6_bad_destination(p);
	if (bad != DROP_NONE)
		return gw_drop(gw, p, bad);
	/* RFC 4291 section 2.5.6, RFC 4443 section 3.1. */
	if (!gw->forwarder->is_host)
		icmp6_error(gw, p, ICMP6_UNREACHABLE, ICMP6_SCOPE, 0);
	return gw_drop(gw, p, DROP_SCOPE);
}

enum verdict ip6_cannot_forward(struct gw *gw, struct pkt *p)
{
	if (ip6_header(p)->hops <= 1) {
		icmp6_error(gw, p, ICMP6_TIME_EXCEEDED, 0, 0);
		return gw_drop(gw, p, DROP_TTL);
	}
	icmp6_error(gw, p, ICMP6_TOO_BIG, 0, max_u32(ip6_mtu(gw, p), IP6_MTU_MIN));
	return gw_drop(gw, p, DROP_TOO_BIG);
}

enum verdict ip6_forward(struct gw *gw, struct pkt *p)
{
	if (ip6_bad_source(gw, p))
		return gw_drop(gw, p, DROP_MARTIAN_SOURCE);
	if (ip6_may_forward(gw, p) != V_SEND6)
		return V_DROP;
	ip6_hop(ip6_header(p));
	return V_SEND6;
}
