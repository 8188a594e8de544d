/* net/stats/lines.c: the lines of a listing that a word asks for, and their numbers. */
#include "net/stats/lines.h"

#include "tests/tap.h"

static void stats(void)
{
	CHECK(lines_want_stat("nat_sessions 0", ""));
	CHECK(lines_want_stat("nat_sessions 0", "nat"));
	CHECK(lines_want_stat("nat_sessions 0", "nat_sessions"));
	CHECK(!lines_want_stat("nat_sessions 0", "nat_sessions_created"));
	CHECK(!lines_want_stat("nat_sessions 0", "sessions"));
	CHECK(!lines_want_stat("nat_sessions 0", "nat_sessions 0"));
	CHECK(!lines_want_stat("nat_sessions 0", "nonzero"));
	CHECK(lines_want_stat("nat_sessions 10", "nonzero"));
	CHECK(lines_want_stat("nat_sessions 10", "nonzero nat"));
	CHECK(lines_want_stat("nat_sessions 10", "nat nonzero"));
	CHECK(!lines_want_stat("nat_sessions 0", "nat nonzero"));
	CHECK(!lines_want_stat("nat_sessions 10", "nonzero drop"));
	CHECK(lines_want_stat("drop{reason=\"ttl\"} 7", "drop"));
	CHECK(lines_want_stat("rx_packets{if=\"lan\"} 7", "rx_packets{if=\"lan\"}"));
}

static void addresses(void)
{
	const char *line = "tcp 192.168.1.10:5000 203.0.113.2:1024 198.51.100.7:80 open expires=9";
	CHECK(lines_have_address(line, "192.168.1.10"));
	CHECK(lines_have_address(line, "198.51.100.7"));
	CHECK(!lines_have_address(line, "192.168.1.1"));
	CHECK(!lines_have_address(line, "92.168.1.10"));
	CHECK(!lines_have_address(line, "192.168.1.100"));
	CHECK(lines_have_address("proto-50 192.168.1.10 203.0.113.2 any open", "203.0.113.2"));
	CHECK(lines_have_address("nameserver 2001:db8::1 up", "2001:db8::1"));
	CHECK(!lines_have_address("nameserver 2001:db8::1 up", "2001:db8::"));
	CHECK(!lines_have_address("nameserver 2001:db8::1:5 up", "2001:db8::1"));
	CHECK(lines_have_address("tcp [2001:db8::1]:80 open", "2001:db8::1"));
	CHECK(!lines_have_address("tcp [2001:db8::15]:80 open", "2001:db8::1"));
	CHECK(!lines_have_address("", "192.0.2.1"));
}

static void counts(void)
{
	static struct lines_count c;
	char buf[64], line[32];
	CHECK(lines_count_show(&c, 0, buf, sizeof buf));
	CHECK_STR(buf, "all 0");
	CHECK(!lines_count_show(&c, 1, buf, sizeof buf));
	lines_count(&c, "udp a b");
	lines_count(&c, "tcp a b");
	lines_count(&c, "udp a b");
	CHECK(lines_count_show(&c, 0, buf, sizeof buf));
	CHECK_STR(buf, "all 3");
	CHECK(lines_count_show(&c, 1, buf, sizeof buf));
	CHECK_STR(buf, "udp 2");
	CHECK(lines_count_show(&c, 2, buf, sizeof buf));
	CHECK_STR(buf, "tcp 1");
	CHECK(!lines_count_show(&c, 3, buf, sizeof buf));
	for (uint32_t i = 0; i < 2 * LINES_KINDS; i++) {
		snprintf(line, sizeof line, "proto-%u-with-a-long-name x", i);
		lines_count(&c, line);
		snprintf(line, sizeof line, "%u", i);
		lines_count(&c, line);
	}
	CHECK_EQ(c.all, 3 + 4 * LINES_KINDS);
	CHECK_EQ(c.n_kinds, LINES_KINDS);
	CHECK(!lines_count_show(&c, LINES_KINDS + 1, buf, sizeof buf));
}

int main(void)
{
	TEST(stats);
	TEST(addresses);
	TEST(counts);
	return tap_done();
}
