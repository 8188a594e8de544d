/* apps/translate/embed.c: the RFCs' own tables, in both directions; round trips of random
 * addresses and mappings against a model that works bit by bit. */
#include "apps/translate/embed.h"
#include "kernel/lib/addr.h"
#include "kernel/lib/fmt.h"

#include "tests/tap.h"

static uint32_t seed = 6052;

static uint32_t draw(void)
{
	seed = seed * 1664525 + 1013904223;
	return seed >> 16 | seed << 16;
}

static ip4 four(const char *text)
{
	ip4 a = {{0}};
	CHECK(addr_ip4(text, strlen(text), &a));
	return a;
}

static ip6 six(const char *text)
{
	ip6 a = {{0}};
	CHECK(addr_ip6(text, strlen(text), &a));
	return a;
}

static const char *shown6(const ip6 *a)
{
	static char text[FMT_IP6];
	return fmt_ip6(text, a);
}

static struct embed_form form_of(const char *prefix, bool ivi)
{
	struct embed_form f;
	struct prefix p;
	CHECK(addr_prefix(prefix, strlen(prefix), &p));
	CHECK(embed_set_up(&f, &p, ivi) == NULL);
	return f;
}

/* --- forms ------------------------------------------------------------------------- */

static void both_ways(const char *prefix, bool ivi, const char *v4, const char *v6)
{
	struct embed_form f = form_of(prefix, ivi);
	ip6 made, want = six(v6);
	embed_to6(&f, ip4_raw(four(v4)), &made);
	CHECK_STR(shown6(&made), v6);
	CHECK(embed_has(&f, &want));
	CHECK_EQ(embed_to4(&f, &want), ip4_raw(four(v4)));
}

/* RFC 6052 section 2.4, tables 1 and 2. */
static void rfc6052(void)
{
	both_ways("2001:db8::/32", false, "192.0.2.33", "2001:db8:c000:221::");
	both_ways("2001:db8:100::/40", false, "192.0.2.33", "2001:db8:1c0:2:21::");
	both_ways("2001:db8:122::/48", false, "192.0.2.33", "2001:db8:122:c000:2:2100::");
	both_ways("2001:db8:122:300::/56", false, "192.0.2.33", "2001:db8:122:3c0:0:221::");
	both_ways("2001:db8:122:344::/64", false, "192.0.2.33", "2001:db8:122:344:c0:2:2100:0");
	both_ways("2001:db8:122:344::/96", false, "192.0.2.33", "2001:db8:122:344::c000:221");
	both_ways("64:ff9b::/96", false, "192.0.2.33", "64:ff9b::c000:221");
}

/* RFC 6219 section 3.1 and the examples of the paper. */
static void rfc6219(void)
{
	both_ways("2001:dba::/32", true, "202.38.97.205", "2001:dba:ffca:2661:cd00::");
	both_ways("2001:db8::/32", true, "192.0.2.1", "2001:db8:ffc0:2:100::");
	both_ways("2001:da8::/32", true, "18.7.22.83", "2001:da8:ff12:716:5300::");
	both_ways("2001:da8::/32", true, "255.255.255.255", "2001:da8:ffff:ffff:ff00::");
	/* As a /40 of RFC 6052 the same bits are another address. */
	both_ways("2001:dba:ff00::/40", false, "202.38.97.205", "2001:dba:ffca:2661:cd::");
}

static void ignored_octets(void)
{
	static const struct {
		const char *prefix;
		bool ivi;
		const char *v6;
	} loose[] = {
	        {"2001:db8::/32", false, "2001:db8:c000:221:ff12:3456:789a:bcde"},
	        {"2001:db8:100::/40", false, "2001:db8:1c0:2:ff21:3456:789a:bcde"},
	        {"2001:db8:122::/48", false, "2001:db8:122:c000:ff02:2134:789a:bcde"},
	        {"2001:db8:122:300::/56", false, "2001:db8:122:3c0:ff00:221:789a:bcde"},
	        {"2001:db8:122:344::/64", false, "2001:db8:122:344:ffc0:2:219a:bcde"},
	        {"2001:db8::/32", true, "2001:db8:ffc0:2:2112:3456:789a:bcde"},
	};
	for (unsigned i = 0; i < ARRAY_SIZE(loose); i++) {
		struct embed_form f = form_of(loose[i].prefix, loose[i].ivi);
		ip6 a = six(loose[i].v6);
		CHECK(embed_has(&f, &a));
		CHECK_EQ(embed_to4(&f, &a), ip4_raw(four("192.0.2.33")));
	}
}

