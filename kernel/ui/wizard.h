/* The wizard: five questions for a first set-up. It changes a draft; what is asked depends on the
 * function that was chosen. At the machine's keyboard its layout is asked for first. A key that the
 * command line or another file sets is not asked for. Pure.
 */
#ifndef KERNEL_UI_WIZARD_H
#define KERNEL_UI_WIZARD_H

#include "kernel/ui/draft.h"
#include "kernel/ui/field.h"
#include "kernel/ui/menu_view.h"

enum wizard_act {
	WIZARD_STAY,
	WIZARD_USE,  /* the draft is to be used */
	WIZARD_BOTH, /* it is to be used and saved */
	WIZARD_DROP, /* the person has left; the draft has no changes */
};

enum wizard_step { WIZARD_KEYBOARD, WIZARD_APP, WIZARD_LAN, WIZARD_WAN, WIZARD_KEYS, WIZARD_END };

struct wizard {
	struct draft *d;
	const struct menu_item *item;
	uint32_t n_items;
	const struct menu_card *card;
	uint32_t n_cards;
	bool local;               /* a person at the machine's keyboard began */
	bool up[MENU_VIEW_CARDS]; /* which cards had a link when they were last looked at */
	uint32_t came_up; /* the last card that got a carrier while it was asked for; n_cards: none
	                   */
	enum wizard_step step;
	uint32_t chosen;        /* a layout, an item, a card or an answer */
	uint32_t app, lan, wan; /* the answers */
	uint32_t key;           /* which of the keys is asked for */
	struct field input;
	char message[DRAFT_WHY];
};

/* Begins with a draft without changes; `app` is the function that is suggested, or in force if the
 * key `app` is set elsewhere. `local` says that a person at the machine's keyboard began: only
 * there the keyboard's layout is asked for, first of all. The draft has it from then on. All that
 * is given outlives the wizard; the cards are looked at again by wizard_look. */
void wizard_init(struct wizard *w, struct draft *d, const struct menu_item *item, uint32_t n_items,
                 uint32_t app, const struct menu_card *card, uint32_t n_cards, bool local);

/* Takes a key of console_key. */
enum wizard_act wizard_key(struct wizard *w, int key);

/* Looks at the links of the cards. True when something to be drawn has changed. */
bool wizard_look(struct wizard *w);

/* Draws all of the grid. */
void wizard_draw(const struct wizard *w, struct grid *g);

/* Which of the five questions is asked, and which part of how many it is. 0: the keyboard. */
uint32_t wizard_number(const struct wizard *w, uint32_t *part, uint32_t *parts);

/* The name of the key that is asked for, and the question. */
const char *wizard_key_name(const struct wizard *w);
const char *wizard_question(const struct wizard *w);

#endif
