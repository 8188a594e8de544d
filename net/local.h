/* Packets for the gateway itself. */
#ifndef NET_LOCAL_H
#define NET_LOCAL_H

#include "net/gw.h"

/* True when services may answer a packet with this p->iface. Beside a forwarder that routes they
 * serve the inside only, so that nothing of ours is open to the provider's network. */
static inline bool local_serves(const struct gw *gw, const struct pkt *p)
{
	return gw->forwarder->is_host || interface_is_inside(p->iface);
}

/* Handles an IPv4 packet to one of our addresses, parsed: answers echo requests (RFC 1122 section
 * 3.2.2.6), passes UDP and TCP to services, and reports to inside hosts that no service listens.
 * Gives V_DROP, or V_KEPT when a service took the packet or it became the answer. */
enum verdict local_ip4(struct gw *gw, struct pkt *p);

/* Handles an IPv6 packet to one of our addresses or to a multicast group, parsed, as local_ip4 does
 * with IPv4 packets. Verdicts as there. */
enum verdict local_ip6(struct gw *gw, struct pkt *p);

/* Passes a UDP or TCP packet to the service that listens on its port. Gives that service's verdict;
 * V_LOCAL when none listens. For local_ip4 and local_ip6. */
enum verdict local_service(struct gw *gw, struct pkt *p);

#endif
