/* Options of neighbour discovery messages (RFC 4861 section 4.6). */
#ifndef NET_IP6_ND_OPTION_H
#define NET_IP6_ND_OPTION_H

#include "kernel/lib/pkt.h"

/* Walks the options of a message, which begin behind its first `fixed` bytes. Sets *address to the
 * link-layer address in the last option of type `kind`, NULL when there is none. False when an
 * option is malformed or that address is a multicast one. */
bool nd_option_address(const struct pkt *p, uint32_t fixed, uint8_t kind, const mac **address);

#endif
