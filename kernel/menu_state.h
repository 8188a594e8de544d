/* What the boot menu does with keys and time; how it looks is menu.c's part. */
#ifndef KERNEL_MENU_STATE_H
#define KERNEL_MENU_STATE_H

#include "kernel/lib/bytes.h"

/* Keys that are no characters, as the menu sees them. */
enum { MENU_KEY_UP = 0x100, MENU_KEY_DOWN, MENU_KEY_HOME, MENU_KEY_END };

enum menu_act {
	MENU_STAY,    /* nothing to show */
	MENU_REDRAW,  /* the choice or the countdown's state changed */
	MENU_SECOND,  /* the countdown shows another second */
	MENU_START,   /* start the chosen item */
	MENU_RESTART, /* restart the machine */
	MENU_OFF,     /* power off */
};

struct menu_state {
	uint32_t n;      /* items */
	uint32_t chosen; /* below n, or 0 */
	bool locked;     /* nothing can be started */
	bool counting;   /* the countdown runs */
	uint32_t left_s; /* seconds it shows */
	uint64_t start_us;
};

/* Begins with item `chosen` of n. Locked, nothing can be started. */
void menu_state_init(struct menu_state *m, uint32_t n, uint32_t chosen, bool locked);

/* Starts the countdown: the chosen item starts by itself in `ms`. Does nothing
 * when locked or without items. */
void menu_state_count(struct menu_state *m, uint32_t ms, uint64_t now_us);

/* One key; any key ends the countdown. */
enum menu_act menu_state_key(struct menu_state *m, int key);

/* Time goes on. */
enum menu_act menu_state_time(struct menu_state *m, uint64_t now_us);

#endif
