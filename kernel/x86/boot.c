/* See boot.h. Multiboot specification 0.6.96, section 3.3.
 *
 * Memory below 1 MiB is left to the firmware: SMM code, USB keyboard emulation and resident
 * network boot code have all been seen to write there. The modules that the loader placed
 * above are excluded from alloc() until their text has been copied.
 *
 * Left out on purpose: ELF sections, drives, APM, VBE; Multiboot 2. */
#include "kernel/x86/boot.h"

#include "kernel/lib/alloc.h"
#include "kernel/x86/image.h"
#include "kernel/x86/mem.h"
#include "kernel/board/multiboot.h"
#include "kernel/seam/panic.h"

#define MAGIC 0x2badb002u
#define LOW   0x100000u

enum { FLAG_MEMORY = 1, FLAG_CMDLINE = 1 << 2, FLAG_MODULES = 1 << 3 };
enum { FLAG_MAP = 1 << 6, FLAG_LOADER = 1 << 9 };

struct info {
	uint32_t flags, mem_lower, mem_upper, boot_device, cmdline;
	uint32_t n_modules, modules, syms[4], map_length, map, drives_length, drives;
	uint32_t config_table, loader;
};
_Static_assert(offsetof(struct info, loader) == 64, "section 3.3");

struct module {
	uint32_t start, end, string, reserved;
};

static struct boot_info boot;
static struct multiboot_map ram;

static const char *text_at(uint32_t address, bool there)
{
	return there && address != 0 ? (const char *)(uintptr_t)address : "";
}

static void find_memory(const struct info *info)
{
	if (info->flags & FLAG_MAP)
		multiboot_map(&ram, (const uint8_t *)(uintptr_t)info->map, info->map_length, LOW,
		              MEM_WINDOW);
	else if (info->flags & FLAG_MEMORY)
		multiboot_add(&ram, LOW,
		              min_u32(info->mem_upper, (MEM_WINDOW - LOW) / 1024) * 1024ull + LOW);
	mem_ram(&ram);
	multiboot_cut(&ram, LOW, (uintptr_t)image_end);
}

/* Adds all ranges of a map to alloc(). */
static void add_to_alloc(const struct multiboot_map *map)
{
	for (uint32_t i = 0; i < map->n; i++)
		alloc_add((void *)(uintptr_t)map->range[i].base,
		          map->range[i].end - map->range[i].base);
}

/* Copies a module's text. Gives the bytes that it took of `room`. */
static uint32_t copy_module(const struct module *m, uint32_t room)
{
	struct boot_module *to = &boot.module[boot.n_modules++];
	uint32_t len = m->end > m->start ? m->end - m->start : 0;
	if (len > room) {
		len = room;
		boot.overflow = true;
	}
	multiboot_module(to->name, sizeof to->name, text_at(m->string, true));
	char *text = alloc(len, 1);
	if (!text) {
		len = 0;
		boot.overflow = true;
	} else {
		memcpy(text, (const void *)(uintptr_t)m->start, len);
	}
	to->text = text ? text : "";
	to->len = len;
	return len;
}

static void copy_modules(const struct info *info)
{
	const struct module *m = (const struct module *)(uintptr_t)info->modules;
	uint32_t room = BOOT_TEXT;
	for (uint32_t i = 0; i < info->n_modules; i++) {
		if (boot.n_modules == BOOT_MODULES) {
			boot.overflow = true;
			return;
		}
		room -= copy_module(&m[i], room);
	}
}

/* Removes the loader's data above LOW from the free memory `free`. */
static void cut_loader(struct multiboot_map *free, const struct info *info)
{
	const struct module *m = (const struct module *)(uintptr_t)info->modules;
	multiboot_cut(free, (uintptr_t)info, (uintptr_t)info + sizeof *info);
	if (info->flags & FLAG_MAP)
		multiboot_cut(free, info->map, (uint64_t)info->map + info->map_length);
	const char *line = text_at(info->cmdline, info->flags & FLAG_CMDLINE);
	multiboot_cut(free, (uintptr_t)line, (uintptr_t)line + strlen(line) + 1);
	if (!(info->flags & FLAG_MODULES))
		return;
	multiboot_cut(free, info->modules, info->modules + (uint64_t)info->n_modules * sizeof *m);
	for (uint32_t i = 0; i < info->n_modules; i++) {
		const char *string = text_at(m[i].string, true);
		multiboot_cut(free, m[i].start, m[i].end);
		multiboot_cut(free, (uintptr_t)string, (uintptr_t)string + strlen(string) + 1);
	}
}

const struct boot_info *boot_init(uint32_t magic, uint32_t mbi)
{
	if (magic != MAGIC)
		panic("the loader is not Multiboot 1: magic %08x", magic);
	const struct info *info = (const struct info *)(uintptr_t)mbi;
	const char *loader = text_at(info->loader, info->flags & FLAG_LOADER);
	size_t n = strnlen(loader, sizeof boot.loader - 1);
	memcpy(boot.loader, loader, n);
	if (!multiboot_cmdline(boot.cmdline, sizeof boot.cmdline, loader,
	                       text_at(info->cmdline, info->flags & FLAG_CMDLINE)))
		boot.overflow = true;

	find_memory(info);
	alloc_reset();
	struct multiboot_map free = ram;
	cut_loader(&free, info);
	add_to_alloc(&free);
	if (info->flags & FLAG_MODULES)
		copy_modules(info);
	/* The loader's memory is free after the copy. */
	for (uint32_t i = 0; i < free.n; i++)
		multiboot_cut(&ram, free.range[i].base, free.range[i].end);
	add_to_alloc(&ram);
	if (alloc_left() == 0)
		panic("no memory: the loader's map names none above 1 MiB");
	return &boot;
}
