/* Names of the image's functions, for the trail of a panic.
 *
 * tools/symtab writes the table from the first link: the count, the start
 * addresses in ascending order, then as many NUL-terminated names in the same
 * order. The first link itself has none. */
#ifndef KERNEL_X86_SYMBOLS_H
#define KERNEL_X86_SYMBOLS_H

#include "kernel/lib/bytes.h"

struct symbols {
	uint32_t n;
	uint32_t start[]; /* and the names behind it */
};

/* The function that holds `at`: its name, *offset from its start; NULL when
 * there is no table or `at` lies before the first function. */
const char *symbols_find(const struct symbols *table, uint32_t at, uint32_t *offset);

/* The same, in the image's own table and text; NULL for other addresses. */
const char *symbols_name(uint32_t at, uint32_t *offset);

#endif
