/* kernel/ui/grid.c and grid_vt100.c: drawing is clipped, and a terminal that gets the bytes in any
 * pieces shows the grid. The terminal here follows the VT100 User Guide. */
#include "kernel/ui/grid.h"

#include "tests/tap.h"

static struct grid g;
static struct grid_vt100 v;

/* --- a terminal ------------------------------------------------------------------------- */

struct terminal {
	uint32_t character[GRID_SERIAL][GRID_COLUMNS]; /* Unicode */
	char style[GRID_SERIAL][GRID_COLUMNS];         /* ' ', 'b', 'r' */
	uint32_t row, column;
	char now;
	bool graphics, cursor, margin, broken;
};

static struct terminal t;

static uint32_t line_drawing(char c)
{
	static const struct {
		char c;
		uint16_t unicode;
	} set[] = {{'q', 0x2500}, {'x', 0x2502}, {'l', 0x250c}, {'k', 0x2510},
	           {'m', 0x2514}, {'j', 0x2518}, {'t', 0x251c}, {'u', 0x2524},
	           {'w', 0x252c}, {'v', 0x2534}, {'n', 0x253c}, {'a', 0x2592}};
	for (unsigned i = 0; i < ARRAY_SIZE(set); i++)
		if (set[i].c == c)
			return set[i].unicode;
	return 0;
}

static void erase(void)
{
	for (uint32_t r = 0; r < GRID_SERIAL; r++)
		for (uint32_t c = 0; c < GRID_COLUMNS; c++) {
			t.character[r][c] = ' ';
			t.style[r][c] = ' ';
		}
}

static void show(uint32_t c)
{
	if (t.row >= GRID_SERIAL || t.column >= GRID_COLUMNS) {
		t.broken = true;
		return;
	}
	t.character[t.row][t.column] = c;
	t.style[t.row][t.column++] = t.now;
}

/* Takes the parameters and the end of a control sequence. */
static void sequence(const char *text)
{
	unsigned a = 0, b = 0;
	if (strcmp(text, "m") == 0)
		t.now = ' ';
	else if (strcmp(text, "0;7m") == 0)
		t.now = 'r';
	else if (strcmp(text, "0;1m") == 0)
		t.now = 'b';
	else if (strcmp(text, "?25l") == 0 || strcmp(text, "?25h") == 0)
		t.cursor = text[3] == 'h';
	else if (strcmp(text, "?7l") == 0 || strcmp(text, "?7h") == 0)
		t.margin = text[2] == 'h';
	else if (strcmp(text, "H") == 0)
		t.row = t.column = 0;
	else if (strcmp(text, "2J") == 0)
		erase();
	else if (sscanf(text, "%u;%uH", &a, &b) == 2 && a - 1 < GRID_SERIAL && b - 1 < GRID_COLUMNS)
		t.row = a - 1, t.column = b - 1;
	else
		t.broken = true;
}

static void feed(const char *bytes, size_t n)
{
	static char pending[16];
	static size_t have;
	for (size_t i = 0; i < n; i++) {
		uint8_t c = (uint8_t)bytes[i];
		if (have == 0 && (c == '\r' || c == '\n')) {
			t.column = c == '\r' ? 0 : t.column;
			t.row += c == '\n' && t.row < GRID_SERIAL - 1;
			continue;
		}
		if (have == 0 && c >= ' ' && c < 0x7f) {
			show(t.graphics ? line_drawing((char)c) : c);
			t.broken |= t.graphics && !line_drawing((char)c);
			continue;
		}
		pending[have++] = (char)c;
		if (have == 2 && ((uint8_t)pending[0] & 0xe0) == 0xc0) {
			show((uint32_t)(pending[0] & 0x1f) << 6 | (c & 0x3f));
			have = 0;
		} else if (have == 3 && pending[1] == '(') {
			t.graphics = c == '0';
			t.broken |= c != '0' && c != 'B';
			have = 0;
		} else if (have > 2 && pending[1] == '[' && c >= 0x40) {
			pending[have] = 0;
			sequence(pending + 2);
			have = 0;
		} else if (have == sizeof pending - 1) {
			t.broken = true;
			have = 0;
		}
	}
}

static uint32_t unicode(uint8_t c)
{
	switch (c) {
	case GRID_VERTICAL:
		return 0x2502;
	case GRID_HORIZONTAL:
		return 0x2500;
	case GRID_TOP_LEFT:
		return 0x250c;
	case GRID_TOP_RIGHT:
		return 0x2510;
	case GRID_BOTTOM_LEFT:
		return 0x2514;
	case GRID_BOTTOM_RIGHT:
		return 0x2518;
	case GRID_TEE_RIGHT:
		return 0x251c;
	case GRID_TEE_LEFT:
		return 0x2524;
	case 0x81:
		return 0xfc;
	case 0xe1:
		return 0xdf;
	case 0xfa:
		return 0xb7;
	case 0x18:
		return '^';
	case 0xdb:
		return '#';
	default:
		return c;
	}
}

