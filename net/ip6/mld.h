/* Multicast listener discovery: reports the groups that our interfaces have joined to
 * multicast routers and to snooping switches. MLDv2 (RFC 3810), or MLDv1 (RFC 2710) while
 * an MLDv1 router sends queries.
 *
 * Not implemented on purpose: source lists (we listen to any source), and the router's
 * part. */
#ifndef NET_IP6_MLD_H
#define NET_IP6_MLD_H

#include "net/gw.h"

/* All nodes and all routers of a link (RFC 4291 section 2.7.1). */
extern const ip6 mld_all_nodes, mld_all_routers;

/* The solicited-node group of an address (RFC 4291 section 2.7.1). */
ip6 mld_solicited(const ip6 *a);

/* mld_join joins a group on an interface; mld_leave leaves it after as many calls as
 * mld_join had. When there is no room the group is not joined. */
void mld_join(struct gw *gw, uint32_t iface, const ip6 *group);
void mld_leave(struct gw *gw, uint32_t iface, const ip6 *group);

/* True when the interface listens to a group; always for the group of all nodes. */
bool mld_member(const struct interface *iface, const ip6 *group);

/* Reports all groups of an interface again: the carrier came up, or the interface got its
 * link-local address, without which reports are ignored (RFC 3590). */
void mld_announce(struct gw *gw, uint32_t iface);

/* Handles a message of types 130 to 132 with a correct checksum. The packet stays the
 * caller's. Gives DROP_NONE or what is wrong. */
enum drop mld_input(struct gw *gw, const struct pkt *p);

/* Runs the timers; called about ten times a second. */
void mld_tick(struct gw *gw);
/* True while a report is to be sent. */
bool mld_is_busy(const struct gw *gw);

/* Writes the MAC addresses of the groups of an interface, for the card's filter; gives
 * their number. */
uint32_t mld_filter(const struct interface *iface, mac out[static MLD_GROUPS + 1]);

#endif
