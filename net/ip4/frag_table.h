/* The table of fragmented IPv4 packets. See frag.h. */
#ifndef NET_IP4_FRAG_TABLE_H
#define NET_IP4_FRAG_TABLE_H

#include "kernel/lib/pkt.h"
#include "kernel/lib/rng.h"

#define FRAG_SETS    256u /* a power of two */
#define FRAG_WAYS    4u
#define FRAG_PARKED  48u    /* for one packet: 64 KB in Ethernet frames */
#define FRAG_ALL     128u   /* for all packets together */
#define FRAG_WAIT_MS 800u   /* for later fragments that wait for the first one */
#define FRAG_LIVE_MS 15000u /* for a decision, which later fragments follow */

/* In the order in which entries are reused. */
enum frag_state {
	FRAG_FREE,
	FRAG_DONE,    /* decided, and every byte of the packet has passed once */
	FRAG_WAITING, /* waits for the first fragment */
	FRAG_KNOWN,   /* decided */
};

/* The packet that a fragment belongs to, as it came in: raw addresses; identification,
 * protocol and interface in one word. */
struct frag_key {
	uint32_t from, to, what;
};

/* A packet in fragments. */
struct frag {
	struct frag_key key;
	uint8_t state;
	uint8_t n_parked;
	uint16_t new_id;   /* raw; the decision: the new identification … */
	uint32_t new_addr; /* … and the new source or destination address */
	uint32_t flow[2];  /* what the application stores for the later fragments */
	uint32_t due_ms;
	uint32_t n_seen;    /* payload bytes that passed */
	uint32_t n_all;     /* payload bytes of the packet; 0: the last fragment has not come yet */
	uint32_t cover;     /* sum of the boundaries that passed, see frag_count */
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
