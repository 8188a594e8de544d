/* The translator's pure parts: types, codes and MTUs of ICMP errors, the layout of a
 * message (apps/translate/xlat_icmp.c), extension headers (xlat64.c), ports, checksums, and
 * how evenly the flow cache is filled. */
#include "apps/translate/xlat_cache.h"
#include "kernel/lib/addr.h"
#include "kernel/seam/io.h"

#include <stdlib.h>

#include "tests/tap.h"

static const struct xlat_mtu wide = {.mtu4 = 1500, .mtu6 = 1500};

static bool to6(uint8_t type, uint8_t code, uint32_t rest, uint8_t t, unsigned c, uint32_t r)
{
	struct xlat_icmp x = {type, code, rest};
	return xlat_icmp_to6(&x, &wide) && x.type == t && x.code == c && x.rest == r;
}

static bool to4(uint8_t type, uint8_t code, uint32_t rest, uint8_t t, unsigned c, uint32_t r)
{
	struct xlat_icmp x = {type, code, rest};
	return xlat_icmp_to4(&x, &wide) && x.type == t && x.code == c && x.rest == r;
}

/* RFC 7915 section 4.2. */
static void types_from_ipv4(void)
{
	static const uint8_t to_0[] = {0, 1, 5, 6, 7, 8, 11, 12}, to_1[] = {9, 10, 13, 15};
	bool known[256] = {false};
	for (unsigned i = 0; i < ARRAY_SIZE(to_0); i++) {
		CHECK(to6(3, to_0[i], 0xffffffff, 1, 0, 0));
		known[to_0[i]] = true;
	}
	for (unsigned i = 0; i < ARRAY_SIZE(to_1); i++) {
		CHECK(to6(3, to_1[i], 0, 1, 1, 0));
		known[to_1[i]] = true;
	}
	CHECK(to6(3, 2, 0, 4, 1, 6));
	CHECK(to6(3, 3, 0, 1, 4, 0));
	CHECK(to6(3, 4, 1400, 2, 0, 1420));
	known[2] = known[3] = known[4] = true;
	for (unsigned code = 0; code < 256; code++) {
		struct xlat_icmp x = {3, (uint8_t)code, 1400};
		CHECK_EQ(xlat_icmp_to6(&x, &wide), known[code]);
	}
	for (unsigned code = 0; code < 256; code++)
		CHECK(to6(11, (uint8_t)code, 0xffffffff, 3, code, 0));
	for (unsigned type = 0; type < 256; type++) {
		struct xlat_icmp x = {(uint8_t)type, 0, 0};
		CHECK_EQ(xlat_icmp_to6(&x, &wide), type == 3 || type == 11 || type == 12);
	}
}

/* Figure 3. */
static void pointers_from_ipv4(void)
{
	static const int to[] = {0,  1,  4, 4, -1, -1, -1, -1, 7,  6,
	                         -1, -1, 8, 8, 8,  8,  24, 24, 24, 24};
	for (uint32_t pointer = 0; pointer < 256; pointer++)
		for (uint8_t code = 0; code < 4; code++) {
			struct xlat_icmp x = {12, code, pointer << 24 | 0x123456};
			bool good = code % 2 == 0 && pointer < ARRAY_SIZE(to) && to[pointer] >= 0;
			CHECK_EQ(xlat_icmp_to6(&x, &wide), good);
			if (good)
				CHECK(x.type == 4 && x.code == 0 && (int)x.rest == to[pointer]);
		}
}

/* Section 5.2. */
static void types_from_ipv6(void)
{
	CHECK(to4(1, 0, 0xffffffff, 3, 1, 0));
	CHECK(to4(1, 1, 0, 3, 10, 0));
	CHECK(to4(1, 2, 0, 3, 1, 0));
	CHECK(to4(1, 3, 0, 3, 1, 0));
	CHECK(to4(1, 4, 0, 3, 3, 0));
	CHECK(to4(2, 0, 1400, 3, 4, 1380));
	CHECK(to4(4, 1, 40, 3, 2, 0));
	for (unsigned code = 0; code < 256; code++) {
		struct xlat_icmp x = {1, (uint8_t)code, 0};
		CHECK_EQ(xlat_icmp_to4(&x, &wide), code < 5);
		CHECK(to4(3, (uint8_t)code, 5, 11, code, 0));
		x = (struct xlat_icmp){4, (uint8_t)code, 0};
		CHECK_EQ(xlat_icmp_to4(&x, &wide), code < 2);
	}
	for (unsigned type = 0; type < 256; type++) {
		struct xlat_icmp x = {(uint8_t)type, 0, 0};
		CHECK_EQ(xlat_icmp_to4(&x, &wide), type >= 1 && type <= 4);
	}
}

