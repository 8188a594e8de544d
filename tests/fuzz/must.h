/* What a fuzzer demands: MUST ends the program, which libFuzzer counts as a crash, unless the
 * condition is true. */
#ifndef TESTS_FUZZ_MUST_H
#define TESTS_FUZZ_MUST_H

#include <stdio.h>
#include <stdlib.h>

#define MUST(x)                                           \
	do {                                              \
		if (!(x)) {                               \
			fprintf(stderr, "not: %s\n", #x); \
			abort();                          \
		}                                         \
	} while (0)

#endif
