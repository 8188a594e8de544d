/* SPDX-License-Identifier: BSD-2-Clause */
/* The questions that dns64perf asks, and what a good answer is. */
#ifndef PERFCHECK_H
#define PERFCHECK_H

#include <stdbool.h>
#include <stdint.h>

/* What the addresses in good answers are. */
struct perf_addresses {
	uint8_t prefix[16];
	unsigned prefix_len; /* 0: any /96 */
	double real;         /* share of the names that have AAAA records of their own (fakedns) */
};

enum { PERF_QUESTION = 48 }; /* bytes of a question */

/* Writes the AAAA question for an address's name. */
void perf_question(uint8_t *m, unsigned id, uint32_t name);

/* The address whose name a message is about; false: it is no answer to a question of ours. */
bool perf_name(const uint8_t *m, unsigned len, uint32_t *name);

enum perf_answer { PERF_ERROR, PERF_WRONG, PERF_GOOD };

/* Of an answer for which perf_name gave `name`: an error or no records at all; other than the AAAA
 * records that there must be; good. */
enum perf_answer perf_check(const struct perf_addresses *a, const uint8_t *m, unsigned len,
                            uint32_t name);

#endif
