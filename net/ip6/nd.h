/* Neighbour discovery (RFC 4861 section 7) and duplicate address detection (RFC 4862
 * section 5.4). The states of neighbours are in neigh6.c.
 *
 * Not implemented on purpose: redirects (never sent, never followed), and proxies. */
#ifndef NET_IP6_ND_H
#define NET_IP6_ND_H

#include "net/gw.h"

/* Sends a neighbour solicitation for `target` on an interface: to one station, or to the
 * solicited-node group when `to` is NULL. */
void nd_ask(struct gw *gw, uint32_t iface, const ip6 *target, const mac *to);

/* Handles a message of types 133 to 137 with a correct checksum. The packet stays the
 * caller's. Gives DROP_NONE or what is wrong. */
enum drop nd_input(struct gw *gw, struct pkt *p);

/* The carrier came up: makes all addresses of the interface tentative again. */
void nd_carrier_up(struct gw *gw, uint32_t iface);

/* Starts duplicate address detection for an own address. */
void nd_start(struct gw *gw, uint32_t iface, struct address6 *a);

/* Runs the timers; called about ten times a second. */
void nd_tick(struct gw *gw);
/* True while an address is tentative on an interface with a carrier. */
bool nd_is_busy(const struct gw *gw);

#endif
