/* What drivers with rings of descriptors share: packets taken off the pool and
 * given back by the burst. They do what pkt_alloc and pkt_free do, but keep the
 * top of the pool's stack in a register meanwhile: nobody else may use the pool
 * between ring_top and ring_settle. */
#ifndef DRIVERS_NET_RING_H
#define DRIVERS_NET_RING_H

#include "kernel/seam/io.h"
#include "kernel/lib/pkt.h"

/* One past the last free packet. */
static inline struct pkt **ring_top(const struct pool *pool)
{
	return pool->stack + pool->n_free;
}

static inline void ring_settle(struct pool *pool, struct pkt **top)
{
	pool->n_free = (uint32_t)(top - pool->stack);
}

/* A packet for a receive ring from a stack that is not empty, lent to the card. Its len
 * is whatever it was: pkt_filled sets it when a frame is in it. */
static inline struct pkt *ring_alloc(struct pkt ***top)
{
	struct pkt *p = *--*top;
	io_unpoison(p->bytes, PKT_HEADROOM);
	p->data = p->bytes + PKT_HEADROOM;
	pkt_lend(p);
	p->flags = 0;
	p->owned = PKT_OWNED;
	return p;
}

/* Gives a packet back; one of another pool goes there. */
static inline void ring_free(const struct pool *pool, struct pkt ***top, struct pkt *p)
{
	if (UNLIKELY(p->pool != pool)) {
		pkt_free(p);
		return;
	}
	if (UNLIKELY(p->owned != PKT_OWNED))
		pkt_double_free(p);
	p->owned = PKT_FREED;
	io_poison(p->bytes, sizeof *p - offsetof(struct pkt, bytes));
	*(*top)++ = p;
}

#endif
