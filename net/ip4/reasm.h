/* Reassembly of IPv4 packets to the gateway itself (RFC 791 section 3.2). Packets that pass
 * through are not reassembled, see frag.h.
 *
 * Every packet in fragments has a slot, and every slot one packet buffer into which the
 * fragments are copied. So no packet longer than REASM_BYTES can be reassembled. The slots
 * are in sets, which a secret hash of the two addresses selects: one sender uses one set.
 * When the set is full, the sender's own oldest packet is evicted, or, if it has none, the
 * slots in turn. So a flood from one address uses only its own slots. A flood from many forged
 * addresses must evict a packet between two of its fragments to do harm. To occupy slots is not
 * enough, because a new packet evicts an old one. All fragments together use no more than the slots
 * and a quarter of the pool.
 *
 * Fragments that overlap, except for exact repetitions, end the whole packet (RFC 1858, RFC
 * 5722 section 4 for IPv6): which bytes are valid must not depend on the reader. Not
 * implemented on purpose: ICMP time exceeded for packets that stay incomplete (RFC 792 code
 * 1), because the sender's address may be forged. */
#ifndef NET_IP4_REASM_H
#define NET_IP4_REASM_H

#include "kernel/lib/pkt.h"
#include "kernel/lib/rng.h"
#include "net/forwarder.h"
#include "net/ip4/frag.h"

#define REASM_SETS    16u /* a power of two */
#define REASM_WAYS    8u
#define REASM_BYTES   ((uint32_t)PKT_ROOM) /* payload; RFC 4213 section 3.6: 1500 in total */
#define REASM_WAIT_MS 800u /* for the missing fragments; buffers are free a second later */

enum reasm_state {
	REASM_FREE,
	REASM_OPEN,
	REASM_DEAD, /* failed: further fragments of the packet are dropped */
};

/* A packet in fragments. */
struct reasm_slot {
	struct frag_key key;
	uint8_t state;
	uint8_t hlen;    /* bytes of the header in front: the first one, or that which came first */
	uint8_t ecn;     /* one bit for each ECN code point seen */
	uint32_t due_ms; /* when the slot ends */
	uint32_t n_seen; /* payload bytes that are here */
	uint32_t n_all;  /* payload bytes of the packet; 0: the last fragment is missing */
	struct pkt *p;   /* the buffer while REASM_OPEN */
	uint8_t have[REASM_BYTES / 64]; /* one bit for each 8 payload bytes */
};

struct reasm_table {
	struct hash_key secret;
	uint32_t n_used; /* slots that are not free */
	uint32_t next_look_ms;
	uint8_t next[REASM_SETS]; /* the slot of each set that is evicted next */
	struct reasm_slot slot[REASM_SETS][REASM_WAYS];
};

struct gw;

/* Sets up an empty table; the memory must be zero. */
void reasm_init(struct gw *gw, struct reasm_table *t);

/* Copies the fragment p (parsed, data at its IPv4 header) of a packet to the gateway
 * itself. When it completes the packet, the whole packet is reinjected. V_DROP:
 * p is invalid, is counted, and stays the caller's. V_KEPT: p is taken. */
enum verdict reasm_ip4(struct gw *gw, struct reasm_table *t, struct pkt *p);

/* Ends packets whose time is over. To be called in the application's tick. */
void reasm_tick(struct gw *gw, struct reasm_table *t);

#endif
