/* The boot loader's information: command line, modules, memory, screen (Multiboot 1 and 2). */
#ifndef KERNEL_X86_BOOT_H
#define KERNEL_X86_BOOT_H

#include "kernel/board/multiboot.h"

#define BOOT_MODULES MULTIBOOT_MODULES
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
	struct multiboot_frame frame; /* .bits is 0 when there is none that can be used */
	bool overflow;                /* a module or the command line was too long and was cut */
};

/* Copies everything out of the loader's memory and adds the free memory to alloc(). Must be
 * called first, and only once. `magic` and `mbi` are EAX and EBX at the entry point. The
 * result stays valid. Panics when the loader is none of Multiboot 1 and 2. */
const struct boot_info *boot_init(uint32_t magic, uint32_t mbi);

/* Gives the result of boot_init; before it, an empty one. */
const struct boot_info *boot_get(void);

#endif
