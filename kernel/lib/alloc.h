/* Memory that is allocated once, at the start, and never freed. The gateway allocates
 * everything it will ever use before the first packet moves.
 *
 * The machine adds the free regions of the boot loader's memory map. Tests add arenas of
 * their own. */
#ifndef KERNEL_LIB_ALLOC_H
#define KERNEL_LIB_ALLOC_H

#include "kernel/lib/bytes.h"

#define ALLOC_REGIONS 32

/* Removes all regions. For tests; the machine calls it once. */
void alloc_reset(void);

/* Adds `size` bytes of writable memory at `base` that no other code uses. Ignored when
 * there are ALLOC_REGIONS regions. */
void alloc_add(void *base, size_t size);

/* Gives `size` bytes of zeroed memory, aligned to `align` (a power of two). The caller owns
 * them for ever. NULL when no region has enough memory. The memory is physically
 * contiguous, so devices can use it. */
void *alloc(size_t size, size_t align) MUST_USE;

/* Gives memory as alloc() does, but does not zero it. For large tables that are filled
 * anyway. */
void *alloc_raw(size_t size, size_t align) MUST_USE;

/* Remembers the current state for alloc_release. Marks do not nest. For a start that may
 * fail and be repeated. */
void alloc_mark(void);
/* Frees everything that was allocated since alloc_mark. */
void alloc_release(void);

#define ALLOC_PIECES 8u
/* Gives the largest n from 0 to `want` for which alloc_raw has memory for all pieces whose sizes
 * `pieces` writes for that n, each aligned to 64 bytes. A larger n must not need smaller pieces.
 * Allocates nothing. */
uint32_t alloc_most(uint32_t want, void (*pieces)(uint32_t n, size_t size[ALLOC_PIECES]));

/* Gives the number of unallocated bytes in all regions together. */
size_t alloc_left(void);
/* Gives the number of unallocated bytes in the region that has the most. */
size_t alloc_largest(void);

#endif
