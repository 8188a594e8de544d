/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The names that fakedns answers and dns64perf queries: an IPv4 address in the first label,
 * "010-001-002-003.dns64perf.test", so that no zone file is needed.
 */
#ifndef PERFNAME_H
#define PERFNAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { DNS_HEADER = 12, TYPE_A = 1, TYPE_SOA = 6, TYPE_PTR = 12, TYPE_AAAA = 28, TYPE_OPT = 41 };
enum { LABEL = 15 }; /* characters of the first label in a query */

static const char perf_domain[] = "\011dns64perf\004test";

static inline uint16_t get16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static inline void put16(uint8_t *p, unsigned v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static inline void put32(uint8_t *p, uint32_t v)
{
	put16(p, v >> 16);
	put16(p + 2, v & 0xffff);
}

static inline uint32_t get32(const uint8_t *p)
{
	return (uint32_t)get16(p) << 16 | get16(p + 2);
}

/* Writes the 15 characters for an address; no NUL. */
static inline void put_label(uint8_t *to, uint32_t address)
{
	for (int i = 0; i < 4; i++) {
		unsigned v = address >> (24 - 8 * i) & 255;
		to[0] = (uint8_t)('0' + v / 100);
		to[1] = (uint8_t)('0' + v / 10 % 10);
		to[2] = (uint8_t)('0' + v % 10);
		if (i < 3)
			to[3] = '-';
		to += 4;
	}
}

/* The address in a label of four numbers with '-' between; false when the label is malformed. */
static inline bool label_address(const uint8_t *label, unsigned len, uint32_t *address)
{
	unsigned part = 0, digits = 0, value = 0;
	uint32_t a = 0;
	for (unsigned i = 0; i <= len; i++) {
		if (i < len && label[i] >= '0' && label[i] <= '9') {
			value = value * 10 + label[i] - '0';
			if (++digits > 3)
				return false;
			continue;
		}
		if (digits == 0 || value > 255 || part == 4 || (i < len && label[i] != '-'))
			return false;
		a = a << 8 | value;
		part++;
		digits = value = 0;
	}
	*address = a;
	return part == 4;
}

/* Length of the question after the header (name, type, class); 0 when it is malformed. */
static inline unsigned question_length(const uint8_t *m, unsigned len)
{
	unsigned at = DNS_HEADER;
	while (at < len && m[at] != 0) {
		if (m[at] > 63)
			return 0;
		at += m[at] + 1u;
	}
	return at + 5 <= len && at - DNS_HEADER < 255 ? at + 5 - DNS_HEADER : 0;
}

#endif
