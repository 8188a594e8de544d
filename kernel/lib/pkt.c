/* See pkt.h. */
#include "kernel/lib/pkt.h"

#include "kernel/lib/alloc.h"

_Static_assert(PKT_HEADROOM == 128 && PKT_ROOM == 2048, "the packet slot of design.md");

bool pkt_pool_init(struct pool *pool, uint32_t n, uint32_t room)
{
	uint32_t slot = pkt_slot(room);
	memset(pool, 0, sizeof *pool);
	if (n > UINT32_MAX / slot)
		return false;
	pool->room = room;
	pool->stack = alloc_raw(n * sizeof *pool->stack, sizeof(void *));
	uint8_t *at = alloc_raw(n * slot, 64);
	if (!pool->stack || !at)
		return false;
	for (uint32_t i = 0; i < n; i++, at += slot) {
		struct pkt *p = (struct pkt *)(void *)at;
		p->pool = pool;
		p->owned = PKT_OWNED;
		pkt_free(p);
	}
	pool->n_total = n;
	pool->kept_max = n / 4;
	pool->reserve = n / 4;
	return true;
}
