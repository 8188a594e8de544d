/* The texts and the memory map of a Multiboot 1 loader (specification 0.6.96, section 3.3),
 * as pure functions on bytes. Only boot.c knows where these lie in memory. */
#ifndef KERNEL_BOARD_MULTIBOOT_H
#define KERNEL_BOARD_MULTIBOOT_H

#include "kernel/lib/bytes.h"

#define MULTIBOOT_RANGES 24

/* Memory from base up to, but not including, end. */
struct multiboot_range {
	uint32_t base, end;
};

struct multiboot_map {
	struct multiboot_range range[MULTIBOOT_RANGES]; /* ascending, disjoint, not empty */
	uint32_t n;
};

/* Sets *map to the usable memory between `low` and `high`, according to the Multiboot
 * memory map in `len` bytes at `entries`: available entries without the parts that another
 * entry claims, merged, and only whole pages. Ranges that do not fit into *map are left
 * out. */
void multiboot_map(struct multiboot_map *map, const uint8_t *entries, size_t len, uint32_t low,
                   uint32_t high);

/* Adds the part below 4 GB of the range from base to end, and merges it with its neighbours.
 * The range is narrowed to whole pages. */
void multiboot_add(struct multiboot_map *map, uint64_t base, uint64_t end);
/* Removes the range from base to end, which may lie above 4 GB. The range is widened to whole
 * pages, so that no unusable memory remains. */
void multiboot_cut(struct multiboot_map *map, uint64_t base, uint64_t end);

/* Copies the command line `line` to out, without the first word, which every loader except
 * GRUB 2 adds. `loader` is the loader's name. False when the line did not fit and was cut. */
bool multiboot_cmdline(char *out, size_t size, const char *loader, const char *line);

/* Copies the last path component of the first word of a module's string to out, or
 * "gateway.conf" when there is none. A long name is cut. */
void multiboot_module(char *out, size_t size, const char *string);

#endif