/* Figure 6. */
static void pointers_from_ipv6(void)
{
	static const int to[] = {0, 1, -1, -1, 2, 2, 9, 8};
	for (uint32_t pointer = 0; pointer < 300; pointer++) {
		struct xlat_icmp x = {4, 0, pointer};
		int want = pointer < 8 ? to[pointer] : pointer < 24 ? 12 : pointer < 40 ? 16 : -1;
		CHECK_EQ(xlat_icmp_to4(&x, &wide), want >= 0);
		if (want >= 0)
			CHECK(x.type == 12 && x.code == 0 && x.rest == (uint32_t)want << 24);
	}
	struct xlat_icmp x = {4, 0, 0xffffffff};
	CHECK(!xlat_icmp_to4(&x, &wide));
}

/* RFC 7915 sections 4.2 and 5.2 for every MTU, and the plateaus of RFC 1191. */
static void mtus(void)
{
	static const struct xlat_mtu links[] = {
	        {1500, 1500, 0, 0}, {1300, 1500, 0, 0}, {1500, 1280, 0, 0}, {1280, 1280, 0, 8}};
	for (unsigned i = 0; i < ARRAY_SIZE(links); i++)
		for (uint32_t told = 1; told < 66000; told += 7) {
			uint32_t four = links[i].mtu4 + 20, six = links[i].mtu6;
			uint32_t want = told % 65536 + 20;
			if (told % 65536 == 0)
				continue;
			want = want < four ? want : four;
			want = want < six ? want : six;
			want = want > 1280 ? want : 1280;
			struct xlat_icmp x = {3, 4, told % 65536 | 0xab0000};
			CHECK(xlat_icmp_to6(&x, &links[i]));
			CHECK_EQ(x.rest, want);
			uint32_t head = 20 + links[i].more;
			want = (told < six ? told : six);
			want = want > head ? want - head : 0;
			want = want < links[i].mtu4 ? want : links[i].mtu4;
			want = want > 68 ? want : 68;
			x = (struct xlat_icmp){2, 0, told};
			CHECK(xlat_icmp_to4(&x, &links[i]));
			CHECK_EQ(x.rest, want);
		}
	static const uint32_t plateau[][2] = {{65535, 32000}, {32001, 32000}, {32000, 17914},
	                                      {17914, 8166},  {8166, 4352},   {4352, 2002},
	                                      {2002, 1492},   {1493, 1492},   {1492, 1260}};
	for (unsigned i = 0; i < ARRAY_SIZE(plateau); i++) {
		const struct xlat_mtu far = {.mtu4 = 65535, .mtu6 = 65535, .quoted = plateau[i][0]};
		struct xlat_icmp x = {3, 4, 0};
		CHECK(xlat_icmp_to6(&x, &far));
		CHECK_EQ(x.rest, plateau[i][1] + 20);
	}
}

/* --- layout of a message ----------------------------------------------------------- */

/* All that xlat_fit promises. */
static void fits(void)
{
	static const uint32_t units[] = {0, 4, 8};
	for (unsigned u = 0; u < ARRAY_SIZE(units); u++)
		for (uint32_t data = 0; data < 1500; data += 13)
			for (uint32_t ext = 0; ext < 1300; ext += 41) {
				uint32_t room = units[u] == 4 ? 548 : 1232, unit = units[u];
				struct xlat_parts x = {.head = 40, .data = data, .ext = ext};
				xlat_fit(&x, room, unit);
				uint32_t field = x.head + x.data + x.pad;
				CHECK(field + x.ext <= room && x.data <= data);
				CHECK_EQ(x.ext, unit && ext <= room - 128 ? ext : 0);
				if (!x.ext) {
					CHECK_EQ(x.pad, 0);
					CHECK(x.data == data || field == room);
					continue;
				}
				CHECK(field >= 128 && field % unit == 0 && field / unit <= 255);
				CHECK(x.pad == 0 || field == 128 || x.pad < unit);
				/* No more is removed than necessary. */
				CHECK(x.data == data || field + unit + x.ext > room ||
				      field / unit == 255);
			}
	struct xlat_parts x = {.head = 20, .data = 1400, .ext = 8};
	xlat_fit(&x, 2000, 4);
	CHECK(x.head + x.data == 1020 && x.pad == 0 && x.ext == 8);
}

