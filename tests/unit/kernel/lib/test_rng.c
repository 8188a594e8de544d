/* kernel/lib/rng.c: ChaCha of RFC 8439, the generator, and the keyed hash. */
#include "kernel/lib/rng.h"

#include "tests/tap.h"

/* RFC 8439 section 2.3.2. */
static void chacha20_block(void)
{
	uint32_t key[8], out[16];
	static const uint32_t nonce[3] = {0x09000000, 0x4a000000, 0};
	static const uint32_t want[16] = {0xe4e7f110, 0x15593bd1, 0x1fdd0f50, 0xc47120a3,
	                                  0xc7f4d1c7, 0x0368c033, 0x9aaa2204, 0x4e6cd4c3,
	                                  0x466482d2, 0x09aa9f07, 0x05d7c214, 0xa2028bd9,
	                                  0xd19c12b5, 0xb94e16de, 0xe883d0cb, 0x4e3c50a2};
	for (unsigned i = 0; i < 32; i++)
		((uint8_t *)key)[i] = (uint8_t)i;
	rng_block(out, key, 1, nonce, 20);
	for (unsigned i = 0; i < 16; i++)
		CHECK_EQ(out[i], want[i]);
}

/* draft-strombergson-chacha-test-vectors-01, TC1 with 12 rounds: all zero. */
static void chacha12_block(void)
{
	static const uint32_t zero[8] = {0};
	static const uint8_t want[64] = {
	        0x9b, 0xf4, 0x9a, 0x6a, 0x07, 0x55, 0xf9, 0x53, 0x81, 0x1f, 0xce, 0x12, 0x5f,
	        0x26, 0x83, 0xd5, 0x04, 0x29, 0xc3, 0xbb, 0x49, 0xe0, 0x74, 0x14, 0x7e, 0x00,
	        0x89, 0xa5, 0x2e, 0xae, 0x15, 0x5f, 0x05, 0x64, 0xf8, 0x79, 0xd2, 0x7a, 0xe3,
	        0xc0, 0x2c, 0xe8, 0x28, 0x34, 0xac, 0xfa, 0x8c, 0x79, 0x3a, 0x62, 0x9f, 0x2c,
	        0xa0, 0xde, 0x69, 0x19, 0x61, 0x0b, 0xe8, 0x2f, 0x41, 0x13, 0x26, 0xbe};
	uint32_t out[16];
	rng_block(out, zero, 0, zero, 12);
	CHECK(memcmp(out, want, sizeof want) == 0);
}

