/* TCP without TCP: segments for a port that serves UDP only are answered with a
 * reset, so that nobody waits. */
#ifndef NET_TCP_REFUSE_H
#define NET_TCP_REFUSE_H

#include "net/gw.h"

/* A TCP segment to one of our addresses, either family, parsed. V_KEPT: it became
 * the reset; V_DROP: counted; V_LOCAL: its port serves nothing. */
enum verdict tcp_refuse(struct gw *gw, struct pkt *p);

#endif
