/* Neighbour discovery (RFC 4861 section 7) and duplicate address detection (RFC 4862
 * section 5.4). The states of neighbours are in neigh6.c.
 *
 * Left out on purpose: redirects (never sent, never obeyed), proxies, and other
 * routers' advertisements (a router is configured). */
#ifndef NET_IP6_ND_H
#define NET_IP6_ND_H

#include "net/gw.h"

/* Asks who has `target` on a port: one station, or its solicited-node group when
 * `to` is NULL. */
void nd_ask(struct gw *gw, uint32_t iface, const ip6 *target, const mac *to);

/* A message of types 133 to 137, the ICMPv6 header's checksum right; the packet stays
 * the caller's. Gives DROP_NONE or what is wrong. */
enum drop nd_input(struct gw *gw, struct pkt *p);

/* The link came up: all addresses of the port are tentative again. */
void nd_link_up(struct gw *gw, uint32_t iface);

/* A new address of ours: asks whether somebody has it. */
void nd_start(struct gw *gw, uint32_t iface, struct address6 *a);

/* Timers, about ten times a second. */
void nd_tick(struct gw *gw);

#endif
