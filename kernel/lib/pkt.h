/* Packet buffers: slots with headroom, all of a pool of one size. Functions pass packets by
 * pointer.
 *
 * Invariants: a packet has one owner; its data lies inside the slot's bytes; a free packet
 * is in its pool's stack and nowhere else. No code reads or writes beyond the end of the
 * data; sanitizer builds detect such accesses. Left out on purpose: reference counts,
 * cloning, growth after boot. */
#ifndef KERNEL_LIB_PKT_H
#define KERNEL_LIB_PKT_H

#include "kernel/lib/bytes.h"

#define PKT_HEADROOM 128  /* bytes in front of a received frame, for new headers */
#define PKT_ROOM     2048 /* bytes for a received frame, at least */
/* The same in a machine with a card that may receive super-segments, if there is memory for it: the
 * host maps and copies each buffer by itself, so 8 buffers for 64 KB are better than 32. */
#define PKT_ROOM_LARGE 8192
#define PKT_TAG        4u /* bytes of a VLAN tag (net/vlan) */

struct pool;

struct pkt {
	struct pkt *next; /* for lists of the packet's owner; of a partial packet: its next piece */
	struct pool *pool; /* the pool that pkt_free gives it back to */
	uint8_t *data;     /* first byte */
	uint32_t len;      /* bytes at data */
	/* Results of ip4_parse and ip6_parse; offsets count from data. */
	uint16_t l4;     /* offset of the transport header */
	uint16_t l4_len; /* bytes from there to the end of the IP packet */
	uint8_t proto;   /* transport protocol */
	uint8_t iface;   /* interface that received it; PKT_IF_SELF if the gateway made it */
	uint16_t flags;  /* PKT_… */
	uint32_t hop;    /* with PKT_ROUTED: IPv4 next hop, raw; IPv6: see ip6_route */
	uint8_t out;     /* interface to send it on, valid with PKT_ROUTED */
	uint32_t owned;  /* PKT_OWNED outside the pool, PKT_FREED inside */
	uint32_t hint; /* what the application noted before; may be wrong, so it must be checked */
	/* Of a partial packet (PKT_PARTIAL). */
	uint32_t total;    /* bytes of all pieces */
	uint16_t segment;  /* payload of each segment but the last; 0: no super-segment */
	uint16_t segments; /* how many there are; 1 without `segment` */
	uint8_t bytes[PKT_HEADROOM + PKT_ROOM]; /* or more, see pool->room */
} __attribute__((aligned(64)));                 /* no two slots share a cache line */

enum {
	PKT_ROUTED = 1,      /* out and hop are set */
	PKT_L2_GROUP = 2,    /* was sent to a multicast or broadcast MAC address */
	PKT_FRAGMENT = 4,    /* a fragment of an IP packet */
	PKT_LATER = 8,       /* a fragment other than the first */
	PKT_HAIRPIN = 16,    /* is hairpinned (a destination of ours or of the application) */
	PKT_OPTIONS = 32,    /* IPv4 header with options, IPv6 header with extension headers */
	PKT_TRANSLATED = 64, /* its source is one of the gateway's addresses after translation */
	PKT_INBOUND = 128,   /* its destination is an inside host after translation */
	PKT_ROUND = 256,     /* the least bit of PKT_ROUNDS */
	PKT_ROUNDS = 7 * PKT_ROUND, /* how often it was reinjected (gw_reinject) */
	PKT_PARTIAL = 2048,         /* a partial packet, see below */
	PKT_TSO6 = 4096,            /* its segments are over IPv6, else over IPv4 */
	PKT_ECN = 8192,             /* its first segment alone has CWR (RFC 3168 section 6.1.2) */
	PKT_USO = 16384,            /* its segments are datagrams of UDP, else of TCP */
	PKT_UNTAGGED = 32768, /* its VLAN tag was taken off: the frame begins PKT_TAG bytes later */
};

/* A partial packet is a frame whose transport checksum is partial: the field at l4 + l4_len holds
 * the sum of the pseudo header alone, not inverted, and a card or net/offload adds the bytes from
 * l4 on. It may be a super-segment: a TCP segment, or a datagram of UDP, that a card or net/offload
 * cuts. It may lie in pieces: `next` leads to the next one, NULL behind the last; `total` counts
 * all their bytes, `len` only those of the first, which has all headers. Only the code that knows
 * partial packets gets them: a driver with NIC_SUM, transmit queues, net/offload and the `partial`
 * hook of forwarders.
 */
