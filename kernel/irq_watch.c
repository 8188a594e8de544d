/* See irq_watch.h. A line that works fires before or at the latest with the next tick after a
 * frame, and each time that it does, the count begins again. So an ordinary line that is late
 * once in a while is never taken for a silent one. */
#include "kernel/irq_watch.h"

#define FRUITLESS 16u
#define SILENT    16u

void irq_watch_init(struct irq_watch *w, uint8_t irq)
{
	*w = (struct irq_watch){.polled = irq > 15};
}

bool irq_watch_arm(struct irq_watch *w, bool here, bool fired, uint32_t tick)
{
	if (w->received && fired && !w->masked)
		w->silent = 0;
	else if (w->received && !w->had_work && tick != w->tick && ++w->silent == SILENT)
		w->polled = true;
	if (here || w->moved || !fired)
		w->fruitless = 0;
	else if (w->fruitless < FRUITLESS)
		w->fruitless++;
	w->received = w->moved = false;
	w->had_work = here;
	w->tick = tick;
	w->masked = w->fruitless == FRUITLESS;
	return !w->masked;
}

void irq_watch_retry(struct irq_watch *w)
{
	w->fruitless = 0;
}
