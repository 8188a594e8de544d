/* A short first-in first-out queue of packets, used as a transmit queue. One writer, one
 * reader, one thread. It resembles a link of the Snabb engine.
 *
 * head and tail are free-running counters. Their difference is the number of packets, so a
 * queue of PKT_QUEUE_SIZE slots holds PKT_QUEUE_SIZE packets. */
#ifndef KERNEL_LIB_PKT_QUEUE_H
#define KERNEL_LIB_PKT_QUEUE_H

#include "kernel/lib/pkt.h"

#define PKT_QUEUE_SIZE 256u /* a power of two */

struct pkt_queue {
	uint32_t head; /* position of the next packet to read */
	uint32_t tail; /* position of the next packet to write */
	struct pkt *slot[PKT_QUEUE_SIZE];
};

/* Gives the number of packets in the queue. */
static inline uint32_t pkt_queue_count(const struct pkt_queue *q)
{
	return q->tail - q->head;
}

/* Adds the packet, and owns it from then on. False when the queue is full; then the caller
 * still owns the packet. */
static inline bool pkt_queue_push(struct pkt_queue *q, struct pkt *p) MUST_USE;
static inline bool pkt_queue_push(struct pkt_queue *q, struct pkt *p)
{
	if (UNLIKELY(pkt_queue_count(q) >= PKT_QUEUE_SIZE))
		return false;
	q->slot[q->tail++ % PKT_QUEUE_SIZE] = p;
	return true;
}

/* Gives the array of the oldest packets that are stored contiguously, and sets *n to their
 * number. They stay in the queue until pkt_queue_take removes them. */
static inline struct pkt **pkt_queue_front(struct pkt_queue *q, uint32_t *n)
{
	uint32_t at = q->head % PKT_QUEUE_SIZE;
	*n = min_u32(pkt_queue_count(q), PKT_QUEUE_SIZE - at);
	return &q->slot[at];
}

/* Removes the n oldest packets from the queue; n is at most the n of pkt_queue_front. */
static inline void pkt_queue_take(struct pkt_queue *q, uint32_t n)
{
	q->head += n;
	if (q->head == q->tail) /* start again at 0, so that bursts rarely wrap */
		q->head = q->tail = 0;
}

/* Removes the oldest packet and gives it to the caller, who owns it. NULL when the queue is
 * empty. */
static inline struct pkt *pkt_queue_pop(struct pkt_queue *q)
{
	if (pkt_queue_count(q) == 0)
		return NULL;
	struct pkt *p = q->slot[q->head % PKT_QUEUE_SIZE];
	pkt_queue_take(q, 1);
	return p;
}

#endif
