/* kernel/lib/addr.c: correct forms, wrong forms, and a comparison with the host's
 * inet_pton. Every text is passed in a buffer of its exact size, so that the sanitizers see
 * a read beyond its end. */
#include "kernel/lib/addr.h"
#include "kernel/lib/fmt.h"

#include <arpa/inet.h>
#include <stdlib.h>

#include "tests/tap.h"

static uint32_t seed = 99;

static uint32_t draw(uint32_t n)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % n;
}

/* Calls a parser with an exact copy of the text. On failure *out must stay unchanged. */
#define PARSE(parser, text, out)                                               \
	({                                                                     \
		size_t parse_n = strlen(text);                                 \
		char *parse_copy = malloc(parse_n ? parse_n : 1);              \
		memcpy(parse_copy, text, parse_n);                             \
		unsigned char parse_was[sizeof *(out)];                        \
		memcpy(parse_was, out, sizeof *(out));                         \
		bool parse_ok = parser(parse_copy, parse_n, out);              \
		CHECK(parse_ok || memcmp(parse_was, out, sizeof *(out)) == 0); \
		free(parse_copy);                                              \
		parse_ok;                                                      \
	})

#define GOOD(parser, text, out)                                          \
	do {                                                             \
		if (!PARSE(parser, text, out))                           \
			printf("# refused: %s\n", text), tap_bad_here++; \
	} while (0)
#define WRONG(parser, text, out)                                          \
	do {                                                              \
		if (PARSE(parser, text, out))                             \
			printf("# accepted: %s\n", text), tap_bad_here++; \
	} while (0)

static void v4(void)
{
	static const char *const wrong[] = {
	        "",          "1",         "1.2.3",    "1.2.3.4.",   ".1.2.3.4",  "1..2.3",
	        "1.2.3.256", "01.2.3.4",  "1.2.3.04", "00.0.0.0",   "1.2.3.4 ",  " 1.2.3.4",
	        "1.2.3.4.5", "1.2.3.a",   "1.2.3.-4", "1.2.3.+4",   "0x1.2.3.4", "1.2.3.1000",
	        "1.2.3.4/8", "999.1.1.1", "1.2.3.",   "4294967295", "1,2,3,4"};
	ip4 a = {{9, 9, 9, 9}};
	for (unsigned i = 0; i < ARRAY_SIZE(wrong); i++)
		WRONG(addr_ip4, wrong[i], &a);
	GOOD(addr_ip4, "0.0.0.0", &a);
	CHECK_EQ(ip4_get(a), 0);
	GOOD(addr_ip4, "255.255.255.255", &a);
	CHECK_EQ(ip4_get(a), 0xffffffff);
	GOOD(addr_ip4, "192.0.2.1", &a);
	CHECK_EQ(ip4_get(a), 0xc0000201);
}

static void v6(void)
{
	static const char *const wrong[] = {
	        "",
	        ":",
	        ":::",
	        "1",
	        "1:2:3:4:5:6:7",
	        "1:2:3:4:5:6:7:8:9",
	        "1::2::3",
	        "12345::",
	        ":1:2:3:4:5:6:7:8",
	        ":1::2",
	        "1:",
	        "1:2:",
	        "::1:",
	        "1:2:3:4:5:6:7:",
	        "1:2:3:4:5:6:7:8::",
	        "::1:2:3:4:5:6:7:8",
	        "1:2:3:4::5:6:7:8",
	        "g::",
	        "::1.2.3",
	        "::1.2.3.4.5",
	        "1.2.3.4::",
	        "::1.2.3.4:5",
	        "1:2:3:4:5:6:7:1.2.3.4",
	        "::01.2.3.4",
	        "fe80::1%eth0",
	        "::1/64",
	        " ::1",
	        "::1 ",
	        "[::1]",
	        "1.2.3.4",
	        "::1.2.3.256",
	        "::-1",
	        "0x1::",
	        "::.1.2.3",
	};
	ip6 a;
	memset(&a, 0x77, sizeof a);
	for (unsigned i = 0; i < ARRAY_SIZE(wrong); i++)
		WRONG(addr_ip6, wrong[i], &a);
	/* RFC 4291 section 2.2. */
	static const char *const right[] = {
	        "ABCD:EF01:2345:6789:ABCD:EF01:2345:6789",
	        "2001:DB8:0:0:8:800:200C:417A",
	        "FF01:0:0:0:0:0:0:101",
	        "0:0:0:0:0:0:0:1",
	        "0:0:0:0:0:0:0:0",
	        "2001:DB8::8:800:200C:417A",
	        "FF01::101",
	        "::1",
	        "::",
	        "0:0:0:0:0:0:13.1.68.3",
	        "0:0:0:0:0:FFFF:129.144.52.38",
	        "::13.1.68.3",
	        "::FFFF:129.144.52.38",
	        "1:2:3:4:5:6:7::",
	        "::2:3:4:5:6:7:8",
	        "1::3:4:5:6:7:8",
	        "1:2:3:4:5::1.2.3.4",
	        "0001:0002::",
	};
	for (unsigned i = 0; i < ARRAY_SIZE(right); i++) {
		ip6 want;
		GOOD(addr_ip6, right[i], &a);
		CHECK_EQ(inet_pton(AF_INET6, right[i], &want), 1);
		CHECK(ip6_eq(&a, &want));
	}
}

