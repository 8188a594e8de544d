/* The boot loader's information: command line, modules, memory (Multiboot 0.6.96). */
#ifndef KERNEL_X86_BOOT_H
#define KERNEL_X86_BOOT_H

#include "kernel/lib/bytes.h"

#define BOOT_MODULES 8
#define BOOT_TEXT    65536 /* most bytes of all modules together */

struct boot_module {
	char name[48];    /* last path component of the module's first word, or "gateway.conf" */
	const char *text; /* not NUL-terminated */
	size_t len;
};

struct boot_info {
	char cmdline[2048]; /* without the first word that the loader adds */
	char loader[48];
	struct boot_module module[BOOT_MODULES];
	uint32_t n_modules;
	bool overflow; /* a module or the command line was too long and was cut */
};

/* Copies everything out of the loader's memory and adds the free memory to alloc(). Must be
 * called first, and only once. `magic` and `mbi` are EAX and EBX at the entry point. The
 * result is valid for ever. Panics when the loader is not Multiboot 1. */
const struct boot_info *boot_init(uint32_t magic, uint32_t mbi);

#endif
