/* Code for drivers with descriptor rings: takes packets from the pool and gives them back
 * in bursts. ring_alloc and ring_free do the same as pkt_alloc and pkt_free, but hold the
 * top of the pool's stack in a register. So no other code may use the pool between ring_top
 * and ring_settle. */
#ifndef DRIVERS_NET_RING_H
#define DRIVERS_NET_RING_H

#include "kernel/seam/io.h"
#include "kernel/lib/pkt.h"

/* Starts a burst. Gives the top of the pool's stack, one past the last free packet. */
static inline struct pkt **ring_top(const struct pool *pool)
{
	return pool->stack + pool->n_free;
}

/* Ends a burst: writes the top of the stack back into the pool. */
static inline void ring_settle(struct pool *pool, struct pkt **top)
{
	pool->n_free = (uint32_t)(top - pool->stack);
}

/* Takes a packet for a receive ring. The stack must not be empty. The packet is lent to the
 * card; its len is undefined until pkt_filled sets it. */
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

/* Gives a packet back to `pool`. A packet of another pool goes back to that pool. Freeing a
 * packet twice is a panic. */
static inline void ring_free(const struct pool *pool, struct pkt ***top, struct pkt *p)
{
	if (UNLIKELY(p->pool != pool)) {
		pkt_free(p);
		return;
	}
	if (UNLIKELY(p->owned != PKT_OWNED))
		pkt_double_free(p);
	p->owned = PKT_FREED;
	io_poison(p->bytes, pkt_slot(pool->room) - offsetof(struct pkt, bytes));
	*(*top)++ = p;
}

#endif
