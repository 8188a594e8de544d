/* Changes in the text of a configuration file. Comments, the order of the lines, line ends and
 * lines that no key is known for stay as they are. Pure.
 *
 * A text is what config_text reads. A value is the text between the key and the comment of its
 * line. Where a function writes a text, `out` has `size` bytes and does not overlap the old text.
 * It gives the length, or CONFIG_EDIT_FULL when the new text is longer than `size`. */
#ifndef KERNEL_CONFIG_CONFIG_EDIT_H
#define KERNEL_CONFIG_CONFIG_EDIT_H

#include "kernel/config/config_word.h"

#define CONFIG_EDIT_FULL ((size_t)-1)
#define CONFIG_EDIT_NONE UINT32_MAX

/* The first line of a file that was saved on the machine itself. */
#define CONFIG_EDIT_MARK "# Saved by Baregate."

/* Reads the next line that has a key. *at is 0 at first. False behind the last. */
bool config_edit_next(struct slice text, size_t *at, struct slice *key, struct slice *value);

/* How many lines set the key. */
uint32_t config_edit_count(struct slice text, const char *key);

/* Value `i` of the key in the text; length 0 when there is none. *line is set to the number of its
 * line, from 1, or to 0; `line` may be NULL. */
struct slice config_edit_value(struct slice text, const char *key, uint32_t i, uint32_t *line);

/* Gives value `i` of the key another text. Where the text has fewer values, a line is added: behind
 * the last line of the key, or behind the last comment that shows the key ("#key value"), or else
 * behind the last line of a key with the same beginning up to a dot, or else at the end. A value
 * of length 0 removes line `i`; its comment stays. */
size_t config_edit_set(struct slice text, const char *key, uint32_t i, struct slice value,
                       char *out, size_t size);

/* Makes a comment of a line, counted from 1. */
size_t config_edit_comment(struct slice text, uint32_t line, char *out, size_t size);

/* True when the first line is CONFIG_EDIT_MARK. */
bool config_edit_is_marked(struct slice text);
/* Puts the mark in front, unless it is there. */
size_t config_edit_mark(struct slice text, char *out, size_t size);

#endif
