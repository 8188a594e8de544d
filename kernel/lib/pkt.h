/* Packet buffers: fixed slots with headroom, handed along by pointer.
 *
 * Invariants: a packet has one owner; data lies inside the slot's bytes;
 * a free packet is in its pool's stack and nowhere else. Nobody reads or writes behind
 * the end of the data: sanitizer builds stop whoever does. Out on purpose:
 * reference counts, cloning, growth after boot. */
#ifndef KERNEL_LIB_PKT_H
#define KERNEL_LIB_PKT_H

#include "kernel/lib/bytes.h"

#define PKT_HEADROOM 128  /* room in front for new headers */
#define PKT_ROOM     2048 /* room for a received frame */

struct pool;

struct pkt {
	struct pkt *next;  /* for the lists of whoever owns it */
	struct pool *pool; /* where it goes back to */
	uint8_t *data;     /* first byte */
	uint32_t len;      /* bytes at data */
	/* What ip4_parse and ip6_parse noted; offsets count from data. */
	uint16_t l4;     /* offset of the transport header */
	uint16_t l4_len; /* bytes from there to the end of the IP packet */
	uint8_t proto;   /* transport protocol */
	uint8_t iface;   /* port it came in on; PKT_IF_SELF if made here */
	uint16_t flags;  /* PKT_… */
	uint32_t hop;    /* with PKT_ROUTED: IPv4 next hop, raw; IPv6: see ip6_route */
	uint8_t out;     /* chosen port, valid with PKT_ROUTED */
	uint32_t owned;  /* PKT_OWNED while outside the pool */
	uint32_t hint;   /* what the application noted ahead; not to be trusted */
	uint8_t bytes[PKT_HEADROOM + PKT_ROOM];
} __attribute__((aligned(64))); /* no cache line in two slots */

enum {
	PKT_ROUTED = 1,      /* out and hop are set */
	PKT_L2_GROUP = 2,    /* came to a multicast or broadcast MAC address */
	PKT_FRAGMENT = 4,    /* part of an IP packet */
	PKT_LATER = 8,       /* a fragment other than the first */
	PKT_HAIRPIN = 16,    /* re-entered once already */
	PKT_OPTIONS = 32,    /* IPv4 header with options, IPv6 header with extension headers */
	PKT_TRANSLATED = 64, /* its source is an address of ours by now */
	PKT_INBOUND = 128,   /* its destination is an inside host's by now */
};
#define PKT_IF_SELF 0xff
#define PKT_OWNED   0x4f574e44u
#define PKT_FREED   0x46524545u

struct pool {
	struct pkt **stack; /* free packets, the last freed on top */
	uint32_t n_free;
	uint32_t n_total;
	uint32_t kept;     /* packets held by queues and reassembly */
	uint32_t kept_max; /* at most a quarter of the pool */
};

/* Makes a pool of `n` packets from alloc(). False when memory is short. */
bool pkt_pool_init(struct pool *pool, uint32_t n) MUST_USE;

/* A packet with no bytes, data behind the headroom, flags clear, owned by the
 * caller; NULL when the pool is empty. */
static inline struct pkt *pkt_alloc(struct pool *pool) MUST_USE;

/* Gives a packet back. The caller owned it; freeing twice is a panic. */
static inline void pkt_free(struct pkt *p);

/* Reports a packet freed twice and never comes back (panic.c; tests abort). */
void pkt_double_free(const struct pkt *p) __attribute__((noreturn));

/* Books one more packet as kept for longer than a burst. False when the keepers
 * together have reached their share of the pool. pool_unkeep takes it back. */
static inline bool pool_keep(struct pool *pool) MUST_USE;
static inline void pool_unkeep(struct pool *pool);

/* Removes n bytes at the front; gives the new front or NULL (nothing changed)
 * when there are fewer. */
static inline uint8_t *pkt_pull(struct pkt *p, uint32_t n) MUST_USE;

/* Adds n bytes at the front (contents undefined); NULL when the headroom is
 * too small. */
static inline uint8_t *pkt_push(struct pkt *p, uint32_t n) MUST_USE;

/* Adds n bytes at the end; gives where they begin, NULL when there is no room. */
static inline uint8_t *pkt_put(struct pkt *p, uint32_t n) MUST_USE;

/* Address of n bytes at offset off, NULL when they are not all there. */
static inline uint8_t *pkt_at(const struct pkt *p, uint32_t off, uint32_t n) MUST_USE;

/* Cuts the packet to n bytes; a longer n changes nothing. */
static inline void pkt_trim(struct pkt *p, uint32_t n);

/* The same for an n that is known to be no more than p->len. */
static inline void pkt_end(struct pkt *p, uint32_t n);

/* A fresh packet becomes a card's, which writes up to PKT_ROOM bytes at data; and is the
 * caller's again with the n <= PKT_ROOM bytes that the card wrote. */
static inline void pkt_lend(struct pkt *p);
static inline void pkt_filled(struct pkt *p, uint32_t n);

#include "kernel/lib/pkt_inline.h"

#endif
