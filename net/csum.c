/* See csum.h. */
#include "net/csum.h"

uint16_t csum_sum(const void *data, size_t n)
{
	const uint8_t *b = data;
	uint32_t s = 0;
	for (; n >= 16; n -= 16, b += 16) {
		s = csum_add32(s, load32(b));
		s = csum_add32(s, load32(b + 4));
		s = csum_add32(s, load32(b + 8));
		s = csum_add32(s, load32(b + 12));
	}
	for (; n >= 4; n -= 4, b += 4)
		s = csum_add32(s, load32(b));
	if (n >= 2) {
		s = csum_add32(s, load16(b));
		b += 2;
		n -= 2;
	}
	if (n)
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
