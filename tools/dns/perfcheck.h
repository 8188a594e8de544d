/* SPDX-License-Identifier: BSD-2-Clause */
/* The queries of dns64perf, and the check of answers. */
#ifndef PERFCHECK_H
#define PERFCHECK_H

#include <stdbool.h>
#include <stdint.h>

/* The addresses in valid answers. */
struct perf_addresses {
	uint8_t prefix[16];
	unsigned prefix_len; /* 0: any /96 */
	double real;         /* share of the names that have AAAA records of their own (fakedns) */
};

enum { PERF_QUESTION = 48 }; /* bytes of a query */

/* Writes the AAAA query for an address's name. */
void perf_question(uint8_t *m, unsigned id, uint32_t name);

/* The address in the name that a message is about; false: it is no answer to one of our queries. */
bool perf_name(const uint8_t *m, unsigned len, uint32_t *name);

enum perf_answer { PERF_ERROR, PERF_WRONG, PERF_GOOD };

/* The verdict on an answer for which perf_name gave `name`: an error or no records at all; not the
 * required AAAA records; valid. */
enum perf_answer perf_check(const struct perf_addresses *a, const uint8_t *m, unsigned len,
                            uint32_t name);

#endif
