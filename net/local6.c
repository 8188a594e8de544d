/* IPv6 packets for the gateway itself. See local.h. */
#include "net/local.h"

#include "net/csum.h"
#include "net/ip6.h"
#include "net/mld.h"
#include "net/nd.h"

/* Turns an echo request into its reply, in place. To a group or an anycast address
 * one of our own answers (RFC 4443 section 4.2). The request's extension headers do
 * not come back. */
static enum verdict echo(struct gw *gw, struct pkt *p, const struct gw_address6 *own)
{
	const struct ip6_hdr *h = ip6_header(p);
	ip6 to = h->from, from = h->to;
	uint32_t first = be32_get(h->first) & 0x0ff00000; /* traffic class */
	uint32_t port = p->port;
	if (ip6_bad_source(gw, p))
		return gw_drop(gw, p, DROP_MARTIAN_SOURCE);
	if (!own) {
		const ip6 *best = gw_own_address6(gw, port, &to);
		if (!best)
			return gw_drop(gw, p, DROP_TENTATIVE);
		from = *best;
	}
	if (!pkt_pull(p, p->l4) || !pkt_push(p, IP6_MIN))
		return gw_drop(gw, p, DROP_IP_HEADER);
	p->data[IP6_MIN] = ICMP6_ECHO_REPLY;
	p->port = PKT_PORT_SELF;
	p->flags = 0;
	ip6_build(p, &from, &to, PROTO_ICMP6, IP6_HOPS);
	ip6_header(p)->first = be32_of(0x60000000u | first);
	ip6_sum(p, offsetof(struct icmp6_hdr, sum));
	if (ip6_is_link_local(&to))
		ip6_to_link(p, port);
	gw_send6(gw, p);
	return V_KEPT;
}

static enum verdict local_icmp6(struct gw *gw, struct pkt *p, const struct gw_address6 *own)
{
	const struct ip6_hdr *h = ip6_header(p);
	const struct icmp6_hdr *icmp = (const struct icmp6_hdr *)pkt_at(p, p->l4, sizeof *icmp);
	if (!icmp || p->l4_len < sizeof *icmp)
		return gw_drop(gw, p, DROP_L4_HEADER);
	if (csum_plus(csum_sum(icmp, p->l4_len),
	              csum_pseudo6(&h->from, &h->to, PROTO_ICMP6, p->l4_len)) != 0xffff)
		return gw_drop(gw, p, DROP_ICMP_CHECKSUM);
	if (icmp->type >= ICMP6_RS && icmp->type <= ICMP6_REDIRECT) {
		enum drop wrong = nd_input(gw, p);
		if (wrong != DROP_NONE)
			return gw_drop(gw, p, wrong);
		pkt_free(p);
		return V_KEPT;
	}
	if (icmp->type == ICMP6_ECHO && icmp->code == 0)
		return echo(gw, p, own);
	return gw_drop(gw, p, DROP_ICMP_TYPE);
}

enum verdict local_ip6(struct gw *gw, struct pkt *p)
{
	const struct ip6_hdr *h = ip6_header(p);
	const struct gw_address6 *own = gw_address6(gw, p->port, &h->to);
	bool group = ip6_is_group(&h->to);
	if (group && (p->port >= GW_PORTS || !mld_member(&gw->port[p->port], &h->to)))
		return gw_drop(gw, p, DROP_MULTICAST);
	if (own && own->state != ADDRESS6_VALID)
		return gw_drop(gw, p, DROP_TENTATIVE);
	if (p->flags & PKT_FRAGMENT)
		return gw_drop(gw, p, DROP_FRAGMENT);
	if (p->proto == PROTO_ICMP6)
		return local_icmp6(gw, p, own);
	if (group)
		return gw_drop(gw, p, DROP_MULTICAST);
	if (ip6_bad_source(gw, p))
		return gw_drop(gw, p, DROP_MARTIAN_SOURCE);
	/* Nothing listens. Inside hosts are told, so that they do not wait; the
	 * outside learns nothing. */
	if (p->port == PORT_LAN && (p->proto == PROTO_UDP || p->proto == PROTO_TCP))
		gw_error6(gw, p, ICMP6_UNREACHABLE, ICMP6_PORT, 0);
	return gw_drop(gw, p, DROP_NO_SERVICE);
}
