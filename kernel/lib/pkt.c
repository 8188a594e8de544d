/* See pkt.h. */
#include "kernel/lib/pkt.h"

#include "kernel/lib/alloc.h"

_Static_assert(PKT_HEADROOM == 128 && PKT_ROOM == 2048, "the packet slot of design.md");

bool pkt_pool_init(struct pool *pool, uint32_t n)
{
	memset(pool, 0, sizeof *pool);
	if (n > UINT32_MAX / sizeof(struct pkt))
		return false;
	pool->stack = alloc_raw(n * sizeof *pool->stack, sizeof(void *));
	struct pkt *slots = alloc_raw(n * sizeof *slots, 64);
	if (!pool->stack || !slots)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		slots[i].pool = pool;
		slots[i].owned = PKT_OWNED;
		pkt_free(&slots[i]);
	}
	pool->n_total = n;
	pool->kept_max = n / 4;
	pool->reserve = n / 4;
	return true;
}
