/* Neighbours: which MAC address the next hop has, found by ARP (RFC 826, RFC
 * 1122 section 2.3.2).
 *
 * A set-associative table of fixed size: a lookup looks at NEIGH_WAYS entries
 * and never further, whatever the wire sends. While an address is unresolved a
 * few packets wait for it; all that wait together are capped. Entries in use
 * are asked again by unicast before they expire, so that traffic never stops
 * for it.
 *
 * Keys are 16 bytes, IPv4 in its mapped form (RFC 4291, 2.5.5.2), so that IPv6
 * uses the same table. */
#ifndef NET_NEIGH_H
#define NET_NEIGH_H

#include "kernel/pkt.h"
#include "net/wire.h"

#define NEIGH_SETS       256u
#define NEIGH_WAYS       4u
#define NEIGH_PARKED     4u  /* packets waiting for one neighbour */
#define NEIGH_PARKED_ALL 64u /* for all together */

enum neigh_state {
	NEIGH_FREE,
	NEIGH_ASKING,    /* no answer yet; packets may wait */
	NEIGH_FAILED,    /* no answer; asked again only after a pause */
	NEIGH_REACHABLE, /* confirmed lately */
	NEIGH_PROBING,   /* usable, being asked again */
	NEIGH_STATIC,    /* from the configuration */
};

struct neigh {
	uint32_t key[4];
	uint16_t ready; /* NEIGH_READY4 | port while IPv4 packets may go there, else 0 */
	uint8_t port;
	uint8_t state; /* enum neigh_state, by set_state */
	uint8_t tries;
	bool used;          /* since the last confirmation */
	struct eth_hdr eth; /* ready to copy in front of a packet */
	uint8_t n_parked;
	uint32_t next_ms; /* when to ask again or expire */
	uint32_t confirmed_ms;
	struct pkt *parked; /* oldest first */
};

struct neigh_table {
	uint32_t mul[4]; /* secret odd multipliers of the hash */
	uint32_t n_parked;
	uint64_t evicted;
	struct neigh entry[NEIGH_SETS][NEIGH_WAYS];
};

struct gw;

/* The entry of an IPv4 neighbour on a port, NULL when there is none. */
static inline struct neigh *neigh_find4(struct neigh_table *t, uint32_t port, uint32_t addr_raw);

/* The entry of an IPv4 neighbour that packets can be sent to now, else NULL. */
static inline struct neigh *neigh_ready4(struct neigh_table *t, uint32_t port, uint32_t addr_raw);

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
void neigh_learn4(struct gw *gw, uint32_t port, ip4 addr, const mac *address, bool create,
                  enum neigh_state state);

/* Timers, about ten times a second. */
void neigh_tick(struct gw *gw);

/* Drops what waits on a port and forgets its learned neighbours (link lost). */
void neigh_flush(struct gw *gw, uint32_t port);

/* The 16-byte key of an IPv4 address. */
#define NEIGH_KEY4_W2 0xffff0000u /* ::ffff: as loaded */
#define NEIGH_READY4  0x100u

/* Multiply-shift hashing with secret odd multipliers: universal, three
 * instructions a word; the set has a fixed number of ways, so collisions cost
 * an eviction, never time. */
static inline uint32_t neigh_set(const struct neigh_table *t, const uint32_t key[4])
{
	uint32_t h = key[3] * t->mul[3];
	if (key[2] != NEIGH_KEY4_W2)
		h += key[0] * t->mul[0] + key[1] * t->mul[1] + key[2] * t->mul[2];
	return h >> 24;
}
_Static_assert(NEIGH_SETS == 256, "neigh_set takes the upper eight bits");

static inline struct neigh *neigh_find4(struct neigh_table *t, uint32_t port, uint32_t addr_raw)
{
	struct neigh *n = t->entry[addr_raw * t->mul[3] >> 24];
	for (unsigned i = 0; i < NEIGH_WAYS; i++, n++)
		if (n->key[3] == addr_raw && n->key[2] == NEIGH_KEY4_W2 && n->port == port &&
		    n->state != NEIGH_FREE)
			return n;
	return NULL;
}

static inline struct neigh *neigh_ready4(struct neigh_table *t, uint32_t port, uint32_t addr_raw)
{
	struct neigh *n = t->entry[addr_raw * t->mul[3] >> 24], *end = n + NEIGH_WAYS;
	uint32_t ready = NEIGH_READY4 | port;
	for (; n < end; n++)
		if (LIKELY(n->key[3] == addr_raw && n->ready == ready))
			return n;
	return NULL;
}

#endif
