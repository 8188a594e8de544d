/* The last dropped frames, for people. */
#ifndef NET_STATS_DROP_LOG_H
#define NET_STATS_DROP_LOG_H

#include "kernel/lib/pkt.h"
#include "net/stats/drop.h"

#define DROP_LOG_ENTRIES 32u
#define DROP_LOG_BYTES   80u /* IPv6 and TCP headers in a tagged frame */

/* One dropped frame. */
struct drop_log_entry {
	uint8_t reason;
	uint8_t iface;
	uint8_t n;    /* bytes kept */
	bool frame;   /* they begin with the Ethernet header of a received frame */
	uint32_t len; /* bytes it had */
	uint64_t at_us;
	uint8_t bytes[DROP_LOG_BYTES];
};

struct drop_log {
	uint64_t n; /* notes so far; the latest is entry[(n - 1) % DROP_LOG_ENTRIES] */
	struct drop_log_entry entry[DROP_LOG_ENTRIES];
};

/* The first byte of a dropped packet as people want to see it: of the frame it came in (*frame),
 * or, of a packet of our own, of the packet as it is. */
const uint8_t *drop_log_frame(const struct pkt *p, bool *frame);

/* Notes a packet that is dropped at a time (drop_log_frame). */
void drop_log_note(struct drop_log *log, const struct pkt *p, enum drop reason, uint64_t now_us);

#endif
