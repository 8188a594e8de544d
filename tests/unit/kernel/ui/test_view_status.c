/* kernel/ui/view_status.c: numbers, rates, and the screen as text. */
#include "kernel/lib/fmt.h"
#include "kernel/lib/log.h"
#include "kernel/ui/view_status.h"
#include "tests/tap.h"

static uint32_t n_interfaces, n_tables, places = 100000;
static struct view_status_all all_now;
static struct grid g;

static void give_all(struct view_status_all *out)
{
	*out = all_now;
}

static bool give_interface(uint32_t i, struct view_status_interface *out)
{
	if (i >= n_interfaces)
		return false;
	memset(out, 0, sizeof *out);
	fmt(out->name, sizeof out->name, i ? "lan%u" : "lan", i + 1);
	fmt(out->card, sizeof out->card, "virtio-net");
	fmt(out->link, sizeof out->link, "1000M full");
	fmt(out->addresses, sizeof out->addresses, "192.168.%u.1/24 fe80::1/64", i);
	out->in = 812000 + i;
	out->in_bits = 9876543210;
	out->out = 7;
	out->out_bits = 4096;
	return true;
}

static bool give_table(uint32_t i, struct view_status_table *out)
{
	static const char *const name[] = {"nat_sessions", "nat_mappings", "dns_cache_records",
	                                   "tcp_connections"};
	if (i >= n_tables)
		return false;
	*out = (struct view_status_table){name[i % 4], 50000 + i, places};
	return true;
}

static const struct view_status_source source = {give_all, give_interface, give_table};

/* Draws the whole screen; gives the number of calls. */
static uint32_t draw(uint32_t rows)
{
	struct view_status v = {0};
	uint32_t calls = 1;
	grid_clear(&g);
	for (uint32_t r = 0; r < GRID_ROWS; r++)
		grid_fill(&g, r, 0, GRID_COLUMNS, GRID_NORMAL, '#');
	while (view_status_draw(&v, &source, &g, rows))
		calls++;
	CHECK_EQ(v.row, 0);
	CHECK_EQ(v.part, 0);
	return calls;
}

/* A row as text, without the blanks at its end. */
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

static void numbers(void)
{
	static const struct {
		uint64_t n;
		const char *text;
	} want[] = {
	        {0, "0"},
	        {9999, "9999"},
	        {10000, "10.0k"},
	        {99999, "99.9k"},
	        {100000, "100k"},
	        {999999, "999k"},
	        {1000000, "1.00M"},
	        {1234567, "1.23M"},
	        {9876543210, "9.87G"},
	        {1000000000000, "1.00T"},
	        {UINT64_MAX, "18.4E"},
	};
	char buf[VIEW_NUMBER];
	for (uint32_t i = 0; i < ARRAY_SIZE(want); i++)
		CHECK_STR(view_status_number(buf, want[i].n), want[i].text);
}

static void rates(void)
{
	CHECK_EQ(view_status_rate(5, 1005, 1000000), 1000);
	CHECK_EQ(view_status_rate(0, 1000, 2000000), 500);
	CHECK_EQ(view_status_rate(0, 3, 2000000), 2); /* 1.5 is rounded up */
	CHECK_EQ(view_status_rate(0, 1, 3000000), 0);
	CHECK_EQ(view_status_rate(7, 7, 1000000), 0);
	CHECK_EQ(view_status_rate(0, 7, 0), 0);
	CHECK_EQ(view_status_rate(UINT64_MAX - 9, 10, 1000000), 20); /* it wraps */
	/* Without room for the product the last digits are lost. */
	CHECK_EQ(view_status_rate(0, 3000000000123456789, 1000000), 3000000000123000000);
}

static void small_gateway(void)
{
	char line[LOG_LINE];
	n_interfaces = 2;
	n_tables = 3;
	all_now = (struct view_status_all){"gateway: nat, dns64", 1000, 90061, 12345, 6, 7890};
	log_reset();
	for (uint32_t i = 0; i < 40; i++)
		log_line("event %u", i);
	draw(24);
	fmt(line, sizeof line, "%-49sload 100.0 %%   up 1 d 01:01:01", " gateway: nat, dns64");
	CHECK_STR(row(0), line);
	CHECK_EQ(g.cell[0][79], GRID_REVERSE << 8 | ' ');
	CHECK_STR(row(1),
	          "           card       link       in packets/s    bits/s  out packets/s   "
	          "bits/s");
	CHECK_STR(row(2),
	          " lan       virtio-net 1000M full         812k     9.87G              7     "
	          "4096");
	CHECK_STR(row(3), "           192.168.0.1/24 fe80::1/64");
	CHECK_STR(row(5), "           192.168.1.1/24 fe80::1/64");
	CHECK_STR(row(6), " forwarded 12.3k packets/s, dropped 6 packets/s (7890 in all)");
	CHECK_STR(row(7),
	          " nat_sessions       50.0k of 100k (50 %) nat_mappings       50.0k of 100k "
	          "(50 %)");
	CHECK_STR(row(8), " dns_cache_records  50.0k of 100k (50 %)");
	CHECK_STR(row(9), "");
	CHECK_STR(row(10), " last events");
	CHECK_STR(row(11), " 0.000 event 28");
	CHECK_STR(row(22), " 0.000 event 39");
	CHECK(row(23)[0] == '#' && row(24)[79] == '#');
	draw(25);
	CHECK_STR(row(23), " 0.000 event 39");
	CHECK(row(24)[0] == '#');
}

/* Every number of interfaces and of tables fits, with room for the log. */
static void all_sizes(void)
{
	log_reset();
	for (uint32_t i = 0; i < 40; i++)
		log_line("event %u", i);
	for (n_interfaces = 0; n_interfaces <= VIEW_INTERFACES + 2; n_interfaces++)
		for (n_tables = 0; n_tables <= 20; n_tables++)
			for (uint32_t rows = 24; rows <= 25; rows++) {
				CHECK(draw(rows) < 40);
				CHECK_STR(row(rows - 2), " 0.000 event 39");
				CHECK_STR(row(rows - 3), " 0.000 event 38");
				CHECK(row(rows - 1)[0] == '#' && row(rows - 1)[79] == '#');
				for (uint32_t r = 0; r < rows - 1; r++)
					CHECK(row(r)[0] != '#');
			}
	n_interfaces = VIEW_INTERFACES + 1;
	draw(24);
	CHECK(strncmp(row(16), " lan8 ", 6) == 0); /* the last one that has room */
	CHECK(strncmp(row(18), " forwarded", 10) == 0);
}

static void empty_and_long(void)
{
	n_interfaces = n_tables = 0;
	memset(&all_now, 0, sizeof all_now);
	log_reset();
	log_line("%0120u", 7);
	draw(24);
	CHECK_STR(row(2), " forwarded 0 packets/s, dropped 0 packets/s (0 in all)");
	CHECK_STR(row(4), " last events");
	CHECK(strlen(row(5)) == 80 && strcmp(row(5) + 70, "00000000..") == 0);
	CHECK_STR(row(6), "");
	/* A table without places. */
	n_tables = 1;
	places = 0;
	draw(24);
	CHECK_STR(row(3), " nat_sessions       50.0k of 0 (0 %)");
	places = 100000;
}

int main(void)
{
	TEST(numbers);
	TEST(rates);
	TEST(small_gateway);
	TEST(all_sizes);
	TEST(empty_and_long);
	return tap_done();
}
