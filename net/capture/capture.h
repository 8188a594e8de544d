/* The last packets: copies of those that come in and leave by the interfaces, and of those that are
 * dropped, in a ring of bytes that is allocated at the start. The oldest are overwritten.
 *
 * Where nobody has started it, a burst of packets costs one comparison (gw->capture is NULL). */
#ifndef NET_CAPTURE_CAPTURE_H
#define NET_CAPTURE_CAPTURE_H

#include "net/capture/capture_what.h"
#include "net/interface.h"
#include "net/stats/drop.h"

#define CAPTURE_BYTES (1u << 20) /* of the ring */
#define CAPTURE_SNAP  1600u      /* bytes of a packet that are kept: a whole frame of 1518 */
#define CAPTURE_FILE  1984u      /* bytes of the longest piece of a file (capture_file.h) */

enum capture_way { CAPTURE_IN, CAPTURE_OUT, CAPTURE_DROPPED };

/* A packet that was kept; its bytes follow. */
struct capture_record {
	uint32_t size;   /* of the record with its bytes and padding */
	uint32_t number; /* counted from 0 */
	uint64_t at_us;
	uint32_t len;          /* bytes that the packet had */
	uint16_t n;            /* bytes kept; 0: no packet, but the unused end of the ring */
	uint8_t way;           /* enum capture_way */
	uint8_t iface;         /* PKT_IF_SELF: we made it */
	uint8_t reason;        /* enum drop */
	bool frame;            /* it begins with an Ethernet header, else with an IP header */
} __attribute__((aligned(8))); /* they lie side by side */

/* A place in the ring, as a reader keeps it. All zeros: the oldest record. */
struct capture_place {
	uint64_t at;     /* bytes written before it since the start */
	uint32_t number; /* of the record that is expected there */
};

struct capture {
	uint8_t *ring;
	uint64_t begin, end;      /* bytes written since the start: before the oldest record; all */
	uint32_t n;               /* packets kept since the start */
	uint32_t first;           /* the number of the oldest record */
	uint16_t hidden;          /* TCP port of ours whose packets are left out */
	struct capture_what what; /* that are kept: drops too where it is CAPTURE_ALL */
	/* Packets at the front of each transmit queue that are kept already: the card has not taken
	 * them yet. */
	uint32_t seen[INTERFACES];
	uint8_t file[CAPTURE_FILE]; /* the piece of a file that is written */
};

/* Starts to keep packets. `hidden` is a TCP port (host order) of ours whose packets are left out,
 * because they carry the captures. False when there is not enough memory. */
bool capture_start(struct gw *gw, uint16_t hidden) MUST_USE;

/* From now on keeps what is selected, and forgets what is there. gw->capture is not NULL. */
void capture_select(struct gw *gw, const struct capture_what *what);

/* Keeps n packets that an interface received, before anything else is done with them.
 * gw->capture is not NULL, here and below. */
void capture_received(struct gw *gw, uint32_t iface, struct pkt *const *burst, uint32_t n);

/* Keeps the n packets at the front of an interface's transmit queue, which are about to be handed
 * to the card. Those that it did not take before are not kept again. */
void capture_leaving(struct gw *gw, uint32_t iface, struct pkt *const *burst, uint32_t n);

/* The card has taken n packets from the front; ~0u: the queue is empty. */
void capture_taken(struct gw *gw, uint32_t iface, uint32_t n);

/* Keeps a packet that is dropped: the frame it came in, or, of one of our own, the packet. */
void capture_dropped(struct gw *gw, const struct pkt *p, enum drop reason);

/* Gives the record at a place and moves the place behind it; *lost is how many were overwritten
 * since the place was reached. NULL behind the last. The record is valid until the gateway handles
 * the next packet. */
const struct capture_record *capture_next(const struct capture *c, struct capture_place *place,
                                          uint32_t *lost);

/* The packet of a record. */
static inline const uint8_t *capture_bytes(const struct capture_record *r)
{
	return (const uint8_t *)(r + 1);
}

/* True when a selection has the packet of a record. */
bool capture_selects(const struct capture_what *what, const struct capture_record *r);

/* Writes line *cursor about what is kept, with `words` ("OF END", as in capture_what_parse) as the
 * new selection where they are not empty; moves the cursor. False behind the last. */
bool capture_show(struct gw *gw, const char *words, uint32_t *cursor, char *buf, size_t size);

#endif