static void not_under_the_prefix(void)
{
	struct embed_form f = form_of("2001:db8::/32", true);
	ip6 a = six("2001:db8:fec0:2:2100::"); /* octet 4 is not 0xff */
	CHECK(!embed_has(&f, &a));
	f = form_of("2001:db8:122:344::/96", false);
	a = six("2001:db8:122:344:0:1:c000:221");
	CHECK(!embed_has(&f, &a));
	a = six("2001:db8:122:344:ff00::c000:221"); /* octet 8 belongs to a /96 */
	CHECK(!embed_has(&f, &a));
	f = form_of("2001:db8:122:344::/64", false);
	a = six("2001:db8:122:345:c0:2:2100::");
	CHECK(!embed_has(&f, &a));
}

/* Against a model that copies octets one by one. */
static void forms_of_random_addresses(void)
{
	static const uint8_t lens[] = {32, 40, 48, 56, 64, 96, 0};
	for (unsigned round = 0; round < 20000; round++) {
		uint8_t len = lens[round % ARRAY_SIZE(lens)];
		bool ivi = len == 0;
		struct prefix p = {.addr = {.is6 = true}, .len = ivi ? 32 : len};
		for (unsigned i = 0; i < p.len / 8u; i++)
			p.addr.v6.b[i] = i == 8 ? 0 : (uint8_t)draw();
		struct embed_form f;
		CHECK(embed_set_up(&f, &p, ivi) == NULL);
		ip4 v4 = ip4_of(draw());
		ip6 want = p.addr.v6, made;
		unsigned at = p.len / 8u;
		if (ivi)
			want.b[at++] = 0xff;
		for (unsigned k = 0; k < 4; k++, at++) {
			at += at == 8 && !ivi;
			want.b[at] = v4.b[k];
		}
		embed_to6(&f, ip4_raw(v4), &made);
		CHECK(ip6_eq(&made, &want));
		CHECK(embed_has(&f, &made));
		CHECK_EQ(embed_to4(&f, &made), ip4_raw(v4));
	}
}

static void prefix_lengths(void)
{
	struct embed_form f = form_of("2001:dba::/32", true);
	CHECK_EQ(f.end[0], 40);
	CHECK_EQ(f.end[24], 64); /* RFC 6219 section 3.1 */
	CHECK_EQ(f.end[32], 72);
	f = form_of("2001:db8:100::/40", false);
	CHECK_EQ(f.end[24], 64);
	CHECK_EQ(f.end[25], 73);
	CHECK_EQ(f.end[32], 80);
	f = form_of("64:ff9b::/96", false);
	CHECK_EQ(f.end[0], 96);
	CHECK_EQ(f.end[32], 128);
}

static void bad_prefixes(void)
{
	struct embed_form f;
	struct prefix p = {.addr = {.is6 = true, .v6 = six("2001:db8::")}};
	for (unsigned len = 0; len <= 128; len++) {
		p.len = (uint8_t)len;
		bool good =
		        len == 32 || len == 40 || len == 48 || len == 56 || len == 64 || len == 96;
		CHECK_EQ(embed_set_up(&f, &p, false) == NULL, good);
		const char *ivi = embed_set_up(&f, &p, true);
		CHECK_EQ(ivi == NULL, len == 32);
		CHECK(ivi == NULL || strstr(ivi, "rfc6052"));
	}
	p.len = 96;
	p.addr.v6.b[8] = 1;
	CHECK(strstr(embed_set_up(&f, &p, false), "octet 8"));
}

static void well_known(void)
{
	struct embed_form f = form_of("64:ff9b::/96", false);
	CHECK(embed_is_well_known(&f));
	f = form_of("64:ff9b:1::/96", false);
	CHECK(!embed_is_well_known(&f));
	f = form_of("64:ff9b:1::/48", false);
	CHECK(!embed_is_well_known(&f));
	static const char *const local[] = {
	        "0.1.2.3",         "10.0.0.0",   "10.255.255.255", "100.64.0.1",
	        "100.127.255.255", "127.0.0.1",  "169.254.9.9",    "172.16.0.1",
	        "172.31.255.255",  "192.0.0.8",  "192.0.2.255",    "192.88.99.1",
	        "192.168.0.1",     "198.18.0.1", "198.19.255.255", "198.51.100.1",
	        "203.0.113.1",     "224.0.0.1",  "240.0.0.1",      "255.255.255.255"};
	static const char *const global[] = {
	        "1.0.0.0",     "9.255.255.255", "11.0.0.0",       "100.63.255.255",
	        "100.128.0.0", "128.0.0.1",     "172.15.255.255", "172.32.0.0",
	        "192.0.1.0",   "192.0.3.0",     "192.169.0.0",    "198.17.255.255",
	        "198.20.0.0",  "198.51.101.0",  "203.0.114.0",    "223.255.255.255"};
	for (unsigned i = 0; i < ARRAY_SIZE(local); i++)
		CHECK(!embed_is_global(four(local[i])));
	for (unsigned i = 0; i < ARRAY_SIZE(global); i++)
		CHECK(embed_is_global(four(global[i])));
}

