/* Test points in the Test Anything Protocol, which `prove` runs and counts.
 * A test program calls TEST(name) functions from main and ends with
 * `return tap_done();`. A failed CHECK names its place and values and goes on.
 * With TAP_STOP in the environment the program ends behind the first test point that fails. */
#ifndef TESTS_TAP_H
#define TESTS_TAP_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned tap_count, tap_bad, tap_bad_here;

#define CHECK(cond)                                                         \
	do {                                                                \
		if (!(cond)) {                                              \
			tap_bad_here++;                                     \
			printf("# %s:%d: %s\n", __FILE__, __LINE__, #cond); \
		}                                                           \
	} while (0)

/* Two whole numbers are equal. */
#define CHECK_EQ(got, want)                                                                   \
	do {                                                                                  \
		long long tap_g = (long long)(got), tap_w = (long long)(want);                \
		if (tap_g != tap_w) {                                                         \
			tap_bad_here++;                                                       \
			printf("# %s:%d: %s is %lld (0x%llx), not %lld (0x%llx)\n", __FILE__, \
			       __LINE__, #got, tap_g, (unsigned long long)tap_g, tap_w,       \
			       (unsigned long long)tap_w);                                    \
		}                                                                             \
	} while (0)

#define CHECK_STR(got, want)                                                                    \
	do {                                                                                    \
		const char *tap_g = (got), *tap_w = (want);                                     \
		if (strcmp(tap_g, tap_w) != 0) {                                                \
			tap_bad_here++;                                                         \
			printf("# %s:%d: %s is \"%s\", not \"%s\"\n", __FILE__, __LINE__, #got, \
			       tap_g, tap_w);                                                   \
		}                                                                               \
	} while (0)

/* Runs one test function as one TAP test point. */
#define TEST(function)                                                                        \
	do {                                                                                  \
		tap_bad_here = 0;                                                             \
		function();                                                                   \
		tap_count++;                                                                  \
		tap_bad += tap_bad_here != 0;                                                 \
		printf("%s %u - %s\n", tap_bad_here ? "not ok" : "ok", tap_count, #function); \
		fflush(stdout);                                                               \
		if (tap_bad && getenv("TAP_STOP"))                                            \
			exit(1);                                                              \
	} while (0)

static inline int tap_done(void)
{
	printf("1..%u\n", tap_count);
	return tap_bad != 0;
}

#endif
