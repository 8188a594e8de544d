/* A draft of the configuration: the text of gateway.conf with changes that are not in force yet.
 *
 * Each change is checked by the parser of its key before it is made. What no single value shows
 * (two interfaces with one card) is found by config_check and is in d->c->error. Pure. */
#ifndef KERNEL_UI_DRAFT_H
#define KERNEL_UI_DRAFT_H

#include "kernel/config/config.h"
#include "kernel/config/config_edit.h"

#define DRAFT_TEXT  65536u /* bytes of a text at most */
#define DRAFT_BYTES (3 * DRAFT_TEXT)
#define DRAFT_WHY   160u /* bytes of an explanation, with NUL */
#define DRAFT_VALUE 200u /* bytes of a value as text, with NUL */

/* What a text says about a key. */
struct draft_key {
	uint32_t n;    /* values */
	uint64_t hash; /* of them in order */
};

struct draft {
	/* Empties *c and reads the whole configuration into it, with `text` as its first file, up
	 * to config_check. */
	void (*read)(void *owner, struct config *c, struct slice text);
	void *owner;
	struct config *c;       /* of the text */
	uint32_t n_text_errors; /* errors of its lines; those of config_check come behind */
	struct slice base;      /* the text without the changes */
	struct slice text;      /* with them */
	struct draft_key was[CONFIG_KEYS], now[CONFIG_KEYS]; /* of base and text, by entry */
	char *buffer[3];  /* `base` and `text` are in two of them, or `base` is elsewhere */
	uint32_t in_text; /* the buffer of `text` */
	uint32_t in_base; /* that of `base`; 3: none */
};

/* Sets up a draft. `c` and the DRAFT_BYTES at `memory` belong to the draft from now on; `base`, at
 * most DRAFT_TEXT bytes, stays the caller's and must not change. */
void draft_init(struct draft *d, struct config *c, char *memory, struct slice base,
                void (*read)(void *owner, struct config *c, struct slice text), void *owner);

/* Drops all changes. */
void draft_drop(struct draft *d);
/* Makes the text with the changes the one without: they are in force, or saved. */
void draft_keep(struct draft *d);
/* Makes another text the one without the changes. At most DRAFT_TEXT bytes; it is copied. */
void draft_rebase(struct draft *d, struct slice base);
/* The same with a text that was saved, which begins with the mark: so does the draft's then. */
void draft_saved(struct draft *d, struct slice text);
/* True when the text is not `base`. */
bool draft_has_changes(const struct draft *d);

/* How many values the text gives to a key, and value `i`: length 0 when there is none. */
uint32_t draft_count(const struct draft *d, const struct config_entry *e);
struct slice draft_value(const struct draft *d, const struct config_entry *e, uint32_t i);
/* True when the text gives a key other values than `base` does. */
bool draft_changed(const struct draft *d, const struct config_entry *e);

/* Where a key is set, if not in the first file: "command line" or a place in another file. NULL: it
 * can be changed. */
const char *draft_elsewhere(const struct draft *d, const struct config_entry *e);

/* True when the text is a value of the key. If not, `why` is what the parser says. */
bool draft_check(struct draft *d, const struct config_entry *e, struct slice value,
                 char why[static DRAFT_WHY]);

/* Gives value `i` of the key another text; i = draft_count adds one; length 0 removes it. False
 * when that cannot be, with the reason in `why`; then nothing has changed. */
bool draft_set(struct draft *d, const struct config_entry *e, uint32_t i, struct slice value,
               char why[static DRAFT_WHY]);
/* Makes `value` the only value of the key, or with length 0 takes the key back to its default. */
bool draft_set_only(struct draft *d, const struct config_entry *e, struct slice value,
                    char why[static DRAFT_WHY]);
/* Makes a comment of a line of the text, counted from 1. */
bool draft_comment(struct draft *d, uint32_t line);

#endif
