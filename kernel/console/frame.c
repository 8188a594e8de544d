/* See frame.h. */
#include "kernel/console/frame.h"

#include "kernel/console/font.h"

#define TEXT_WIDTH  (SCREEN_COLUMNS * FONT_COLUMNS)
#define TEXT_HEIGHT (SCREEN_ROWS * FONT_ROWS)
#define CELL_BYTES  (FONT_COLUMNS * FRAME_SCALE * 4)
#define BLANK       0x0720 /* light grey on black */

/* The rows of a cell that the cursor covers. */
enum { CURSOR_FIRST = 13, CURSOR_LAST = 14 };

/* The colours of a VGA attribute as 0xRRGGBB (IBM VGA, default palette). */
static const uint32_t palette[16] = {
        0x000000, 0x0000aa, 0x00aa00, 0x00aaaa, 0xaa0000, 0xaa00aa, 0xaa5500, 0xaaaaaa,
        0x555555, 0x5555ff, 0x55ff55, 0x55ffff, 0xff5555, 0xff55ff, 0xffff55, 0xffffff,
};

uint32_t frame_lines(const struct multiboot_frame *m, size_t room)
{
	if (m->bits == 0 || m->width < TEXT_WIDTH)
		return 0;
	uint32_t lines = min_u32(m->height, (uint32_t)(room / m->pitch));
	return lines < TEXT_HEIGHT ? 0 : lines;
}

/* Gives the bits of a pixel for a component of 8 bits. */
static uint32_t component(struct multiboot_colour c, uint32_t value)
{
	return (value & 0xff) >> (8 - c.size) << c.position;
}

/* Copies `n` bytes, a multiple of 4, to the frame buffer. */
static void store(const struct frame *f, volatile uint8_t *to, const uint32_t *from, uint32_t n)
{
	const uint8_t *bytes = (const uint8_t *)from;
	if (f->words)
		for (uint32_t i = 0; i < n / 4; i++)
			((volatile uint32_t *)(volatile void *)to)[i] = from[i];
	else
		for (uint32_t i = 0; i < n; i++)
			to[i] = bytes[i];
}

static void blacken(const struct frame *f, volatile uint8_t *to, uint32_t n)
{
	uint32_t i = 0;
	for (; f->words && i + 4 <= n; i += 4)
		*(volatile uint32_t *)(volatile void *)(to + i) = 0;
	for (; i < n; i++)
		to[i] = 0;
}

void frame_init(struct frame *f, const struct multiboot_frame *m, volatile void *pixels,
                uint32_t lines)
{
	volatile uint8_t *p = pixels;
	f->pitch = m->pitch;
	f->bytes = (uint8_t)((m->bits + 7) / 8);
	f->words = (m->pitch | (uintptr_t)p) % 4 == 0;
	f->scale = min_u32(min_u32(m->width / TEXT_WIDTH, lines / TEXT_HEIGHT), FRAME_SCALE);
	for (uint32_t i = 0; i < 16; i++)
		f->colour[i] = component(m->red, palette[i] >> 16) |
		               component(m->green, palette[i] >> 8) |
		               component(m->blue, palette[i]);
	for (uint32_t y = 0; y < lines; y++)
		blacken(f, p + y * m->pitch, m->width * f->bytes);
	for (uint32_t i = 0; i < FRAME_CELLS; i++)
		f->shown[i] = BLANK;
	f->cursor = FRAME_CELLS;
	/* Four pixels are whole words at each pixel size. */
	uint32_t left = (m->width - TEXT_WIDTH * f->scale) / 2 & ~3u;
	uint32_t top = (lines - TEXT_HEIGHT * f->scale) / 2;
	f->pixels = p + top * f->pitch + left * f->bytes;
}

/* Puts the pixels of a row of a character into `line`. */
static void make_line(const struct frame *f, uint8_t *line, uint8_t bits, uint32_t on, uint32_t off)
{
	for (uint32_t x = 0; x < FONT_COLUMNS; x++) {
		uint32_t pixel = bits >> (FONT_COLUMNS - 1 - x) & 1 ? on : off;
		for (uint32_t i = 0; i < f->scale; i++)
			for (uint32_t b = 0; b < f->bytes; b++)
				*line++ = (uint8_t)(pixel >> 8 * b);
	}
}

/* Draws the cell number `at`. Bit 7 of its attribute (blinking, on a VGA) is ignored. */
static void draw(struct frame *f, uint32_t at, uint16_t cell)
{
	uint32_t line[CELL_BYTES / 4];
	uint32_t n = FONT_COLUMNS * f->scale * f->bytes;
	uint32_t on = f->colour[cell >> 8 & 15], off = f->colour[cell >> 12 & 7];
	volatile uint8_t *to = f->pixels + at % SCREEN_COLUMNS * n +
	                       at / SCREEN_COLUMNS * FONT_ROWS * f->scale * f->pitch;
	f->shown[at] = cell;
	for (uint32_t y = 0; y < FONT_ROWS; y++) {
		bool cursor = at == f->cursor && y >= CURSOR_FIRST && y <= CURSOR_LAST;
		make_line(f, (uint8_t *)line, cursor ? 0xff : font[cell & 0xff][y], on, off);
		for (uint32_t i = 0; i < f->scale; i++, to += f->pitch)
			store(f, to, line, n);
	}
}

bool frame_row(struct frame *f, uint32_t row, const uint16_t cell[SCREEN_COLUMNS])
{
	uint32_t first = row * SCREEN_COLUMNS;
	uint32_t room = max_u32(FRAME_PIXELS / (FONT_COLUMNS * FONT_ROWS * f->scale * f->scale), 1);
	for (uint32_t i = 0; i < SCREEN_COLUMNS; i++) {
		if (f->shown[first + i] == cell[i])
			continue;
		if (room-- == 0)
			return false;
		draw(f, first + i, cell[i]);
	}
	return true;
}

void frame_cursor(struct frame *f, uint32_t cell)
{
	uint32_t old = f->cursor;
	if (cell == old)
		return;
	f->cursor = min_u32(cell, FRAME_CELLS);
	if (old < FRAME_CELLS)
		draw(f, old, f->shown[old]);
	if (f->cursor < FRAME_CELLS)
		draw(f, f->cursor, f->shown[f->cursor]);
}
