/* Watches whether a card's interrupt line can end a halt of the processor. Pure: the caller
 * (rcv.c) reads the line and the tick. */
#ifndef KERNEL_IRQ_WATCH_H
#define KERNEL_IRQ_WATCH_H

#include "kernel/lib/bytes.h"

/* One card's line. */
struct irq_watch {
	bool received;     /* set by the caller: frames came since irq_watch_arm */
	bool moved;        /* set by the caller: frames came or left since irq_watch_arm */
	bool polled;       /* the line is of no use: the processor must not halt */
	bool had_work;     /* at the last irq_watch_arm */
	bool masked;       /* likewise: the line was left masked */
	uint8_t fruitless; /* times in a row that the line came without a frame */
	uint8_t silent;    /* times that a tick brought frames and the line did not come */
	uint32_t tick;     /* at the last irq_watch_arm */
};

/* Begins to watch interrupt line `irq`. A card without a line (`irq` above 15) is polled. */
void irq_watch_init(struct irq_watch *w, uint8_t irq);

/* To be called each time before the processor halts. `here`: the card has work, so there is no
 * halt. `fired`: the line came since it was unmasked. `tick`: timer ticks since the start.
 * Sets w->polled for good when the line stays silent although frames come. True when the
 * caller must unmask the line; false when it stays masked until irq_watch_retry, because
 * another device keeps it asserted and would wake the processor again and again. */
bool irq_watch_arm(struct irq_watch *w, bool here, bool fired, uint32_t tick);

/* True while frames may wait until the next tick: the line is masked, or it was silent and is on
 * the way to `polled`. Ticks must then come as often as rcv_poll. */
static inline bool irq_watch_needs_ticks(const struct irq_watch *w)
{
	return w->masked || (w->silent && !w->polled);
}

/* Lets a line that stayed masked be unmasked once more. To be called every 10 ms
 * while irq_watch_needs_ticks. */
void irq_watch_retry(struct irq_watch *w);

#endif
