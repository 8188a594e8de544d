/* net/lib/csum: compared with the arithmetic in the RFCs; the incremental update compared with the
 * sum of everything, on random data and in corner cases. */
#include "kernel/lib/rng.h"
#include "net/lib/csum.h"
#include "net/lib/wire.h"

#include "tests/tap.h"

static struct rng rng;

/* RFC 1071 section 1, word by word, without wider loads. */
static uint16_t naive(const uint8_t *b, size_t n)
{
	uint32_t s = 0;
	for (size_t i = 0; i < n; i++)
		s += i % 2 ? b[i] : (uint32_t)b[i] << 8;
	while (s >> 16)
		s = (s & 0xffff) + (s >> 16);
	return (uint16_t)s;
}

static void rfc1071_example(void)
{
	/* Section 3: the sum of these octets is ddf2. */
	static const uint8_t octets[] = {0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7};
	CHECK_EQ(swap16(csum_sum(octets, sizeof octets)), 0xddf2);
	CHECK_EQ(csum_sum(octets, 0), 0);
}

static void every_length_and_alignment(void)
{
	uint8_t buf[80];
	for (int round = 0; round < 50; round++) {
		rng_bytes(&rng, buf, sizeof buf);
		for (size_t at = 0; at < 8; at++)
			for (size_t n = 0; n <= sizeof buf - at; n++)
				if (swap16(csum_sum(buf + at, n)) != naive(buf + at, n))
					CHECK_EQ(n, -1);
	}
	/* All ones: the most carries. */
	static uint8_t ones[65535];
	memset(ones, 0xff, sizeof ones);
	CHECK_EQ(csum_sum(ones, 65534), 0xffff);
	CHECK_EQ(swap16(csum_sum(ones, 65535)), naive(ones, 65535));
	static const uint8_t zeros[64];
	CHECK_EQ(csum_sum(zeros, sizeof zeros), 0);
}

static void pieces(void)
{
	uint8_t buf[100];
	rng_bytes(&rng, buf, sizeof buf);
	for (size_t cut = 0; cut <= sizeof buf; cut += 2)
		CHECK_EQ(csum_plus(csum_sum(buf, cut), csum_sum(buf + cut, sizeof buf - cut)),
		         csum_sum(buf, sizeof buf));
}

/* A checksum field with a value in the RFC's notation. */
static uint32_t updated(uint16_t sum, uint16_t was, uint16_t is)
{
	return be16_get(csum_apply(be16_of(sum), csum_delta16(swap16(was), swap16(is))));
}

static void rfc1624_examples(void)
{
	/* Section 4: HC = dd2f, m = 5555, m' = 3285 gives 0000, not ffff. */
	CHECK_EQ(updated(0xdd2f, 0x5555, 0x3285), 0x0000);
	CHECK_EQ(updated(0xdd2f, 0x5555, 0x5555), 0xdd2f);
	CHECK_EQ(updated(0x0000, 0x3285, 0x5555), 0xdd2f);
}

static void udp_zero(void)
{
	uint16_t to_zero = csum_delta16(swap16(0x5555), swap16(0x3285));
	CHECK_EQ(be16_get(csum_apply_udp(be16_of(0xdd2f), to_zero)), 0xffff);
	CHECK_EQ(be16_get(csum_apply_udp(be16_of(0), to_zero)), 0); /* none stays none */
	CHECK_EQ(be16_get(csum_apply_udp(be16_of(0), 0)), 0);
	CHECK(be16_get(csum_apply_udp(be16_of(0xdd2f), 0)) == 0xdd2f);
}

/* UDP has a shorter sum of its own: it is that of RFC 1624 with zero as all ones. */
static void udp_is_the_same_sum(void)
{
	static const uint16_t deltas[] = {0, 1, 0x7fff, 0x8000, 0xfffe, 0xffff};
	uint32_t differ = 0;
	for (uint32_t sum = 1; sum <= 0xffff; sum++)
		for (uint32_t i = 0; i < ARRAY_SIZE(deltas) + 4; i++) {
			uint16_t delta =
			        i < ARRAY_SIZE(deltas) ? deltas[i] : (uint16_t)rng_u32(&rng);
			be16 field = be16_from_raw((uint16_t)sum);
			uint16_t is = be16_raw(csum_apply(field, delta));
			differ += be16_raw(csum_apply_udp(field, delta)) != (is ? is : 0xffff);
		}
	CHECK_EQ(differ, 0);
}

/* An echo reply that consists of zeros, made from its request. */
static void icmp_of_zeros(void)
{
	uint8_t icmp[8] = {8, 0, 0xf7, 0xff};
	CHECK_EQ(csum_sum(icmp, 8), 0xffff);
	be16 sum = {{icmp[2], icmp[3]}};
	sum = csum_apply_icmp(sum, csum_delta16(8, 0));
	icmp[0] = 0;
	memcpy(icmp + 2, sum.b, 2);
	CHECK_EQ(csum_sum(icmp, 8), 0xffff);
}