/* --- explicit mappings ------------------------------------------------------------- */

static struct embed_table table;
static const uint32_t mul[5] = {0x9e3779b1, 0x85ebca6b, 0xc2b2ae35, 0x27d4eb2f, 0x165667b1};

static struct embed_pair map_of(const char *v4, uint8_t len4, const char *v6, uint8_t len6)
{
	return (struct embed_pair){four(v4), len4, len6, six(v6)};
}

static const char *maps(const struct embed_pair *list, uint32_t n)
{
	memset(&table, 0, sizeof table);
	return embed_maps_set_up(&table, list, n, mul);
}

/* RFC 7757, figures 1 and 7. */
static void rfc7757(void)
{
	const struct embed_pair list[] = {
	        map_of("192.0.2.1", 32, "2001:db8:aaaa::", 128),
	        map_of("192.0.2.2", 32, "2001:db8:bbbb::b", 128),
	        map_of("192.0.2.16", 28, "2001:db8:cccc::", 124),
	        map_of("192.0.2.128", 26, "2001:db8:dddd::", 64),
	        map_of("192.0.2.192", 29, "2001:db8:eeee:8::", 62),
	        map_of("192.0.2.224", 31, "64:ff9b::", 127),
	};
	static const struct {
		const char *v4, *v6;
	} want[] = {
	        {"192.0.2.1", "2001:db8:aaaa::"},
	        {"192.0.2.2", "2001:db8:bbbb::b"},
	        {"192.0.2.16", "2001:db8:cccc::"},
	        {"192.0.2.24", "2001:db8:cccc::8"},
	        {"192.0.2.31", "2001:db8:cccc::f"},
	        {"192.0.2.128", "2001:db8:dddd::"},
	        {"192.0.2.152", "2001:db8:dddd:0:6000::"},
	        {"192.0.2.183", "2001:db8:dddd:0:dc00::"},
	        {"192.0.2.191", "2001:db8:dddd:0:fc00::"},
	        {"192.0.2.195", "2001:db8:eeee:9:8000::"},
	        {"192.0.2.225", "64:ff9b::1"},
	};
	CHECK(maps(list, ARRAY_SIZE(list)) == NULL);
	for (unsigned i = 0; i < ARRAY_SIZE(want); i++) {
		ip6 made, a = six(want[i].v6);
		uint32_t v4 = ip4_raw(four(want[i].v4));
		const struct embed_map *m = embed_find4(&table, v4);
		CHECK(m && embed_find6(&table, &a) == m);
		if (!m)
			continue;
		embed_map_to6(m, v4, &made);
		CHECK_STR(shown6(&made), want[i].v6);
		CHECK_EQ(embed_map_to4(m, &a), v4);
	}
	ip6 other = six("64:ff9b::c000:2f8");
	CHECK(!embed_find4(&table, ip4_raw(four("192.0.2.248"))));
	CHECK(!embed_find6(&table, &other));
	/* The bits behind the suffix are removed (section 3.3.2, step 5). */
	other = six("2001:db8:dddd:0:63ff:ffff:ffff:ffff");
	CHECK_EQ(embed_map_to4(embed_find6(&table, &other), &other), ip4_raw(four("192.0.2.152")));
}

/* Appendix A.2: a mapping of everything is the form of RFC 6219. */
static void ivi_as_a_mapping(void)
{
	const struct embed_pair list[] = {map_of("0.0.0.0", 0, "2001:db8:ff00::", 40),
	                                  map_of("198.51.100.64", 32, "2001:db8::abcd", 128)};
	struct embed_form f = form_of("2001:db8::/32", true);
	CHECK(maps(list, 2) == NULL);
	for (unsigned i = 0; i < 1000; i++) {
		uint32_t v4 = draw();
		ip6 made, want;
		embed_to6(&f, v4, &want);
		embed_map_to6(embed_find4(&table, v4), v4, &made);
		CHECK(ip6_eq(&made, &want));
		CHECK_EQ(embed_map_to4(embed_find6(&table, &made), &made), v4);
	}
	/* Figure 2: the longer prefix is used. */
	uint32_t special = ip4_raw(four("198.51.100.64"));
	ip6 made;
	embed_map_to6(embed_find4(&table, special), special, &made);
	CHECK_STR(shown6(&made), "2001:db8::abcd");
	ip6 other = six("2001:db8:ffc6:3364:4000::");
	CHECK_EQ(embed_map_to4(embed_find6(&table, &other), &other), special);
}

