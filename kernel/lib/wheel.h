/* Timers: a wheel of slots of about 8 ms, each with a list of nodes. The cost to set or
 * clear a timer does not depend on their number. Times are microseconds that wrap (when.h).
 * No time may lie more than WHEEL_MOST_US ahead. */
#ifndef KERNEL_LIB_WHEEL_H
#define KERNEL_LIB_WHEEL_H

#include "kernel/lib/bytes.h"

#ifndef WHEEL_SLOTS       /* fewer in the fuzzers, where time advances in large steps */
#define WHEEL_SLOTS 1024u /* a power of two */
#endif
#define WHEEL_SHIFT 13u
#define WHEEL_NONE  0xffffu

#define WHEEL_MOST_US 600000000u

struct wheel_node {
	uint32_t due_us;
	uint16_t prev, next;
	bool set;
};

struct wheel {
	struct wheel_node *node;
	uint32_t position; /* time >> WHEEL_SHIFT of the next slot to check */
	uint32_t n_set;
	uint16_t slot[WHEEL_SLOTS];
};

/* Sets up a wheel for nodes 0 to n - 1. False when there is not enough memory or n is 65535
 * or more. */
bool wheel_init(struct wheel *w, uint32_t n, uint32_t now_us) MUST_USE;

/* Sets a node's timer to `due_us`; it replaces the node's earlier timer. */
void wheel_set(struct wheel *w, uint32_t node, uint32_t due_us);
/* Clears a node's timer, if it is set. */
void wheel_clear(struct wheel *w, uint32_t node);

/* Gives a node whose time has come and clears its timer; it may come up to one slot late.
 * WHEEL_NONE when there is none. */
uint32_t wheel_take(struct wheel *w, uint32_t now_us);

#endif
