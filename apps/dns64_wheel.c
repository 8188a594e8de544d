/* See dns64_wheel.h. */
#include "apps/dns64_wheel.h"

#include "kernel/alloc.h"

#define NONE    DNS64_WHEEL_NONE
#define NUMBERS (1u << (32 - DNS64_WHEEL_SHIFT)) /* of slots, before they wrap */

bool dns64_wheel_init(struct dns64_wheel *w, uint32_t n, uint32_t now_us)
{
	w->node = alloc(n * sizeof *w->node, 64);
	for (uint32_t i = 0; i < DNS64_WHEEL_SLOTS; i++)
		w->slot[i] = NONE;
	w->turn = now_us >> DNS64_WHEEL_SHIFT;
	w->n_set = 0;
	return w->node != NULL && n < NONE;
}

static uint16_t *slot_of(struct dns64_wheel *w, uint32_t due_us)
{
	return &w->slot[(due_us >> DNS64_WHEEL_SHIFT) % DNS64_WHEEL_SLOTS];
}

void dns64_wheel_clear(struct dns64_wheel *w, uint32_t i)
{
	struct dns64_wheel_node *n = &w->node[i];
	if (!n->set)
		return;
	n->set = false;
	w->n_set--;
	if (n->prev == NONE)
		*slot_of(w, n->due_us) = n->next;
	else
		w->node[n->prev].next = n->next;
	if (n->next != NONE)
		w->node[n->next].prev = n->prev;
}

void dns64_wheel_set(struct dns64_wheel *w, uint32_t i, uint32_t due_us)
{
	struct dns64_wheel_node *n = &w->node[i];
	dns64_wheel_clear(w, i);
	uint16_t *slot = slot_of(w, due_us);
	*n = (struct dns64_wheel_node){.due_us = due_us, .prev = NONE, .next = *slot, .set = true};
	if (*slot != NONE)
		w->node[*slot].prev = (uint16_t)i;
	*slot = (uint16_t)i;
	w->n_set++;
}

uint32_t dns64_wheel_take(struct dns64_wheel *w, uint32_t now_us)
{
	uint32_t current = now_us >> DNS64_WHEEL_SHIFT;
	/* After a long silence every slot is looked at once. */
	uint32_t behind = (current - w->turn) % NUMBERS;
	if (behind > DNS64_WHEEL_SLOTS)
		w->turn = (current - DNS64_WHEEL_SLOTS) % NUMBERS;
	for (; w->turn != current; w->turn = (w->turn + 1) % NUMBERS) {
		uint32_t i = w->slot[w->turn % DNS64_WHEEL_SLOTS];
		/* The others in the slot are of later turns of the wheel. */
		for (; i != NONE; i = w->node[i].next) {
			if ((int32_t)(now_us - w->node[i].due_us) < 0)
				continue;
			dns64_wheel_clear(w, i);
			return i;
		}
	}
	return NONE;
}
