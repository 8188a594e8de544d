/* The editor of the configuration: one row for each key or value of a list, and what the key means.
 *
 * It shows the keys that the application and its services read, or all. A value is checked while it
 * is typed. A person who leaves with changes is asked what becomes of them. Pure: it takes keys,
 * changes a draft, and says at the end what is to be done. */
#ifndef KERNEL_UI_EDITOR_H
#define KERNEL_UI_EDITOR_H

#include "kernel/ui/draft.h"
#include "kernel/ui/field.h"

#define EDITOR_ROWS 512u /* at most; further values are not shown */

enum editor_act {
	EDITOR_STAY,
	EDITOR_USE,  /* the draft is to be used */
	EDITOR_SAVE, /* it is to be saved; only while a gateway runs */
	EDITOR_BOTH, /* it is to be used and saved */
	EDITOR_DROP, /* the person has left without changes, or dropped them: nothing is to be done
	              */
};

enum editor_mode { EDITOR_LIST, EDITOR_INPUT, EDITOR_LEAVE };

struct editor_row {
	uint16_t entry; /* in d->c->entry; EDITOR_ERROR: a row about an error */
	uint16_t index; /* of the value, or of the error */
};
#define EDITOR_ERROR 0xffffu

struct editor {
	struct draft *d;
	const char *app; /* the application while the draft names none */
	bool (*uses)(const struct config *c, const char *app, const struct config_entry *e);
	enum editor_mode mode;
	bool all;  /* all keys are shown */
	bool runs; /* a gateway runs with the old values: the caller sets it after editor_init */
	struct editor_row row[EDITOR_ROWS];
	uint32_t n_rows;
	uint32_t chosen; /* a row, or on leaving one of the answers */
	uint32_t first;  /* of the rows on the screen */
	uint32_t number; /* typed so far */
	uint32_t back;   /* the chosen row while the mode is EDITOR_LEAVE */
	struct field input;
	char message[DRAFT_WHY];
};

/* Begins with a draft. `app` is chosen as long as the draft has no value of the key `app`. Both
 * outlive the editor. `uses` says which keys an application reads. */
void editor_init(struct editor *e, struct draft *d, const char *app,
                 bool (*uses)(const struct config *c, const char *app,
                              const struct config_entry *e));

/* Takes a key of console_key. After another answer than EDITOR_STAY the editor has ended; with
 * EDITOR_DROP the draft has no changes. */
enum editor_act editor_key(struct editor *e, int key);

/* Draws all of the grid. */
void editor_draw(const struct editor *e, struct grid *g);

/* The chosen key, NULL when an error is chosen. For editor_draw. */
const struct config_entry *editor_entry(const struct editor *e, uint32_t row);

/* What can become of the changes. In the menu only what has started is saved, so there is no way to
 * save what is not used. NULL behind the last answer. */
struct editor_answer {
	char letter;
	enum editor_act act;
	const char *text;
};
const struct editor_answer *editor_answer(const struct editor *e, uint32_t i);

#define EDITOR_LIST_ROWS 12u /* rows of the list on the screen */

#endif
