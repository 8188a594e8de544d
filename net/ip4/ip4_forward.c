/* IPv4 packets that cannot be forwarded. See ip4.h. */
#include "net/ip4/icmp.h"
#include "net/ip4/ip4.h"

enum verdict ip4_cannot_forward(struct gw *gw, struct pkt *p)
{
	const struct ip4_hdr *h = ip4_header(p);
	if (h->ttl <= 1) {
		icmp_error(gw, p, ICMP_TIME_EXCEEDED, 0, 0);
		return gw_drop(gw, p, DROP_TTL);
	}
	if (be16_get(h->frag) & IP4_DF) {
		icmp_error(gw, p, ICMP_UNREACHABLE, ICMP_TOO_BIG, ip4_mtu(gw, p));
		return gw_drop(gw, p, DROP_TOO_BIG);
	}
	return V_SEND; /* gw_send splits it */
}
