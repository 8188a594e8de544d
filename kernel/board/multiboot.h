/* What a Multiboot loader hands over (version 1: specification 0.6.96, section 3.3; version 2: see
 * multiboot2.h), as pure functions on bytes. Only boot.c knows where these lie in memory. */
#ifndef KERNEL_BOARD_MULTIBOOT_H
#define KERNEL_BOARD_MULTIBOOT_H

#include "kernel/lib/bytes.h"

#define MULTIBOOT_RANGES  24
#define MULTIBOOT_MODULES 8
#define MULTIBOOT_FRAME   30 /* bytes that multiboot_frame reads */

/* Memory from base up to, but not including, end. */
struct multiboot_range {
	uint32_t base, end;
};

struct multiboot_map {
	struct multiboot_range range[MULTIBOOT_RANGES]; /* ascending, disjoint, not empty */
	uint32_t n;
};

/* Where the bits of a colour are in a pixel: `size` bits from bit `position` on. */
struct multiboot_colour {
	uint8_t position, size;
};

/* A frame buffer of RGB pixels. A pixel is a number of `bits` bits in whole bytes, the lowest byte
 * first. */
struct multiboot_frame {
	uint64_t address;
	uint32_t pitch; /* bytes from one line to the next */
	uint32_t width, height;
	uint8_t bits; /* 15, 16, 24 or 32; 0: there is no frame buffer */
	struct multiboot_colour red, green, blue;
};

/* A file that the loader put into memory, up to but not including `end`. */
struct multiboot_module {
	uint32_t start, end;
	const char *string;
};

/* What a loader of either version hands over. The pointers lead into the loader's memory. */
struct multiboot_info {
	const char *loader, *cmdline; /* "" when missing */
	struct multiboot_module module[MULTIBOOT_MODULES];
	uint32_t n_modules;
	bool more_modules;  /* there were more than MULTIBOOT_MODULES */
	const uint8_t *map; /* for multiboot_map; NULL: none */
	size_t map_len;
	uint32_t map_entry;
	uint32_t mem_upper; /* KB from 1 MiB on, for loaders without a map */
	struct multiboot_frame frame;
	const uint8_t *rsdp; /* copy of the ACPI root pointer; NULL: none */
	size_t rsdp_len;
};

/* Sets *map to the usable memory between `low` and `high`, according to the Multiboot
 * memory map in `len` bytes at `entries`: available entries without the parts that another
 * entry claims, merged, and only whole pages. Ranges that do not fit into *map are left
 * out. `entry` is the length of each entry; 0: a length precedes each one (Multiboot 1). */
void multiboot_map(struct multiboot_map *map, const uint8_t *entries, size_t len, uint32_t entry,
                   uint32_t low, uint32_t high);

/* True when an available entry of such a map has a byte of the range from base to end. */
bool multiboot_is_memory(const uint8_t *entries, size_t len, uint32_t entry, uint64_t base,
                         uint64_t end);

/* Adds the part below 4 GB of the range from base to end, and merges it with its neighbours.
 * The range is narrowed to whole pages. */
void multiboot_add(struct multiboot_map *map, uint64_t base, uint64_t end);
/* Removes the range from base to end, which may lie above 4 GB. The range is widened to whole
 * pages, so that no unusable memory remains. */
void multiboot_cut(struct multiboot_map *map, uint64_t base, uint64_t end);

/* Reads MULTIBOOT_FRAME bytes that describe a frame buffer: from framebuffer_addr on in version 1
 * (section 3.3), from the same field of the tag in version 2. GRUB aligns the colours of version 1
 * to 4 bytes, unlike the text of its specification. Sets f->bits to 0 unless it is an RGB frame
 * buffer whose fields are possible. */
void multiboot_frame(struct multiboot_frame *f, const uint8_t *p);

/* Copies the command line `line` to out, without the first word, which every loader except
 * GRUB 2 adds. `loader` is the loader's name. False when the line did not fit and was cut. */
bool multiboot_cmdline(char *out, size_t size, const char *loader, const char *line);

/* Copies the last path component of the first word of a module's string to out, or
 * "gateway.conf" when there is none. A long name is cut. */
void multiboot_module(char *out, size_t size, const char *string);

#endif
