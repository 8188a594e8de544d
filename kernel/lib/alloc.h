/* Memory that is given out once, at start, and never taken back. Everything
 * the gateway will ever use is allocated before the first packet moves.
 *
 * The machine adds the free regions of the boot loader's memory map; tests add
 * arenas of their own. */
#ifndef KERNEL_LIB_ALLOC_H
#define KERNEL_LIB_ALLOC_H

#include "kernel/lib/bytes.h"

#define ALLOC_REGIONS 32

/* Forgets all regions (tests; the machine calls it once). */
void alloc_reset(void);

/* Adds a region of writable memory that nobody else uses. A region beyond
 * ALLOC_REGIONS is ignored. */
void alloc_add(void *base, size_t size);

/* `size` bytes of zeroed memory aligned to `align` (a power of two), for ever;
 * NULL when no region has room. Memory is contiguous for devices as well. */
void *alloc(size_t size, size_t align) MUST_USE;

/* The same without zeroing, for large tables that are filled anyway. */
void *alloc_raw(size_t size, size_t align) MUST_USE;

/* For a start that fails and is tried again: takes back all that was given out
 * since alloc_mark. Marks do not nest. */
void alloc_mark(void);
void alloc_release(void);

/* Bytes not yet given out, over all regions, and in the largest one. */
size_t alloc_left(void);
size_t alloc_largest(void);

#endif