/* Random texts of characters that occur in addresses: the parser accepts one if and only if
 * the host does, with the same result. */
static void same_as_host(void)
{
	static const char *const piece[] = {":", ":", ":", "::", "0",   "1",    "ab",   "12345",
	                                    ".", "7", "g", "ff", "1.2", "2001", ".255", "1.2.3.4"};
	unsigned accepted = 0;
	for (unsigned i = 0; i < 300000; i++) {
		char text[100] = "";
		unsigned pieces = 1 + draw(draw(2) ? 18 : 6);
		for (unsigned n = 0; n < pieces; n++)
			strcat(text, piece[draw(ARRAY_SIZE(piece))]);
		ip6 got6, want6;
		ip4 got4, want4;
		memset(&got6, 1, sizeof got6);
		memset(&got4, 1, sizeof got4);
		bool ok6 = inet_pton(AF_INET6, text, &want6) == 1;
		bool ok4 = inet_pton(AF_INET, text, &want4) == 1;
		bool got_ok6 = PARSE(addr_ip6, text, &got6), got_ok4 = PARSE(addr_ip4, text, &got4);
		if (got_ok6 != ok6 || got_ok4 != ok4)
			printf("# differs: %s\n", text);
		CHECK_EQ(got_ok6, ok6);
		CHECK_EQ(got_ok4, ok4);
		CHECK(!ok6 || ip6_eq(&got6, &want6));
		CHECK(!ok4 || ip4_eq(got4, want4));
		accepted += ok6 + ok4;
	}
	CHECK(accepted > 2000);
}

static void round_trip(void)
{
	for (unsigned i = 0; i < 30000; i++) {
		struct prefix p, q;
		char text[FMT_IP6 + 4];
		memset(&p, 0, sizeof p);
		p.addr.is6 = draw(2);
		p.len = (uint8_t)draw(p.addr.is6 ? 129 : 33);
		for (unsigned b = 0; b < 16; b++)
			p.addr.v6.b[b] = p.addr.is6 && draw(2) ? (uint8_t)draw(256) : 0;
		if (!p.addr.is6)
			p.addr.v4 = ip4_of(draw(1 << 24) * 257);
		GOOD(addr_prefix, addr_prefix_text(text, &p), &q);
		CHECK(memcmp(&p, &q, sizeof p) == 0);
	}
}

static void any(void)
{
	struct addr a, b;
	GOOD(addr_any, "192.0.2.1", &a);
	CHECK(!a.is6);
	GOOD(addr_any, "::192.0.2.1", &b);
	CHECK(b.is6 && !addr_eq(&a, &b) && addr_eq(&a, &a) && addr_eq(&b, &b));
	GOOD(addr_any, "192.0.2.2", &b);
	CHECK(!addr_eq(&a, &b));
	WRONG(addr_any, "", &a);
	WRONG(addr_any, "host", &a);
}

