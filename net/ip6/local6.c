/* IPv6 packets to the gateway itself: extension headers at the destination (RFC 8200
 * section 4), and echo (RFC 4443 section 4.2). See local.h. Not implemented on purpose:
 * reassembly, and services of the core other than echo. */
#include "net/local.h"

#include "net/lib/csum.h"
#include "net/dhcp6/dhcp6_receive.h"
#include "net/gw_address.h"
#include "net/ip6/icmp6.h"
#include "net/ip6/ip6.h"
#include "net/ip6/mld.h"
#include "net/ip6/nd.h"
#include "net/probe/probe.h"
#include "net/tcp/tcp.h"

/* Turns an echo request into its reply, in place. The reply to a request to a group or an
 * anycast address comes from a unicast address of ours. It has no extension headers. */
static enum verdict echo(struct gw *gw, struct pkt *p, const struct address6 *own)
{
	const struct ip6_hdr *h = ip6_header(p);
	ip6 to = h->from, from = h->to;
	uint32_t traffic_class = be32_get(h->first) & 0x0ff00000;
	uint32_t iface = p->iface;
	if (ip6_bad_source(gw, p))
		return gw_drop(gw, p, DROP_MARTIAN_SOURCE);
	if (!own) {
		const ip6 *best = gw_own_address6(gw, iface, &to);
		if (!best)
			return gw_drop(gw, p, DROP_TENTATIVE);
		from = *best;
	}
	if (!pkt_pull(p, p->l4) || !pkt_push(p, IP6_MIN))
		return gw_drop(gw, p, DROP_IP_HEADER);
	p->data[IP6_MIN] = ICMP6_ECHO_REPLY;
	p->iface = PKT_IF_SELF;
	p->flags &= PKT_ROUNDS;
	ip6_build(p, &from, &to, PROTO_ICMP6, IP6_HOPS);
	ip6_header(p)->first = be32_of(0x60000000u | traffic_class);
	ip6_sum(p, offsetof(struct icmp6_hdr, sum));
	if (ip6_is_link_local(&to))
		ip6_to_link(p, iface);
	gw_send6(gw, p);
	return V_KEPT;
}

static enum verdict local_icmp6(struct gw *gw, struct pkt *p, const struct address6 *own)
{
	const struct ip6_hdr *h = ip6_header(p);
	const struct icmp6_hdr *icmp = (const struct icmp6_hdr *)pkt_at(p, p->l4, sizeof *icmp);
	if (!icmp || p->l4_len < sizeof *icmp)
		return gw_drop(gw, p, DROP_L4_HEADER);
	if (csum_plus(csum_sum(icmp, p->l4_len),
	              csum_pseudo6(&h->from, &h->to, PROTO_ICMP6, p->l4_len)) != 0xffff)
		return gw_drop(gw, p, DROP_ICMP_CHECKSUM);
	enum drop wrong = DROP_ICMP_TYPE;
	bool discovery = icmp->type >= ICMP6_RS && icmp->type <= ICMP6_REDIRECT;
	if (discovery)
		wrong = nd_input(gw, p);
	else if (icmp->type >= ICMP6_MLD_QUERY && icmp->type <= ICMP6_MLD_DONE)
		wrong = mld_input(gw, p);
	else if (p->flags & PKT_L2_GROUP && !ip6_is_group(&h->to))
		wrong = DROP_MULTICAST; /* as in IPv4 */
	else if ((icmp->type == ICMP6_UNREACHABLE || icmp->type == ICMP6_TOO_BIG) && gw->tcp &&
	         own && tcp_icmp(gw, p))
		wrong = DROP_NONE;
	else if (icmp->type == ICMP6_ECHO && icmp->code == 0)
		return echo(gw, p, own);
	else if (own && probe_answers(gw, p) && !ip6_bad_source(gw, p)) {
		probe_take(gw, p);
		wrong = DROP_NONE;
	}
	if (wrong != DROP_NONE)
		return gw_drop(gw, p, wrong);
	pkt_free(p);
	return V_KEPT;
}

/* --- extension headers --------------------------------------------------------------- */

/* Checks the options of one header (RFC 8200 section 4.2). The upper bits of an unknown
 * option decide whether the packet is dropped and whether an error is sent. */