/* True when the terminal shows the grid. */
static bool same(void)
{
	for (uint32_t r = 0; r < GRID_SERIAL; r++)
		for (uint32_t c = 0; c < GRID_COLUMNS; c++) {
			char style = g.cell[r][c] >> 8 == GRID_BOLD      ? 'b'
			             : g.cell[r][c] >> 8 == GRID_REVERSE ? 'r'
			                                                 : ' ';
			if (t.character[r][c] != unicode((uint8_t)g.cell[r][c]) ||
			    t.style[r][c] != style)
				return false;
		}
	return !t.broken && t.cursor == g.cursor &&
	       (!g.cursor || (t.row == min_u32(g.row, GRID_SERIAL - 1) && t.column == g.column));
}

/* Draws with at most `room` bytes a call. Gives how many bytes there were. */
static size_t draw(size_t room)
{
	char out[512];
	size_t n, all = 0;
	while ((n = grid_vt100_draw(&v, &g, out, room)) > 0) {
		if (n > room)
			t.broken = true;
		feed(out, n);
		all += n;
	}
	return all;
}

static void start(void)
{
	memset(&t, 0, sizeof t);
	t.now = ' ';
	t.margin = true;
	grid_vt100_init(&v);
	grid_clear(&g);
}

/* --- tests ------------------------------------------------------------------------------ */

static const char *row(uint32_t r)
{
	static char text[GRID_COLUMNS + 1];
	uint32_t n = 0;
	for (uint32_t c = 0; c < GRID_COLUMNS; c++) {
		text[c] = (char)g.cell[r][c];
		if (text[c] != ' ')
			n = c + 1;
	}
	text[n] = '\0';
	return text;
}

static void drawing(void)
{
	start();
	CHECK_EQ(grid_put(&g, 1, 2, GRID_BOLD, "ab\x1b"), 5);
	CHECK_STR(row(1), "  ab?");
	CHECK_EQ(g.cell[1][2], GRID_BOLD << 8 | 'a');
	CHECK_EQ(grid_print(&g, 2, 0, GRID_NORMAL, "%s %u", "x", 7), 3);
	CHECK_STR(row(2), "x 7");
	grid_style(&g, 2, 0, 2, GRID_REVERSE);
	CHECK_EQ(g.cell[2][1], GRID_REVERSE << 8 | ' ');
	CHECK_EQ(g.cell[2][2], GRID_NORMAL << 8 | '7');
	grid_put(&g, 24, 78, GRID_NORMAL, "clipped");
	CHECK_EQ((uint8_t)g.cell[24][79], 'l');
	grid_put(&g, GRID_ROWS, 0, GRID_NORMAL, "outside");
	grid_style(&g, GRID_ROWS, 0, 80, GRID_BOLD);
	grid_style(&g, 0, 200, 80, GRID_BOLD);
	grid_fill(&g, 3, 70, 0xffffffff, GRID_NORMAL, '=');
	CHECK_EQ((uint8_t)g.cell[3][79], '=');
	grid_cursor(&g, 99, 99);
	CHECK_EQ(g.row, GRID_ROWS - 1);
	CHECK_EQ(g.column, GRID_COLUMNS - 1);
}

static void boxes(void)
{
	start();
	grid_box(&g, 1, 1, 3, 20, "Title");
	CHECK_STR(row(1), " \xda\xc4 Title \xc4\xc4\xc4\xc4\xc4\xc4\xc4\xc4\xc4\xc4\xbf");
	CHECK_EQ((uint8_t)g.cell[2][1], GRID_VERTICAL);
	CHECK_EQ((uint8_t)g.cell[2][20], GRID_VERTICAL);
	CHECK_EQ((uint8_t)g.cell[3][20], GRID_BOTTOM_RIGHT);
	grid_box(&g, 10, 10, 2, 2, "no room");
	CHECK_EQ((uint8_t)g.cell[11][11], GRID_BOTTOM_RIGHT);
}

static void wrapping(void)
{
	start();
	CHECK_EQ(grid_wrap(&g, 0, 1, 3, 10, GRID_NORMAL, "the quick brown fox"), 2);
	CHECK_STR(row(0), " the quick");
	CHECK_STR(row(1), " brown fox");
	CHECK_EQ(grid_wrap(&g, 3, 0, 2, 5, GRID_NORMAL, "abcdefgh ij klm nop"), 5);
	CHECK_STR(row(3), "abcde");
	CHECK_STR(row(4), "fgh");
	CHECK_STR(row(5), "");
	CHECK_EQ(grid_wrap(&g, 0, 0, 0, 5, GRID_NORMAL, "exact words"), 2);
	CHECK_EQ(grid_wrap(&g, 0, 0, 0, 8, GRID_NORMAL, "one four five"), 2);
	CHECK_EQ(grid_wrap(&g, 0, 0, 9, 5, GRID_NORMAL, ""), 0);
	CHECK_EQ(grid_wrap(&g, 0, 0, 9, 0, GRID_NORMAL, "x"), 0);
}

