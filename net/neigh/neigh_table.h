/* The table of neighbours: its entries, and how one is found. neigh.h says what is done with them.
 *
 * Keys are 16 bytes; an IPv4 address is in the last four. */
#ifndef NET_NEIGH_NEIGH_TABLE_H
#define NET_NEIGH_NEIGH_TABLE_H

#include "kernel/lib/pkt.h"
#include "net/lib/wire.h"

#ifndef NEIGH_SET_BITS /* fewer in the fuzzers, so that the table fills */
#define NEIGH_SET_BITS 8u
#endif
#define NEIGH_SETS       (1u << NEIGH_SET_BITS)
#define NEIGH_WAYS       4u
#define NEIGH_PARKED     4u  /* packets waiting for one neighbour */
#define NEIGH_PARKED_ALL 64u /* for all together */
#define NEIGH_ASKERS     256u
#define NEIGH_KNOWN      8u
#define NEIGH_NO_STAMP   UINT32_MAX
#define NEIGH_MOST_MS    600000u /* no entry is set to a time further ahead */

enum neigh_state {
	NEIGH_FREE,
	NEIGH_ASKING,    /* no answer yet; packets may wait */
	NEIGH_FAILED,    /* no answer; asked for again only after a pause */
	NEIGH_REACHABLE, /* confirmed recently */
	NEIGH_STALE,     /* IPv6: not confirmed recently; asked again after the next use */
	NEIGH_DELAY,     /* IPv6: used while stale, soon asked again */
	NEIGH_PROBING,   /* usable, being asked again */
	NEIGH_STATIC,    /* from the configuration */
};

struct neigh {
	uint32_t key[4];
	uint16_t ready; /* NEIGH_READY4 or 6 | interface while packets may be sent there, else 0 */
	uint8_t iface;
	uint8_t state; /* enum neigh_state, set by neigh_set_state */
	uint8_t tries;
	bool used;          /* since the last confirmation */
	struct eth_hdr eth; /* ready to copy in front of a packet */
	uint8_t n_parked;
	bool is6;
	uint16_t serial;  /* the table's when the entry was taken */
	uint32_t next_ms; /* when it is asked again or expires (when.h); set by neigh_due_in */
	uint32_t confirmed_ms;
	struct pkt *parked; /* oldest first */
	uint32_t
	        stamp; /* drawn when `ready` was set, and no other entry's; 0 while it is not set */
};

/* A next hop, and where its neighbour was found last. */
struct neigh_hint {
	uint32_t hop;     /* as in struct pkt */
	struct neigh *at; /* an entry of the table, never NULL */
	uint32_t stamp; /* the entry's then: as long as it has this one, it is ready and the same */
};

struct neigh_table {
	uint32_t mul[4]; /* secret odd multipliers of the hash */
	uint32_t n_parked;
	uint32_t n_asking[2]; /* entries being asked for, of IPv4 and of IPv6 */
	/* How many new IPv6 neighbours may be asked for, as token buckets (bucket.h): in all, for
	 * one client that causes it, and for neighbours that were known before. */
	uint64_t asks_us, asker_us[NEIGH_ASKERS], known_us;
	uint64_t evicted;
	uint16_t serial; /* number of entries taken so far; wraps */
	uint32_t stamps; /* number of stamps drawn so far; wraps */
	/* Secret hashes of IPv6 neighbours that have answered before, for each set of entries; the
	 * latest comes first. */
	uint32_t known6[NEIGH_SETS][NEIGH_KNOWN];
	uint32_t due_ms;                        /* no entry's next_ms is earlier */
	uint32_t taken[(NEIGH_SETS + 31) / 32]; /* sets with entries, a bit each: see neigh_tick */
	struct neigh entry[NEIGH_SETS][NEIGH_WAYS];
};

/* The entry of an IPv4 neighbour on an interface, NULL when there is none. */
static inline struct neigh *neigh_find4(struct neigh_table *t, uint32_t iface, uint32_t addr_raw);

/* The entry of an IPv4 neighbour that packets can be sent to now; NULL when there is none. */
static inline struct neigh *neigh_ready4(struct neigh_table *t, uint32_t iface, uint32_t addr_raw);

/* The entry of an IPv6 neighbour on an interface, NULL when there is none. */
static inline struct neigh *neigh_find6(struct neigh_table *t, uint32_t iface, const ip6 *addr);

/* The entry of an IPv6 neighbour that packets can be sent to now; NULL when there is none. A stale
 * entry does not count: neigh_resolve6 has it asked again. */
static inline struct neigh *neigh_ready6(struct neigh_table *t, uint32_t iface, const ip6 *addr);

/* A hint for a next hop that was not looked for yet. */
static inline struct neigh_hint neigh_no_hint(struct neigh_table *t, uint32_t hop)
{
	return (struct neigh_hint){.hop = hop, .at = &t->entry[0][0], .stamp = NEIGH_NO_STAMP};
}

/* The entry that the hint names, if packets can still be sent there; else NULL. */
static inline struct neigh *neigh_by_hint(const struct neigh_hint *h)
{
	return LIKELY(h->at->stamp == h->stamp) ? h->at : NULL;
}

/* True when packets can be sent to it now. */
static inline bool neigh_usable(const struct neigh *n)
{
	return n->state >= NEIGH_REACHABLE;
}

#define NEIGH_READY4 0x100u
#define NEIGH_READY6 0x200u

/* The set of an IPv4 address: multiply-shift hashing with secret odd multipliers, which is
 * universal and takes three instructions a word. A set has a fixed number of ways, so a collision
 * costs an eviction and never time. */
static inline struct neigh *neigh_set4(struct neigh_table *t, uint32_t addr_raw)
{
	return t->entry[addr_raw * t->mul[3] >> (32 - NEIGH_SET_BITS)];
}

/* The set of an IPv6 address. The hash mixes in the network by one exclusive or, which is cheap. A
 * link has few networks, and two hosts of one network share a set as rarely as two IPv4 addresses
 * do. */
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
	struct neigh *set = neigh_set4(t, addr_raw);
	uint32_t ready = NEIGH_READY4 | iface;
	if (LIKELY(set->key[3] == addr_raw && set->ready == ready))
		return set; /* the usual case */
	for (uint32_t i = 1; i < NEIGH_WAYS; i++)
		if (set[i].key[3] == addr_raw && set[i].ready == ready)
			return &set[i];
	return NULL;
}

static inline struct neigh *neigh_ready6(struct neigh_table *t, uint32_t iface, const ip6 *addr)
{
	struct neigh *n = neigh_set6(t, addr), *end = n + NEIGH_WAYS;
	uint16_t ready = (uint16_t)(NEIGH_READY6 | iface);
	if (LIKELY(n->ready == ready && neigh_is(n, addr)))
		return n; /* the usual case */
	for (n++; n < end; n++)
		if (n->ready == ready && neigh_is(n, addr))
			return n;
	return NULL;
}

#endif
