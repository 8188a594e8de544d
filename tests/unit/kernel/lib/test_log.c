/* kernel/lib/log.c: the ring, the cursor, the limits and the sink. */
#include "kernel/lib/fmt.h"
#include "kernel/lib/log.h"

#include "tests/tap.h"

static char sunk[LOG_LINE + 1];
static size_t sunk_len;
static unsigned sunk_lines;

static void sink(const char *line, size_t len)
{
	memcpy(sunk, line, len);
	sunk[len] = '\0';
	sunk_len = len;
	sunk_lines++;
}

static void start(void)
{
	log_reset();
	sunk_lines = 0;
	sunk[0] = '\0';
}

static void form(void)
{
	char line[LOG_LINE];
	uint64_t cursor = 0;
	start();
	CHECK(!log_next(&cursor, line, sizeof line));
	log_line("first %u", 1u);
	log_time(1234567);
	log_line("second");
	log_time(5000000000000ull);
	log_line("%s", "");
	CHECK(log_next(&cursor, line, sizeof line));
	CHECK_STR(line, "0.000 first 1");
	CHECK(log_next(&cursor, line, sizeof line));
	CHECK_STR(line, "1.234 second");
	CHECK(log_next(&cursor, line, sizeof line));
	CHECK_STR(line, "5000000.000 ");
	CHECK(!log_next(&cursor, line, sizeof line));
	/* The cursor continues with later lines. */
	log_line("late");
	CHECK(log_next(&cursor, line, sizeof line));
	CHECK_STR(line, "5000000.000 late");
	CHECK(!log_next(&cursor, line, sizeof line));
}

static void printable(void)
{
	char line[LOG_LINE];
	uint64_t cursor = 0;
	start();
	log_line("a\nb\rc\033[2Jd\tz\x7f%s", "\x80\xff");
	CHECK(log_next(&cursor, line, sizeof line));
	CHECK_STR(line, "0.000 a?b?c?[2Jd?z???");
	CHECK(!log_next(&cursor, line, sizeof line));
}

