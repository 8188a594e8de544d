/* kernel/lib/fmt.c compared with the host's snprintf, and RFC 5952. */
#include "kernel/lib/fmt.h"

#include <arpa/inet.h>
#include <stdlib.h>

#include "tests/tap.h"

#pragma GCC diagnostic ignored "-Wformat"
#pragma GCC diagnostic ignored "-Wformat-extra-args"
#pragma GCC diagnostic ignored "-Wformat-overflow"
#pragma GCC diagnostic ignored "-Wformat-nonliteral"

static uint32_t seed = 12345;

static uint32_t draw(uint32_t n)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % n;
}

static uint64_t draw64(void)
{
	static const uint64_t edge[] = {0,          1,          9,          10,         99,
	                                127,        128,        255,        256,        32767,
	                                32768,      65535,      0x7fffffff, 0x80000000, 0xffffffff,
	                                1ull << 32, 1ull << 63, ~0ull,      ~0ull >> 1, 9999999999};
	uint64_t v = (uint64_t)draw(1 << 24) << 40 ^ (uint64_t)draw(1 << 24) << 20 ^ draw(1 << 24);
	return draw(2) ? edge[draw(ARRAY_SIZE(edge))] : v >> draw(64);
}

/* Formats one value with one random format by both functions; the results must agree. */
#define BOTH(value)                                                                             \
	do {                                                                                    \
		if (star)                                                                       \
			n = fmt(got, size, format, width, value),                               \
			snprintf(want, size, format, width, value);                             \
		else                                                                            \
			n = fmt(got, size, format, value), snprintf(want, size, format, value); \
	} while (0)

static void numbers(void)
{
	static const char *const sizes[] = {"", "hh", "h", "l", "ll", "z"};
	static const char kinds[] = "diuxX";
	for (unsigned i = 0; i < 60000; i++) {
		char format[32], got[64], want[64];
		size_t size = draw(8) ? sizeof got : 1 + draw(20), n;
		unsigned kind = draw(sizeof kinds - 1), s = draw(ARRAY_SIZE(sizes));
		bool star = draw(4) == 0;
		int width = (int)draw(50) - 25;
		char field[8] = "";
		if (star)
			strcpy(field, "*");
		else if (draw(2))
			snprintf(field, sizeof field, "%u", 1 + draw(40));
		snprintf(format, sizeof format, "a%%%s%s%s%s%cb", draw(3) ? "" : "-",
		         draw(3) ? "" : "0", field, sizes[s], kinds[kind]);
		uint64_t v = draw64();
		switch (s) {
		case 4:
			BOTH((unsigned long long)v);
			break;
		case 3:
			BOTH((unsigned long)v);
			break;
		case 5:
			BOTH((size_t)v);
			break;
		default:
			BOTH((unsigned)v);
			break;
		}
		if (strcmp(got, want) != 0 || n != strlen(got))
			printf("# format %s\n", format);
		CHECK_STR(got, want);
		CHECK_EQ(n, strlen(want));
	}
}

static void texts(void)
{
	static const char *const text[] = {"", "x", "hello", "a longer text than most"};
	for (unsigned i = 0; i < 20000; i++) {
		char format[32], got[64], want[64];
		size_t size = draw(8) ? sizeof got : 1 + draw(20), n;
		const char *v = text[draw(ARRAY_SIZE(text))];
		const char *left = draw(2) ? "-" : "";
		int width = (int)draw(46) - 20, precision = (int)draw(20) - 4;
		switch (draw(4)) {
		case 0:
			snprintf(format, sizeof format, "<%%%s*.*s>", left);
			n = fmt(got, size, format, width, precision, v);
			snprintf(want, size, format, width, precision, v);
			break;
		case 1:
			snprintf(format, sizeof format, "<%%%s%u.%us>", left, 1 + draw(30),
			         draw(9));
			n = fmt(got, size, format, v);
			snprintf(want, size, format, v);
			break;
		case 2:
			snprintf(format, sizeof format, "<%%%s.s%%s>", left);
			n = fmt(got, size, format, v, v);
			snprintf(want, size, format, v, v);
			break;
		default:
			snprintf(format, sizeof format, "<%%%s%uc%%%%>", left, 1 + draw(30));
			n = fmt(got, size, format, 'A' + width);
			snprintf(want, size, format, 'A' + width);
			break;
		}
		CHECK_STR(got, want);
		CHECK_EQ(n, strlen(want));
	}
}

static void text_without_end(void)
{
	/* %.*s must not read beyond its precision (the sanitizers check that). */
	char *raw = malloc(3), got[16];
	memcpy(raw, "abc", 3);
	CHECK_EQ(fmt(got, sizeof got, "%.*s", 3, raw), 3);
	CHECK_STR(got, "abc");
	CHECK_EQ(fmt(got, sizeof got, "%.2s|", raw), 3);
	CHECK_STR(got, "ab|");
	free(raw);
}

