/* See grid.h: a grid as control sequences. VT100 User Guide (EK-VT100-UG), chapter 3: CUP, ED, SGR,
 * SCS, DECAWM; VT220 for the visible cursor (DECTCEM), which a VT100 ignores. */
#include "kernel/ui/grid.h"

#include "kernel/lib/fmt.h"

enum { UNKNOWN = 255, CELL_BYTES = 52, NEAR = 12, NEAR_ROWS = 4 };
/* CELL_BYTES is the most for one cell: NEAR_ROWS line ends, NEAR cells of two bytes with one style,
 * then style, character set and character. To go over so many cells or lines costs hardly more than
 * a new position. */

static const char begin[] = "\033(B\033[m\033[?7l\033[?25l\033[H\033[2J";
static const char end[] = "\033(B\033[m\r\n\033[?7h\033[?25h\033[H\033[2J";
_Static_assert(sizeof begin <= GRID_VT100_LEAST && sizeof end <= GRID_VT100_LEAST, "they fit");
_Static_assert(CELL_BYTES <= GRID_VT100_LEAST, "a cell fits");

/* Code page 437 from 0x80 on: the character of Latin-1, or 0. */
static const uint8_t latin[128] = {
        0xc7, 0xfc, 0xe9, 0xe2, 0xe4, 0xe0, 0xe5, 0xe7, 0xea, 0xeb, 0xe8, 0xef, 0xee, 0xec, 0xc4,
        0xc5, 0xc9, 0xe6, 0xc6, 0xf4, 0xf6, 0xf2, 0xfb, 0xf9, 0xff, 0xd6, 0xdc, 0xa2, 0xa3, 0xa5,
        0,    0,    0xe1, 0xed, 0xf3, 0xfa, 0xf1, 0xd1, 0xaa, 0xba, 0xbf, 0,    0xac, 0xbd, 0xbc,
        0xa1, 0xab, 0xbb, 0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,
        0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,
        0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,
        0,    0,    0,    0,    0,    0,    0,    0xdf, 0,    0,    0,    0,    0xb5, 0,    0,
        0,    0,    0,    0,    0,    0,    0,    0,    0xb1, 0,    0,    0,    0,    0xf7, 0,
        0xb0, 0,    0xb7, 0,    0,    0xb2, 0,    0x20,
};

/* Gives the character of the special graphics set, or 0. Double lines become single ones. */
static char graphic(uint8_t c)
{
	/* 0xb3 to 0xda in order. */
	static const char line[] = "xuuukkuxkjjjkmvwtqnttmlvwtqnvvwwmmllnnjl";
	_Static_assert(sizeof line == 0xda - 0xb3 + 2, "one for each character");
	if (c >= 0xb3 && c <= 0xda)
		return line[c - 0xb3];
	return (char)(c >= 0xb0 && c <= 0xb2 ? 'a' : 0);
}

/* Gives a similar ASCII character for one that neither set has. */
static char similar(uint8_t c)
{
	switch (c) {
	case 0xdb:
	case 0xdc:
	case 0xfe:
		return '#';
	case 0x18:
	case 0x1e:
		return '^';
	case 0x19:
	case 0x1f:
		return 'v';
	case 0x10:
	case 0x1a:
		return '>';
	case 0x11:
	case 0x1b:
		return '<';
	case 0xf9:
	case 0x07:
		return '*';
	default:
		return '?';
	}
}

static size_t copy(char *out, const char *text)
{
	size_t n = strlen(text);
	memcpy(out, text, n);
	return n;
}

static size_t go_to(struct grid_vt100 *v, uint32_t row, uint32_t column, char *out)
{
	v->row = (uint8_t)row;
	v->column = (uint8_t)column;
	return fmt(out, 12, "\033[%u;%uH", row + 1, column + 1);
}

static size_t style(struct grid_vt100 *v, uint8_t attribute, char *out)
{
	if (attribute == v->style)
		return 0;
	v->style = attribute;
	return copy(out, attribute & 0x70   ? "\033[0;7m"
	                 : attribute & 0x08 ? "\033[0;1m"
	                                    : "\033[m");
}

static size_t use_graphics(struct grid_vt100 *v, bool on, char *out)
{
	if (on == v->graphics)
		return 0;
	v->graphics = on;
	return copy(out, on ? "\033(0" : "\033(B");
}

