/* Fragments of IPv4 packets that pass through a translation, without reassembly. The first
 * fragment has the ports and decides what happens to the packet; the later ones follow that
 * decision, in whatever order they come (RFC 4787 REQ-14).
 *
 * Later fragments that come before the first one are parked. Their number is limited for
 * each packet and for all together, and so is the time. A flood of fragments without a
 * first one uses only its own entries (REQ-14a). Nothing is copied into larger buffers.
 *
 * Not implemented on purpose: a check for overlaps; the host that reassembles does that
 * (RFC 5722 for IPv6; for IPv4 the first fragment must contain the whole transport header,
 * and no other may begin inside it, RFC 3128). */
#ifndef NET_IP4_FRAG_H
#define NET_IP4_FRAG_H

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

struct gw;

void frag_init(struct gw *gw);

/* The key of the fragment p, which is not changed yet. */
struct frag_key frag_key(const struct pkt *p);

/* The entry with a decision for a key, NULL when there is none yet. A packet that has
 * passed completely has none any more: a further fragment belongs to the next packet with
 * that key. */
struct frag *frag_known(struct gw *gw, const struct frag_key *key);

/* Notes that a fragment passes by the decision. p is not changed yet or has new addresses
 * only. The entry of a complete packet is reused first. */
void frag_count(struct frag *f, const struct pkt *p);

/* Gives the entry for the decision about a first fragment. n_seen is not 0 when there is a
 * decision already: the first fragment came twice. The caller sets new_id and new_addr,
 * counts and sends the first fragment, and then calls frag_release. */
struct frag *frag_decide(struct gw *gw, const struct frag_key *key);

/* Reinjects the fragments that waited for the first one. */
void frag_release(struct gw *gw, struct frag *f);

/* Parks a later fragment until the first one comes. True when it is parked; false, and it
 * stays the caller's, when there is no room. */
bool frag_park(struct gw *gw, struct pkt *p);

/* Frees entries whose time is over. Called in the tick. */
void frag_tick(struct gw *gw);

#endif
