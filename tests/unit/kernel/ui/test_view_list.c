/* kernel/ui/view_list.c: pages of listings that can be read forwards only, and of the log. */
#include "kernel/console/keys.h"
#include "kernel/lib/fmt.h"
#include "kernel/ui/view_list.h"
#include "tests/tap.h"

enum { ROWS = 24, PAGE = ROWS - 2 };

static uint64_t n_lines; /* of the listing */
static uint32_t n_empty; /* empty lines before each */
static uint32_t n_calls; /* of the source, in one call of view_list_draw */
static bool wide;
static struct grid g;
static struct view_list v;

/* Line i stands behind n_empty empty ones, and so does the end. */
static bool give_line(uint64_t *cursor, char *buf, size_t size)
{
	n_calls++;
	uint64_t each = n_empty + 1, i = *cursor / each;
	if (*cursor >= n_lines * each + n_empty)
		return false;
	if (*cursor % each == n_empty)
		fmt(buf, size, "line %u%s", (uint32_t)i,
		    wide ? " 3456789 123456789 123456789 123456789 123456789 123456789 123456789 1"
		           "23456789 end"
		         : "");
	++*cursor;
	return true;
}

static uint64_t lines_before(uint64_t cursor, uint32_t n)
{
	cursor = cursor > n_lines ? n_lines : cursor;
	return cursor > n ? cursor - n : 0;
}

static const struct view_list_source forward = {"things", "there are no things", give_line, NULL};
static const struct view_list_source tail = {"events", "nothing", give_line, lines_before};

static void draw(const struct view_list_source *s)
{
	for (uint32_t i = 0; i < 1000; i++) {
		n_calls = 0;
		bool more = view_list_draw(&v, s, &g, ROWS);
		CHECK(n_calls <= 4);
		if (!more)
			return;
	}
	CHECK(!"the page is complete");
}

static const char *row(uint32_t r)
{
	static char text[GRID_COLUMNS + 1];
	uint32_t n = GRID_COLUMNS;
	for (uint32_t i = 0; i < GRID_COLUMNS; i++)
		text[i] = (char)g.cell[r][i];
	while (n > 0 && text[n - 1] == ' ')
		n--;
	text[n] = '\0';
	return text;
}

static void start(uint64_t lines, uint32_t empty)
{
	n_lines = lines;
	n_empty = empty;
	wide = false;
	memset(&v, 0, sizeof v);
	grid_clear(&g);
	grid_fill(&g, ROWS - 1, 0, GRID_COLUMNS, GRID_NORMAL, '#');
}

static void press(const struct view_list_source *s, int key)
{
	CHECK(view_list_key(&v, key));
	draw(s);
}

/* The page begins with line `first` and has n lines; blank rows follow. */
static bool shows(uint32_t first, uint32_t n)
{
	char want[40];
	for (uint32_t i = 0; i < PAGE; i++) {
		want[0] = '\0';
		if (i < n)
			fmt(want, sizeof want, "line %u", first + i);
		if (strcmp(row(1 + i), want) != 0) {
			printf("# row %u is %s\n", 1 + i, row(1 + i));
			return false;
		}
	}
	return row(ROWS - 1)[79] == '#';
}

static void forwards_and_back(void)
{
	for (uint32_t empty = 0; empty < 12; empty += 5) {
		start(3 * PAGE + 5, empty);
		draw(&forward);
		CHECK(shows(0, PAGE));
		CHECK_STR(row(0), " things   page 1, more follow");
		press(&forward, KEY_PAGE_DOWN);
		CHECK(shows(PAGE, PAGE));
		press(&forward, ' ');
		press(&forward, 'n');
		CHECK(shows(3 * PAGE, 5));
		CHECK_STR(row(0), " things   page 4, the last one");
		press(&forward, KEY_PAGE_DOWN); /* there is no further page */
		CHECK(shows(3 * PAGE, 5));
		press(&forward, KEY_END); /* it is not known where that is */
		CHECK(shows(3 * PAGE, 5));
		press(&forward, KEY_PAGE_UP);
		CHECK(shows(2 * PAGE, PAGE));
		press(&forward, 'p');
		press(&forward, 'b');
		CHECK(shows(0, PAGE));
		press(&forward, 'p');
		CHECK(shows(0, PAGE));
		press(&forward, ' ');
		press(&forward, 'g');
		CHECK(shows(0, PAGE));
		CHECK_STR(row(0), " things   page 1, more follow");
	}
	CHECK(!view_list_key(&v, 'x'));
	CHECK(!view_list_key(&v, KEY_NONE));
}

