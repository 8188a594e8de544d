/* kernel/config/config_edit.c: a changed value changes nothing else in the text, and what was
 * written is what config.c reads. */
#include "kernel/config/config_edit.h"
#include "kernel/lib/fmt.h"
#include "tests/unit/config_kit.h"

static char out[4096];

static struct slice slice(const char *text)
{
	return (struct slice){text, strlen(text)};
}

/* The text with value `i` of the key changed. */
static const char *set(const char *text, const char *key, uint32_t i, const char *value)
{
	size_t n = config_edit_set(slice(text), key, i, slice(value), out, sizeof out - 1);
	if (n == CONFIG_EDIT_FULL)
		return "full";
	out[n] = 0;
	return out;
}

static const char *value(const char *text, const char *key, uint32_t i)
{
	static char shown[80];
	struct slice v = config_edit_value(slice(text), key, i, NULL);
	snprintf(shown, sizeof shown, "%.*s", (int)v.len, v.at);
	return shown;
}

static void reads_values(void)
{
	static const char text[] = "\xef\xbb\xbf"
	                           "lan nic0 # lan nic7\r\n"
	                           "  route\t10.0.0.0/8  via 192.0.2.1  // far\n"
	                           "#route 1.0.0.0/8 via 192.0.2.9\n"
	                           "route 11.0.0.0/8 via 192.0.2.2\n"
	                           "routex 1\n"
	                           "app";
	uint32_t line;
	CHECK_EQ(config_edit_count(slice(text), "lan"), 1);
	CHECK_EQ(config_edit_count(slice(text), "route"), 2);
	CHECK_EQ(config_edit_count(slice(text), "app"), 1);
	CHECK_EQ(config_edit_count(slice(text), "wan"), 0);
	CHECK_STR(value(text, "lan", 0), "nic0");
	CHECK_STR(value(text, "route", 0), "10.0.0.0/8  via 192.0.2.1");
	CHECK_STR(value(text, "app", 0), "");
	config_edit_value(slice(text), "route", 1, &line);
	CHECK_EQ(line, 4);
	config_edit_value(slice(text), "route", 2, &line);
	CHECK_EQ(line, 0);
	CHECK_EQ(config_edit_count(slice(""), "lan"), 0);
	CHECK_EQ(config_edit_count(slice("\xef\xbb\xbf"), "lan"), 0);
}

static void changes_only_the_value(void)
{
	CHECK_STR(set("a 1\n lan\tnic0 \t# the left card\nb 2", "lan", 0, "nic12"),
	          "a 1\n lan\tnic12 \t# the left card\nb 2");
	CHECK_STR(set("x 1\r\nx 2//two\r\nx 3\r\n", "x", 1, "22"), "x 1\r\nx 22//two\r\nx 3\r\n");
	CHECK_STR(set("\xef\xbb\xbfx 1", "x", 0, "2"), "\xef\xbb\xbfx 2");
	CHECK_STR(set("x  # empty\ny 1\n", "x", 0, "5"), "x 5  # empty\ny 1\n");
	CHECK_STR(set("x", "x", 0, "5"), "x 5");
	/* a value that is a part of the key */
	CHECK_STR(set("a a\n", "a", 0, "b"), "a b\n");
}

static void removes_a_line_but_no_comment(void)
{
	CHECK_STR(set("a 1\nx 1\nb 1\n", "x", 0, ""), "a 1\nb 1\n");
	CHECK_STR(set("a 1\nx 1  # why\nb 1\n", "x", 0, ""), "a 1\n# why\nb 1\n");
	CHECK_STR(set("x 1\nx 2\nx 3", "x", 2, ""), "x 1\nx 2\n");
	CHECK_STR(set("\xef\xbb\xbfx 1\ny 2", "x", 0, ""), "\xef\xbb\xbfy 2");
	CHECK_STR(set("a 1\n", "x", 0, ""), "a 1\n");
}

static void adds_a_line_where_it_belongs(void)
{
	CHECK_STR(set("", "x", 0, "1"), "x 1\n");
	CHECK_STR(set("a 1", "x", 0, "1"), "a 1\nx 1\n");
	CHECK_STR(set("a 1\r\nb 1\r\n", "x", 0, "1"), "a 1\r\nb 1\r\nx 1\r\n");
	CHECK_STR(set("x 1\na 1\n", "x", 1, "2"), "x 1\nx 2\na 1\n");
	CHECK_STR(set("#x 7  # such as this\na 1\n", "x", 0, "1"),
	          "#x 7  # such as this\nx 1\na 1\n");
	CHECK_STR(set("#x\n# x is\n//x 3\na 1\n", "x", 0, "1"), "#x\n# x is\n//x 3\nx 1\na 1\n");
	CHECK_STR(set("lan nic0\nwan nic1\nlan.ra on\nb 1\n", "lan.mtu", 0, "1400"),
	          "lan nic0\nwan nic1\nlan.ra on\nlan.mtu 1400\nb 1\n");
	CHECK_STR(set("lan2 nic2\nb 1\n", "lan.mtu", 0, "1400"), "lan2 nic2\nb 1\nlan.mtu 1400\n");
	CHECK_STR(set("# the mtu of the lan\nb 1\n", "lan.mtu", 0, "1400"),
	          "# the mtu of the lan\nb 1\nlan.mtu 1400\n");
}

