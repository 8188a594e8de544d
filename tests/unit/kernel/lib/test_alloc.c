/* kernel/lib/alloc.c: alignment, exhaustion, regions. */
#include "kernel/lib/alloc.h"

#include <stdlib.h>

#include "tests/tap.h"

static uint8_t memory[8192] __attribute__((aligned(4096)));

static bool inside(const void *p, size_t n, const uint8_t *base, size_t size)
{
	const uint8_t *b = p;
	return b >= base && b + n <= base + size;
}

static void empty(void)
{
	alloc_reset();
	CHECK(alloc(1, 1) == NULL);
	CHECK_EQ(alloc_left(), 0);
	CHECK_EQ(alloc_largest(), 0);
	alloc_add(memory, 0);
	CHECK(alloc(1, 1) == NULL);
}

static void aligned_and_zeroed(void)
{
	alloc_reset();
	memset(memory, 0xff, sizeof memory);
	alloc_add(memory + 1, sizeof memory - 1);
	for (size_t align = 1; align <= 1024; align *= 2) {
		uint8_t *p = alloc(13, align);
		CHECK(p != NULL && inside(p, 13, memory + 1, sizeof memory - 1));
		CHECK_EQ((uintptr_t)p & (align - 1), 0);
		for (unsigned i = 0; p && i < 13; i++)
			CHECK_EQ(p[i], 0);
		if (p)
			memset(p, 0xee, 13);
	}
}

/* Blocks never overlap, and each byte is allocated at most once. */
static void blocks_do_not_overlap(void)
{
	static uint8_t owner[sizeof memory];
	uint32_t seed = 5;
	alloc_reset();
	alloc_add(memory, sizeof memory);
	memset(owner, 0, sizeof owner);
	size_t sum = 0;
	for (unsigned n = 0; n < 1000; n++) {
		seed = seed * 1664525 + 1013904223;
		size_t size = 1 + (seed >> 20) % 60, align = (size_t)1 << (seed >> 10) % 7;
		uint8_t *p = alloc(size, align);
		if (!p)
			continue;
		CHECK(inside(p, size, memory, sizeof memory));
		for (size_t i = 0; i < size; i++)
			CHECK_EQ(owner[p - memory + (ptrdiff_t)i]++, 0);
		sum += size;
	}
	CHECK(sum > sizeof memory * 2 / 3 && sum <= sizeof memory);
	CHECK_EQ(alloc_left() + 0, alloc_largest());
}

static void exhaustion(void)
{
	alloc_reset();
	alloc_add(memory, 100);
	CHECK(alloc(101, 1) == NULL);
	CHECK_EQ(alloc_left(), 100);
	CHECK(alloc(SIZE_MAX, 1) == NULL);
	CHECK(alloc(SIZE_MAX - 50, 64) == NULL);
	CHECK(alloc(60, 1) == memory);
	CHECK(alloc(41, 1) == NULL);
	/* 60 is used; 64-byte alignment costs 4. */
	CHECK(alloc(37, 64) == NULL);
	CHECK(alloc(36, 64) == memory + 64);
	CHECK_EQ(alloc_left(), 0);
	CHECK(alloc(1, 1) == NULL);
	/* Nothing from a region that is too small for the alignment alone. */
	alloc_reset();
	alloc_add(memory + 1, 10);
	CHECK(alloc(1, 4096) == NULL);
	CHECK_EQ(alloc_left(), 10);
}

static void first_fit(void)
{
	alloc_reset();
	alloc_add(memory, 10);
	alloc_add(memory + 1000, 100);
	alloc_add(memory + 3000, 50);
	CHECK_EQ(alloc_left(), 160);
	CHECK_EQ(alloc_largest(), 100);
	CHECK(alloc(60, 1) == memory + 1000);
	CHECK(alloc(8, 1) == memory);
	CHECK(alloc(45, 1) == memory + 3000);
	CHECK(alloc(40, 1) == memory + 1060);
	CHECK_EQ(alloc_left(), 7);
	CHECK_EQ(alloc_largest(), 5);
}

static void regions_are_bounded(void)
{
	alloc_reset();
	for (unsigned i = 0; i < ALLOC_REGIONS + 5; i++)
		alloc_add(memory + (size_t)i * 16, 16);
	CHECK_EQ(alloc_left(), ALLOC_REGIONS * 16);
	for (unsigned i = 0; i < ALLOC_REGIONS; i++)
		CHECK(alloc(16, 1) == memory + (size_t)i * 16);
	CHECK(alloc(1, 1) == NULL);
}

static void empty_regions_take_no_place(void)
{
	alloc_reset();
	for (unsigned i = 0; i < ALLOC_REGIONS; i++)
		alloc_add(memory, 0);
	alloc_add(memory, 100);
	alloc_add(memory + 200, 60);
	CHECK_EQ(alloc_left(), 160);
	CHECK_EQ(alloc_largest(), 100); /* the first region */
}

/* Everything that was allocated since the mark is freed, and nothing else. */
static void release(void)
{
	alloc_reset();
	alloc_add(memory, 100);
	alloc_add(memory + 1000, 100);
	CHECK(alloc(60, 1) == memory);
	alloc_mark();
	CHECK(alloc(30, 1) == memory + 60);
	CHECK(alloc(80, 1) == memory + 1000);
	CHECK_EQ(alloc_left(), 30);
	alloc_release();
	CHECK_EQ(alloc_left(), 140);
	CHECK(alloc(30, 1) == memory + 60);
	alloc_release(); /* the mark is kept */
	CHECK_EQ(alloc_left(), 140);
	CHECK(alloc(100, 1) == memory + 1000);
}

static void two_pieces(uint32_t n, size_t size[ALLOC_PIECES])
{
	size[0] = 64 * n;
	size[3] = 128 * n;
}

/* The largest number whose pieces fit, in one region or in several; nothing is allocated. */
static void most(void)
{
	static uint8_t a[6400] __attribute__((aligned(64))), b[1280] __attribute__((aligned(64)));
	alloc_reset();
	CHECK_EQ(alloc_most(5, two_pieces), 0);
	alloc_add(a, sizeof a);
	CHECK_EQ(alloc_most(1000, two_pieces), 6400 / 192);
	CHECK_EQ(alloc_most(33, two_pieces), 33);
	CHECK_EQ(alloc_most(34, two_pieces), 33);
	CHECK_EQ(alloc_most(7, two_pieces), 7);
	CHECK_EQ(alloc_most(0, two_pieces), 0);
	alloc_reset();
	alloc_add(b, sizeof b);
	alloc_add(a, sizeof a);
	CHECK_EQ(alloc_most(1000, two_pieces), 33);
	CHECK_EQ(alloc_most(20, two_pieces), 20);
	CHECK_EQ(alloc_left(), sizeof a + sizeof b);
}

int main(void)
{
	TEST(empty);
	TEST(aligned_and_zeroed);
	TEST(blocks_do_not_overlap);
	TEST(exhaustion);
	TEST(first_fit);
	TEST(regions_are_bounded);
	TEST(empty_regions_take_no_place);
	TEST(release);
	TEST(most);
	return tap_done();
}
