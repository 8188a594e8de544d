/* The VGA text screen, 80x25 at 0xb8000.
 *
 * Text goes into a copy in ordinary memory (screen.h) and from there to the
 * screen row by row, so that a scrolling screen costs little and never stalls
 * the caller. */
#ifndef KERNEL_CONSOLE_VGA_H
#define KERNEL_CONSOLE_VGA_H

#include "kernel/lib/bytes.h"

/* Finds out whether there is a screen, and clears it. */
void vga_init(void);

/* Adds a byte, as screen_put takes it. */
void vga_put(uint8_t byte);

/* Copies one changed row, or moves the cursor; true when more is waiting. */
bool vga_poll(void);
bool vga_pending(void);

/* Everything at once, also where no screen was found (yet). */
void vga_flush(void);

/* Colour of the next characters: VGA attribute byte. */
void vga_colour(uint8_t attribute);

#endif
