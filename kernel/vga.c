/* See vga.h. Registers: IBM VGA (PS/2 Hardware Interface Technical Reference),
 * CRT controller at 0x3d4, colour text mode 3 as the firmware left it.
 *
 * Out on purpose: setting the mode, fonts, monochrome adapters, frame buffers;
 * scrolling by the start address, because other programs read the screen at
 * its fixed place. */
#include "kernel/vga.h"

#include "kernel/io.h"

#define COLUMNS 80
#define ROWS    25
#define SCREEN  0xb8000u
#define NORMAL  0x07 /* light grey on black */
#define PARAMS  2

enum { CRTC_INDEX = 0x3d4, CRTC_DATA = 0x3d5, CURSOR_HIGH = 0x0e, CURSOR_LOW = 0x0f };
enum escape { TEXT, ESCAPE, SEQUENCE };

static uint16_t cell[ROWS][COLUMNS];
static uint32_t dirty; /* rows that differ from the screen */
static bool present, cursor_moved;
static uint32_t row, column;
static uint16_t colour = NORMAL << 8;
static enum escape state;
static uint32_t param[PARAMS];
static uint32_t n_param;

static volatile uint16_t *screen(uint32_t r)
{
	return (volatile uint16_t *)(uintptr_t)SCREEN + r * COLUMNS;
}

static void blank(uint32_t r, uint32_t from, uint32_t to)
{
	for (uint32_t c = from; c < to; c++)
		cell[r][c] = (uint16_t)(colour | ' ');
	dirty |= 1u << r;
}

static void clear(void)
{
	for (uint32_t r = 0; r < ROWS; r++)
		blank(r, 0, COLUMNS);
	row = column = 0;
}

void vga_init(void)
{
	volatile uint16_t *p = screen(0);
	p[0] = 0x0741;
	p[1] = 0x075a;
	present = p[0] == 0x0741 && p[1] == 0x075a; /* nothing there reads as ones */
	clear();
}

static void new_line(void)
{
	column = 0;
	if (++row < ROWS)
		return;
	row = ROWS - 1;
	memmove(cell[0], cell[1], sizeof cell - sizeof cell[0]);
	dirty = (1u << ROWS) - 1;
	blank(row, 0, COLUMNS);
}

/* A parameter of a sequence; 0 and none mean 1 (ECMA-48, 5.4.2 and 8.3). */
static uint32_t count_of(uint32_t i)
{
	return param[i] == 0 ? 1 : param[i];
}

static void sequence_end(uint8_t final)
{
	switch (final) {
	case 'A':
		row -= min_u32(row, count_of(0));
		break;
	case 'B':
		row = min_u32(row + count_of(0), ROWS - 1);
		break;
	case 'C':
		column = min_u32(column + count_of(0), COLUMNS - 1);
		break;
	case 'D':
		column -= min_u32(column, count_of(0));
		break;
	case 'H':
		row = min_u32(count_of(0), ROWS) - 1;
		column = min_u32(count_of(1), COLUMNS) - 1;
		break;
	case 'J':
		if (param[0] == 2) {
			uint32_t r = row, c = column;
			clear();
			row = r;
			column = c;
			break;
		}
		for (uint32_t r = row + 1; r < ROWS && param[0] == 0; r++)
			blank(r, 0, COLUMNS);
		/* fallthrough */
	case 'K':
		if (param[0] == 0)
			blank(row, column, COLUMNS);
		break;
	default:
		break;
	}
}

/* Takes a byte of a control sequence. */
static void sequence(uint8_t byte)
{
	if (state == ESCAPE) {
		state = byte == '[' ? SEQUENCE : TEXT;
		memset(param, 0, sizeof param);
		n_param = 0;
	} else if (byte >= '0' && byte <= '9') {
		if (n_param < PARAMS)
			param[n_param] = min_u32(param[n_param] * 10 + byte - '0', 9999);
	} else if (byte == ';') {
		n_param++;
	} else if (byte >= 0x40) {
		state = TEXT;
		sequence_end(byte);
	}
}

static void text(uint8_t byte)
{
	switch (byte) {
	case '\r':
		column = 0;
		break;
	case '\n':
		new_line();
		break;
	case '\b':
		column -= column > 0;
		break;
	case '\t':
		column = min_u32((column | 7) + 1, COLUMNS - 1);
		break;
	case 0x1b:
		state = ESCAPE;
		break;
	default:
		if (byte < ' ')
			break;
		/* The line is broken when the next character comes, so that a
		 * full line and its line end make one line. */
		if (column == COLUMNS)
			new_line();
		cell[row][column++] = (uint16_t)(colour | byte);
		dirty |= 1u << row;
		break;
	}
}

void vga_put(uint8_t byte)
{
	if (state == TEXT)
		text(byte);
	else
		sequence(byte);
	cursor_moved = true;
}

static void show_cursor(void)
{
	uint32_t at = row * COLUMNS + min_u32(column, COLUMNS - 1);
	io_out8(CRTC_INDEX, CURSOR_HIGH);
	io_out8(CRTC_DATA, (uint8_t)(at >> 8));
	io_out8(CRTC_INDEX, CURSOR_LOW);
	io_out8(CRTC_DATA, (uint8_t)at);
}

static void show_row(uint32_t r)
{
	volatile uint32_t *to = (volatile uint32_t *)screen(r);
	for (uint32_t i = 0; i < COLUMNS; i += 2)
		to[i / 2] = cell[r][i] | (uint32_t)cell[r][i + 1] << 16;
}

static void show_next(void)
{
	if (dirty) {
		uint32_t r = (uint32_t)__builtin_ctz(dirty);
		dirty &= dirty - 1;
		show_row(r);
	} else if (cursor_moved) {
		cursor_moved = false;
		show_cursor();
	}
}

bool vga_poll(void)
{
	if (present)
		show_next();
	return vga_pending();
}

bool vga_pending(void)
{
	return present && (dirty || cursor_moved);
}

void vga_flush(void)
{
	while (dirty || cursor_moved)
		show_next();
}

void vga_colour(uint8_t attribute)
{
	colour = (uint16_t)(attribute << 8);
}
