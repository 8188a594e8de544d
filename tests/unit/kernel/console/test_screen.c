/* The contents of the screen after text and control sequences. */
#include "kernel/console/screen.h"

#include "tests/tap.h"

static struct screen s;

static void put(const char *text)
{
	for (; *text != '\0'; text++)
		screen_put(&s, (uint8_t)*text);
}

static void start(const char *text)
{
	screen_init(&s, 7);
	s.dirty = 0;
	put(text);
}

/* Gives a row's text without the blanks at its end. */
static const char *row(uint32_t r)
{
	static char text[SCREEN_COLUMNS + 1];
	uint32_t n = 0;
	for (uint32_t c = 0; c < SCREEN_COLUMNS; c++) {
		text[c] = (char)s.cell[r][c];
		if (text[c] != ' ')
			n = c + 1;
	}
	text[n] = '\0';
	return text;
}

static void text_and_line_ends(void)
{
	start("one\ntwo\r\nTHREE\rthr\n");
	CHECK_STR(row(0), "one");
	CHECK_STR(row(1), "two");
	CHECK_STR(row(2), "thrEE");
	CHECK_EQ(s.row, 3);
	CHECK_EQ(s.column, 0);
	CHECK_EQ(s.cell[0][0], 0x0700 | 'o');
	CHECK_EQ(s.dirty, 7);
	start("ab\b \bx\tt\a\x7f");
	CHECK_STR(row(0), "ax      t");
	start("\b");
	CHECK_EQ(s.column, 0);
}

static void a_full_line_wraps_late(void)
{
	start("");
	for (uint32_t i = 0; i < SCREEN_COLUMNS; i++)
		put("x");
	CHECK_EQ(s.row, 0);
	put("\nnext");
	CHECK_STR(row(1), "next");
	start("");
	for (uint32_t i = 0; i <= SCREEN_COLUMNS; i++)
		put("x");
	CHECK_STR(row(1), "x");
	start("");
	for (uint32_t i = 0; i < SCREEN_COLUMNS; i++)
		put("x");
	put("\033[K\033[J\by");
	CHECK_EQ(s.cell[0][SCREEN_COLUMNS - 1], 0x0700 | 'y');
}

static void the_last_line_scrolls(void)
{
	start("");
	for (uint32_t i = 0; i < SCREEN_ROWS; i++) {
		char line[2] = {(char)('a' + i), '\0'};
		put(line);
		if (i + 1 < SCREEN_ROWS)
			put("\n");
	}
	CHECK_STR(row(0), "a");
	s.dirty = 0;
	put("\nlast");
	CHECK_STR(row(0), "b");
	CHECK_STR(row(SCREEN_ROWS - 2), "y");
	CHECK_STR(row(SCREEN_ROWS - 1), "last");
	CHECK_EQ(s.dirty, (1u << SCREEN_ROWS) - 1);
}

static void cursor_movements(void)
{
	start("\033[5;10Hx");
	CHECK_EQ(s.row, 4);
	CHECK_EQ(s.column, 10);
	put("\033[A\033[2D");
	CHECK(s.row == 3 && s.column == 8);
	put("\033[3B\033[C");
	CHECK(s.row == 6 && s.column == 9);
	put("\033[99A\033[99D");
	CHECK(s.row == 0 && s.column == 0);
	put("\033[99999999999B\033[999C");
	CHECK(s.row == SCREEN_ROWS - 1 && s.column == SCREEN_COLUMNS - 1);
	put("\033[H");
	CHECK(s.row == 0 && s.column == 0);
	put("\033[0;0H");
	CHECK(s.row == 0 && s.column == 0);
	put("\033[200;200;200H");
	CHECK(s.row == SCREEN_ROWS - 1 && s.column == SCREEN_COLUMNS - 1);
}

static void erasing(void)
{
	start("one\ntwo\nthree\033[2;2H\033[K");
	CHECK_STR(row(1), "t");
	CHECK_STR(row(2), "three");
	put("\033[J");
	CHECK_STR(row(0), "one");
	CHECK_STR(row(2), "");
	put("\033[2K");
	CHECK_STR(row(1), "");
	put("\033[2J");
	CHECK_STR(row(0), "");
	CHECK(s.row == 1 && s.column == 1);
}

static void unknown_sequences_show_nothing(void)
{
	start("a\033[1;31mb\033[?25lc\033(d");
	CHECK_STR(row(0), "abcd");
	start("\033[12\nx");
	CHECK_STR(row(0), "x");
	start("\033[1\033[2Cx");
	CHECK_STR(row(0), "  x");
}

static void any_bytes_stay_on_the_screen(void)
{
	static const uint8_t more[] = {0x1b, '[', '9', ';', 'H', 'C', 'B', '\n', '\t', 'K'};
	uint32_t x = 7;
	start("");
	for (unsigned i = 0; i < 200000; i++) {
		x = x * 1664525 + 1013904223;
		screen_put(&s, x >> 31 ? more[(x >> 8) % sizeof more] : (uint8_t)(x >> 16));
		if (s.row >= SCREEN_ROWS || s.column > SCREEN_COLUMNS || s.dirty >> SCREEN_ROWS)
			CHECK(false);
	}
}

/* A line that scrolling adds is empty from the first column on, and the cursor moves to it. */
static void scrolling_leaves_nothing(void)
{
	start("");
	CHECK(s.moved);
	for (uint32_t i = 0; i < SCREEN_ROWS; i++)
		put("xyz\n");
	CHECK_EQ(s.row, SCREEN_ROWS - 1);
	for (uint32_t c = 0; c < SCREEN_COLUMNS; c++)
		CHECK_EQ(s.cell[SCREEN_ROWS - 1][c], 0x0720);
	CHECK_STR(row(SCREEN_ROWS - 2), "xyz");
	start("\b\b"); /* not before the first column */
	CHECK_EQ(s.column, 0);
	start("1234567\tx");
	CHECK_STR(row(0), "1234567 x");
	start("12345678\tx");
	CHECK_STR(row(0), "12345678        x");
}

int main(void)
{
	TEST(text_and_line_ends);
	TEST(a_full_line_wraps_late);
	TEST(the_last_line_scrolls);
	TEST(cursor_movements);
	TEST(erasing);
	TEST(unknown_sequences_show_nothing);
	TEST(any_bytes_stay_on_the_screen);
	TEST(scrolling_leaves_nothing);
	return tap_done();
}
