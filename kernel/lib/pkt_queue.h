/* A link: a short first-in first-out queue of packets between two parts, as in
 * Snabb's engine. One writer, one reader, one thread.
 *
 * Counters run free; the fill is their difference, so a link of PKT_QUEUE_SIZE
 * slots holds PKT_QUEUE_SIZE packets. */
#ifndef KERNEL_LIB_PKT_QUEUE_H
#define KERNEL_LIB_PKT_QUEUE_H

#include "kernel/lib/pkt.h"

#define PKT_QUEUE_SIZE 256u /* a power of two */

struct pkt_queue {
	uint32_t head; /* next to read */
	uint32_t tail; /* next to write */
	struct pkt *slot[PKT_QUEUE_SIZE];
};

static inline uint32_t pkt_queue_count(const struct pkt_queue *l)
{
	return l->tail - l->head;
}

/* Takes the packet; false (the caller keeps it) when the link is full. */
static inline bool pkt_queue_push(struct pkt_queue *l, struct pkt *p) MUST_USE;
static inline bool pkt_queue_push(struct pkt_queue *l, struct pkt *p)
{
	if (UNLIKELY(pkt_queue_count(l) >= PKT_QUEUE_SIZE))
		return false;
	l->slot[l->tail++ % PKT_QUEUE_SIZE] = p;
	return true;
}

/* The oldest packets that lie side by side: sets *n and gives the array. They
 * stay on the link until pkt_queue_take says how many are gone. */
static inline struct pkt **pkt_queue_front(struct pkt_queue *l, uint32_t *n)
{
	uint32_t at = l->head % PKT_QUEUE_SIZE;
	*n = min_u32(pkt_queue_count(l), PKT_QUEUE_SIZE - at);
	return &l->slot[at];
}

static inline void pkt_queue_take(struct pkt_queue *l, uint32_t n)
{
	l->head += n;
	if (l->head == l->tail) /* start over, so that bursts rarely wrap */
		l->head = l->tail = 0;
}

/* The oldest packet, now the caller's; NULL when there is none. */
static inline struct pkt *pkt_queue_pop(struct pkt_queue *l)
{
	if (pkt_queue_count(l) == 0)
		return NULL;
	struct pkt *p = l->slot[l->head % PKT_QUEUE_SIZE];
	pkt_queue_take(l, 1);
	return p;
}

#endif
