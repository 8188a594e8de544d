/* Pieces of text that end where their length says, and the words in them. */
#ifndef KERNEL_CONFIG_CONFIG_WORD_H
#define KERNEL_CONFIG_CONFIG_WORD_H

#include "kernel/lib/bytes.h"

/* `len` characters at `at`, not NUL-terminated. The memory is somebody else's. */
struct slice {
	const char *at;
	size_t len;
};

/* Takes the next word off the front of *text. Spaces and tabs separate words. The
 * word has length 0 when *text holds no more. */
struct slice config_word(struct slice *text);

/* True when a comment begins at a place of a text: '#' or "//", but "://" is part of a URL. */
bool config_word_comments(struct slice text, size_t at);

/* True when a slice and a NUL-terminated text are equal. */
bool config_word_is(struct slice a, const char *b);

/* Keeps the name that is most like `text` of all names that it is called with. A name
 * counts when at most a third of the characters of `text` differ. *best is NULL before
 * the first call, and stays so where no name is near; *distance is the number of changed
 * characters between `text` and *best. */
void config_word_nearer(struct slice text, const char *name, const char **best, uint32_t *distance);

#endif
