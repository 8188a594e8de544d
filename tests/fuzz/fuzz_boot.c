/* Fuzzer: any information of a Multiboot 2 loader.
 *
 * Texts end within the block, the memory map names only memory that an entry calls available, and a
 * frame buffer that is accepted can be drawn on. */
#include "kernel/board/multiboot2.h"
#include "kernel/console/frame.h"
#include "tests/fuzz/must.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LOW  0x100000u
#define HIGH 0xf8000000u
#define ROOM 0x110000u

static void check_map(const struct multiboot_info *info)
{
	struct multiboot_map map;
	multiboot_map(&map, info->map, info->map_len, info->map_entry, LOW, HIGH);
	for (uint32_t i = 0; i < map.n; i++) {
		const struct multiboot_range *r = &map.range[i];
		MUST(r->base % 4096 == 0 && r->end % 4096 == 0 && r->base < r->end);
		MUST(r->base >= LOW && r->end <= HIGH);
		MUST(i == 0 || r->base > map.range[i - 1].end);
		MUST(multiboot_is_memory(info->map, info->map_len, info->map_entry, r->base,
		                         r->end));
	}
}

static void check_frame(const struct multiboot_frame *m)
{
	static struct frame f;
	static uint16_t cell[SCREEN_COLUMNS];
	uint32_t lines = frame_lines(m, ROOM);
	if (lines == 0)
		return;
	uint8_t *pixels = malloc(lines * m->pitch);
	MUST(pixels);
	frame_init(&f, m, pixels, lines);
	for (uint32_t row = 0; row < SCREEN_ROWS; row += SCREEN_ROWS - 1)
		while (!frame_row(&f, row, cell))
			;
	frame_cursor(&f, FRAME_CELLS - 1);
	free(pixels);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char name[48], line[64];
	struct multiboot_info info;
	/* A copy, so that the sanitizer finds a read beyond the end. */
	uint8_t *block = malloc(size ? size : 1);
	MUST(block);
	if (size)
		memcpy(block, data, size);
	multiboot2_read(&info, block, size);
	for (uint32_t i = 0; i < info.n_modules; i++) {
		multiboot_module(name, sizeof name, info.module[i].string);
		MUST(strlen(name) > 0 && strlen(name) < sizeof name);
	}
	multiboot_cmdline(line, sizeof line, info.loader, info.cmdline);
	MUST(strlen(line) < sizeof line);
	MUST(!info.rsdp || info.rsdp_len <= size);
	check_map(&info);
	check_frame(&info.frame);
	free(block);
	return 0;
}
