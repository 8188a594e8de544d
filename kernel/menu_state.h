/* The boot menu's reaction to keys and time. menu.c draws it. */
#ifndef KERNEL_MENU_STATE_H
#define KERNEL_MENU_STATE_H

#include "kernel/lib/bytes.h"

/* Keys that are not characters. */
enum { MENU_KEY_UP = 0x100, MENU_KEY_DOWN, MENU_KEY_HOME, MENU_KEY_END };

enum menu_act {
	MENU_STAY,    /* nothing changed */
	MENU_REDRAW,  /* the choice or the countdown's state changed */
	MENU_SECOND,  /* the countdown's number changed */
	MENU_START,   /* start the chosen item */
	MENU_RESTART, /* restart the machine */
	MENU_OFF,     /* power off */
};

struct menu_state {
	uint32_t n;      /* items */
	uint32_t chosen; /* the chosen item: below n, or 0 */
	bool locked;     /* nothing can be started */
	bool counting;   /* the countdown runs */
	uint32_t left_s; /* the countdown's number: seconds left */
	uint64_t start_us;
};

/* Sets up the menu with n items, of which `chosen` is chosen. If `locked`, nothing can be
 * started. */
void menu_state_init(struct menu_state *m, uint32_t n, uint32_t chosen, bool locked);

/* Starts the countdown: after `ms` milliseconds the chosen item starts. Does nothing when
 * the menu is locked or has no items. */
void menu_state_count(struct menu_state *m, uint32_t ms, uint64_t now_us);

/* Handles a key; any key ends the countdown. Gives what to do. */
enum menu_act menu_state_key(struct menu_state *m, int key);

/* Handles the passing of time. Gives what to do. */
enum menu_act menu_state_time(struct menu_state *m, uint64_t now_us);

#endif
