/* Packets for the gateway itself. */
#ifndef NET_LOCAL_H
#define NET_LOCAL_H

#include "net/gw.h"

/* An IPv4 packet to one of our addresses, parsed. Answers echo requests (RFC
 * 1122 section 3.2.2.6) and tells that there is no such service; gives the
 * verdict for the packet (V_DROP, or V_KEPT when it became the answer). */
enum verdict local_ip4(struct gw *gw, struct pkt *p);

/* The same for an IPv6 packet to one of our addresses or to a group. */
enum verdict local_ip6(struct gw *gw, struct pkt *p);

/* What both do with UDP and TCP: gives the verdict of the service that listens, V_LOCAL
 * when none does. */
enum verdict local_service(struct gw *gw, struct pkt *p);

#endif
