/* A text screen in memory: what a terminal of 80x25 characters would show.
 * Pure; vga.c copies it to where people can see it. */
#ifndef KERNEL_CONSOLE_SCREEN_H
#define KERNEL_CONSOLE_SCREEN_H

#include "kernel/lib/bytes.h"

#define SCREEN_COLUMNS 80u
#define SCREEN_ROWS    25u
#define SCREEN_PARAMS  2u

/* The cursor's column is SCREEN_COLUMNS behind the last character of a full
 * line: the line is broken when the next character comes. */
struct screen {
	uint16_t cell[SCREEN_ROWS][SCREEN_COLUMNS]; /* character, and attribute on top */
	uint32_t dirty;                             /* bit per row that changed */
	bool moved;                                 /* the cursor may have */
	uint32_t row, column;
	uint8_t attribute; /* of what is written next */
	uint8_t state;     /* of a control sequence */
	uint32_t param[SCREEN_PARAMS];
	uint32_t n_param;
};

/* Blank, cursor at the top. */
void screen_init(struct screen *s, uint8_t attribute);

/* Takes a byte: text, CR, LF (also returns), BS, TAB, and of the control
 * sequences of ECMA-48: CUP (H), CUU, CUD, CUF, CUB (A to D), ED (J), EL (K);
 * others are passed over. */
void screen_put(struct screen *s, uint8_t byte);

#endif
