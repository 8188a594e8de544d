/* Multicast listener discovery: the groups that our ports have joined, reported to
 * multicast routers and to switches that look at it. MLDv2 (RFC 3810), or MLDv1
 * (RFC 2710) while an older router asks.
 *
 * Left out on purpose: source lists (we listen to any source), and the part of a
 * multicast router. */
#ifndef NET_IP6_MLD_H
#define NET_IP6_MLD_H

#include "net/gw.h"

/* All nodes and all routers of a link (RFC 4291 section 2.7.1). */
extern const ip6 mld_all_nodes, mld_all_routers;

/* The solicited-node group of an address (RFC 4291 section 2.7.1). */
ip6 mld_solicited(const ip6 *a);

/* Joins a group on a port, and leaves it; as often left as joined. A group that finds
 * no room is not joined. */
void mld_join(struct gw *gw, uint32_t iface, const ip6 *group);
void mld_leave(struct gw *gw, uint32_t iface, const ip6 *group);

/* True when the port listens to a group; to all nodes always. */
bool mld_member(const struct interface *iface, const ip6 *group);

/* Reports all groups of a port anew: the link came up, or the port got the link-local
 * address without which nobody counts its reports (RFC 3590). */
void mld_announce(struct gw *gw, uint32_t iface);

/* A message of types 130 to 132, the ICMPv6 header's checksum right; the packet stays
 * the caller's. Gives DROP_NONE or what is wrong. */
enum drop mld_input(struct gw *gw, const struct pkt *p);

/* Timers, about ten times a second. */
void mld_tick(struct gw *gw);

/* MAC addresses of the groups of a port, for the card's filter; gives how many. */
uint32_t mld_filter(const struct interface *iface, mac out[static MLD_GROUPS + 1]);

#endif