/* A page that is just full has none behind it. */
static void borders(void)
{
	start(PAGE, 3);
	draw(&forward);
	CHECK(shows(0, PAGE));
	CHECK_STR(row(0), " things   page 1, the last one");
	start(PAGE + 1, 3);
	draw(&forward);
	CHECK_STR(row(0), " things   page 1, more follow");
	press(&forward, ' ');
	CHECK(shows(PAGE, 1));
	start(0, 0);
	draw(&forward);
	CHECK_STR(row(1), "there are no things");
	CHECK_STR(row(2), "");
	start(2 * PAGE, 0);
	draw(&forward);
	press(&forward, ' ');
	n_lines = 1; /* the listing became short: an empty page, and a way back */
	draw(&forward);
	CHECK(shows(0, 0));
	press(&forward, 'p');
	CHECK(shows(0, 1));
}

/* A key that comes while the page is read counts when it is complete. */
static void early_keys(void)
{
	start(5 * PAGE, 2);
	CHECK(view_list_draw(&v, &forward, &g, ROWS));
	CHECK(view_list_key(&v, ' '));
	CHECK(view_list_draw(&v, &forward, &g, ROWS));
	CHECK(view_list_key(&v, KEY_RIGHT));
	draw(&forward);
	CHECK(view_list_key(&v, KEY_LEFT));
	draw(&forward);
	CHECK(shows(PAGE, PAGE));
	start(5 * PAGE, 2);
	CHECK(view_list_key(&v, ' ')); /* before the first page */
	draw(&forward);
	CHECK(shows(PAGE, PAGE));
}

/* Of more pages than are kept, the oldest are forgotten: then the first page follows. */
static void many_pages(void)
{
	start(PAGE * (VIEW_LIST_PAGES + 9), 0);
	draw(&forward);
	for (uint32_t i = 0; i < VIEW_LIST_PAGES + 8; i++)
		press(&forward, ' ');
	CHECK(shows(PAGE * (VIEW_LIST_PAGES + 8), PAGE));
	for (uint32_t i = 0; i < VIEW_LIST_PAGES; i++)
		press(&forward, 'p');
	CHECK(shows(PAGE * 8, PAGE));
	CHECK_STR(row(0), " things   page 9, more follow");
	press(&forward, 'p');
	CHECK(shows(0, PAGE));
	CHECK_STR(row(0), " things   page 1, more follow");
	press(&forward, ' ');
	CHECK(shows(PAGE, PAGE));
}

static void wide_lines(void)
{
	start(3, 0);
	wide = true;
	draw(&forward);
	CHECK_EQ(strlen(row(1)), 80);
	CHECK_EQ(g.cell[1][79], GRID_REVERSE << 8 | '>');
	press(&forward, KEY_RIGHT);
	CHECK(strncmp(row(1), "6789 123456789 ", 15) == 0);
	CHECK(strstr(row(1), " end") != NULL);
	CHECK_STR(row(4), "");
	for (uint32_t i = 0; i < 40; i++)
		press(&forward, 'l');
	CHECK_STR(row(1), "");
	CHECK(v.shift <= VIEW_LIST_LINE);
	for (uint32_t i = 0; i < 40; i++)
		press(&forward, 'h');
	CHECK(strncmp(row(1), "line 0 ", 7) == 0);
}

/* The log begins with its last page, follows what is added, and stays where a key went. */
static void log_pages(void)
{
	start(100, 0);
	draw(&tail);
	CHECK(shows(100 - PAGE, PAGE));
	CHECK_STR(row(0), " events   the last lines");
	n_lines = 103;
	draw(&tail);
	CHECK(shows(103 - PAGE, PAGE));
	press(&tail, KEY_PAGE_UP);
	CHECK(shows(103 - 2 * PAGE, PAGE));
	CHECK_STR(row(0), " events   earlier lines");
	n_lines = 110;
	draw(&tail);
	CHECK(shows(103 - 2 * PAGE, PAGE));
	press(&tail, KEY_PAGE_DOWN);
	CHECK(shows(103 - PAGE, PAGE));
	press(&tail, KEY_PAGE_DOWN);
	CHECK(shows(110 - PAGE, PAGE));
	CHECK_STR(row(0), " events   the last lines");
	press(&tail, KEY_HOME);
	CHECK(shows(0, PAGE));
	press(&tail, KEY_PAGE_UP);
	CHECK(shows(0, PAGE));
	press(&tail, 'G');
	CHECK(shows(110 - PAGE, PAGE));
	start(3, 0);
	draw(&tail);
	CHECK(shows(0, 3));
	press(&tail, KEY_HOME);
	CHECK_STR(row(0), " events   the last lines");
	start(0, 0);
	draw(&tail);
	CHECK_STR(row(1), "nothing");
}

int main(void)
{
	TEST(forwards_and_back);
	TEST(borders);
	TEST(early_keys);
	TEST(many_pages);
	TEST(wide_lines);
	TEST(log_pages);
	return tap_done();
}
