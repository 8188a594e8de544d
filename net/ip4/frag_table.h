/* The table of fragmented IPv4 packets. See frag.h. */
#ifndef NET_IP4_FRAG_TABLE_H
#define NET_IP4_FRAG_TABLE_H

#include "kernel/lib/pkt.h"
#include "kernel/lib/rng.h"

#define FRAG_SETS    256u /* a power of two */
#define FRAG_WAYS    4u
#define FRAG_PARKED  48u    /* of one packet: 64 KB in pieces of an Ethernet */
#define FRAG_ALL     128u   /* of all packets together */
#define FRAG_WAIT_MS 800u   /* later fragments for the first */
#define FRAG_LIVE_MS 15000u /* a decision, for later fragments */

/* In the order in which places are given away. */
enum frag_state {
	FRAG_FREE,
	FRAG_DONE,    /* decided, and every byte of the packet seen once */
	FRAG_WAITING, /* for the first fragment */
	FRAG_KNOWN,   /* decided */
};

/* Which packet a fragment is a piece of, as it came in: addresses, raw;
 * identification, protocol and port in one word. */
struct frag_key {
	uint32_t from, to, what;
};

/* One packet in pieces. */
struct frag {
	struct frag_key key;
	uint8_t state;
	uint8_t n_parked;
	uint16_t new_id;   /* raw; the decision: identification … */
	uint32_t new_addr; /* … and the address that replaces source or destination */
	uint32_t flow[2];  /* what the application notes for the later pieces */
	uint32_t due_ms;
	uint32_t n_seen;    /* payload bytes that took the decision's way */
	uint32_t n_all;     /* that there are; 0: the last fragment did not come yet */
	uint32_t cover;     /* what they cover, see frag_count */
	struct pkt *parked; /* oldest first */
};

struct frag_table {
	struct hash_key secret;
	uint32_t n_parked;
	uint32_t n_used; /* entries that are not free */
	uint32_t next_look_ms;
	struct frag entry[FRAG_SETS][FRAG_WAYS];
};

#endif
