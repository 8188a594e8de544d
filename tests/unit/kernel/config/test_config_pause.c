/* kernel/config/config_pause.c: a reader of a text pauses after each KB of it, at the end of a
 * line. */
#include "kernel/config/config_pause.h"

#include "kernel/config/config_edit.h"
#include "kernel/settings.h"
#include "tests/tap.h"

enum { KB = 60, LEN = KB * 1024 };

static char text[LEN], out[65536];
static struct config c;
static uint32_t pauses;

static void count(void)
{
	pauses++;
}

/* A text of which each line is as long. */
static struct slice lines(size_t length)
{
	memset(text, '#', sizeof text);
	for (size_t i = length - 1; i < sizeof text; i += length)
		text[i] = '\n';
	pauses = 0;
	config_pause_by(count);
	return (struct slice){text, sizeof text};
}

static void parse(struct slice s)
{
	static const char *names[] = {"nat"};
	settings_init(&c, names, 1);
	config_text(&c, "gateway.conf", s.at, s.len);
}

static void after_each_kb(void)
{
	static const size_t length[] = {1, 16, 1024};
	struct slice s, value = {"box", 3};
	for (unsigned i = 0; i < ARRAY_SIZE(length); i++) {
		s = lines(length[i]);
		parse(s);
		CHECK_EQ(c.n_errors, 0);
		CHECK_EQ(pauses, KB);
		pauses = 0;
		CHECK_EQ(config_edit_count(s, "hostname"), 0);
		CHECK_EQ(pauses, KB);
		pauses = 0;
		CHECK(config_edit_set(s, "hostname", 0, value, out, sizeof out) > s.len);
		CHECK_EQ(pauses, 2 * KB); /* it looks for the key, and for the place */
	}
}

static void after_long_lines(void)
{
	struct slice s = lines(LEN);
	parse(s);
	CHECK_EQ(pauses, 1);
	s = lines(1500);
	parse(s);
	CHECK_EQ(pauses, LEN / 1500 + (LEN % 1500 >= 1024));
}

static void short_texts_add_up(void)
{
	struct slice s = lines(64);
	s.len = 512;
	for (int i = 0; i < 6; i++)
		parse(s);
	CHECK_EQ(pauses, 3);
}

static void nobody(void)
{
	struct slice s = lines(64);
	config_pause_by(NULL);
	parse(s);
	CHECK_EQ(pauses, 0);
	CHECK_EQ(c.n_errors, 0);
}

int main(void)
{
	TEST(after_each_kb);
	TEST(after_long_lines);
	TEST(short_texts_add_up);
	TEST(nobody);
	return tap_done();
}
