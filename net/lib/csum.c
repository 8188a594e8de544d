/* See csum.h. */
#include "net/lib/csum.h"

/* Adds four words to a sum. */
static inline uint32_t add_four(uint32_t s, const uint8_t *b)
{
	s = csum_add32(csum_add32(s, load32(b)), load32(b + 4));
	return csum_add32(csum_add32(s, load32(b + 8)), load32(b + 12));
}

uint16_t csum_sum(const void *data, size_t n)
{
	const uint8_t *b = data;
	uint32_t s = 0;
	for (; n >= 32; n -= 32, b += 32)
		s = add_four(add_four(s, b), b + 16);
	if (n & 16) {
		s = add_four(s, b);
		b += 16;
	}
	if (n & 8) {
		s = csum_add32(csum_add32(s, load32(b)), load32(b + 4));
		b += 8;
	}
	if (n & 4) {
		s = csum_add32(s, load32(b));
		b += 4;
	}
	if (n & 2) {
		s = csum_add32(s, load16(b));
		b += 2;
	}
	if (n & 1)
		s = csum_add32(s, b[0]);
	return csum_fold(s);
}

uint16_t csum_pseudo4(ip4 from, ip4 to, uint8_t proto, uint16_t len)
{
	uint32_t a = ip4_raw(from), b = ip4_raw(to);
	uint32_t s = (a & 0xffff) + (a >> 16) + (b & 0xffff) + (b >> 16);
	return csum_fold(s + swap16(proto) + swap16(len));
}

uint16_t csum_pseudo6(const ip6 *from, const ip6 *to, uint8_t proto, uint16_t len)
{
	uint32_t s = swap16(proto) + (uint32_t)swap16(len);
	for (unsigned i = 0; i < 4; i++)
		s = csum_add32(csum_add32(s, ip6_word(from, i)), ip6_word(to, i));
	return csum_fold(s);
}