static void never_writes_more_than_fits(void)
{
	char exact[9] = "?????\0?!";
	CHECK_EQ(config_edit_set(slice("x 1\n"), "x", 0, slice("22"), exact, 5), 5);
	CHECK_STR(exact, "x 22\n");
	CHECK_EQ(config_edit_set(slice("x 1\n"), "x", 0, slice("22"), exact, 4), CONFIG_EDIT_FULL);
	CHECK_EQ(config_edit_set(slice("x 1\n"), "y", 0, slice("2"), exact, 7), CONFIG_EDIT_FULL);
	CHECK_EQ(config_edit_comment(slice("x 1\n"), 1, exact, 5), CONFIG_EDIT_FULL);
	CHECK_EQ(config_edit_mark(slice("x 1\n"), exact, 7), CONFIG_EDIT_FULL);
	CHECK_EQ(exact[7], '!');
}

static const char *comment(const char *text, uint32_t line)
{
	size_t n = config_edit_comment(slice(text), line, out, sizeof out - 1);
	out[n] = 0;
	return out;
}

static void makes_comments(void)
{
	CHECK_STR(comment("a\nb\nc", 2), "a\n# b\nc");
	CHECK_STR(comment("a\nb\nc", 3), "a\nb\n# c");
	CHECK_STR(comment("a\nb\nc", 4), "a\nb\nc");
	CHECK_STR(comment("a\nb\nc", 0), "a\nb\nc");
	CHECK_STR(comment("\xef\xbb\xbf"
	                  "a",
	                  1),
	          "\xef\xbb\xbf# a");
}

static const char *mark(const char *text)
{
	size_t n = config_edit_mark(slice(text), out, sizeof out - 1);
	out[n] = 0;
	return out;
}

static void marks(void)
{
	CHECK_STR(mark("a 1\n"), CONFIG_EDIT_MARK "\na 1\n");
	CHECK_STR(mark("a 1\r\n"), CONFIG_EDIT_MARK "\r\na 1\r\n");
	CHECK_STR(mark(CONFIG_EDIT_MARK "\r\na 1\r\n"), CONFIG_EDIT_MARK "\r\na 1\r\n");
	CHECK_STR(mark("\xef\xbb\xbf# b\n"), "\xef\xbb\xbf" CONFIG_EDIT_MARK "\n# b\n");
	CHECK(config_edit_is_marked(slice(CONFIG_EDIT_MARK)));
	CHECK(config_edit_is_marked(slice("\xef\xbb\xbf" CONFIG_EDIT_MARK "\n")));
	CHECK(!config_edit_is_marked(slice(CONFIG_EDIT_MARK "x\n")));
	CHECK(!config_edit_is_marked(slice("\n" CONFIG_EDIT_MARK)));
	CHECK(!config_edit_is_marked(slice("")));
}

/* Random changes of random texts: the parser sees the change, and nothing else. */
static void the_parser_agrees(void)
{
	static const char *const key[] = {"lan.mtu", "nat.sessions", "nameserver", "hostname"};
	static const char *const values[][2] = {
	        {"1400", "1280"}, {"5", "100"}, {"192.0.2.1", "2001:db8::1"}, {"a", "box.example"}};
	static const char *const junk[] = {"# lan.mtu 1300", "", "  // x", "#hostname z", "#"};
	uint32_t x = 7, bad = 0;
	for (int round = 0; round < 2000; round++) {
		char text[1024];
		size_t n = 0;
		uint32_t seen = 0;
		for (int i = 0; i < 8; i++) {
			x = x * 1664525 + 1013904223;
			uint32_t k = (x >> 24) % 4;
			bool again = seen & 1u << k && k != 2;
			const char *end = x & 1u << 12 ? " # c\r\n" : "\n";
			if (x >> 31 || again)
				n += fmt(text + n, sizeof text - n, "%s\n", junk[(x >> 20) % 5]);
			else
				n += fmt(text + n, sizeof text - n, "%s\t%s%s", key[k],
				         values[k][x >> 30 & 1], end);
			seen |= x >> 31 || again ? 0 : 1u << k;
		}
		x = x * 1664525 + 1013904223;
		uint32_t k = (x >> 24) % 4;
		const char *to = x >> 31 ? "" : values[k][x >> 30 & 1];
		uint32_t i = k != 2 ? 0 : (x >> 10) % (config_edit_count(slice(text), key[k]) + 1);
		const char *after = set(text, key[k], i, to);
		start();
		config_text(&c, "f", after, strlen(after));
		bad += c.n_errors != 0;
		if (to[0])
			bad += strcmp(value(after, key[k], i), to) != 0;
		for (uint32_t j = 0; j < 4; j++) {
			uint32_t before = config_edit_count(slice(text), key[j]);
			uint32_t now = config_edit_count(slice(after), key[j]);
			if (j != k)
				bad += before != now;
			else if (to[0])
				bad += now != before + (i == before);
			else
				bad += now != before - (i < before);
		}
	}
	CHECK_EQ(bad, 0);
}

int main(void)
{
	TEST(reads_values);
	TEST(changes_only_the_value);
	TEST(removes_a_line_but_no_comment);
	TEST(adds_a_line_where_it_belongs);
	TEST(never_writes_more_than_fits);
	TEST(makes_comments);
	TEST(marks);
	TEST(the_parser_agrees);
	return tap_done();
}
