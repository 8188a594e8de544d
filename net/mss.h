/* Clamping of the TCP maximum segment size (RFC 9293 section 3.7.1): where the way
 * is narrower than the ends know and packet-too-big messages get lost, the SYN of
 * either end is made to offer less. */
#ifndef NET_MSS_H
#define NET_MSS_H

#include "kernel/lib/pkt.h"

/* Lowers the MSS that a parsed packet offers to `most`, with the checksum; for
 * anything but a whole TCP SYN with a larger MSS it does nothing. A SYN without the
 * option stays without it: then the other end uses 536 or 1220 (IPv6) anyway. */
void mss_clamp(struct pkt *p, uint16_t most);

#endif