static void the_first_screen(void)
{
	start();
	grid_box(&g, 0, 0, GRID_SERIAL, GRID_COLUMNS, "Box");
	grid_put(&g, 1, 1, GRID_REVERSE, "choice");
	grid_put(&g, 2, 1, GRID_NORMAL, "\x81\xe1\xfa\x18\xdb");
	grid_cursor(&g, 1, 1);
	CHECK(draw(512) > 300);
	CHECK(same());
	CHECK(!t.margin);
	CHECK_EQ(draw(512), 0);
}

static void only_changes_are_sent(void)
{
	start();
	for (uint32_t r = 0; r < GRID_SERIAL; r++)
		grid_put(&g, r, 0, GRID_NORMAL, "some text in every line of the screen");
	draw(512);
	grid_put(&g, 5, 3, GRID_NORMAL, "X");
	CHECK(draw(512) < 12);
	CHECK(same());
	grid_put(&g, 7, 3, GRID_NORMAL, "X");
	grid_put(&g, 7, 6, GRID_NORMAL, "X"); /* near: the cells between are sent again */
	CHECK_EQ(draw(512), sizeof "\033[8;4HXe X" - 1);
	CHECK(same());
	grid_cursor(&g, 3, 3);
	CHECK(draw(512) <= 14);
	CHECK(same());
	g.cursor = false;
	CHECK_EQ(draw(512), 6);
	CHECK(same());
}

static void new_screens_are_lines(void)
{
	char out[512];
	start();
	grid_put(&g, 0, 0, GRID_NORMAL, "Title of it");
	grid_fill(&g, 1, 0, 3, GRID_NORMAL, GRID_HORIZONTAL);
	grid_put(&g, 3, 2, GRID_NORMAL, "1  one");
	grid_put(&g, 4, 20, GRID_NORMAL, "far");
	size_t n = grid_vt100_draw(&v, &g, out, sizeof out);
	out[n] = 0;
	const char *text = strstr(out, "Title");
	CHECK_STR(text ? text : out,
	          "Title of it\r\n\033(0qqq\r\n\n\033(B  1  one\r\n\033[5;21Hfar");
}

static void little_room(void)
{
	start();
	grid_box(&g, 0, 0, GRID_SERIAL, GRID_COLUMNS, NULL);
	char out[GRID_VT100_LEAST];
	CHECK_EQ(grid_vt100_draw(&v, &g, out, GRID_VT100_LEAST - 1), 0);
	draw(GRID_VT100_LEAST);
	CHECK(same());
}

static void the_last_row_is_not_sent(void)
{
	start();
	draw(512);
	grid_put(&g, 24, 0, GRID_NORMAL, "local screen only");
	CHECK_EQ(draw(512), 0);
	grid_cursor(&g, 24, 5);
	draw(512);
	CHECK(same());
}

static void leaving(void)
{
	char out[GRID_VT100_LEAST];
	start();
	grid_box(&g, 0, 0, 4, 4, NULL);
	draw(512);
	size_t n = grid_vt100_leave(&v, out);
	feed(out, n);
	CHECK(t.margin && t.cursor && !t.graphics && t.now == ' ');
	CHECK_EQ(t.character[0][0], ' ');
	CHECK_EQ(t.row + t.column, 0);
	draw(512); /* everything once more */
	CHECK(same());
}

/* Random changes, random room, and a change while others are still on their way. */
static void any_changes(void)
{
	static const uint8_t some[] = {' ', 'a', 'b', '~', 0xb3, 0xc4, 0xda, 0x81, 0xdb};
	static const enum grid_style styles[] = {GRID_NORMAL, GRID_BOLD, GRID_REVERSE};
	uint32_t x = 12345, bad = 0;
	start();
	for (int i = 0; i < 3000; i++) {
		char out[512];
		for (int k = 0; k < 6; k++) {
			x = x * 1664525 + 1013904223;
			grid_fill(&g, (x >> 8) % GRID_ROWS, (x >> 14) % GRID_COLUMNS,
			          1 + (x >> 22) % 5, styles[(x >> 25) % 3],
			          some[(x >> 28) % ARRAY_SIZE(some)]);
		}
		if (x >> 31)
			grid_cursor(&g, (x >> 9) % GRID_ROWS, (x >> 3) % GRID_COLUMNS);
		size_t room = GRID_VT100_LEAST + (x >> 5) % 80;
		size_t n = grid_vt100_draw(&v, &g, out, room);
		bad += n > room;
		feed(out, n);
		if (i % 16 == 0) {
			draw(room);
			bad += !same();
		}
	}
	CHECK_EQ(bad, 0);
}

int main(void)
{
	TEST(drawing);
	TEST(boxes);
	TEST(wrapping);
	TEST(the_first_screen);
	TEST(only_changes_are_sent);
	TEST(new_screens_are_lines);
	TEST(little_room);
	TEST(the_last_row_is_not_sent);
	TEST(leaving);
	TEST(any_changes);
	return tap_done();
}
