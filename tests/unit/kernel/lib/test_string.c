/* The image's memory and string functions, compiled under other names and compared with the
 * host's. */
#define memcpy  image_memcpy
#define memmove image_memmove
#define memset  image_memset
#define memcmp  image_memcmp
#define memchr  image_memchr
#define strlen  image_strlen
#define strnlen image_strnlen
#define strcmp  image_strcmp
#define strncmp image_strncmp
#include "kernel/lib/string.c" /* NOLINT: it is the thing tested */
#undef memcpy
#undef memmove
#undef memset
#undef memcmp
#undef memchr
#undef strlen
#undef strnlen
#undef strcmp
#undef strncmp

#include "tests/tap.h"

#include <stdlib.h>

#define SIZE 96

static uint8_t mine[SIZE], theirs[SIZE];

static void fill(void)
{
	for (unsigned i = 0; i < SIZE; i++)
		mine[i] = theirs[i] = (uint8_t)(i * 37 + 11);
}

static int sign(int v)
{
	return (v > 0) - (v < 0);
}

static void copies_every_length_and_alignment(void)
{
	static uint8_t from[SIZE];
	for (unsigned i = 0; i < SIZE; i++)
		from[i] = (uint8_t)(255 - i);
	for (unsigned to = 0; to < 5; to++)
		for (unsigned at = 0; at < 5; at++)
			for (unsigned n = 0; n < 80; n++) {
				fill();
				CHECK(image_memcpy(mine + to, from + at, n) == mine + to);
				memcpy(theirs + to, from + at, n);
				CHECK(memcmp(mine, theirs, SIZE) == 0);
			}
}

static void moves_every_overlap(void)
{
	for (unsigned to = 0; to < 40; to++)
		for (unsigned from = 0; from < 40; from++)
			for (unsigned n = 0; n < 50; n += 7) {
				fill();
				CHECK(image_memmove(mine + to, mine + from, n) == mine + to);
				memmove(theirs + to, theirs + from, n);
				CHECK(memcmp(mine, theirs, SIZE) == 0);
			}
}

static void sets_bytes_and_no_others(void)
{
	for (unsigned at = 0; at < 5; at++)
		for (unsigned n = 0; n < 80; n++) {
			fill();
			CHECK(image_memset(mine + at, 0x1a5, n) == mine + at);
			memset(theirs + at, 0xa5, n);
			CHECK(memcmp(mine, theirs, SIZE) == 0);
		}
}

static void compares_as_unsigned_bytes(void)
{
	static const char *const text[] = {"", "a", "ab", "b", "abc", "\xff", "a\xff", "ab\x80"};
	for (unsigned i = 0; i < sizeof text / sizeof *text; i++)
		for (unsigned k = 0; k < sizeof text / sizeof *text; k++) {
			CHECK_EQ(image_strcmp(text[i], text[k]), sign(strcmp(text[i], text[k])));
			for (unsigned n = 0; n < 5; n++)
				CHECK_EQ(image_strncmp(text[i], text[k], n),
				         sign(strncmp(text[i], text[k], n)));
		}
	CHECK_EQ(image_memcmp("a\0b", "a\0c", 3), -1);
	CHECK_EQ(image_memcmp("\x80", "\x7f", 1), 1);
	CHECK_EQ(image_memcmp("x", "y", 0), 0);
}

static void finds_characters(void)
{
	const char *s = "routes\xff";
	CHECK(image_memchr(s, 't', 7) == s + 3);
	CHECK(image_memchr(s, 't', 3) == NULL);
	CHECK(image_memchr(s, 0x1ff, 7) == s + 6);
}

static void measures_lengths(void)
{
	CHECK_EQ(image_strlen(""), 0);
	CHECK_EQ(image_strlen("gateway"), 7);
	CHECK_EQ(image_strnlen("gateway", 3), 3);
	CHECK_EQ(image_strnlen("gateway", 100), 7);
	CHECK_EQ(image_strnlen("gateway", 0), 0);
}

int main(void)
{
	TEST(copies_every_length_and_alignment);
	TEST(moves_every_overlap);
	TEST(sets_bytes_and_no_others);
	TEST(compares_as_unsigned_bytes);
	TEST(finds_characters);
	TEST(measures_lengths);
	return tap_done();
}
