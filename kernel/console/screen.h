/* A text screen in memory: the contents of a terminal with 80x25 characters. Pure; vga.c
 * copies it to the display. */
#ifndef KERNEL_CONSOLE_SCREEN_H
#define KERNEL_CONSOLE_SCREEN_H

#include "kernel/lib/bytes.h"

#define SCREEN_COLUMNS 80u
#define SCREEN_ROWS    25u
#define SCREEN_PARAMS  2u

/* The column is SCREEN_COLUMNS after the last character of a full line. The line is wrapped
 * only when the next character comes. */
struct screen {
	uint16_t cell[SCREEN_ROWS][SCREEN_COLUMNS]; /* character; attribute in the upper byte */
	uint32_t dirty;                             /* one bit for each row that changed */
	bool moved;                                 /* the cursor may have moved */
	uint32_t row, column;
	uint8_t attribute; /* attribute of the next characters */
	uint8_t state;     /* state in a control sequence */
	uint32_t param[SCREEN_PARAMS];
	uint32_t n_param;
};

/* Makes the screen blank, with the cursor at the top left. `attribute` is that of all
 * cells. */
void screen_init(struct screen *s, uint8_t attribute);

/* Takes a byte: text, CR, LF (which also returns to column 0), BS, TAB, and these control
 * sequences of ECMA-48: CUP (H), CUU, CUD, CUF, CUB (A to D), ED (J), EL (K). Ignores other
 * sequences. */
void screen_put(struct screen *s, uint8_t byte);

#endif