static enum drop look_at_options(struct gw *gw, const struct pkt *p, uint32_t at, uint32_t len)
{
	const uint8_t *h = p->data + at;
	for (uint32_t i = 2; i < len;) {
		if (h[i] == IP6_OPT_PAD1) {
			i++;
			continue;
		}
		if (len - i < 2 || h[i + 1] > len - i - 2)
			return DROP_EXTENSION;
		uint32_t action = h[i] >> 6;
		if (action == 2 || (action == 3 && !ip6_is_group(&ip6_header(p)->to)))
			icmp6_error(gw, p, ICMP6_PARAMETER, ICMP6_OPTION, at + i);
		if (action != 0)
			return DROP_EXTENSION;
		i += h[i + 1] + 2u;
	}
	return DROP_NONE;
}

/* Checks all headers up to the transport header; ip6_parse checked their lengths. *named is
 * set to the offset of the last field "next header". */
static enum drop look_at_chain(struct gw *gw, const struct pkt *p, uint32_t *named)
{
	uint8_t proto = ip6_header(p)->next;
	*named = offsetof(struct ip6_hdr, next);
	for (uint32_t at = IP6_MIN; at < p->l4;) {
		const struct ip6_ext *e = (const struct ip6_ext *)(p->data + at);
		uint32_t len = ip6_extension_len(proto, e);
		enum drop bad = DROP_NONE;
		if (proto == PROTO_HOP_BY_HOP && at != IP6_MIN) { /* it must be the first one */
			icmp6_error(gw, p, ICMP6_PARAMETER, ICMP6_NEXT_HEADER, *named);
			bad = DROP_EXTENSION;
		} else if (proto == PROTO_HOP_BY_HOP || proto == PROTO_DESTINATION) {
			bad = look_at_options(gw, p, at, len);
		} else if (proto == PROTO_ROUTING && e->left) { /* RFC 8200 section 4.4 */
			icmp6_error(gw, p, ICMP6_PARAMETER, ICMP6_FIELD, at + 2);
			bad = DROP_EXTENSION;
		}
		if (bad != DROP_NONE)
			return bad;
		*named = at;
		proto = e->next;
		at += len;
	}
	return ip6_is_extension(proto) ? DROP_EXTENSION : DROP_NONE;
}

enum verdict local_ip6(struct gw *gw, struct pkt *p)
{
	const struct ip6_hdr *h = ip6_header(p);
	const struct address6 *own = gw_address6(gw, p->iface, &h->to);
	bool group = ip6_is_group(&h->to);
	uint32_t named = offsetof(struct ip6_hdr, next);
	if (group && (p->iface >= INTERFACES || !mld_member(&gw->iface[p->iface], &h->to)))
		return gw_drop(gw, p, DROP_MULTICAST);
	if (own && own->state != ADDRESS6_VALID)
		return gw_drop(gw, p, DROP_TENTATIVE);
	enum drop bad = p->flags & PKT_OPTIONS ? look_at_chain(gw, p, &named) : DROP_NONE;
	if (bad != DROP_NONE)
		return gw_drop(gw, p, bad);
	if (p->flags & PKT_FRAGMENT)
		return gw_drop(gw, p, DROP_FRAGMENT);
	if (p->proto == PROTO_ICMP6)
		return local_icmp6(gw, p, own);
	enum verdict v = p->proto == PROTO_UDP ? dhcp6_receive(gw, p) : V_LOCAL;
	if (v != V_LOCAL)
		return v;
	if (group || p->flags & PKT_L2_GROUP)
		return gw_drop(gw, p, DROP_MULTICAST);
	if (ip6_bad_source(gw, p))
		return gw_drop(gw, p, DROP_MARTIAN_SOURCE);
	v = own ? local_service(gw, p) : V_LOCAL;
	if (v != V_LOCAL)
		return v;
	/* No service took it. Inside hosts get an error, so that they do not wait; outside
	 * hosts get none. */
	if (!interface_is_inside(p->iface) || p->proto == PROTO_NONE)
		return gw_drop(gw, p, DROP_NO_SERVICE);
	if (p->proto == PROTO_UDP || p->proto == PROTO_TCP)
		icmp6_error(gw, p, ICMP6_UNREACHABLE, ICMP6_PORT, 0);
	else
		icmp6_error(gw, p, ICMP6_PARAMETER, ICMP6_NEXT_HEADER, named);
	return gw_drop(gw, p, DROP_NO_SERVICE);
}
