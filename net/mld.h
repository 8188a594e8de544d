/* Multicast groups of our ports, reported to multicast routers and snooping switches
 * by MLDv2 (RFC 3810), or MLDv1 (RFC 2710) where an older router asks. */
#ifndef NET_MLD_H
#define NET_MLD_H

#include "net/gw.h"

/* All nodes and all routers of a link (RFC 4291 section 2.7.1). */
extern const ip6 mld_all_nodes, mld_all_routers;

/* The solicited-node group of an address (RFC 4291 section 2.7.1). */
ip6 mld_solicited(const ip6 *a);

/* Joins a group on a port, and leaves it; as often left as joined. A group that finds
 * no room is not joined. */
void mld_join(struct gw *gw, uint32_t port, const ip6 *group);
void mld_leave(struct gw *gw, uint32_t port, const ip6 *group);

/* True when the port listens to a group; to all nodes always. */
bool mld_member(const struct gw_port *port, const ip6 *group);

/* Timers, about ten times a second. */
void mld_tick(struct gw *gw);

#endif
