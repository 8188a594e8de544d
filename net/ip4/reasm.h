/* Reassembly of IPv4 packets that are addressed to the gateway itself (RFC 791
 * section 3.2; what passes through is not reassembled, see frag.h).
 *
 * Every packet in pieces has a slot, every slot one packet buffer, into which the
 * pieces are copied; so nothing longer than REASM_BYTES can be put together. The
 * slots are in sets chosen by the two addresses under a secret hash: a sender has
 * a set at most, and where that is full its own oldest packet gives way, or, when it
 * has none there, each in turn. So a flood of fragments from one address takes that
 * address's slots; one from many made-up addresses must come as fast as the pieces of
 * a packet follow each other to do harm, since to hold slots is not enough; and all
 * fragments together take no more than the slots and the pool's quarter.
 *
 * Pieces that overlap in anything but an exact repetition end the whole packet
 * (RFC 1858, RFC 5722 section 4 for IPv6): which bytes count may not depend on who
 * reads them. Left out on purpose: ICMP time exceeded for what stays incomplete
 * (RFC 792 code 1), because the sender's address is not proven. */
#ifndef NET_IP4_REASM_H
#define NET_IP4_REASM_H

#include "kernel/lib/pkt.h"
#include "kernel/lib/rng.h"
#include "net/app.h"
#include "net/ip4/frag.h"

#define REASM_SETS    16u /* a power of two */
#define REASM_WAYS    8u
#define REASM_BYTES   ((uint32_t)PKT_ROOM) /* payload; RFC 4213 section 3.6 asks for 1500 in all */
#define REASM_WAIT_MS 800u /* for the missing pieces; buffers are free a second later */

enum reasm_state {
	REASM_FREE,
	REASM_OPEN,
	REASM_DEAD, /* spoilt: what still comes of the packet is dropped */
};

/* One packet in pieces. */
struct reasm_slot {
	struct frag_key key;
	uint8_t state;
	uint8_t hlen;    /* header bytes in front of the payload; 0: first piece missing */
	uint8_t ecn;     /* bit per ECN code point seen */
	uint32_t due_ms; /* when it ends */
	uint32_t n_seen; /* payload bytes that are there */
	uint32_t n_all;  /* payload bytes of the packet; 0: last piece missing */
	struct pkt *p;   /* while open */
	uint8_t have[REASM_BYTES / 64]; /* bit per 8 payload bytes */
};

struct reasm_table {
	struct hash_key secret;
	uint32_t n_used; /* slots that are not free */
	uint32_t next_look_ms;
	uint8_t turn[REASM_SETS]; /* the slot of each set that gives way next */
	struct reasm_slot slot[REASM_SETS][REASM_WAYS];
};

struct gw;

/* An empty table; the memory must be zero. */
void reasm_init(struct gw *gw, struct reasm_table *t);

/* The fragment p (data at its IPv4 header, parsed) of a packet to ourselves. Copies
 * it; when it completes its packet, that is reinjected whole. V_DROP: p is spoilt, counted, and
 * stays the caller's; V_KEPT: it is taken. */
enum verdict reasm_ip4(struct gw *gw, struct reasm_table *t, struct pkt *p);

/* Ends what has waited long enough. To be called from the application's tick. */
void reasm_tick(struct gw *gw, struct reasm_table *t);

#endif