#define PKT_PIECES 40u /* most pieces of a partial packet */
#define PKT_TOTAL_MAX                                                               \
	65553u /* most bytes: Ethernet header, VLAN tag and the largest IPv4 packet \
	        */
#define PKT_IF_SELF 0xff
#define PKT_OWNED   0x4f574e44u
#define PKT_FREED   0x46524545u

struct pool {
	struct pkt **stack; /* free packets, the last freed on top */
	uint32_t room;      /* bytes of a slot behind its headroom: PKT_ROOM or PKT_ROOM_LARGE */
	uint32_t n_free;
	uint32_t n_total;
	uint32_t kept;     /* packets held by queues and reassembly */
	uint32_t kept_max; /* limit of `kept`: a quarter of the pool */
	/* Super-segments leave so many packets free: a quarter of those that are not in the receive
	 * rings of cards (gw_init), at first of all. */
	uint32_t reserve;
};

/* Bytes of memory that a packet takes in a pool with `room`: a multiple of 64, so that no two slots
 * share a cache line. */
static inline uint32_t pkt_slot(uint32_t room);

/* Makes a pool of `n` packets with `room` from alloc(). False when there is not enough memory. */
bool pkt_pool_init(struct pool *pool, uint32_t n, uint32_t room) MUST_USE;

/* Takes a packet from the pool: len 0, data behind the headroom, no flags. The caller owns
 * it. NULL when the pool is empty. */
static inline struct pkt *pkt_alloc(struct pool *pool) MUST_USE;

/* Gives a packet back to its pool. The caller must own it. Freeing a packet twice is a
 * panic. */
static inline void pkt_free(struct pkt *p);

/* The number of frames for which a packet stands: of a partial one, checked or made by net/offload,
 * its segments. */
static inline uint32_t pkt_segments(const struct pkt *p);

/* Gives a packet, which may be a partial one, with all its pieces back to the pool. */
static inline void pkt_free_all(struct pkt *p);

/* Reports a packet that was freed twice. Does not return (panic.c; tests abort). */
void pkt_double_free(const struct pkt *p) __attribute__((noreturn));

/* Counts one more packet that is kept for longer than a burst. False when the kept packets
 * have reached their share of the pool; then the caller must not keep the packet. */
static inline bool pool_keep(struct pool *pool) MUST_USE;
/* Undoes one successful pool_keep. */
static inline void pool_unkeep(struct pool *pool);

/* Removes n bytes at the front. Gives the new front, or NULL when the packet has fewer
 * bytes; then nothing changes. */
static inline uint8_t *pkt_pull(struct pkt *p, uint32_t n) MUST_USE;

/* Adds n bytes at the front; their contents are undefined. Gives the new front, or NULL
 * when the headroom is too small; then nothing changes. */
static inline uint8_t *pkt_push(struct pkt *p, uint32_t n) MUST_USE;

/* The same for an Ethernet header: PKT_TAG bytes are left in front of it, for a tag. */
static inline uint8_t *pkt_push_ethernet(struct pkt *p, uint32_t n) MUST_USE;

/* Adds n bytes at the end; their contents are undefined. Gives the first of them, or NULL
 * when there is no room; then nothing changes. */
static inline uint8_t *pkt_put(struct pkt *p, uint32_t n) MUST_USE;

/* Gives the address of n bytes at offset off from data, or NULL when the packet does not
 * have them all. */
static inline uint8_t *pkt_at(const struct pkt *p, uint32_t off, uint32_t n) MUST_USE;

/* Cuts the packet to n bytes. An n above p->len changes nothing. */
static inline void pkt_trim(struct pkt *p, uint32_t n);

/* Cuts the packet to n bytes, where the caller guarantees that n <= p->len. */
static inline void pkt_end(struct pkt *p, uint32_t n);

/* Gives the bytes from a packet's data to the end of its slot. */
static inline uint32_t pkt_space(const struct pkt *p);

/* Lends a fresh packet to a card, which may write up to pool->room bytes at data. */
static inline void pkt_lend(struct pkt *p);
/* Ends pkt_lend: the card wrote n <= pool->room bytes, which are the packet's data. */
static inline void pkt_filled(struct pkt *p, uint32_t n);

#include "kernel/lib/pkt_inline.h"

#endif
