/* The readable part of what a Multiboot 1 loader leaves (specification 0.6.96,
 * section 3.3): texts and the memory map, as pure functions on bytes. Where
 * they lie in memory is known to boot.c alone. */
#ifndef KERNEL_X86_MULTIBOOT_H
#define KERNEL_X86_MULTIBOOT_H

#include "kernel/lib/bytes.h"

#define MULTIBOOT_RANGES 24

/* Memory from base up to, not including, end. */
struct multiboot_range {
	uint32_t base, end;
};

struct multiboot_map {
	struct multiboot_range range[MULTIBOOT_RANGES]; /* ascending, apart, not empty */
	uint32_t n;
};

/* The usable memory between `low` and `high` that the map in `len` bytes at
 * `entries` names: available entries without what any other entry claims,
 * merged, whole pages only. Ranges that find no room are left out. */
void multiboot_map(struct multiboot_map *map, const uint8_t *entries, size_t len, uint32_t low,
                   uint32_t high);

/* Adds a range (merging with its neighbours); takes one out. Both are widened
 * or narrowed to whole pages so that nothing unusable gets in. */
void multiboot_add(struct multiboot_map *map, uint64_t base, uint64_t end);
void multiboot_cut(struct multiboot_map *map, uint64_t base, uint64_t end);

/* The command line without the loader's own first word, which all loaders but
 * GRUB 2 put there. False when it did not fit and was cut. */
bool multiboot_cmdline(char *out, size_t size, const char *loader, const char *line);

/* The last path component of a module string's first word, or "gateway.conf"
 * when there is none; a long one is cut. */
void multiboot_module(char *out, size_t size, const char *string);

#endif
