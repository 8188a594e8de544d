/* The screen of the boot menu: 24 rows. Pure; menu_state.h has the reaction to keys. */
#ifndef KERNEL_UI_MENU_VIEW_H
#define KERNEL_UI_MENU_VIEW_H

#include "kernel/config/config.h"
#include "kernel/ui/grid.h"

#define MENU_VIEW_ABOUT 63u /* characters of an item's line at most, so that it is never cut */
#define MENU_VIEW_NAME  10u
#define MENU_VIEW_CARDS 8u

/* A function of the gateway. */
struct menu_item {
	const char *name;  /* MENU_VIEW_NAME characters at most */
	const char *about; /* MENU_VIEW_ABOUT characters at most */
};

/* A network card. */
struct menu_card {
	char address[18]; /* its MAC address as text */
	const char *driver;
	bool up;       /* it has a link */
	uint16_t mbit; /* 0: unknown */
};

struct menu_view {
	const struct menu_item *item;
	uint32_t n_items, chosen;
	const struct menu_card *card;
	uint32_t n_cards;
	const struct config *c; /* for its errors */
	const char *problem;    /* why the last choice could not start; or NULL */
	const char *message;    /* what an action has led to; or NULL */
	bool can_edit;          /* there is memory for the editor */
	uint32_t counting;      /* seconds of the countdown; 0: it does not run */
};

/* Draws all of the grid. */
void menu_view_draw(const struct menu_view *v, struct grid *g);

/* Writes a card as text: "nic0  52:54:00:12:34:56  e1000       link up 1000". */
void menu_view_card(const struct menu_card *card, uint32_t i, char *buf, size_t size);

#endif
