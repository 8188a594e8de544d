/* Timers: a wheel of slots of about 8 ms, with a list of nodes in
 * each. Setting and clearing cost the same however many there are. Times are
 * microseconds that wrap (when.h); none may lie more than WHEEL_MOST_US ahead. */
#ifndef KERNEL_LIB_WHEEL_H
#define KERNEL_LIB_WHEEL_H

#include "kernel/lib/bytes.h"

#ifndef WHEEL_SLOTS       /* fewer in the fuzzers, where time passes in leaps */
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
	uint32_t turn; /* time >> SHIFT of the slot to be looked at next */
	uint32_t n_set;
	uint16_t slot[WHEEL_SLOTS];
};

/* Sets up a wheel for nodes 0 … n - 1; false when memory is short. */
bool wheel_init(struct wheel *w, uint32_t n, uint32_t now_us) MUST_USE;

/* Sets a node's timer, in place of the one it may have. */
void wheel_set(struct wheel *w, uint32_t node, uint32_t due_us);
void wheel_clear(struct wheel *w, uint32_t node);

/* A node whose time has come, up to a slot ago, its timer cleared; WHEEL_NONE
 * when there is none. */
uint32_t wheel_take(struct wheel *w, uint32_t now_us);

#endif
