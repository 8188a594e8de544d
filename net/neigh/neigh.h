/* Neighbours: the MAC address of each next hop, found by ARP (RFC 826, RFC 1122 section 2.3.2) or
 * by neighbour discovery (RFC 4861 section 7).
 *
 * The table (neigh_table.h) is set-associative and of fixed size: a lookup compares NEIGH_WAYS
 * entries and no more, whatever frames arrive. While an address is unresolved, a few packets wait
 * for it; the number of all waiting packets is limited too. An IPv4 entry in use is asked again by
 * unicast before it expires, so that traffic does not stop; IPv6 entries have the states of RFC
 * 4861 section 7.3.2 (neigh6.c), in which packets are sent while an entry is asked again. */
#ifndef NET_NEIGH_NEIGH_H
#define NET_NEIGH_NEIGH_H

#include "net/gw.h"

/* Draws the secrets of the table, which is empty. */
void neigh_init(struct gw *gw);

/* Handles an IPv4 packet whose next hop has no usable entry: parks it and sends an ARP request, or
 * drops it with a reason. Takes the packet. */
void neigh_resolve4(struct gw *gw, struct pkt *p);

/* ARP or the configuration says that `addr` on an interface has this MAC address: the entry changes
 * to `state`, and the packets that waited are sent. An entry is made only with `create`. Static
 * entries do not change. */
void neigh_learn4(struct gw *gw, uint32_t iface, ip4 addr, const mac *address, bool create,
                  enum neigh_state state);

/* Handles an IPv6 packet whose next hop has no usable entry, or a stale one: a stale entry is used
 * and will be asked again; else the packet is parked and a solicitation is sent, or it is dropped
 * with a reason. Takes the packet. */
void neigh_resolve6(struct gw *gw, struct pkt *p);

/* Makes a static IPv6 entry, for the configuration; false when there is no room. */
bool neigh_fix6(struct gw *gw, uint32_t iface, const ip6 *addr, const mac *address) MUST_USE;

/* A station that sends us a solicitation has this MAC address (RFC 4861 sections 7.2.3 and 6.2.6):
 * its entry is made or updated, and is stale. */
void neigh_heard6(struct gw *gw, uint32_t iface, const ip6 *addr, const mac *address);

/* A neighbour advertisement arrived (RFC 4861 section 7.2.5); `address` is NULL where it holds no
 * link-layer address, `flags` are ND_…. Never makes an entry; false when there was none. */
bool neigh_answered6(struct gw *gw, uint32_t iface, const ip6 *addr, const mac *address,
                     uint32_t flags);

/* Ask a neighbour that no traffic may ask: one that is not known, or that has confirmed nothing for
 * NEIGH_WATCH_MS. The state of its entry then says whether it answers. Called again and again. */
#define NEIGH_WATCH_MS 5000u
void neigh_watch4(struct gw *gw, uint32_t iface, ip4 addr);
void neigh_watch6(struct gw *gw, uint32_t iface, const ip6 *addr);

/* Timers of all entries, about ten times a second, or twice in a rest of the machine. */
void neigh_tick(struct gw *gw);
/* Gives in how many milliseconds of clock.ms neigh_tick must be called: NEIGH_MOST_MS while no
 * neighbour is asked for, because all other timers of entries may end half a second late. */
uint32_t neigh_due_ms(const struct gw *gw);

/* The carrier of an interface was lost: drops the packets that wait there and forgets its learned
 * neighbours. */
void neigh_flush(struct gw *gw, uint32_t iface);

/* An address of an interface is gone, or a route: drops the packets that wait at its neighbours,
 * since they may have that address or another way now, and forgets the neighbours that are on none
 * of the networks of the interface any more. Static entries stay. */
void neigh_moved(struct gw *gw, uint32_t iface);

/* --- between neigh.c, neigh4.c and neigh6.c ------------------------------------ */

/* A free entry of a set; where there is none, the least useful one is evicted. NULL when all are
 * static. The entry has no key and no state yet. */
struct neigh *neigh_take(struct gw *gw, struct neigh *set, uint32_t iface);

/* Changes the state of an entry, and with it whether packets may be sent there at once (ready). */
void neigh_set_state(struct gw *gw, struct neigh *n, enum neigh_state state);

/* Sets the time of an entry's timer, in `ms` milliseconds, at most NEIGH_MOST_MS. neigh_tick then
 * looks at the table, in a rest up to half a second later; at no other time does it cost anything.
 */
void neigh_due_in(struct gw *gw, struct neigh *n, uint32_t ms);

/* Notes the MAC address of an entry and prepares its Ethernet header. */
void neigh_set_mac(struct gw *gw, struct neigh *n, const mac *address);

/* Parks a packet at an entry that is being asked for; when too many wait, the oldest of the entry
 * is dropped. Takes the packet. */
void neigh_park(struct gw *gw, struct neigh *n, struct pkt *p);

/* Sends the packets that are parked at an entry. */
void neigh_release(struct gw *gw, struct neigh *n);

/* Drops all packets that are parked at an entry. Their senders are told when the reason is
 * DROP_NO_NEIGHBOUR. */
void neigh_drop_parked(struct gw *gw, struct neigh *n, enum drop reason);

/* Sends an ICMP error, or with `six` an ICMPv6 error, to the sender of a packet: its next hop does
 * not answer (RFC 1812 section 5.2.7.1, RFC 4443 section 3.1). An application that translates
 * between IP versions makes the error itself (app.h). The packet stays the caller's. */
void neigh_tell(struct gw *gw, struct pkt *p, bool six);

/* Drops what is parked at an entry, with a reason, and frees the entry. */
void neigh_forget(struct gw *gw, struct neigh *n, enum drop reason);

/* True for an entry on an interface whose carrier came up a moment ago. Such a link may not carry
 * frames yet (spanning tree, a card that starts), so a missing answer means nothing. */
bool neigh_settling(const struct gw *gw, const struct neigh *n);

/* The timer of one entry, when its time has come. */
void neigh_tick4(struct gw *gw, struct neigh *n);
void neigh_tick6(struct gw *gw, struct neigh *n);

#endif
