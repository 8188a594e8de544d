/* Neighbours: which MAC address the next hop has, found by ARP (RFC 826, RFC
 * 1122 section 2.3.2) or by neighbour discovery (RFC 4861 section 7).
 *
 * A set-associative table of fixed size: a lookup looks at NEIGH_WAYS entries
 * and never further, whatever the wire sends. While an address is unresolved a
 * few packets wait for it; all that wait together are capped. IPv4 entries in
 * use are asked again by unicast before they expire, so that traffic never stops
 * for it; IPv6 entries have the states of RFC 4861 section 7.3.2 (neigh6.c), in
 * which packets go on while an entry is asked again as well.
 *
 * Keys are 16 bytes; of an IPv4 address it is the last four. */
#ifndef NET_NEIGH_H
#define NET_NEIGH_H

#include "net/gw.h"

void neigh_init(struct gw *gw);

/* Takes a packet whose next hop has no usable entry: parks it and asks, or
 * drops it with a reason. */
void neigh_resolve4(struct gw *gw, struct pkt *p);

/* An ARP or configured fact: `addr` on `port` has this MAC. Creates an entry
 * only with `create`; sends what waited. Static entries do not change. */
void neigh_learn4(struct gw *gw, uint32_t iface, ip4 addr, const mac *address, bool create,
                  enum neigh_state state);

/* neigh_resolve4 for IPv6. */
void neigh_resolve6(struct gw *gw, struct pkt *p);

/* A fixed entry of the configuration; false when there is no room. */
bool neigh_fix6(struct gw *gw, uint32_t iface, const ip6 *addr, const mac *address) MUST_USE;

/* A station that asks us has this MAC (RFC 4861 sections 7.2.3 and 6.2.6): its entry
 * is made or brought up to date, stale. */
void neigh_heard6(struct gw *gw, uint32_t iface, const ip6 *addr, const mac *address);

/* An advertisement (RFC 4861 section 7.2.5): `address` is NULL where it has no
 * link-layer address, `flags` are ND_…. Never makes an entry; false when there was none. */
bool neigh_answered6(struct gw *gw, uint32_t iface, const ip6 *addr, const mac *address,
                     uint32_t flags);

/* Timers, about ten times a second. */
void neigh_tick(struct gw *gw);

/* Drops what waits on a port and forgets its learned neighbours (link lost). */
void neigh_flush(struct gw *gw, uint32_t iface);

/* --- between neigh.c, neigh4.c and neigh6.c ------------------------------------ */

/* A free entry of a set, if need be by evicting the most dispensable; NULL when all
 * are static. It has no key and no state yet. */
struct neigh *neigh_take(struct gw *gw, struct neigh *set, uint32_t iface);

void neigh_set_state(struct gw *gw, struct neigh *n, enum neigh_state state);

/* Notes the MAC address and makes the header ready. */
void neigh_set_mac(struct gw *gw, struct neigh *n, const mac *address);

/* Lets a packet wait at an entry that is being asked for; takes it. */
void neigh_park(struct gw *gw, struct neigh *n, struct pkt *p);

/* Sends what waited. */
void neigh_release(struct gw *gw, struct neigh *n);

/* Ends the wait of everything parked; the senders are told where the reason is that
 * the neighbour does not answer. */
void neigh_drop_parked(struct gw *gw, struct neigh *n, enum drop reason);

/* Tells the sender of a packet that its next hop does not answer (RFC 1812 section 5.2.7.1,
 * RFC 4443 section 3.1), in the words of the application where that turns packets into the
 * other IP version; the packet stays the caller's. */
void neigh_tell(struct gw *gw, struct pkt *p, bool six);

void neigh_forget(struct gw *gw, struct neigh *n, enum drop reason);

/* A link that has just come up may be deaf yet (spanning tree, a card that starts):
 * silence means nothing then. */
bool neigh_settling(const struct gw *gw, const struct neigh *n);

/* The timer of one entry, when its time has come. */
void neigh_tick4(struct gw *gw, struct neigh *n);
void neigh_tick6(struct gw *gw, struct neigh *n);

#endif
