/* The names of the image's functions, for the backtrace of a panic.
 *
 * The image is linked twice. tools/symtab makes the table from the first result: the number
 * of functions, their start addresses in ascending order, then as many NUL-terminated names
 * in the same order. The first result itself has no table. */
#ifndef KERNEL_X86_SYMBOLS_H
#define KERNEL_X86_SYMBOLS_H

#include "kernel/lib/bytes.h"

struct symbols {
	uint32_t n;
	uint32_t start[]; /* the names follow */
};

/* Gives the name of the function that contains `at`, and in *offset the distance from its
 * start. NULL when there is no table or `at` lies before the first function. */
const char *symbols_find(const struct symbols *table, uint32_t at, uint32_t *offset);

/* Gives the same as symbols_find from the image's own table, or NULL when `at` lies outside
 * the image's text. */
const char *symbols_name(uint32_t at, uint32_t *offset);

#endif