static void maps_given_twice(void)
{
	const struct embed_pair list[] = {map_of("192.0.2.1", 32, "2001:db8::1", 128),
	                                  map_of("192.0.2.2", 32, "2001:db8::1", 128),
	                                  map_of("192.0.2.1", 32, "2001:db8::3", 128)};
	CHECK_STR(maps(list, 2), "ivi.map: an IPv6 prefix is given twice");
	const struct embed_pair four_twice[] = {list[0], list[2]};
	CHECK_STR(maps(four_twice, 2), "ivi.map: an IPv4 prefix is given twice");
	/* The same bits with another length are another prefix. */
	const struct embed_pair longer[] = {map_of("192.0.2.0", 24, "2001:db8::", 120),
	                                    map_of("192.0.2.0", 25, "2001:db8::", 121)};
	CHECK(maps(longer, 2) == NULL);
}

static unsigned bit_of(const uint8_t *b, unsigned i)
{
	return b[i / 8] >> (7 - i % 8) & 1;
}

/* The first `len` bits are equal. */
static bool shares(const uint8_t *a, const uint8_t *b, unsigned len)
{
	for (unsigned i = 0; i < len; i++)
		if (bit_of(a, i) != bit_of(b, i))
			return false;
	return true;
}

static const struct embed_pair *longest(const struct embed_pair *list, unsigned n, const ip4 *v4,
                                        const ip6 *v6)
{
	const struct embed_pair *best = NULL;
	for (unsigned i = 0; i < n; i++) {
		if (v4 && shares(list[i].net4.b, v4->b, list[i].len4) &&
		    (!best || list[i].len4 > best->len4))
			best = &list[i];
		if (v6 && shares(list[i].net6.b, v6->b, list[i].len6) &&
		    (!best || list[i].len6 > best->len6))
			best = &list[i];
	}
	return best;
}

/* Section 3.3.1, step by step. */
static ip6 model_to6(const struct embed_pair *m, const ip4 *v4)
{
	ip6 out = m->net6;
	for (unsigned i = m->len4; i < 32; i++) {
		unsigned at = m->len6 + i - m->len4;
		if (bit_of(v4->b, i))
			out.b[at / 8] |= (uint8_t)(0x80 >> at % 8);
	}
	return out;
}

/* Bits behind the length are cleared. */
static void cut(uint8_t *b, unsigned len, unsigned all)
{
	for (unsigned i = len; i < all; i++)
		b[i / 8] &= (uint8_t) ~(0x80 >> i % 8);
}

static void random_maps(void)
{
	static struct embed_pair list[EMBED_MAPS];
	for (unsigned round = 0; round < 200; round++) {
		unsigned n = 1 + draw() % EMBED_MAPS, used = 0;
		for (unsigned i = 0; i < n; i++) {
			struct embed_pair m;
			/* Few bits differ, so that prefixes overlap. */
			m.len4 = (uint8_t)(draw() % 33);
			m.len6 = (uint8_t)(draw() % (m.len4 + 97u));
			m.net4 = ip4_of(draw() & 0xc0030703);
			for (unsigned k = 0; k < 16; k++)
				m.net6.b[k] = (uint8_t)draw() & 0x81;
			cut(m.net4.b, m.len4, 32);
			cut(m.net6.b, m.len6, 128);
			bool twice = false;
			for (unsigned k = 0; k < used; k++)
				twice |= (list[k].len4 == m.len4 && ip4_eq(list[k].net4, m.net4)) ||
				         (list[k].len6 == m.len6 && ip6_eq(&list[k].net6, &m.net6));
			if (!twice)
				list[used++] = m;
		}
		CHECK(maps(list, used) == NULL);
		for (unsigned i = 0; i < 100; i++) {
			ip4 v4 = ip4_of(draw() & 0xc0030703);
			const struct embed_pair *m = longest(list, used, &v4, NULL);
			const struct embed_map *found = embed_find4(&table, ip4_raw(v4));
			CHECK_EQ(found ? found - table.map : -1, m ? m - list : -1);
			if (!found || !m)
				continue;
			ip6 made, want = model_to6(m, &v4);
			embed_map_to6(found, ip4_raw(v4), &made);
			CHECK(ip6_eq(&made, &want));
			CHECK_EQ(embed_map_to4(found, &made), ip4_raw(v4));
			for (unsigned k = 0; k < 16; k++)
				made.b[k] = (uint8_t)draw() & 0x81;
			m = longest(list, used, NULL, &made);
			found = embed_find6(&table, &made);
			CHECK_EQ(found ? found - table.map : -1, m ? m - list : -1);
		}
	}
}