/* Same seed, same numbers; any other seed, other numbers. */
static void seeds(void)
{
	static const struct {
		const char *text;
		size_t n;
	} seed[] = {
	        {"", 0},
	        {"a", 1},
	        {"a\0", 2},
	        {"b", 1},
	        {"\0a", 2},
	        {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 32},
	        {"\0", 1},
	        {"\0\0", 2},
	        {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", 33},
	        {"baaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", 33},
	};
	enum { N = ARRAY_SIZE(seed) };
	uint32_t first[N];
	for (unsigned i = 0; i < N; i++) {
		struct rng a = {0}, b = {0};
		rng_seed(&a, seed[i].text, seed[i].n);
		rng_seed(&b, seed[i].text, seed[i].n);
		first[i] = rng_u32(&a);
		CHECK_EQ(rng_u32(&b), first[i]);
		for (unsigned j = 0; j < i; j++)
			CHECK(first[j] != first[i]);
	}
}

/* A known seed that is mixed in later must not make two secret states equal, and both
 * halves of a long seed count. */
static void seeds_add_up(void)
{
	struct rng a = {0}, b = {0}, c = {0};
	rng_seed(&a, "secret one", 10);
	rng_seed(&b, "secret two", 10);
	uint8_t known[100] = {0};
	rng_seed(&a, known, sizeof known);
	rng_seed(&b, known, sizeof known);
	CHECK(rng_u32(&a) != rng_u32(&b));
	rng_seed(&c, "x", 1);
	rng_seed(&a, "x", 1);
	CHECK(rng_u32(&a) != rng_u32(&c));
}

/* A seed in the middle of a batch changes the next number. */
static void seed_takes_effect_at_once(void)
{
	struct rng a = {0}, b;
	rng_seed(&a, "start", 5);
	(void)rng_u32(&a);
	b = a;
	rng_seed(&b, "more", 4);
	CHECK(rng_u32(&a) != rng_u32(&b));
}

/* Numbers that were given out are no longer in the state, nor is the key that made them. */
static void forgets_given_numbers(void)
{
	struct rng r = {0};
	rng_seed(&r, "start", 5);
	struct rng before = r;
	uint32_t v[300];
	for (unsigned i = 0; i < 300; i++) {
		v[i] = rng_u32(&r);
		for (unsigned j = 0; j < ARRAY_SIZE(r.out); j++)
			CHECK(r.out[j] != v[i]);
	}
	CHECK(memcmp(before.key, r.key, sizeof r.key) != 0);
	for (unsigned j = 0; j < ARRAY_SIZE(r.key); j++)
		for (unsigned i = 0; i < 300; i++)
			CHECK(r.key[j] != v[i]);
	/* No number repeats across batches. */
	for (unsigned i = 0; i < 300; i++)
		for (unsigned j = 0; j < i; j++)
			CHECK(v[i] != v[j]);
}

static void below_stays_below(void)
{
	struct rng r = {0};
	rng_seed(&r, "below", 5);
	static const uint32_t limit[] = {
	        1, 2, 3, 10, 64512, 0x7fffffff, 0x80000000, 0x80000001, 0xfffffffe, 0xffffffff};
	for (unsigned i = 0; i < ARRAY_SIZE(limit); i++)
		for (unsigned n = 0; n < 2000; n++)
			CHECK(rng_below(&r, limit[i]) < limit[i]);
}

/* With n = 3 * 2^30, a simple modulo would give numbers of the first third twice as often. */
static void below_is_unbiased(void)
{
	struct rng r = {0};
	rng_seed(&r, "even", 4);
	uint32_t third[3] = {0}, odd = 0, die[6] = {0};
	for (unsigned n = 0; n < 60000; n++) {
		uint32_t v = rng_below(&r, 3u << 30);
		third[v >> 30]++;
		odd += v & 1;
		die[rng_below(&r, 6)]++;
	}
	/* Six standard deviations of a binomial distribution. */
	for (unsigned i = 0; i < 3; i++)
		CHECK(third[i] > 19300 && third[i] < 20700);
	for (unsigned i = 0; i < 6; i++)
		CHECK(die[i] > 9450 && die[i] < 10550);
	CHECK(odd > 29260 && odd < 30740);
}

/* With the same n, a simple multiplication would map two of four neighbouring draws to each
 * multiple of 3. */
static void below_residues(void)
{
	struct rng r = {0};
	rng_seed(&r, "residue", 7);
	uint32_t count[3] = {0};
	for (unsigned n = 0; n < 60000; n++)
		count[rng_below(&r, 3u << 30) % 3]++;
	for (unsigned i = 0; i < 3; i++)
		CHECK(count[i] > 19300 && count[i] < 20700);
}

static void bytes(void)
{
	for (unsigned n = 0; n <= 40; n++) {
		struct rng a = {0}, b = {0};
		rng_seed(&a, "bytes", 5);
		rng_seed(&b, "bytes", 5);
		uint8_t got[41], want[44];
		memset(got, 0xa5, sizeof got);
		for (unsigned i = 0; i < 11; i++) {
			uint32_t v = rng_u32(&b);
			memcpy(want + 4 * i, &v, 4);
		}
		rng_bytes(&a, got, n);
		CHECK(memcmp(got, want, n) == 0);
		CHECK_EQ(got[n], 0xa5);
	}
}

/* Each of the 32 bits is set in half of the numbers. */
static void bits(void)
{
	struct rng r = {0};
	uint32_t set[32] = {0};
	rng_seed(&r, "bits", 4);
	for (unsigned n = 0; n < 40000; n++) {
		uint32_t v = rng_u32(&r);
		for (unsigned b = 0; b < 32; b++)
			set[b] += v >> b & 1;
	}
	for (unsigned b = 0; b < 32; b++)
		CHECK(set[b] > 19400 && set[b] < 20600);
}

/* HalfSipHash-1-3 with the key 00 01 .. 07 of the first 0, 4, .. 60 bytes of
 * 00 01 02 ..; computed with a separate program that also gives the published
 * vectors of HalfSipHash-2-4. */
static void hash(void)
{
	static const uint32_t want[] = {0x5814c896, 0x7e059ea6, 0x577999b1, 0x6b28096c,
	                                0x8b31d501, 0x911bb605, 0x57150ad7, 0x0a4100d0,
	                                0xbc6dda8d, 0x7c46fb7f, 0x05327eb2, 0x11795ab1,
	                                0x007783eb, 0xc368dda6, 0x53ecd77e, 0x88b4c4cc};
	struct hash_key key;
	uint32_t w[ARRAY_SIZE(want)];
	for (unsigned i = 0; i < sizeof key; i++)
		((uint8_t *)&key)[i] = (uint8_t)i;
	for (unsigned i = 0; i < sizeof w; i++)
		((uint8_t *)w)[i] = (uint8_t)i;
	for (unsigned n = 0; n < ARRAY_SIZE(want); n++)
		CHECK_EQ(hash_words(&key, w, n), want[n]);
}

/* One changed bit of key or text changes about half of the result. */
static void hash_avalanche(void)
{
	struct hash_key key = {{0x12345678, 0x9abcdef0}};
	uint32_t w[4] = {1, 2, 3, 4}, was = hash_words(&key, w, 4);
	uint32_t changed = 0;
	for (unsigned bit = 0; bit < 128; bit++) {
		w[bit / 32] ^= 1u << bit % 32;
		uint32_t is = hash_words(&key, w, 4);
		CHECK(is != was);
		changed += (uint32_t)__builtin_popcount(is ^ was);
		w[bit / 32] ^= 1u << bit % 32;
	}
	CHECK(changed > 128 * 14 && changed < 128 * 18);
	for (unsigned bit = 0; bit < 64; bit++) {
		struct hash_key other = key;
		other.k[bit / 32] ^= 1u << bit % 32;
		CHECK(hash_words(&other, w, 4) != was);
	}
}

/* Each word gives two numbers, the lower half first; no part of it stays in the state. */
static void halves(void)
{
	struct rng r, same;
	memset(&r, 0, sizeof r);
	rng_seed(&r, "halves", 6);
	same = r;
	for (unsigned i = 0; i < 1000; i++) {
		uint32_t w = rng_u32(&same);
		CHECK_EQ(rng_u16(&r), w & 0xffff);
		CHECK_EQ(rng_u16(&r), w >> 16);
		CHECK_EQ(r.half, 0);
	}
}

/* Output and seeding use the block function with different nonces. The first words of a
 * batch are the next key. */
static void uses_are_apart(void)
{
	static const uint32_t seeding[3] = {4, 0, 2}, giving[3] = {0, 0, 1};
	uint32_t key[8] = {0}, block[16];
	struct rng r;
	memset(&r, 0, sizeof r);
	rng_seed(&r, "seed", 4);
	memcpy(key, "seed", 4);
	rng_block(block, key, 0, seeding, RNG_ROUNDS);
	memcpy(key, block, sizeof key);
	for (unsigned batch = 0; batch < 3; batch++) {
		for (unsigned i = 0; i < RNG_WORDS / 16; i++) {
			rng_block(block, key, i, giving, RNG_ROUNDS);
			for (unsigned k = i ? 0 : 8; k < 16; k++)
				CHECK_EQ(rng_u32(&r), block[k]);
		}
		rng_block(block, key, 0, giving, RNG_ROUNDS);
		memcpy(key, block, sizeof key);
	}
}

int main(void)
{
	TEST(chacha20_block);
	TEST(chacha12_block);
	TEST(seeds);
	TEST(seeds_add_up);
	TEST(seed_takes_effect_at_once);
	TEST(forgets_given_numbers);
	TEST(below_stays_below);
	TEST(below_is_unbiased);
	TEST(below_residues);
	TEST(bytes);
	TEST(bits);
	TEST(hash);
	TEST(hash_avalanche);
	TEST(halves);
	TEST(uses_are_apart);
	return tap_done();
}
