/* Fragments of packets that pass through the translator, of both IP versions. They are kept, not
 * copied, until all of a packet are there, in whatever order they come (RFC 6146 section 3.4); then
 * the packet is translated, and leaves in the same fragments. So the ports, the length of an ICMP
 * message and the checksum of UDP are known before the first fragment leaves.
 *
 * Packets are in sets, which a secret hash of the two addresses selects: one sender uses one set.
 * When the set is full, the sender's own oldest packet is evicted, or the slots in turn. All
 * together keep GATHER_ALL fragments, of which the oldest packet is evicted for a new one, and no
 * more than a quarter of the pool. Fragments that overlap end their packet (RFC 5722). */
#ifndef APPS_NAT64_NAT64_GATHER_H
#define APPS_NAT64_NAT64_GATHER_H

#include "kernel/lib/addr.h"
#include "kernel/lib/pkt.h"
#include "kernel/lib/rng.h"
#include "net/stats/drop.h"

#define GATHER_SETS  16u /* a power of two */
#define GATHER_WAYS  8u
#define GATHER_PIECE 64u  /* fragments of one packet, at most */
#define GATHER_ALL   192u /* fragments of all packets */

struct gw;

/* The packet that a fragment belongs to. IPv4 addresses stand in the last words. */
struct nat64_gather_key {
	uint32_t from[4], to[4]; /* raw */
	uint32_t id;
	uint32_t what; /* protocol and interface */
};

enum gather_state {
	GATHER_FREE,
	GATHER_OPEN,
	GATHER_DEAD, /* failed: further fragments of the packet are dropped */
};

/* A packet in fragments. p->hint of each is its offset in bytes. */
struct nat64_gather {
	struct nat64_gather_key key;
	uint8_t state;
	uint32_t n_pieces;
	uint32_t due_ms;
	uint32_t n_seen, n_all; /* payload bytes; n_all 0: the last fragment is missing */
	struct pkt *piece;      /* by rising offset */
};

struct nat64_gathers {
	struct hash_key secret;
	uint32_t wait_ms;
	uint32_t n_used, n_pieces;
	uint32_t next_look_ms;
	uint8_t next[GATHER_SETS];
	struct nat64_gather slot[GATHER_SETS][GATHER_WAYS];
};

/* Sets up an empty table, from zeroed memory; fragments wait wait_ms for the others. */
void nat64_gather_init(struct nat64_gathers *t, struct rng *rng, uint32_t wait_ms);

/* Adds a fragment: p->l4_len bytes of payload from `at` on, with more behind it or not. Takes the
 * packet. Gives all fragments of a packet that is complete, the first one first, linked by `next`,
 * which are the caller's; NULL otherwise. What it drops is counted. */
struct pkt *nat64_gather_add(struct gw *gw, struct nat64_gathers *t,
                             const struct nat64_gather_key *key, struct pkt *p, uint32_t at,
                             bool more);

/* Drops and frees a list of fragments. */
void nat64_gather_discard(struct gw *gw, struct pkt *list, enum drop reason);

/* Ends packets whose time is over. */
void nat64_gather_tick(struct gw *gw, struct nat64_gathers *t);

#endif
