/* Events of a translator that somebody outside keeps (RFC 6888 REQ-12, RFC 8158): who had which
 * address and port, and when. Remote addresses are no part of them (RFC 6888 REQ-12 advises against
 * it).
 *
 * The translator writes them into a ring, and each receiver reads it at its own pace. A receiver
 * that is too slow loses the oldest, which are counted; the translator never waits. */
#ifndef NET_EXPORT_EXPORT_EVENT_H
#define NET_EXPORT_EXPORT_EVENT_H

#include "kernel/lib/addr.h"
#include "net/gw_clock.h"

#define EXPORT_EVENTS 16384u /* in the ring; a power of two */

enum export_kind {
	EXPORT_SESSION, /* a session began */
	EXPORT_SESSION_END,
	EXPORT_BLOCK, /* an inside host got a block of ports */
	EXPORT_BLOCK_END,
	EXPORT_KINDS
};

struct export_event {
	uint64_t us; /* since boot */
	struct addr inside;
	ip4 outside;
	uint16_t in_port, out_port; /* wire order; of ICMP identifiers, 0 where there are none */
	uint16_t last_port;         /* of a block, which begins with out_port */
	uint8_t kind;               /* enum export_kind */
	uint8_t proto;              /* of IP; 0: a block, which is for each */
};

struct export_ring {
	struct export_event *event;
	uint64_t end; /* how many were written; the newest is the one before */
	const struct gw_clock *clock;
};

static inline bool export_event_is_block(const struct export_event *e)
{
	return e->kind >= EXPORT_BLOCK;
}

/* The place of the next event, which is then there; its time is set. */
static inline struct export_event *export_event_next(struct export_ring *r)
{
	struct export_event *e = &r->event[r->end++ % EXPORT_EVENTS];
	e->us = r->clock->us;
	return e;
}

#endif