static void long_line(void)
{
	char text[3 * LOG_LINE], line[LOG_LINE], small[8];
	uint64_t cursor = 0;
	start();
	memset(text, 'x', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	log_line("%s", text);
	log_line("next");
	CHECK(log_next(&cursor, line, sizeof line));
	CHECK_EQ(strlen(line), LOG_LINE - 1);
	CHECK(log_next(&cursor, line, sizeof line));
	CHECK_STR(line, "0.000 next");
	cursor = 0;
	CHECK(log_next(&cursor, small, sizeof small));
	CHECK_STR(small, "0.000 x");
	CHECK(log_next(&cursor, small, sizeof small));
	CHECK_STR(small, "0.000 n");
}

/* After any number of lines of any length, the log keeps the last lines, complete and
 * without a gap, and at least as many as must fit. */
static void wraps(void)
{
	char text[LOG_LINE], line[LOG_LINE], want[LOG_LINE];
	uint32_t seed = 1, first = 0, n;
	start();
	memset(text, 'y', sizeof text);
	for (unsigned number = 0; number < 3000; number++) {
		seed = seed * 1664525 + 1013904223;
		int length = (int)(number % 7 ? seed >> 24 : seed >> 28) % 180;
		log_line("%u %.*s", number, length, text);
		if (number % 97)
			continue;
		uint64_t cursor = 0;
		size_t bytes = 0;
		for (n = 0; log_next(&cursor, line, sizeof line); n++) {
			uint32_t found = 0;
			for (const char *p = line + 6; *p >= '0' && *p <= '9'; p++)
				found = found * 10 + (uint32_t)(*p - '0');
			if (n == 0)
				first = found;
			CHECK_EQ(found, first + n);
			bytes += strlen(line) + 1;
			fmt(want, sizeof want, "0.000 %u ", found);
			CHECK(strncmp(line, want, strlen(want)) == 0);
			CHECK_EQ(strspn(line + strlen(want), "y"), strlen(line) - strlen(want));
		}
		CHECK_EQ(first + n, number + 1);
		CHECK(bytes <= LOG_BYTES);
		CHECK(first == 0 || bytes > LOG_BYTES - LOG_LINE);
	}
}

/* When a reader's next line was overwritten, it continues with the oldest line. */
static void overtaken_reader(void)
{
	char line[LOG_LINE];
	uint64_t cursor = 0;
	start();
	for (unsigned i = 0; i < 10; i++)
		log_line("old %u", i);
	CHECK(log_next(&cursor, line, sizeof line));
	CHECK_STR(line, "0.000 old 0");
	for (unsigned i = 0; i < 5000; i++)
		log_line("new %u", i);
	CHECK(log_next(&cursor, line, sizeof line));
	CHECK(strncmp(line, "0.000 new ", 10) == 0);
	/* A cursor from before a reset gives nothing. */
	log_reset();
	CHECK(!log_next(&cursor, line, sizeof line));
}

static void limited(void)
{
	uint64_t mark = 0, other = 0, cursor = 0;
	char line[LOG_LINE];
	start();
	log_sink(sink);
	CHECK(log_limited(&mark, 1000, "a %u", 1u));
	CHECK(!log_limited(&mark, 1000, "a %u", 2u));
	CHECK(log_limited(&other, 1000, "b"));
	log_time(999999);
	CHECK(!log_limited(&mark, 1000, "a %u", 3u));
	log_time(1000001);
	CHECK(log_limited(&mark, 1000, "a %u", 4u));
	CHECK_EQ(mark, 1000001);
	log_time(2000000);
	CHECK(!log_limited(&mark, 1000, "a"));
	/* The longest interval does not overflow. */
	log_time(1000001 + 4294967295000ull - 1);
	CHECK(!log_limited(&mark, UINT32_MAX, "a"));
	log_time(1000001 + 4294967295000ull);
	CHECK(log_limited(&mark, UINT32_MAX, "a 5"));
	CHECK_EQ(sunk_lines, 4);
	unsigned n = 0;
	while (log_next(&cursor, line, sizeof line))
		n++;
	CHECK_EQ(n, 4);
}

static void sinks(void)
{
	start();
	log_sink(sink);
	log_line("to the %s\n", "sink");
	CHECK_STR(sunk, "0.000 to the sink?");
	CHECK_EQ(sunk_len, strlen(sunk));
	log_sink(NULL);
	log_line("to nobody");
	CHECK_EQ(sunk_lines, 1);
}

static void noisy(const char *line, size_t len)
{
	sink(line, len);
	log_line("the sink logs");
}

static void sink_that_logs(void)
{
	char line[LOG_LINE];
	uint64_t cursor = 0;
	start();
	log_sink(noisy);
	log_line("one");
	CHECK_EQ(sunk_lines, 1);
	CHECK(log_next(&cursor, line, sizeof line));
	CHECK_STR(line, "0.000 one");
	CHECK(log_next(&cursor, line, sizeof line));
	CHECK_STR(line, "0.000 the sink logs");
	log_line("two");
	CHECK_EQ(sunk_lines, 2);
}

static void edges(void)
{
	char line[LOG_LINE];
	uint64_t cursor = 0;
	start();
	log_line(" ~\x7f\x1f\x80");
	log_line("second");
	CHECK(!log_next(&cursor, line, 0)); /* no room: no line is skipped */
	CHECK_EQ(cursor, 0);
	CHECK(log_next(&cursor, line, sizeof line));
	CHECK_STR(line, "0.000  ~???");
	CHECK(log_next(&cursor, line, 1));
	CHECK_STR(line, "");
	CHECK(!log_next(&cursor, line, sizeof line));
}

/* The line at a cursor; empty when there is none. */
static const char *line_at(uint64_t cursor)
{
	static char line[LOG_LINE];
	line[0] = '\0';
	log_next(&cursor, line, sizeof line);
	return line;
}

static void backwards(void)
{
	start();
	CHECK_EQ(log_before(UINT64_MAX, 3), 0);
	CHECK_EQ(log_before(0, 3), 0);
	for (unsigned i = 0; i < 5; i++)
		log_line("%u", i);
	CHECK_STR(line_at(log_before(UINT64_MAX, 0)), "");
	CHECK_STR(line_at(log_before(UINT64_MAX, 1)), "0.000 4");
	uint64_t third = log_before(UINT64_MAX, 3);
	CHECK_STR(line_at(third), "0.000 2");
	CHECK_STR(line_at(log_before(third, 2)), "0.000 0");
	CHECK_STR(line_at(log_before(third, 9)), "0.000 0");
	/* After the ring is full, the oldest line is the end of the way. */
	for (unsigned i = 0; i < 5000; i++)
		log_line("%u", i);
	CHECK_STR(line_at(log_before(UINT64_MAX, 2)), "0.000 4998");
	uint64_t oldest = 0, far = log_before(UINT64_MAX, 100000);
	char line[LOG_LINE];
	CHECK(log_next(&oldest, line, sizeof line));
	CHECK_STR(line_at(far), line);
	CHECK_EQ(log_before(third, 1), far); /* a line that was overwritten */
	CHECK_EQ(log_before(third, 0), far);
}

int main(void)
{
	TEST(form);
	TEST(printable);
	TEST(long_line);
	TEST(wraps);
	TEST(overtaken_reader);
	TEST(limited);
	TEST(sinks);
	TEST(sink_that_logs);
	TEST(edges);
	TEST(backwards);
	return tap_done();
}
