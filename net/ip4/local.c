/* See local.h. Services of applications bind UDP and TCP ports (udp.h, tcp.h). */
#include "net/local.h"

#include "net/lib/csum.h"
#include "net/ip4/icmp.h"
#include "net/ip4/ip4.h"
#include "net/probe/probe.h"
#include "net/tcp/tcp.h"
#include "net/udp/udp.h"

/* Turns an echo request into its reply, in place. The reply has no options: there is no
 * route to reverse, because source routes are dropped. */
static enum verdict echo(struct gw *gw, struct pkt *p, struct icmp_hdr *icmp)
{
	ip4 from = ip4_to(p), to = ip4_header(p)->from;
	uint8_t tos = ip4_header(p)->tos; /* RFC 1349 section 5.1 */
	icmp->sum = csum_apply_icmp(icmp->sum, csum_delta16(ICMP_ECHO, ICMP_ECHO_REPLY));
	icmp->type = ICMP_ECHO_REPLY;
	if (!pkt_pull(p, p->l4) || !pkt_push(p, IP4_MIN))
		return gw_drop(gw, p, DROP_IP_HEADER);
	p->iface = PKT_IF_SELF;
	p->flags &= PKT_ROUNDS; /* the reply to a hairpinned request is hairpinned too */
	ip4_build(gw, p, from, to, PROTO_ICMP, tos);
	gw_send(gw, p);
	return V_KEPT;
}

static enum verdict local_icmp(struct gw *gw, struct pkt *p)
{
	struct icmp_hdr *icmp = (struct icmp_hdr *)pkt_at(p, p->l4, sizeof *icmp);
	if (!icmp || p->l4_len < sizeof *icmp)
		return gw_drop(gw, p, DROP_L4_HEADER);
	if (csum_sum(icmp, p->l4_len) != 0xffff)
		return gw_drop(gw, p, DROP_ICMP_CHECKSUM);
	if (icmp->type == ICMP_UNREACHABLE && gw->tcp && tcp_icmp(gw, p)) {
		pkt_free(p);
		return V_KEPT;
	}
	if (probe_answers(gw, p)) {
		probe_take(gw, p);
		pkt_free(p);
		return V_KEPT;
	}
	if (icmp->type != ICMP_ECHO || icmp->code != 0)
		return gw_drop(gw, p, DROP_ICMP_TYPE);
	return echo(gw, p, icmp);
}

enum verdict local_service(struct gw *gw, struct pkt *p)
{
	if (gw->udp && p->proto == PROTO_UDP)
		return udp_input(gw, p);
	if (gw->tcp && p->proto == PROTO_TCP)
		return tcp_input(gw, p);
	return V_LOCAL;
}

enum verdict local_ip4(struct gw *gw, struct pkt *p)
{
	if (p->iface < INTERFACES && !(p->flags & PKT_HAIRPIN) && ip4_bad_source(gw, p))
		return gw_drop(gw, p, DROP_MARTIAN_SOURCE);
	if (p->flags & PKT_L2_GROUP)
		return gw_drop(gw, p, DROP_MULTICAST);
	if (p->flags & PKT_FRAGMENT)
		return gw_drop(gw, p, DROP_FRAGMENT);
	if (p->proto == PROTO_ICMP)
		return local_icmp(gw, p);
	enum verdict v = local_service(gw, p);
	if (v != V_LOCAL)
		return v;
	/* No service took it. Inside hosts get an error, so that they do not wait; outside
	 * hosts get none. */
	if (interface_is_inside(p->iface))
		icmp_error(gw, p, ICMP_UNREACHABLE,
		           p->proto == PROTO_UDP || p->proto == PROTO_TCP ? ICMP_PORT
		                                                          : ICMP_PROTOCOL,
		           0);
	return gw_drop(gw, p, DROP_NO_SERVICE);
}
