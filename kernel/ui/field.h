/* A line of text that a person types: the cursor's keys, Backspace, Delete, Ctrl-U. Pure. */
#ifndef KERNEL_UI_FIELD_H
#define KERNEL_UI_FIELD_H

#include "kernel/config/config_word.h"
#include "kernel/ui/grid.h"

#define FIELD_TEXT 200u /* with NUL */

struct field {
	char text[FIELD_TEXT]; /* printable ASCII */
	uint32_t len;
	uint32_t at; /* the cursor: from 0 to len */
};

/* Makes the text the field's, with the cursor at its end. Characters that nobody can type are left
 * out. */
void field_set(struct field *f, struct slice text);

/* Takes a key of console_key. False when the key means nothing here. */
bool field_key(struct field *f, int key);

/* Shows the part of the text around the cursor in `width` cells (at least 4), and the cursor. */
void field_draw(const struct field *f, struct grid *g, uint32_t row, uint32_t column,
                uint32_t width);

#endif