static void several(void)
{
	char got[100];
	fmt(got, sizeof got, "%s=%u %llx %c%c %-4d| %zu %p", "name", 7u, 0x123456789abcull, 'o',
	    'k', -3, (size_t)9, (void *)0x1a2b);
	CHECK_STR(got, "name=7 123456789abc ok -3  | 9 0x1a2b");
	fmt(got, sizeof got, "%s", (char *)NULL);
	CHECK_STR(got, "(null)");
	fmt(got, sizeof got, "%12p|%-8p|", (void *)0x1a2b, (void *)0);
	CHECK_STR(got, "      0x1a2b|0x0     |");
}

static void unknown(void)
{
	char got[64];
	fmt(got, sizeof got, "100%");
	CHECK_STR(got, "100%");
	fmt(got, sizeof got, "%q %5.2f %lld", 5ll);
	CHECK_STR(got, "%q %5.2f 5");
	fmt(got, sizeof got, "%.3d %+d %#x %ls %lc %lp %", 5);
	CHECK_STR(got, "%.3d %+d %#x %ls %lc %lp %");
	fmt(got, sizeof got, "%.2c %-", 5);
	CHECK_STR(got, "%.2c %-");
}

static void sizes(void)
{
	char got[4] = "xyz";
	CHECK_EQ(fmt(got, 1, "%d", 12345), 0);
	CHECK_STR(got, "");
	CHECK_EQ(fmt(got, 4, "%d", 12345), 3);
	CHECK_STR(got, "123");
	CHECK_EQ(fmt(got, 4, "%99999999999999999999d", 1), 3);
	CHECK_STR(got, "   ");
	CHECK_EQ(fmt(got, 4, "%*d", -2147483647 - 1, 1), 3);
	CHECK_STR(got, "1  ");
}

static void ip4_text(void)
{
	char got[FMT_IP4];
	CHECK_STR(fmt_ip4(got, ip4_of(0)), "0.0.0.0");
	CHECK_STR(fmt_ip4(got, ip4_of(0xffffffff)), "255.255.255.255");
	CHECK_STR(fmt_ip4(got, ip4_of(0xc0000201)), "192.0.2.1");
}

static void mac_text(void)
{
	char got[FMT_MAC];
	mac a = {{0x52, 0x54, 0, 0x12, 0xAB, 0xff}};
	CHECK_STR(fmt_mac(got, &a), "52:54:00:12:ab:ff");
}

/* RFC 5952 section 4: on the left, one of the forms of sections 2 and 4; on the right, the
 * recommended form. */
static void rfc5952(void)
{
	static const char *const pair[][2] = {
	        {"2001:0db8::0001", "2001:db8::1"},
	        {"2001:db8:0:0:0:0:2:1", "2001:db8::2:1"},
	        {"2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"},
	        {"2001:db8::1:1:1:1:1", "2001:db8:0:1:1:1:1:1"},
	        {"2001:0:0:1:0:0:0:1", "2001:0:0:1::1"},
	        {"2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"},
	        {"2001:DB8::AAAA:Bbbb", "2001:db8::aaaa:bbbb"},
	        {"0:0:0:0:0:0:0:0", "::"},
	        {"0:0:0:0:0:0:0:1", "::1"},
	        {"1:0:0:0:0:0:0:0", "1::"},
	        {"0:0:0:0:0:ffff:c000:0201", "::ffff:192.0.2.1"},
	        {"64:ff9b::192.0.2.33", "64:ff9b::c000:221"},
	        {"0:1:0:1:0:1:0:1", "0:1:0:1:0:1:0:1"},
	        {"1:2:3:4:5:6:0:0", "1:2:3:4:5:6::"},
	        {"0:0:3:4:5:6:7:8", "::3:4:5:6:7:8"},
	};
	for (unsigned i = 0; i < ARRAY_SIZE(pair); i++) {
		char got[FMT_IP6];
		ip6 a;
		CHECK_EQ(inet_pton(AF_INET6, pair[i][0], &a), 1);
		CHECK_STR(fmt_ip6(got, &a), pair[i][1]);
	}
}

static void ip6_same_as_host(void)
{
	for (unsigned i = 0; i < 30000; i++) {
		char got[FMT_IP6], want[INET6_ADDRSTRLEN];
		ip6 a;
		for (unsigned g = 0; g < 8; g++) {
			uint32_t v = draw(3) ? 0 : draw(2) ? draw(65536) : draw(16);
			a.b[2 * g] = (uint8_t)(v >> 8);
			a.b[2 * g + 1] = (uint8_t)v;
		}
		/* The host also prints ::a.b.c.d in this way, a form that is deprecated. */
		bool old = true;
		for (unsigned b = 0; b < 12; b++)
			old &= a.b[b] == 0;
		if (old)
			continue;
		inet_ntop(AF_INET6, &a, want, sizeof want);
		CHECK_STR(fmt_ip6(got, &a), want);
	}
}

static void ip6_longest(void)
{
	char got[FMT_IP6];
	ip6 a;
	memset(&a, 0xff, sizeof a);
	CHECK_STR(fmt_ip6(got, &a), "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff");
}

int main(void)
{
	TEST(numbers);
	TEST(texts);
	TEST(text_without_end);
	TEST(several);
	TEST(unknown);
	TEST(sizes);
	TEST(ip4_text);
	TEST(mac_text);
	TEST(rfc5952);
	TEST(ip6_same_as_host);
	TEST(ip6_longest);
	return tap_done();
}
