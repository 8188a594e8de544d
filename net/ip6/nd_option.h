/* Options of neighbour discovery messages (RFC 4861 section 4.6). */
#ifndef NET_IP6_ND_OPTION_H
#define NET_IP6_ND_OPTION_H

#include "kernel/lib/pkt.h"

/* Walks the options behind the `fixed` bytes that a message begins with. False when
 * one is malformed; *address is that in an option of a kind, NULL when there is none. */
bool nd_option_address(const struct pkt *p, uint32_t fixed, uint8_t kind, const mac **address);

#endif
