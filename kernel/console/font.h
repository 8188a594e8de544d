/* The font of the frame buffer console: code page 437. Drawn in font.txt. */
#ifndef KERNEL_CONSOLE_FONT_H
#define KERNEL_CONSOLE_FONT_H

#include "kernel/lib/bytes.h"

#define FONT_COLUMNS 8u
#define FONT_ROWS    16u

/* The rows of each character, from the top; the leftmost pixel is the highest bit. */
extern const uint8_t font[256][FONT_ROWS];

#endif