/* A random word; half of them are corner cases of the arithmetic. */
static uint16_t word(void)
{
	static const uint16_t corner[] = {0, 0xffff, 1, 0xfffe, 0x8000, 0x00ff, 0xff00};
	uint32_t r = rng_u32(&rng);
	return r & 1 ? corner[(r >> 1) % ARRAY_SIZE(corner)] : (uint16_t)(r >> 16);
}

static void incremental_is_full(void)
{
	unsigned wrong = 0;
	for (int round = 0; round < 200000; round++) {
		uint8_t data[16];
		for (unsigned i = 0; i < 8; i++)
			store16(data + 2 * i, word());
		store16(data + 4, 0x0145); /* a real header is not all zeros */
		store16(data + 2, 0);
		store16(data + 2, (uint16_t)~csum_sum(data, sizeof data));
		uint32_t was = load32(data + 8), is = word() | (uint32_t)word() << 16;
		uint16_t was2 = load16(data + 12), is2 = word();
		be16 sum = {{data[2], data[3]}};
		uint32_t delta = csum_plus(csum_delta32(was, is), csum_delta16(was2, is2));
		store32(data + 8, is);
		store16(data + 12, is2);
		store16(data + 2, 0);
		uint16_t full = (uint16_t)~csum_sum(data, sizeof data);
		wrong += be16_raw(csum_apply(sum, delta)) != full;
		/* The inverse delta restores the checksum. */
		uint16_t back = be16_raw(csum_apply(be16_from_raw(full), (uint16_t)~delta));
		wrong += back != be16_raw(sum) && (uint16_t)(back ^ be16_raw(sum)) != 0xffff;
	}
	CHECK_EQ(wrong, 0);
}

/* Several deltas may be added without folding in between. */
static void unfolded_deltas(void)
{
	for (int round = 0; round < 10000; round++) {
		uint16_t a = word(), b = word(), c = word(), d = word();
		be16 sum = be16_of((uint16_t)(word() | 1));
		uint16_t one = csum_delta16(a, b), two = csum_delta16(c, d);
		be16 step = csum_apply(csum_apply(sum, one), two);
		be16 both = csum_apply(sum, (uint32_t)one + two);
		uint16_t x = be16_raw(step), y = be16_raw(both);
		/* Zero and all ones are the same number. */
		CHECK((x == 0xffff ? 0 : x) == (y == 0xffff ? 0 : y));
	}
}

static void ip4_header_of_20(void)
{
	/* The example header of many textbooks. */
	static const uint8_t h[] = {0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11,
	                            0xb8, 0x61, 0xc0, 0xa8, 0x00, 0x01, 0xc0, 0xa8, 0x00, 0xc7};
	CHECK_EQ(csum_ip4_header(h), 0xffff);
	uint8_t buf[20];
	for (int round = 0; round < 10000; round++) {
		for (unsigned i = 0; i < 10; i++)
			store16(buf + 2 * i, word());
		CHECK_EQ(csum_ip4_header(buf), csum_sum(buf, sizeof buf));
	}
	memset(buf, 0xff, sizeof buf);
	CHECK_EQ(csum_ip4_header(buf), 0xffff);
}

static void pseudo_header(void)
{
	for (int round = 0; round < 10000; round++) {
		uint8_t buf[12];
		rng_bytes(&rng, buf, sizeof buf);
		buf[8] = 0;
		ip4 from, to;
		memcpy(&from, buf, 4);
		memcpy(&to, buf + 4, 4);
		uint16_t len = (uint16_t)(buf[10] << 8 | buf[11]);
		CHECK_EQ(csum_pseudo4(from, to, buf[9], len), csum_sum(buf, sizeof buf));
	}
}

/* RFC 8200 section 8.1: addresses, length, zeros, next header. */
static void pseudo_header6(void)
{
	uint8_t buf[40];
	for (uint32_t round = 0; round < 1000; round++) {
		for (unsigned i = 0; i < 32; i++)
			buf[i] = (uint8_t)((round * 40503u + i * 2654435761u) >> 7);
		uint16_t len = (uint16_t)(round * 67);
		ip6 from, to;
		memcpy(&from, buf, 16);
		memcpy(&to, buf + 16, 16);
		memset(buf + 32, 0, 8);
		store16(buf + 34, swap16(len));
		buf[39] = (uint8_t)round;
		CHECK_EQ(csum_pseudo6(&from, &to, buf[39], len), csum_sum(buf, sizeof buf));
	}
}

int main(void)
{
	TEST(rfc1071_example);
	TEST(every_length_and_alignment);
	TEST(pieces);
	TEST(rfc1624_examples);
	TEST(udp_zero);
	TEST(udp_is_the_same_sum);
	TEST(icmp_of_zeros);
	TEST(incremental_is_full);
	TEST(unfolded_deltas);
	TEST(ip4_header_of_20);
	TEST(pseudo_header);
	TEST(pseudo_header6);
	return tap_done();
}
