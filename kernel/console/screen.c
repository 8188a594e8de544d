/* See screen.h. ECMA-48, 5th edition (section numbers in the code).
 *
 * Left out on purpose: colours by control sequence (SGR), scrolling regions, settable tabs,
 * characters outside the display's own character set. */
#include "kernel/console/screen.h"

enum { TEXT, ESCAPE, SEQUENCE };
#define ESC 0x1b
#define DEL 0x7f
#define TAB 8u

static void blank(struct screen *s, uint32_t row, uint32_t from)
{
	for (uint32_t c = from; c < SCREEN_COLUMNS; c++)
		s->cell[row][c] = (uint16_t)(s->attribute << 8 | ' ');
	s->dirty |= 1u << row;
}

static void blank_below(struct screen *s, uint32_t row)
{
	for (; row < SCREEN_ROWS; row++)
		blank(s, row, 0);
}

void screen_init(struct screen *s, uint8_t attribute)
{
	memset(s, 0, sizeof *s);
	s->attribute = attribute;
	s->moved = true;
	blank_below(s, 0);
}

static void new_line(struct screen *s)
{
	s->column = 0;
	if (++s->row < SCREEN_ROWS)
		return;
	s->row = SCREEN_ROWS - 1;
	memmove(s->cell[0], s->cell[1], sizeof s->cell - sizeof s->cell[0]);
	s->dirty = (1u << SCREEN_ROWS) - 1;
	blank(s, s->row, 0);
}

/* Gives parameter i of a cursor movement. 0 or no parameter means 1 (8.3). */
static uint32_t count(const struct screen *s, uint32_t i)
{
	return max_u32(s->param[i], 1);
}

/* ED and EL (8.3.39, 8.3.41): parameter 0 erases from the cursor on, 2 erases everything. 1
 * is not supported. */
static void erase(struct screen *s, bool page)
{
	if (s->param[0] == 0) {
		blank(s, s->row, s->column);
		if (page)
			blank_below(s, s->row + 1);
	} else if (s->param[0] == 2) {
		if (page)
			blank_below(s, 0);
		else
			blank(s, s->row, 0);
	}
}

static void control(struct screen *s, uint8_t final)
{
	switch (final) {
	case 'A':
		s->row -= min_u32(s->row, count(s, 0));
		break;
	case 'B':
		s->row = min_u32(s->row + count(s, 0), SCREEN_ROWS - 1);
		break;
	case 'C':
		s->column = min_u32(s->column + count(s, 0), SCREEN_COLUMNS - 1);
		break;
	case 'D':
		s->column -= min_u32(s->column, count(s, 0));
		break;
	case 'H':
		s->row = min_u32(count(s, 0), SCREEN_ROWS) - 1;
		s->column = min_u32(count(s, 1), SCREEN_COLUMNS) - 1;
		break;
	case 'J':
	case 'K':
		erase(s, final == 'J');
		break;
	default:
		break;
	}
}

/* Handles a byte after ESC (5.4: parameters, then one final byte). */
static void sequence(struct screen *s, uint8_t byte)
{
	if (s->state == ESCAPE) {
		s->state = byte == '[' ? SEQUENCE : TEXT;
		memset(s->param, 0, sizeof s->param);
		s->n_param = 0;
	} else if (byte >= '0' && byte <= '9') {
		if (s->n_param < SCREEN_PARAMS)
			s->param[s->n_param] =
			        min_u32(s->param[s->n_param] * 10 + byte - '0', 9999);
	} else if (byte == ';') {
		s->n_param = min_u32(s->n_param + 1, SCREEN_PARAMS);
	} else if (byte >= 0x40) {
		s->state = TEXT;
		control(s, byte);
	} else if (byte < ' ') { /* an incomplete sequence: text follows */
		s->state = TEXT;
	}
}

static void character(struct screen *s, uint8_t byte)
{
	if (byte < ' ' || byte == DEL)
		return;
	if (s->column == SCREEN_COLUMNS)
		new_line(s);
	s->cell[s->row][s->column++] = (uint16_t)(s->attribute << 8 | byte);
	s->dirty |= 1u << s->row;
}

void screen_put(struct screen *s, uint8_t byte)
{
	s->moved = true;
	if (byte == ESC)
		s->state = ESCAPE;
	else if (s->state != TEXT)
		sequence(s, byte);
	else if (byte == '\n')
		new_line(s);
	else if (byte == '\r')
		s->column = 0;
	else if (byte == '\b')
		s->column -= s->column > 0;
	else if (byte == '\t')
		s->column = min_u32((s->column / TAB + 1) * TAB, SCREEN_COLUMNS - 1);
	else
		character(s, byte);
}
