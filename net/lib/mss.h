/* Clamping of the TCP maximum segment size (RFC 9293 section 3.7.1): where a link on
 * the path has a smaller MTU than the ends know and packet-too-big messages get lost, the SYN of
 * each end is changed to offer a smaller size. */
#ifndef NET_LIB_MSS_H
#define NET_LIB_MSS_H

#include "kernel/lib/pkt.h"

/* Lowers the MSS that a parsed packet offers to `most`, and corrects the checksum. Does nothing
 * unless the packet is a whole TCP SYN with a larger MSS. A SYN without the option stays without
 * it: the other end then uses 536, or 1220 with IPv6. */
void mss_clamp(struct pkt *p, uint16_t most);

#endif