static void prefixes(void)
{
	static const char *const wrong[] = {"",
	                                    "/",
	                                    "1.2.3.4",
	                                    "1.2.3.4/",
	                                    "1.2.3.4/33",
	                                    "::/129",
	                                    "1.2.3.4/08",
	                                    "1.2.3.4/00",
	                                    "1.2.3.4/+8",
	                                    "1.2.3.4/8/8",
	                                    "1.2.3/8",
	                                    "/8",
	                                    "::1",
	                                    "1.2.3.4/ 8",
	                                    "1.2.3.4/8 ",
	                                    "1.2.3.4 /8",
	                                    "1.2.3.4/4294967304",
	                                    "1.2.3.4/255.0.0.0"};
	struct prefix p;
	memset(&p, 0, sizeof p);
	for (unsigned i = 0; i < ARRAY_SIZE(wrong); i++)
		WRONG(addr_prefix, wrong[i], &p);
	GOOD(addr_prefix, "10.1.2.3/8", &p);
	CHECK_EQ(p.len, 8);
	CHECK_EQ(ip4_get(p.addr.v4), 0x0a010203); /* host bits are kept */
	GOOD(addr_prefix, "0.0.0.0/0", &p);
	CHECK_EQ(p.len, 0);
	GOOD(addr_prefix, "2001:db8::/128", &p);
	CHECK(p.addr.is6 && p.len == 128);
}

static void macs(void)
{
	static const char *const wrong[] = {"",
	                                    "52:54:00:12:34",
	                                    "52:54:00:12:34:56:",
	                                    "52:54:00:12:34:5g",
	                                    "52:54:00-12:34:56",
	                                    "525400123456",
	                                    "52:54:0:12:34:56",
	                                    "52.54.00.12.34.56",
	                                    "52:54:00:12:34:56 ",
	                                    " 2:54:00:12:34:56"};
	mac a = {{0}};
	for (unsigned i = 0; i < ARRAY_SIZE(wrong); i++)
		WRONG(addr_mac, wrong[i], &a);
	static const mac want = {{0x52, 0x54, 0, 0x12, 0xab, 0xcd}};
	GOOD(addr_mac, "52:54:00:12:ab:CD", &a);
	CHECK(mac_eq(&a, &want));
	GOOD(addr_mac, "52-54-00-12-AB-cd", &a);
	CHECK(mac_eq(&a, &want));
}

static void numbers(void)
{
	static const char *const wrong[] = {"",    "-1",         "+1",          "1 ", " 1",
	                                    "0x1", "4294967296", "99999999999", "1.0"};
	uint32_t n = 7;
	for (unsigned i = 0; i < ARRAY_SIZE(wrong); i++)
		WRONG(addr_u32, wrong[i], &n);
	GOOD(addr_u32, "0", &n);
	CHECK_EQ(n, 0);
	GOOD(addr_u32, "4294967295", &n);
	CHECK_EQ(n, 4294967295);
	GOOD(addr_u32, "0000000000000000012", &n);
	CHECK_EQ(n, 12);
}

static void durations(void)
{
	static const struct {
		const char *text;
		uint32_t ms;
	} right[] = {{"0", 0},
	             {"2.5", 2500},
	             {"2.05", 2050},
	             {"2.005", 2005},
	             {"0.001", 1},
	             {"10", 10000},
	             {"4294967.295", 4294967295},
	             {"3.0", 3000},
	             {"4294967", 4294967000}};
	static const char *const wrong[] = {
	        "",   ".",   ".5",          "2.",      "2.0005",     "2.5.5", "-1",  "1e3",
	        "1s", "2,5", "4294967.296", "4294968", "4294967296", "1. 5",  "1.+5"};
	uint32_t ms = 7;
	for (unsigned i = 0; i < ARRAY_SIZE(right); i++) {
		GOOD(addr_ms, right[i].text, &ms);
		CHECK_EQ(ms, right[i].ms);
	}
	for (unsigned i = 0; i < ARRAY_SIZE(wrong); i++)
		WRONG(addr_ms, wrong[i], &ms);
}

static void masks(void)
{
	CHECK_EQ(addr_mask4(0), 0);
	CHECK_EQ(addr_mask4(1), 0x80000000);
	CHECK_EQ(addr_mask4(24), 0xffffff00);
	CHECK_EQ(addr_mask4(32), 0xffffffff);
}

int main(void)
{
	TEST(v4);
	TEST(v6);
	TEST(same_as_host);
	TEST(round_trip);
	TEST(any);
	TEST(prefixes);
	TEST(macs);
	TEST(numbers);
	TEST(durations);
	TEST(masks);
	return tap_done();
}
