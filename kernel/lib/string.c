/* The memory and string functions of the C library, as the standard defines them.
 *
 * The compiler would replace loops like these by calls of the same functions; the attribute
 * on each function prevents that. Long runs are copied four words per pass. That is as fast
 * as REP on hardware, and ten times as fast under emulation, which executes string
 * instructions step by step. */
#define STRING_BODIES
#include "kernel/lib/string.h"

#include <stdint.h>

#ifdef __clang__ /* clang only checks this file, it does not build the image */
#define NO_LOOP_CALLS
#else
#define NO_LOOP_CALLS __attribute__((optimize("no-tree-loop-distribute-patterns")))
#endif

/* Copies one number at any alignment. */
#define MOVE(type, t, f)                               \
	do {                                           \
		type v_;                               \
		__builtin_memcpy(&v_, (f), sizeof v_); \
		__builtin_memcpy((t), &v_, sizeof v_); \
	} while (0)
#define BLOCK 16

/* Copies from the first byte to the last. Correct for overlapping ranges when `to` is the
 * lower address. */
NO_LOOP_CALLS static inline void *copy_up(void *to, const void *from, size_t n)
{
	uint8_t *t = to;
	const uint8_t *f = from;
	for (; n >= BLOCK; n -= BLOCK, t += BLOCK, f += BLOCK) {
		MOVE(uint32_t, t, f);
		MOVE(uint32_t, t + 4, f + 4);
		MOVE(uint32_t, t + 8, f + 8);
		MOVE(uint32_t, t + 12, f + 12);
	}
	if (n & 8) {
		MOVE(uint32_t, t, f);
		MOVE(uint32_t, t + 4, f + 4);
		t += 8;
		f += 8;
	}
	if (n & 4) {
		MOVE(uint32_t, t, f);
		t += 4;
		f += 4;
	}
	if (n & 2) {
		MOVE(uint16_t, t, f);
		t += 2;
		f += 2;
	}
	if (n & 1)
		*t = *f;
	return to;
}

NO_LOOP_CALLS void *memcpy(void *restrict to, const void *restrict from, size_t n)
{
	return copy_up(to, from, n);
}

NO_LOOP_CALLS void *memmove(void *to, const void *from, size_t n)
{
	uint8_t *t = to;
	const uint8_t *f = from;
	if ((uintptr_t)t - (uintptr_t)f >= n) /* also true when `to` is below `from` */
		return copy_up(to, from, n);
	/* Copies downwards by words, after the odd bytes at the end. */
	while (n % 4 != 0) {
		n--;
		t[n] = f[n];
	}
	while (n > 0) {
		n -= 4;
		uint32_t word;
		__builtin_memcpy(&word, f + n, 4);
		__builtin_memcpy(t + n, &word, 4);
	}
	return to;
}

NO_LOOP_CALLS void *memset(void *to, int byte, size_t n)
{
	uint8_t *t = to;
	uint32_t word = (uint8_t)byte * 0x01010101u;
	for (; n >= BLOCK; n -= BLOCK, t += BLOCK) {
		MOVE(uint32_t, t, &word);
		MOVE(uint32_t, t + 4, &word);
		MOVE(uint32_t, t + 8, &word);
		MOVE(uint32_t, t + 12, &word);
	}
	for (; n >= 4; n -= 4, t += 4)
		__builtin_memcpy(t, &word, 4);
	while (n-- > 0)
		*t++ = (uint8_t)byte;
	return to;
}

NO_LOOP_CALLS int memcmp(const void *a, const void *b, size_t n)
{
	const uint8_t *x = a, *y = b;
	for (; n >= 4; n -= 4, x += 4, y += 4) { /* find the first words that differ */
		uint32_t v, w;
		__builtin_memcpy(&v, x, 4);
		__builtin_memcpy(&w, y, 4);
		if (v != w)
			break;
	}
	for (size_t i = 0; i < n; i++)
		if (x[i] != y[i])
			return x[i] < y[i] ? -1 : 1;
	return 0;
}

NO_LOOP_CALLS void *memchr(const void *p, int byte, size_t n)
{
	const uint8_t *b = p;
	for (size_t i = 0; i < n; i++)
		if (b[i] == (uint8_t)byte)
			return (void *)(uintptr_t)(b + i);
	return NULL;
}

NO_LOOP_CALLS size_t strlen(const char *s)
{
	size_t n = 0;
	while (s[n] != '\0')
		n++;
	return n;
}

NO_LOOP_CALLS size_t strnlen(const char *s, size_t max)
{
	size_t n = 0;
	while (n < max && s[n] != '\0')
		n++;
	return n;
}

NO_LOOP_CALLS int strcmp(const char *a, const char *b)
{
	return strncmp(a, b, SIZE_MAX);
}

NO_LOOP_CALLS int strncmp(const char *a, const char *b, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint8_t x = (uint8_t)a[i], y = (uint8_t)b[i];
		if (x != y)
			return x < y ? -1 : 1;
		if (x == '\0')
			return 0;
	}
	return 0;
}
