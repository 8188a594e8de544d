/* See vga.h. Registers: IBM VGA (PS/2 Hardware Interface Technical Reference), CRT
 * controller at 0x3d4, colour text mode 3 as the firmware left it. A frame buffer is drawn on by
 * frame.c.
 *
 * Left out on purpose: setting the mode, the VGA's fonts, monochrome adapters.
 * Scrolling by the start address, because other programs read the screen at its fixed
 * address. */
#include "kernel/console/vga.h"

#include "kernel/seam/io.h"
#include "kernel/console/frame.h"
#include "kernel/console/screen.h"
#include "kernel/x86/boot.h"
#include "kernel/x86/mem.h"

#define NORMAL     0x07      /* light grey on black */
#define FRAME_ROOM 0x4000000 /* bytes of a frame buffer that are mapped; 7680x2184x32 */

enum { CRTC_INDEX = 0x3d4, CRTC_DATA = 0x3d5, CURSOR_HIGH = 0x0e, CURSOR_LOW = 0x0f };

static struct screen screen;
static const struct grid *grid; /* shown in place of the text; or NULL */
static uint32_t grid_dirty;     /* one bit for each row that is to be copied */
static bool present;
static bool framed; /* the screen is a frame buffer */
static struct frame frame;

_Static_assert(GRID_ROWS == SCREEN_ROWS && GRID_COLUMNS == SCREEN_COLUMNS, "the same cells");

static volatile uint32_t *row_at(uint32_t r)
{
	return (volatile uint32_t *)(uintptr_t)(0xb8000u + r * SCREEN_COLUMNS * 2);
}

/* Takes over the frame buffer that the boot loader found. False when there is none. */
static bool find_frame(void)
{
	const struct multiboot_frame *m = &boot_get()->frame;
	uint32_t lines = frame_lines(m, FRAME_ROOM);
	volatile void *p = lines ? mem_map_frame(m->address, lines * m->pitch) : NULL;
	if (p)
		frame_init(&frame, m, p, lines);
	return p != NULL;
}

static bool find_text_mode(void)
{
	volatile uint32_t *p = row_at(0);
	*p = 0x075a0741;
	return *p == 0x075a0741; /* an unused address reads as all ones */
}

void vga_init(void)
{
	framed = find_frame();
	present = framed || find_text_mode();
	screen_init(&screen, NORMAL);
}

void vga_put(uint8_t byte)
{
	screen_put(&screen, byte);
}

/* Behind the last row the cursor is not seen. */
static void show_cursor(void)
{
	uint32_t at = screen.row * SCREEN_COLUMNS + min_u32(screen.column, SCREEN_COLUMNS - 1);
	if (grid)
		at = (grid->cursor ? grid->row : SCREEN_ROWS) * SCREEN_COLUMNS + grid->column;
	if (framed) {
		frame_cursor(&frame, at);
		return;
	}
	io_out8(CRTC_INDEX, CURSOR_HIGH);
	io_out8(CRTC_DATA, (uint8_t)(at >> 8));
	io_out8(CRTC_INDEX, CURSOR_LOW);
	io_out8(CRTC_DATA, (uint8_t)at);
}

/* Shows a row, or a part of it. True when the whole row is shown. */
static bool show_row(uint32_t r, const uint16_t cell[SCREEN_COLUMNS])
{
	if (framed)
		return frame_row(&frame, r, cell);
	volatile uint32_t *to = row_at(r);
	for (uint32_t i = 0; i < SCREEN_COLUMNS / 2; i++)
		to[i] = cell[2 * i] | (uint32_t)cell[2 * i + 1] << 16;
	return true;
}

static void show_next(void)
{
	uint32_t *dirty = grid ? &grid_dirty : &screen.dirty;
	if (*dirty) {
		uint32_t r = (uint32_t)__builtin_ctz(*dirty);
		if (show_row(r, grid ? grid->cell[r] : screen.cell[r]))
			*dirty &= *dirty - 1;
	} else if (screen.moved) {
		screen.moved = false;
		show_cursor();
	}
}

void vga_show(const struct grid *g)
{
	if (!g && !grid)
		return;
	grid = g;
	grid_dirty = (1u << SCREEN_ROWS) - 1;
	if (!g)
		screen.dirty = grid_dirty;
	screen.moved = true;
}

bool vga_poll(void)
{
	if (present)
		show_next();
	return vga_pending();
}

bool vga_pending(void)
{
	return present && ((grid ? grid_dirty : screen.dirty) || screen.moved);
}

void vga_flush(void)
{
	vga_show(NULL);
	while (screen.dirty || screen.moved)
		show_next();
}

void vga_colour(uint8_t attribute)
{
	screen.attribute = attribute;
}
