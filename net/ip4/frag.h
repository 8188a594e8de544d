/* Fragments of IPv4 packets on their way through a translation, without
 * reassembly: the first fragment has the ports and decides what becomes of the
 * packet; the later ones follow that decision, in whatever order they come
 * (RFC 4787 REQ-14).
 *
 * Later fragments that come before the first wait for it, few and not for long:
 * each packet's, and all together, are capped, and a flood of fragments
 * without a first one takes only its own places (REQ-14a). Nothing is copied
 * into larger buffers.
 *
 * Left out on purpose: checking for overlaps; the host that reassembles does
 * that (RFC 5722 for IPv6; for IPv4 the first fragment must hold the whole
 * transport header and none may begin inside it, RFC 3128). */
#ifndef NET_IP4_FRAG_H
#define NET_IP4_FRAG_H

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

struct gw;

void frag_init(struct gw *gw);

/* The key of the fragment p, before it is changed. */
struct frag_key frag_key(const struct pkt *p);

/* The entry with a decision, NULL when there is none yet. A packet that was seen
 * whole needs it no more: what comes then is a piece of the next one. */
struct frag *frag_known(struct gw *gw, const struct frag_key *key);

/* A fragment takes the way that was decided: notes how much of the packet has
 * passed. A packet that is complete gives its place away first. */
void frag_count(struct frag *f, const struct pkt *p);

/* The place for the decision about a first fragment. Where n_seen is not 0 it has
 * one already: the first fragment came twice. The caller fills new_id and new_addr
 * in, counts and sends the first fragment, and then calls frag_release. */
struct frag *frag_decide(struct gw *gw, const struct frag_key *key);

/* Lets go what waited for the first fragment: each goes through the application
 * once more. */
void frag_release(struct gw *gw, struct frag *f);

/* A later fragment before the first: true when it waits now, false (it stays
 * the caller's) when there is no room. */
bool frag_park(struct gw *gw, struct pkt *p);

/* Ends what has waited or lived long enough. */
void frag_tick(struct gw *gw);

#endif
