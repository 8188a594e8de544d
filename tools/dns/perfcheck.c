/* SPDX-License-Identifier: BSD-2-Clause */
/* The queries of dns64perf, and the check of answers. */
#include "perfcheck.h"

#include "fakedns.h"
#include "perfname.h"

#include <strings.h>

void perf_question(uint8_t *m, unsigned id, uint32_t name)
{
	static const uint8_t head[DNS_HEADER] = {0, 0, 1, 0, 0, 1}; /* RD, one question */
	memcpy(m, head, sizeof head);
	put16(m, id);
	m[DNS_HEADER] = LABEL;
	put_label(m + DNS_HEADER + 1, name);
	memcpy(m + DNS_HEADER + 1 + LABEL, perf_domain, sizeof perf_domain);
	put16(m + PERF_QUESTION - 4, TYPE_AAAA);
	put16(m + PERF_QUESTION - 2, 1);
}

/* The IPv4 address in a synthesised one (RFC 6052 section 2.2), when the prefix is right. */
static bool embedded(const struct perf_addresses *a, const uint8_t *six, uint32_t *four)
{
	unsigned at = a->prefix_len ? a->prefix_len / 8 : 12;
	if (a->prefix_len && memcmp(six, a->prefix, at) != 0)
		return false;
	*four = 0;
	for (unsigned n = 0; n < 4; at++)
		if (at != 8 || a->prefix_len == 96 || a->prefix_len == 0) {
			*four = *four << 8 | six[at];
			n++;
		}
	return true;
}

static bool good_address(const struct perf_addresses *a, const uint8_t *six, uint32_t want)
{
	static const uint8_t own[12] = {0x20, 0x01, 0x0d, 0xb8};
	struct random r = {want};
	uint32_t four;
	/* fakedns decides in the same way which names have an AAAA record. */
	if (happens(&r, a->real))
		return memcmp(six, own, sizeof own) == 0 && get32(six + 12) == want;
	return embedded(a, six, &four) && four == want;
}

/* The offset of the fixed part of a record that begins at `at`; 0 when it is truncated. */
static unsigned fixed_part(const uint8_t *m, unsigned len, unsigned at)
{
	while (at < len && m[at] != 0 && m[at] < 0xc0)
		at += m[at] + 1u;
	at += at < len && m[at] >= 0xc0 ? 2 : 1;
	return at + 10 <= len && at + 10 + get16(m + at + 8) <= len ? at : 0;
}

/* Every AAAA record must hold the address of the name, and there must be one. */
static bool good_records(const struct perf_addresses *a, const uint8_t *m, unsigned len,
                         uint32_t name)
{
	unsigned found = 0, at = PERF_QUESTION;
	for (unsigned n = get16(m + 6); n; n--) {
		unsigned f = fixed_part(m, len, at);
		if (!f)
			return false;
		if (get16(m + f) == TYPE_AAAA) {
			if (get16(m + f + 2) != 1 || get16(m + f + 8) != 16 ||
			    !good_address(a, m + f + 10, name))
				return false;
			found++;
		}
		at = f + 10 + get16(m + f + 8);
	}
	return found > 0;
}

bool perf_name(const uint8_t *m, unsigned len, uint32_t *name)
{
	return len >= PERF_QUESTION && m[2] & 0x80 && get16(m + 4) == 1 && m[DNS_HEADER] == LABEL &&
	       label_address(m + DNS_HEADER + 1, LABEL, name) &&
	       strcasecmp((const char *)m + DNS_HEADER + 1 + LABEL, perf_domain) == 0 &&
	       get16(m + PERF_QUESTION - 4) == TYPE_AAAA && get16(m + PERF_QUESTION - 2) == 1;
}

enum perf_answer perf_check(const struct perf_addresses *a, const uint8_t *m, unsigned len,
                            uint32_t name)
{
	if ((m[3] & 15) != 0 || get16(m + 6) == 0)
		return PERF_ERROR;
	return good_records(a, m, len, name) ? PERF_GOOD : PERF_WRONG;
}
