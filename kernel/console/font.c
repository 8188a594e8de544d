/* See font.h. The Makefile writes build/font.inc from font.txt by tools/font. */
#include "kernel/console/font.h"

const uint8_t font[256][FONT_ROWS] = {
#include "build/font.inc"
};