static struct pool pool;

/* Data in the middle of a packet, extensions behind it, of all sizes. */
static void arranges(void)
{
	for (uint32_t data = 0; data < 200; data += 7)
		for (uint32_t ext = 0; ext < 100; ext += 9)
			for (uint32_t pad = 0; pad < 130; pad += 32) {
				struct pkt *p = pkt_alloc(&pool);
				uint8_t *b = pkt_put(p, 60 + data + 5 + ext);
				for (uint32_t i = 0; i < p->len; i++)
					b[i] = (uint8_t)i;
				uint8_t first = b[60], last = ext ? b[60 + data + 5 + ext - 1] : 0;
				struct xlat_parts x = {
				        .head = 40, .data = data, .pad = pad, .ext = ext};
				CHECK(xlat_arrange(p, &x, b + 60, b + 60 + data + 5, 88));
				CHECK_EQ(p->len, 88 + data + pad + ext);
				CHECK(data == 0 || p->data[88] == first);
				for (uint32_t i = 0; i < pad; i++)
					CHECK_EQ(p->data[88 + data + i], 0);
				CHECK(ext == 0 || p->data[p->len - 1] == last);
				pkt_free(p);
			}
	struct pkt *p = pkt_alloc(&pool);
	uint8_t *b = pkt_put(p, 100);
	struct xlat_parts x = {.data = 50, .ext = PKT_ROOM};
	CHECK(!xlat_arrange(p, &x, b, b, 48)); /* no room behind the data */
	x.ext = 0;
	CHECK(!xlat_arrange(p, &x, b, b, PKT_HEADROOM + 1)); /* no room in front of it */
	pkt_free(p);
}

/* --- extension headers --------------------------------------------------------------------- */

static uint8_t packet[200];

static enum xlat_chain_end walk(uint8_t first, const uint8_t *chain, uint32_t n, uint32_t len,
                                struct xlat64_chain *c)
{
	memset(packet, 0, sizeof packet);
	packet[6] = first;
	memcpy(packet + 40, chain, n);
	/* From a copy that ends with the packet: a read behind the end is detected. */
	uint8_t *copy = malloc(len);
	memcpy(copy, packet, len);
	enum xlat_chain_end end = xlat64_chain(copy, len, c);
	free(copy);
	return end;
}

static void chains(void)
{
	static const uint8_t all[] = {
	        60, 1, [16] = 43, 0, [24] = 44, 0, 4, 0, [32] = 17, 0, 0x12, 0x39, 1, 2, 3, 4};
	struct xlat64_chain c;
	CHECK_EQ(walk(0, all, sizeof all, 100, &c), CHAIN_GOOD);
	CHECK(c.l4 == 80 && c.proto == 17 && c.fragment && c.offset == 0x1239 &&
	      c.id == 0x01020304);
	for (uint32_t len = 40; len < 80; len++)
		CHECK_EQ(walk(0, all, sizeof all, len, &c), CHAIN_SHORT);
	CHECK_EQ(walk(0, all, sizeof all, 80, &c), CHAIN_GOOD);
	CHECK_EQ(walk(17, all, 0, 40, &c), CHAIN_GOOD);
	CHECK(c.l4 == 40 && c.proto == 17 && !c.fragment);

	static const uint8_t routed[] = {17, 0, 4, 1, 0, 0, 0, 0};
	CHECK_EQ(walk(43, routed, sizeof routed, 60, &c), CHAIN_ROUTED);
	CHECK_EQ(c.at, 43);

	for (unsigned next = 0; next < 256; next++) {
		const uint8_t frag[] = {(uint8_t)next, 0, 0, 1, 0, 0, 0, 9};
		bool hidden = next == 0 || next == 43 || next == 44 || next == 51 || next == 60 ||
		              next == 135 || next == 139 || next == 140;
		CHECK_EQ(walk(44, frag, sizeof frag, 60, &c), hidden ? CHAIN_HIDDEN : CHAIN_GOOD);
	}
}

/* --- ports and checksums --------------------------------------------------------------------- */

