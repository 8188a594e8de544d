/* Text on a frame buffer: the cells of a screen (screen.h), drawn with an own font in any RGB mode
 * of at least 640x400 pixels. Pure; works on any memory.
 *
 * A store to a frame buffer may cost 100 ns, and a load a microsecond. So only cells that changed
 * are drawn, a few in each call, and nothing is read back. */
#ifndef KERNEL_CONSOLE_FRAME_H
#define KERNEL_CONSOLE_FRAME_H

#include "kernel/board/multiboot.h"
#include "kernel/console/screen.h"

#define FRAME_SCALE  3u    /* a pixel of the font is at most this many pixels wide and high */
#define FRAME_PIXELS 2048u /* drawn in a call, or one cell */
#define FRAME_CELLS  (SCREEN_ROWS * SCREEN_COLUMNS)

struct frame {
	volatile uint8_t *pixels; /* of the first cell */
	uint32_t pitch, scale;
	uint8_t bytes; /* of a pixel */
	bool words;    /* all lines are 4-byte aligned */
	uint32_t colour[16];
	uint32_t cursor; /* the cell with the cursor; FRAME_CELLS: none */
	uint16_t shown[FRAME_CELLS];
};

/* Gives the number of the frame buffer's lines that frame_init needs at `pixels`: as many as fit
 * into `room` bytes. 0 when it is too small for the text. */
uint32_t frame_lines(const struct multiboot_frame *m, size_t room);

/* Makes the first `lines` lines black, and places the text in their middle, as large as it fits.
 * `pixels` is where the frame buffer *m is mapped; frame_lines gave `lines`, which is not 0. */
void frame_init(struct frame *f, const struct multiboot_frame *m, volatile void *pixels,
                uint32_t lines);

/* Draws the cells of row `row` that changed, up to a limit. True when the whole row is shown. */
bool frame_row(struct frame *f, uint32_t row, const uint16_t cell[SCREEN_COLUMNS]);

/* Moves the cursor to a cell, which is counted from the top left; FRAME_CELLS or more: hides it. */
void frame_cursor(struct frame *f, uint32_t cell);

#endif
