/* The screen, 80x25 characters: the frame buffer that the boot loader found, else the VGA's text
 * mode at 0xb8000.
 *
 * Text goes into a copy in ordinary memory (screen.h). From there it goes to the display
 * row by row, so that a scrolling screen costs little and never delays the caller. */
#ifndef KERNEL_CONSOLE_VGA_H
#define KERNEL_CONSOLE_VGA_H

#include "kernel/ui/grid.h"

/* Finds out whether there is a screen, and clears it. */
void vga_init(void);

/* Writes a byte into the copy, as screen_put does. */
void vga_put(uint8_t byte);

/* Shows a grid in place of the copy; the copy still takes text. NULL: shows the copy again. To be
 * called again whenever the grid has changed. The caller keeps the grid. */
void vga_show(const struct grid *g);

/* Copies one changed row or a part of it to the display, or moves the cursor. True when more is
 * waiting. */
bool vga_poll(void);
/* True when rows or the cursor wait to be copied. */
bool vga_pending(void);

/* Copies all text at once, also when no screen was found (yet) or a grid is shown. */
void vga_flush(void);

/* Sets the colour of the next characters: a VGA attribute byte. */
void vga_colour(uint8_t attribute);

#endif
