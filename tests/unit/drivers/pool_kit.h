/* A pool that is nearly empty, for the tests of the drivers. */
#ifndef TESTS_DRIVERS_POOL_KIT_H
#define TESTS_DRIVERS_POOL_KIT_H

#include "kernel/lib/pkt.h"

/* Takes packets out of a pool until `left` are free. Gives them as a list. */
static inline struct pkt *pool_leave_free(struct pool *pool, uint32_t left)
{
	struct pkt *list = NULL, *p;
	while (pool->n_free > left && (p = pkt_alloc(pool)) != NULL) {
		p->next = list;
		list = p;
	}
	return list;
}

static inline void pool_give_back(struct pkt *list)
{
	while (list) {
		struct pkt *p = list;
		list = p->next;
		pkt_free(p);
	}
}

#endif
