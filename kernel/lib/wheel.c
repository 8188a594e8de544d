/* See wheel.h. */
#include "kernel/lib/wheel.h"

#include "kernel/lib/alloc.h"
#include "kernel/lib/when.h"

#define NONE WHEEL_NONE

bool wheel_init(struct wheel *w, uint32_t n, uint32_t now_us)
{
	w->node = alloc(n * sizeof *w->node, 64);
	for (uint32_t i = 0; i < WHEEL_SLOTS; i++)
		w->slot[i] = NONE;
	w->position = now_us >> WHEEL_SHIFT;
	w->n_set = 0;
	return w->node != NULL && n < NONE;
}

static uint16_t *slot_of(struct wheel *w, uint32_t due_us)
{
	return &w->slot[(due_us >> WHEEL_SHIFT) % WHEEL_SLOTS];
}

static void take_out(struct wheel *w, struct wheel_node *n)
{
	n->set = false;
	w->n_set--;
	if (n->prev == NONE)
		*slot_of(w, n->due_us) = n->next;
	else
		w->node[n->prev].next = n->next;
	if (n->next != NONE)
		w->node[n->next].prev = n->prev;
}

void wheel_clear(struct wheel *w, uint32_t i)
{
	if (w->node[i].set)
		take_out(w, &w->node[i]);
}

void wheel_set(struct wheel *w, uint32_t i, uint32_t due_us)
{
	struct wheel_node *n = &w->node[i];
	if (n->set)
		take_out(w, n);
	uint16_t *slot = slot_of(w, due_us);
	n->due_us = due_us;
	n->prev = NONE;
	n->next = *slot;
	n->set = true;
	if (*slot != NONE)
		w->node[*slot].prev = (uint16_t)i;
	*slot = (uint16_t)i;
	w->n_set++;
}

uint32_t wheel_take(struct wheel *w, uint32_t now_us)
{
	uint32_t current = now_us >> WHEEL_SHIFT;
	if (w->n_set == 0) /* there is nothing to find on the way */
		w->position = current;
	/* After a long pause, and when the time wraps, every slot is checked once. */
	uint32_t behind = min_u32(current - w->position, WHEEL_SLOTS);
	for (w->position = current - behind; w->position != current; w->position++) {
		uint32_t i = w->slot[w->position % WHEEL_SLOTS];
		/* Other nodes in the slot are due in a later round of the wheel. */
		for (; i != NONE; i = w->node[i].next) {
			if (!when_come(now_us, w->node[i].due_us, WHEEL_MOST_US))
				continue;
			wheel_clear(w, i);
			return i;
		}
	}
	return NONE;
}
