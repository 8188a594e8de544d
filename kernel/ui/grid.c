/* See grid.h: drawing. */
#include "kernel/ui/grid.h"

#include "kernel/lib/fmt.h"

enum { PRINT_BYTES = 201 };

static void set(struct grid *g, uint32_t row, uint32_t column, enum grid_style style, uint8_t c)
{
	if (row < GRID_ROWS && column < GRID_COLUMNS)
		g->cell[row][column] = (uint16_t)(style << 8 | c);
}

void grid_clear(struct grid *g)
{
	memset(g, 0, sizeof *g);
	for (uint32_t r = 0; r < GRID_ROWS; r++)
		grid_fill(g, r, 0, GRID_COLUMNS, GRID_NORMAL, ' ');
}

/* Writes `n` characters of text. */
static void put(struct grid *g, uint32_t row, uint32_t column, enum grid_style style,
                const char *text, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint8_t c = (uint8_t)text[i];
		set(g, row, column + i, style, c < ' ' || c == 0x7f ? '?' : c);
	}
}

uint32_t grid_put(struct grid *g, uint32_t row, uint32_t column, enum grid_style style,
                  const char *text)
{
	uint32_t n = (uint32_t)strnlen(text, GRID_COLUMNS);
	put(g, row, column, style, text, n);
	return column + n;
}

uint32_t grid_print(struct grid *g, uint32_t row, uint32_t column, enum grid_style style,
                    const char *format, ...)
{
	char text[PRINT_BYTES];
	va_list args;
	va_start(args, format);
	fmt_v(text, sizeof text, format, args);
	va_end(args);
	return grid_put(g, row, column, style, text);
}

void grid_fill(struct grid *g, uint32_t row, uint32_t column, uint32_t n, enum grid_style style,
               uint8_t c)
{
	for (uint32_t i = 0; i < min_u32(n, GRID_COLUMNS); i++)
		set(g, row, column + i, style, c);
}

void grid_style(struct grid *g, uint32_t row, uint32_t column, uint32_t n, enum grid_style style)
{
	for (uint32_t i = column; row < GRID_ROWS && i < GRID_COLUMNS && i - column < n; i++)
		set(g, row, i, style, (uint8_t)g->cell[row][i]);
}

void grid_box(struct grid *g, uint32_t row, uint32_t column, uint32_t rows, uint32_t columns,
              const char *title)
{
	uint32_t bottom = row + rows - 1, right = column + columns - 1;
	for (uint32_t r = row + 1; r < bottom; r++) {
		set(g, r, column, GRID_NORMAL, GRID_VERTICAL);
		set(g, r, right, GRID_NORMAL, GRID_VERTICAL);
	}
	grid_fill(g, row, column + 1, columns - 2, GRID_NORMAL, GRID_HORIZONTAL);
	grid_fill(g, bottom, column + 1, columns - 2, GRID_NORMAL, GRID_HORIZONTAL);
	set(g, row, column, GRID_NORMAL, GRID_TOP_LEFT);
	set(g, row, right, GRID_NORMAL, GRID_TOP_RIGHT);
	set(g, bottom, column, GRID_NORMAL, GRID_BOTTOM_LEFT);
	set(g, bottom, right, GRID_NORMAL, GRID_BOTTOM_RIGHT);
	if (title && columns > 6)
		grid_print(g, row, column + 2, GRID_BOLD, " %.*s ", (int)columns - 6, title);
}

/* How many characters of text belong into a line of `columns`: up to the last space that fits. */
static uint32_t line_of(const char *text, uint32_t columns)
{
	uint32_t n = (uint32_t)strnlen(text, columns + 1);
	if (n <= columns)
		return n;
	for (n = columns; n > 0 && text[n] != ' '; n--)
		;
	return n > 0 ? n : columns;
}

uint32_t grid_wrap(struct grid *g, uint32_t row, uint32_t column, uint32_t rows, uint32_t columns,
                   enum grid_style style, const char *text)
{
	uint32_t used = 0;
	if (columns == 0)
		return 0;
	while (*text) {
		uint32_t n = line_of(text, columns);
		if (used < rows)
			put(g, row + used, column, style, text, n);
		used++;
		text += n;
		while (*text == ' ')
			text++;
	}
	return used;
}

void grid_cursor(struct grid *g, uint32_t row, uint32_t column)
{
	g->row = (uint8_t)min_u32(row, GRID_ROWS - 1);
	g->column = (uint8_t)min_u32(column, GRID_COLUMNS - 1);
	g->cursor = true;
}
