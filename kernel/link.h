/* A link: a short first-in first-out queue of packets between two parts, as in
 * Snabb's engine. One writer, one reader, one thread.
 *
 * Counters run free; the fill is their difference, so a link of LINK_SIZE
 * slots holds LINK_SIZE packets. */
#ifndef KERNEL_LINK_H
#define KERNEL_LINK_H

#include "kernel/pkt.h"

#define LINK_SIZE 256u /* a power of two */

struct link {
	uint32_t head; /* next to read */
	uint32_t tail; /* next to write */
	struct pkt *slot[LINK_SIZE];
};

static inline uint32_t link_count(const struct link *l)
{
	return l->tail - l->head;
}

/* Takes the packet; false (the caller keeps it) when the link is full. */
static inline bool link_push(struct link *l, struct pkt *p) MUST_USE;
static inline bool link_push(struct link *l, struct pkt *p)
{
	if (UNLIKELY(link_count(l) >= LINK_SIZE))
		return false;
	l->slot[l->tail++ % LINK_SIZE] = p;
	return true;
}

/* The oldest packets that lie side by side: sets *n and gives the array. They
 * stay on the link until link_take says how many are gone. */
static inline struct pkt **link_front(struct link *l, uint32_t *n)
{
	uint32_t at = l->head % LINK_SIZE;
	*n = min_u32(link_count(l), LINK_SIZE - at);
	return &l->slot[at];
}

static inline void link_take(struct link *l, uint32_t n)
{
	l->head += n;
	if (l->head == l->tail) /* start over, so that bursts rarely wrap */
		l->head = l->tail = 0;
}

/* The oldest packet, now the caller's; NULL when there is none. */
static inline struct pkt *link_pop(struct link *l)
{
	if (link_count(l) == 0)
		return NULL;
	struct pkt *p = l->slot[l->head % LINK_SIZE];
	link_take(l, 1);
	return p;
}

#endif
