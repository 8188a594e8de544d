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

#include "kernel/lib/pkt.h"
#include "net/drop.h"
#include "net/wire.h"

#ifndef NEIGH_SET_BITS /* fewer in the fuzzers, so that the table fills */
#define NEIGH_SET_BITS 8u
#endif
#define NEIGH_SETS       (1u << NEIGH_SET_BITS)
#define NEIGH_WAYS       4u
#define NEIGH_PARKED     4u  /* packets waiting for one neighbour */
#define NEIGH_PARKED_ALL 64u /* for all together */
#define NEIGH_ASKERS     256u
#define NEIGH_KNOWN      8u
#define NEIGH_MOST_MS    600000u /* no entry is set to a time further ahead */

enum neigh_state {
	NEIGH_FREE,
	NEIGH_ASKING,    /* no answer yet; packets may wait */
	NEIGH_FAILED,    /* no answer; asked again only after a pause */
	NEIGH_REACHABLE, /* confirmed lately */
	NEIGH_STALE,     /* IPv6: not confirmed lately; asked again after the next use */
	NEIGH_DELAY,     /* IPv6: used since, about to be asked */
	NEIGH_PROBING,   /* usable, being asked again */
	NEIGH_STATIC,    /* from the configuration */
};

struct neigh {
	uint32_t key[4];
	uint16_t ready; /* NEIGH_READY4 or 6 | port while packets may go there, else 0 */
	uint8_t iface;
	uint8_t state; /* enum neigh_state, by set_state */
	uint8_t tries;
	bool used;          /* since the last confirmation */
	struct eth_hdr eth; /* ready to copy in front of a packet */
	uint8_t n_parked;
	bool is6;
	uint16_t turn;    /* when it was taken: the table's turn */
	uint32_t next_ms; /* when to ask again or expire (when.h) */
	uint32_t confirmed_ms;
	struct pkt *parked; /* oldest first */
};

struct neigh_table {
	uint32_t mul[4]; /* secret odd multipliers of the hash */
	uint32_t n_parked;
	uint32_t n_asking6; /* IPv6 entries being asked for */
	/* How many new IPv6 neighbours may be asked for, as buckets (bucket.h): in all, for one
	 * client that causes it, and of those that were known before. */
	uint64_t asks_us, asker_us[NEIGH_ASKERS], known_us;
	uint64_t evicted;
	uint16_t turn; /* entries taken so far; wraps */
	/* IPv6 neighbours that once answered, as a secret hash, by the set of their entries;
	 * the latest first. */
	uint32_t known6[NEIGH_SETS][NEIGH_KNOWN];
	struct neigh entry[NEIGH_SETS][NEIGH_WAYS];
};

struct gw;

/* The entry of an IPv4 neighbour on a port, NULL when there is none. */
static inline struct neigh *neigh_find4(struct neigh_table *t, uint32_t iface, uint32_t addr_raw);

/* The entry of an IPv4 neighbour that packets can be sent to now, else NULL. */
static inline struct neigh *neigh_ready4(struct neigh_table *t, uint32_t iface, uint32_t addr_raw);

/* The same for IPv6. A stale entry is not ready: neigh_resolve6 wakes it up. */
static inline struct neigh *neigh_find6(struct neigh_table *t, uint32_t iface, const ip6 *addr);
static inline struct neigh *neigh_ready6(struct neigh_table *t, uint32_t iface, const ip6 *addr);

/* True when packets can be sent to it now. */
static inline bool neigh_usable(const struct neigh *n)
{
	return n->state >= NEIGH_REACHABLE;
}

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

#define NEIGH_READY4 0x100u
#define NEIGH_READY6 0x200u

/* Multiply-shift hashing with secret odd multipliers: universal, three
 * instructions a word; the set has a fixed number of ways, so collisions cost
 * an eviction, never time. */
static inline struct neigh *neigh_set4(struct neigh_table *t, uint32_t addr_raw)
{
	return t->entry[addr_raw * t->mul[3] >> (32 - NEIGH_SET_BITS)];
}

/* The network counts little: there are few of them on a link, and in each of them any
 * two hosts are as unlikely to meet as before. */
static inline struct neigh *neigh_set6(struct neigh_table *t, const ip6 *a)
{
	uint32_t h = (ip6_word(a, 1) ^ ip6_word(a, 2)) * t->mul[2] + ip6_word(a, 3) * t->mul[3];
	return t->entry[h >> (32 - NEIGH_SET_BITS)];
}

static inline bool neigh_is(const struct neigh *n, const ip6 *a)
{
	return n->key[3] == ip6_word(a, 3) && n->key[2] == ip6_word(a, 2) &&
	       n->key[1] == ip6_word(a, 1) && n->key[0] == ip6_word(a, 0);
}

static inline struct neigh *neigh_find4(struct neigh_table *t, uint32_t iface, uint32_t addr_raw)
{
	struct neigh *n = neigh_set4(t, addr_raw);
	for (unsigned i = 0; i < NEIGH_WAYS; i++, n++)
		if (n->key[3] == addr_raw && !n->is6 && n->iface == iface && n->state != NEIGH_FREE)
			return n;
	return NULL;
}

static inline struct neigh *neigh_find6(struct neigh_table *t, uint32_t iface, const ip6 *addr)
{
	struct neigh *n = neigh_set6(t, addr);
	for (unsigned i = 0; i < NEIGH_WAYS; i++, n++)
		if (n->is6 && n->iface == iface && n->state != NEIGH_FREE && neigh_is(n, addr))
			return n;
	return NULL;
}

static inline struct neigh *neigh_ready4(struct neigh_table *t, uint32_t iface, uint32_t addr_raw)
{
	struct neigh *n = neigh_set4(t, addr_raw), *end = n + NEIGH_WAYS;
	uint32_t ready = NEIGH_READY4 | iface;
	for (; n < end; n++)
		if (LIKELY(n->key[3] == addr_raw && n->ready == ready))
			return n;
	return NULL;
}

static inline struct neigh *neigh_ready6(struct neigh_table *t, uint32_t iface, const ip6 *addr)
{
	struct neigh *n = neigh_set6(t, addr), *end = n + NEIGH_WAYS;
	uint16_t ready = (uint16_t)(NEIGH_READY6 | iface);
	if (LIKELY(n->ready == ready && neigh_is(n, addr)))
		return n; /* as most often */
	for (n++; n < end; n++)
		if (n->ready == ready && neigh_is(n, addr))
			return n;
	return NULL;
}

/* --- between neigh.c and neigh6.c ---------------------------------------------- */

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

/* One entry's timer (neigh6.c). */
void neigh_tick6(struct gw *gw, struct neigh *n);

#endif
