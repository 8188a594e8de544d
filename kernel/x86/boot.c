/* See boot.h. Multiboot 1: specification 0.6.96, section 3.3; 2: kernel/board/multiboot2.h.
 *
 * Memory below 1 MiB is left to the firmware: SMM code, USB keyboard emulation and resident
 * network boot code have all been seen to write there. The modules that the loader placed
 * above are excluded from alloc() until their text has been copied.
 *
 * Left out on purpose: ELF sections, drives, APM, VBE. */
#include "kernel/x86/boot.h"

#include "kernel/board/acpi_tables.h"
#include "kernel/board/multiboot2.h"
#include "kernel/lib/alloc.h"
#include "kernel/x86/image.h"
#include "kernel/x86/mem.h"
#include "kernel/seam/panic.h"

#define MAGIC     0x2badb002u
#define MAGIC2    0x36d76289u
#define LOW       0x100000u
#define BLOCK_MAX 0x100000u /* bytes of Multiboot 2 information that are read */

enum { FLAG_MEMORY = 1, FLAG_CMDLINE = 1 << 2, FLAG_MODULES = 1 << 3 };
enum { FLAG_MAP = 1 << 6, FLAG_LOADER = 1 << 9, FLAG_FRAME = 1 << 12 };

/* What Multiboot 1 hands over. */
struct given {
	uint32_t flags, mem_lower, mem_upper, boot_device, cmdline;
	uint32_t n_modules, modules, syms[4], map_length, map, drives_length, drives;
	uint32_t config_table, loader, apm, vbe[4];
	uint8_t frame[MULTIBOOT_FRAME];
};
_Static_assert(offsetof(struct given, loader) == 64, "section 3.3");
_Static_assert(offsetof(struct given, frame) == 88, "section 3.3");

struct given_module {
	uint32_t start, end, string, reserved;
};

static struct boot_info boot;
static struct multiboot_info info;
static struct multiboot_map ram;

static const uint8_t *at(uint32_t address)
{
	return (const uint8_t *)(uintptr_t)address;
}

static const char *text_at(uint32_t address, bool there)
{
	return there && address != 0 ? (const char *)at(address) : "";
}

static void read_given(const struct given *g)
{
	info.loader = text_at(g->loader, g->flags & FLAG_LOADER);
	info.cmdline = text_at(g->cmdline, g->flags & FLAG_CMDLINE);
	const struct given_module *m = (const struct given_module *)(uintptr_t)g->modules;
	uint32_t n = g->flags & FLAG_MODULES ? g->n_modules : 0;
	info.n_modules = min_u32(n, MULTIBOOT_MODULES);
	info.more_modules = n > MULTIBOOT_MODULES;
	for (uint32_t i = 0; i < info.n_modules; i++)
		info.module[i] =
		        (struct multiboot_module){m[i].start, m[i].end, text_at(m[i].string, true)};
	if (g->flags & FLAG_MAP) {
		info.map = at(g->map);
		info.map_len = g->map_length;
	}
	if (g->flags & FLAG_MEMORY)
		info.mem_upper = g->mem_upper;
	if (g->flags & FLAG_FRAME)
		multiboot_frame(&info.frame, g->frame);
}

static void find_memory(void)
{
	if (info.map)
		multiboot_map(&ram, info.map, info.map_len, info.map_entry, LOW, MEM_WINDOW);
	else
		multiboot_add(&ram, LOW,
		              min_u32(info.mem_upper, (MEM_WINDOW - LOW) / 1024) * 1024ull + LOW);
	mem_ram(&ram);
	multiboot_cut(&ram, LOW, (uintptr_t)image_end);
}

/* Takes over the frame buffer, unless it lies in memory that the map calls available. */
static void find_frame(void)
{
	const struct multiboot_frame *f = &info.frame;
	uint64_t end = f->address + (uint64_t)f->pitch * f->height;
	if (f->bits &&
	    !multiboot_is_memory(info.map, info.map_len, info.map_entry, f->address, end))
		boot.frame = *f;
}

/* Adds all ranges of a map to alloc(). */
static void add_to_alloc(const struct multiboot_map *map)
{
	for (uint32_t i = 0; i < map->n; i++)
		alloc_add((void *)(uintptr_t)map->range[i].base,
		          map->range[i].end - map->range[i].base);
}

/* Copies a module's text. Gives the bytes that it took of `room`. */
static uint32_t copy_module(const struct multiboot_module *m, uint32_t room)
{
	struct boot_module *to = &boot.module[boot.n_modules++];
	uint32_t len = m->end > m->start ? m->end - m->start : 0;
	if (len > room) {
		len = room;
		boot.overflow = true;
	}
	multiboot_module(to->name, sizeof to->name, m->string);
	char *text = alloc(len, 1);
	if (!text) {
		len = 0;
		boot.overflow = true;
	} else {
		memcpy(text, at(m->start), len);
	}
	to->text = text ? text : "";
	to->len = len;
	return len;
}

static void copy_modules(void)
{
	uint32_t room = BOOT_TEXT;
	for (uint32_t i = 0; i < info.n_modules; i++)
		room -= copy_module(&info.module[i], room);
	boot.overflow |= info.more_modules;
}

/* Removes the modules and their names from the free memory. All else is copied before. */
static void cut_modules(struct multiboot_map *free)
{
	for (uint32_t i = 0; i < info.n_modules; i++) {
		const struct multiboot_module *m = &info.module[i];
		multiboot_cut(free, m->start, m->end);
		multiboot_cut(free, (uintptr_t)m->string,
		              (uintptr_t)m->string + strlen(m->string) + 1);
	}
}

const struct boot_info *boot_init(uint32_t magic, uint32_t mbi)
{
	if (magic == MAGIC)
		read_given((const struct given *)(uintptr_t)mbi);
	else if (magic == MAGIC2)
		multiboot2_read(&info, at(mbi), min_u32(load32(at(mbi)), BLOCK_MAX));
	else
		panic("the loader is neither Multiboot 1 nor 2: magic %08x", magic);
	size_t n = strnlen(info.loader, sizeof boot.loader - 1);
	memcpy(boot.loader, info.loader, n);
	if (!multiboot_cmdline(boot.cmdline, sizeof boot.cmdline, info.loader, info.cmdline))
		boot.overflow = true;
	acpi_tables_root(info.rsdp, info.rsdp_len);
	find_memory();
	find_frame();
	alloc_reset();
	struct multiboot_map free = ram;
	cut_modules(&free);
	add_to_alloc(&free);
	copy_modules();
	/* The loader's memory is free after the copy. */
	for (uint32_t i = 0; i < free.n; i++)
		multiboot_cut(&ram, free.range[i].base, free.range[i].end);
	add_to_alloc(&ram);
	if (alloc_left() == 0)
		panic("no memory: the loader's map names none above 1 MiB");
	return &boot;
}

const struct boot_info *boot_get(void)
{
	return &boot;
}
