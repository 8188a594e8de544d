/* A screen of text, and its way to a VT100. Pure.
 *
 * A cell is a character of code page 437 in the lower byte, and a VGA attribute in the upper byte:
 * one of enum grid_style. All drawing is clipped to the grid. */
#ifndef KERNEL_UI_GRID_H
#define KERNEL_UI_GRID_H

#include "kernel/lib/bytes.h"

#define GRID_COLUMNS 80u
#define GRID_ROWS    25u /* of the local screen */
#define GRID_SERIAL  24u /* a serial terminal shows the first 24 of them */

enum grid_style {
	GRID_NORMAL = 0x07,
	GRID_BOLD = 0x0f,
	GRID_REVERSE = 0x70,
};

/* Characters of code page 437 that are not ASCII. */
enum {
	GRID_VERTICAL = 0xb3,
	GRID_HORIZONTAL = 0xc4,
	GRID_TOP_LEFT = 0xda,
	GRID_TOP_RIGHT = 0xbf,
	GRID_BOTTOM_LEFT = 0xc0,
	GRID_BOTTOM_RIGHT = 0xd9,
	GRID_TEE_RIGHT = 0xc3, /* a vertical line that a line on its right meets */
	GRID_TEE_LEFT = 0xb4,
};

struct grid {
	uint16_t cell[GRID_ROWS][GRID_COLUMNS];
	uint8_t row, column; /* of the cursor */
	bool cursor;         /* the cursor is shown */
};

/* Makes all cells blank and hides the cursor. */
void grid_clear(struct grid *g);

/* Writes text at a place and gives the column behind it. The characters are those of code page 437;
 * a control character appears as '?'. */
uint32_t grid_put(struct grid *g, uint32_t row, uint32_t column, enum grid_style style,
                  const char *text);
/* As grid_put; formats the text as fmt() does, 200 characters at most. */
uint32_t grid_print(struct grid *g, uint32_t row, uint32_t column, enum grid_style style,
                    const char *format, ...) PRINTF_LIKE(5, 6);

/* Writes `n` times the character `c`. */
void grid_fill(struct grid *g, uint32_t row, uint32_t column, uint32_t n, enum grid_style style,
               uint8_t c);

/* Gives the style to `n` cells whose characters stay. */
void grid_style(struct grid *g, uint32_t row, uint32_t column, uint32_t n, enum grid_style style);

/* Draws a frame of `rows` x `columns` cells (each at least 2) with a title in its upper line, which
 * may be NULL. The inside stays as it is. */
void grid_box(struct grid *g, uint32_t row, uint32_t column, uint32_t rows, uint32_t columns,
              const char *title);

/* Writes text into `rows` lines of `columns` cells, broken at spaces, where they are; a line that
 * is longer than that is broken anywhere. Gives how many lines the whole text takes, which may be
 * more than were written. With rows = 0 it only counts. */
uint32_t grid_wrap(struct grid *g, uint32_t row, uint32_t column, uint32_t rows, uint32_t columns,
                   enum grid_style style, const char *text);

/* Shows the cursor at a place. */
void grid_cursor(struct grid *g, uint32_t row, uint32_t column);

/* What a VT100 shows. */
struct grid_vt100 {
	uint16_t cell[GRID_SERIAL][GRID_COLUMNS];
	uint8_t row, column; /* of the terminal's cursor; column 255: unknown */
	uint8_t style;       /* in force at the terminal; 0: unknown */
	bool graphics;       /* the set of line-drawing characters is in force */
	bool cursor;         /* the cursor is shown */
	bool begun;          /* the terminal was cleared */
};

#define GRID_VT100_LEAST 64u /* bytes for which grid_vt100_draw needs room, to make progress */

/* Forgets what the terminal shows. The next call of grid_vt100_draw clears it. */
void grid_vt100_init(struct grid_vt100 *v);

/* Writes control sequences and text that bring the terminal nearer to *g into `out`, `room` bytes
 * at most, and gives how many. 0 when the terminal shows *g, or room is less than GRID_VT100_LEAST.
 * Line-drawing characters use the DEC special graphics set (VT100 User Guide, table 3-9),
 * characters of Latin-1 are UTF-8, others get a similar ASCII character. */
size_t grid_vt100_draw(struct grid_vt100 *v, const struct grid *g, char *out, size_t room);

/* Writes what takes the terminal back to plain text: clears it and shows the cursor at the top
 * left. Needs GRID_VT100_LEAST bytes. Gives how many it wrote. */
size_t grid_vt100_leave(struct grid_vt100 *v, char *out);

#endif