/* --- shared addresses ---------------------------------------------------------------- */

/* RFC 7597 section 5.1: A | PSID | j, with A > 0 where there is an A. */
static void port_sets(void)
{
	for (uint8_t k = 0; k <= 16; k++)
		for (uint8_t m = 0; k + m <= 16; m++) {
			struct embed_sharing c = {four("192.0.2.0"), 24, 1u << k, 1u << m};
			struct embed_share s;
			embed_share_set_up(&s, &c);
			CHECK_EQ(s.net, ip4_raw(four("192.0.2.0")));
			for (uint32_t i = 0; i < 2000; i++) {
				uint32_t port = i < 1000 ? draw() & 0xffff : i - 1000;
				uint32_t a = port >> (k + m);
				CHECK_EQ(embed_set_of(&s, port), (port >> m) & ((1u << k) - 1));
				CHECK_EQ(embed_has_owner(&s, port), k + m == 16 || a > 0);
			}
		}
}

/* Appendix B.1 of RFC 7597, shortened: ratio 1024, runs of 4 ports: set 0 is 4096 … 4099,
 * 8192 … 8195 and so on, set 1 is 4100 … 4103. */
static void port_sets_by_example(void)
{
	struct embed_sharing c = {four("192.0.2.1"), 32, 1024, 4};
	struct embed_share s;
	embed_share_set_up(&s, &c);
	CHECK_EQ(embed_set_of(&s, 4099), 0);
	CHECK_EQ(embed_set_of(&s, 4100), 1);
	CHECK_EQ(embed_set_of(&s, 8192), 0);
	CHECK_EQ(embed_set_of(&s, 65535), 1023);
	CHECK(embed_has_owner(&s, 4096) && !embed_has_owner(&s, 4095));
	CHECK(embed_has_owner(&s, 65535) && !embed_has_owner(&s, 0));
}

static void place_of_the_set(void)
{
	static const struct {
		const char *prefix;
		bool ivi;
		const char *with_set;
	} want[] = {
	        {"2001:db8::/32", true, "2001:db8:ffc0:2:21ab:cd00::"},
	        {"2001:db8::/32", false, "2001:db8:c000:221:ab:cd00::"},
	        {"2001:db8:100::/40", false, "2001:db8:1c0:2:21:abcd::"},
	        {"2001:db8:122::/48", false, "2001:db8:122:c000:2:21ab:cd00:0"},
	        {"2001:db8:122:300::/56", false, "2001:db8:122:3c0:0:221:abcd:0"},
	        {"2001:db8:122:344::/64", false, "2001:db8:122:344:c0:2:21ab:cd00"},
	};
	for (unsigned i = 0; i < ARRAY_SIZE(want); i++) {
		struct embed_form f = form_of(want[i].prefix, want[i].ivi);
		ip6 a;
		embed_to6(&f, ip4_raw(four("192.0.2.33")), &a);
		CHECK(f.set_at != 0);
		embed_put_set(&f, 0xabcd, &a);
		CHECK_STR(shown6(&a), want[i].with_set);
		CHECK_EQ(embed_set_in(&f, &a), 0xabcd);
		CHECK_EQ(embed_to4(&f, &a), ip4_raw(four("192.0.2.33")));
	}
	struct embed_form f = form_of("64:ff9b::/96", false);
	CHECK_EQ(f.set_at, 0);
}

int main(void)
{
	TEST(rfc6052);
	TEST(rfc6219);
	TEST(ignored_octets);
	TEST(not_under_the_prefix);
	TEST(forms_of_random_addresses);
	TEST(prefix_lengths);
	TEST(bad_prefixes);
	TEST(well_known);
	TEST(rfc7757);
	TEST(ivi_as_a_mapping);
	TEST(maps_given_twice);
	TEST(random_maps);
	TEST(port_sets);
	TEST(port_sets_by_example);
	TEST(place_of_the_set);
	return tap_done();
}