/* Writes a cell at the terminal's cursor. */
static size_t show(struct grid_vt100 *v, uint16_t cell, char *out)
{
	uint8_t c = (uint8_t)cell;
	char line = graphic(c);
	size_t n = style(v, (uint8_t)(cell >> 8), out);
	n += use_graphics(v, line != 0, out + n);
	uint8_t l1 = c >= 0x80 ? latin[c - 0x80] : 0;
	if (line) {
		out[n++] = line;
	} else if (l1 >= 0x80) {
		out[n++] = (char)(0xc0 | l1 >> 6);
		out[n++] = (char)(0x80 | (l1 & 0x3f));
	} else if (l1) {
		out[n++] = (char)l1;
	} else {
		out[n++] = c >= ' ' && c < 0x7f ? (char)c : similar(c);
	}
	v->cell[v->row][v->column++] = cell;
	return n;
}

/* True when the cells from the terminal's cursor to `column` are few and can be sent again as they
 * are. */
static bool is_near(const struct grid_vt100 *v, uint32_t column)
{
	if (v->column > column || column - v->column > NEAR)
		return false;
	const uint16_t *cell = v->cell[v->row];
	for (uint32_t i = v->column; i < column; i++)
		if (cell[i] >> 8 != cell[v->column] >> 8 || graphic((uint8_t)cell[i]))
			return false;
	return true;
}

/* Brings the terminal's cursor to a cell. A row further down begins with a line end, so that a new
 * screen can be read as lines, for instance in a capture. */
static size_t reach(struct grid_vt100 *v, uint32_t row, uint32_t column, char *out)
{
	size_t n = 0;
	if (row > v->row) {
		bool far = row - v->row > NEAR_ROWS;
		for (out[n++] = '\r'; v->row < row; v->row++)
			if (!far || n == 1)
				out[n++] = '\n';
		v->column = far ? UNKNOWN : 0;
	}
	if (row == v->row && is_near(v, column)) {
		while (v->column < column)
			n += show(v, v->cell[row][v->column], out + n);
		return n;
	}
	return n + go_to(v, row, column, out + n);
}

static size_t cursor(struct grid_vt100 *v, const struct grid *g, char *out)
{
	size_t n = 0;
	uint32_t row = min_u32(g->row, GRID_SERIAL - 1);
	if (v->cursor && !g->cursor)
		n = copy(out, "\033[?25l");
	if (g->cursor && (v->row != row || v->column != g->column))
		n += go_to(v, row, g->column, out + n);
	if (!v->cursor && g->cursor)
		n += copy(out + n, "\033[?25h");
	v->cursor = g->cursor;
	return n;
}

void grid_vt100_init(struct grid_vt100 *v)
{
	memset(v, 0, sizeof *v);
}

static size_t clear(struct grid_vt100 *v, char *out)
{
	memset(v, 0, sizeof *v);
	for (uint32_t r = 0; r < GRID_SERIAL; r++)
		for (uint32_t c = 0; c < GRID_COLUMNS; c++)
			v->cell[r][c] = GRID_NORMAL << 8 | ' ';
	v->style = GRID_NORMAL;
	v->begun = true;
	return copy(out, begin);
}

size_t grid_vt100_draw(struct grid_vt100 *v, const struct grid *g, char *out, size_t room)
{
	size_t n = 0;
	if (room < GRID_VT100_LEAST)
		return 0;
	if (!v->begun)
		n = clear(v, out);
	for (uint32_t r = 0; r < GRID_SERIAL; r++) {
		if (memcmp(v->cell[r], g->cell[r], sizeof v->cell[r]) == 0)
			continue;
		for (uint32_t c = 0; c < GRID_COLUMNS; c++) {
			if (v->cell[r][c] == g->cell[r][c])
				continue;
			if (room - n < CELL_BYTES)
				return n;
			n += reach(v, r, c, out + n);
			n += show(v, g->cell[r][c], out + n);
		}
	}
	return room - n < CELL_BYTES ? n : n + cursor(v, g, out + n);
}

size_t grid_vt100_leave(struct grid_vt100 *v, char *out)
{
	memset(v, 0, sizeof *v);
	return copy(out, end);
}
