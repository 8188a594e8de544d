/* kernel/ui/view.c: which screen keys show, when it is drawn, and random keys. */
#include "kernel/console/keys.h"
#include "kernel/lib/fmt.h"
#include "kernel/lib/log.h"
#include "kernel/ui/view.h"
#include "tests/tap.h"

static struct view v;
static uint32_t n_lines = 100;
static uint32_t n_given; /* calls of the sources */

static void give_all(struct view_status_all *out)
{
	n_given++;
	memset(out, 0, sizeof *out);
	fmt(out->function, sizeof out->function, "gateway: nat");
}

static bool give_interface(uint32_t i, struct view_status_interface *out)
{
	n_given++;
	memset(out, 0, sizeof *out);
	return i < n_lines % 10;
}

static bool give_table(uint32_t i, struct view_status_table *out)
{
	n_given++;
	*out = (struct view_status_table){"table", i, 100};
	return i < n_lines % 7;
}

static bool give_line(uint64_t *cursor, char *buf, size_t size)
{
	n_given++;
	if (*cursor >= n_lines)
		return false;
	if (*cursor % 3 == 0)
		fmt(buf, size, "session %u%*s", (uint32_t)*cursor, (int)(*cursor % 300), "x");
	++*cursor;
	return true;
}

static const struct view_source source = {
        .status = {give_all, give_interface, give_table},
        .sessions = {"sessions", "there are no sessions", give_line, NULL},
        .log = {"log", "the log is empty", log_next, log_before},
};

/* Draws until the screen is complete. */
static void draw(uint64_t now_us)
{
	uint32_t i = 0;
	while (view_run(&v, &source, now_us) && (v.drawing || v.again))
		CHECK(++i < 1000);
}

static bool has(uint32_t row, const char *text)
{
	char line[GRID_COLUMNS + 1] = {0};
	for (uint32_t i = 0; i < GRID_COLUMNS; i++)
		line[i] = (char)v.grid.cell[row][i];
	return strstr(line, text) != NULL;
}

static void which_screen(void)
{
	CHECK_EQ(view_of_key(KEY_F1), VIEW_STATUS);
	CHECK_EQ(view_of_key(KEY_F2), VIEW_SESSIONS);
	CHECK_EQ(view_of_key(KEY_F3), VIEW_LOG);
	CHECK_EQ(view_of_key(KEY_F4), VIEW_CONSOLE);
	CHECK_EQ(view_of_key('1'), VIEW_CONSOLE);
	log_reset();
	view_open(&v, VIEW_STATUS, 24);
	draw(5);
	CHECK(has(0, "gateway: nat") && has(23, "1 status  2 sessions"));
	CHECK_EQ(view_key(&v, '2'), VIEW_STAYS);
	draw(6);
	CHECK(has(0, "sessions") && has(1, "session 0"));
	CHECK_EQ(view_key(&v, KEY_PAGE_DOWN), VIEW_STAYS);
	draw(7);
	CHECK(has(0, "page 2"));
	CHECK_EQ(view_key(&v, KEY_F3), VIEW_STAYS);
	draw(8);
	CHECK(has(0, "log") && has(1, "the log is empty"));
	CHECK_EQ(view_key(&v, KEY_F2), VIEW_STAYS); /* from its beginning */
	draw(9);
	CHECK(has(0, "page 1"));
	CHECK_EQ(view_key(&v, '1'), VIEW_STAYS);
	draw(10);
	CHECK(has(0, "gateway: nat"));
	CHECK_EQ(view_key(&v, 'n'), VIEW_STAYS);
	CHECK_EQ(v.kind, VIEW_STATUS);
	CHECK_EQ(view_key(&v, 12), VIEW_REDRAW);
	static const int end[] = {KEY_F4, '4', 'q', 27, 3};
	for (uint32_t i = 0; i < ARRAY_SIZE(end); i++)
		CHECK_EQ(view_key(&v, end[i]), VIEW_ENDS);
	CHECK_EQ(view_key(&v, '0'), VIEW_STAYS);
	CHECK_EQ(view_key(&v, '5'), VIEW_STAYS);
	CHECK_EQ(v.kind, VIEW_STATUS);
}

/* Once a second, and after a key that means something. */
static void when(void)
{
	view_open(&v, VIEW_SESSIONS, 25);
	draw(2000000);
	n_given = 0;
	CHECK(!view_run(&v, &source, 2000000));
	CHECK(!view_run(&v, &source, 2999999));
	CHECK_EQ(n_given, 0);
	CHECK(view_run(&v, &source, 3000000));
	draw(3000001);
	CHECK(!view_run(&v, &source, 3000002));
	view_key(&v, 'x');
	CHECK(!view_run(&v, &source, 3000003));
	view_key(&v, KEY_RIGHT);
	CHECK(view_run(&v, &source, 3000004));
	draw(3000005);
	CHECK(!view_run(&v, &source, 3000006));
	/* A key while the page is read: it is read once more. */
	view_key(&v, KEY_LEFT);
	CHECK(view_run(&v, &source, 3000007));
	CHECK(v.drawing);
	view_key(&v, KEY_RIGHT);
	while (v.drawing)
		view_run(&v, &source, 3000008);
	CHECK(view_run(&v, &source, 3000009));
	CHECK(has(24, "1 status  2 sessions"));
}

static uint32_t random_number(void)
{
	static uint32_t x = 12345;
	x ^= x << 13;
	x ^= x >> 17;
	return x ^= x << 5;
}

/* Whatever is pressed while listings grow and shrink: little is done a call, the screen becomes
 * complete, and the last line stays. */
static void random_keys(void)
{
	static const int special[] = {
	        KEY_UP,      KEY_DOWN,      KEY_LEFT, KEY_RIGHT, KEY_HOME, KEY_END,
	        KEY_PAGE_UP, KEY_PAGE_DOWN, KEY_F1,   KEY_F2,    KEY_F3,   KEY_F4,
	        KEY_DELETE,  ' ',           'n',      'p',       'g',      'G'};
	uint64_t now = 1;
	view_open(&v, VIEW_STATUS, 24);
	for (uint32_t i = 0; i < 60000; i++) {
		uint32_t r = random_number() >> 8;
		int key = r % 3 ? special[r / 3 % ARRAY_SIZE(special)] : (int)(r / 3 % 256);
		now += r % 5 ? r % 1000 : r % 3000000;
		if (r % 11 == 0)
			n_lines = random_number() % 3000;
		if (r % 7 == 0)
			log_line("%u %*s", i, (int)(r % 190), "end");
		enum view_answer answer = view_key(&v, key);
		if (answer == VIEW_ENDS)
			view_open(&v, (enum view_kind)(r % VIEW_CONSOLE), 24 + r % 2);
		n_given = 0;
		view_run(&v, &source, now);
		CHECK(n_given <= 4);
		if (r % 50 == 0)
			draw(now + VIEW_EVERY_US);
		CHECK(has(v.rows - 1, " 1 status  2 sessions  3 log  4 console "));
		CHECK(v.rows == 25 || has(24, "       "));
		if (tap_bad_here)
			return;
	}
}

int main(void)
{
	TEST(which_screen);
	TEST(when);
	TEST(random_keys);
	return tap_done();
}