static void ports(void)
{
	static const uint8_t l4[] = {8, 0, 0x12, 0x34, 0x56, 0x78};
	static const uint8_t with[] = {6, 17, 33, 132, 136};
	for (unsigned i = 0; i < ARRAY_SIZE(with); i++) {
		CHECK_EQ(xlat46_port(l4, 4, with[i], true), 0x0800);
		CHECK_EQ(xlat46_port(l4, 4, with[i], false), 0x1234);
		CHECK_EQ(xlat46_port(l4, 3, with[i], false), XLAT_NO_PORT);
		CHECK_EQ(xlat64_port(l4, 4, with[i], true), 0x0800);
		CHECK_EQ(xlat64_port(l4, 4, with[i], false), 0x1234);
	}
	CHECK_EQ(xlat46_port(l4, 6, 1, false), 0x5678);
	CHECK_EQ(xlat46_port(l4, 5, 1, false), XLAT_NO_PORT);
	CHECK_EQ(xlat46_port(l4, 6, 47, false), XLAT_NO_PORT);
	CHECK_EQ(xlat64_port(l4, 6, 58, true), XLAT_NO_PORT); /* type 8 is not echo in ICMPv6 */
	static const uint8_t echo6[] = {128, 0, 0, 0, 0x9a, 0xbc};
	CHECK_EQ(xlat64_port(echo6, 6, 58, true), 0x9abc);
	CHECK_EQ(xlat64_port(l4, 6, 1, true), XLAT_NO_PORT);
}

/* Every echo message whose sum is zero or all ones, and those next to it. */
static void echo_sums(void)
{
	for (uint32_t id = 0; id < 65536; id++) {
		uint8_t m[8] = {0, 0, 0, 0, (uint8_t)(id >> 8), (uint8_t)id, 0, 0};
		uint16_t right = (uint16_t)~csum_sum(m, sizeof m);
		/* It was an ICMPv6 message whose pseudo header had this sum. */
		uint16_t pseudo = 0x4321, type = csum_delta16(129, 0);
		uint16_t sum6 = csum_plus(csum_plus(csum_sum(m, sizeof m), 129), pseudo);
		store16(m + 2, (uint16_t)~sum6);
		be16 got = xlat64_icmp4_sum(m, sizeof m, (uint32_t)(uint16_t)~pseudo + type);
		CHECK_EQ(be16_raw(got), right);
	}
}

/* 2048 pairs of neighbouring addresses fill as many places as random ones do (63 %), with each
 * secret and in each form; not only the few places that the last byte of an address selects, and
 * not few because a secret makes small steps. */
static void pairs_spread(void)
{
	static const char *const prefix[] = {"2001:db8::/32", "2001:db8:64::/96"};
	static struct gw gw;
	static struct xlat_cache t;
	static bool taken46[1u << FLOW_BITS], taken64[1u << FLOW_BITS];
	const unsigned rounds = 40;
	struct rng rng = {0};
	gw.rng = &rng;
	for (uint32_t round = 0; round < rounds; round++) {
		struct embed_form form;
		struct prefix p;
		CHECK(addr_prefix(prefix[round % 2], strlen(prefix[round % 2]), &p));
		CHECK(embed_set_up(&form, &p, round % 2 == 0) == NULL);
		rng_seed(&rng, &round, sizeof round);
		xlat_cache_set_up(&gw, &t);
		unsigned n46 = 0, n64 = 0;
		memset(taken46, 0, sizeof taken46);
		memset(taken64, 0, sizeof taken64);
		for (uint32_t i = 0; i < 2048; i++) {
			uint32_t from = swap32(0xc0a8010a + i % 16);
			uint32_t to = swap32(0xcb00710a + i / 16);
			ip6 from6, to6;
			embed_to6(&form, from, &from6);
			embed_to6(&form, to, &to6);
			bool *a = &taken46[xlat_pair46(&t, from, to) - t.at46];
			bool *b = &taken64[xlat_pair64(&t, &from6, &to6) - t.at64];
			n46 += !*a;
			n64 += !*b;
			*a = *b = true;
		}
		CHECK(n46 > 1200 && n64 > 1200);
	}
}

int main(void)
{
	host_arena(1 << 20);
	CHECK(pkt_pool_init(&pool, 8, PKT_ROOM));
	TEST(types_from_ipv4);
	TEST(pointers_from_ipv4);
	TEST(types_from_ipv6);
	TEST(pointers_from_ipv6);
	TEST(mtus);
	TEST(fits);
	TEST(arranges);
	TEST(chains);
	TEST(ports);
	TEST(echo_sums);
	TEST(pairs_spread);
	return tap_done();
}
