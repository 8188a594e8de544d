/* See csum.h. */
#include "net/csum.h"

uint16_t csum_sum(const void *data, size_t n)
{
	const uint8_t *b = data;
	uint64_t s = 0;
	for (; n >= 16; n -= 16, b += 16) {
		s += load32(b);
		s += load32(b + 4);
		s += load32(b + 8);
		s += load32(b + 12);
	}
	for (; n >= 4; n -= 4, b += 4)
		s += load32(b);
	if (n >= 2) {
		s += load16(b);
		b += 2;
		n -= 2;
	}
	if (n)
		s += b[0];
	s = (s & 0xffffffff) + (s >> 32);
	s = (s & 0xffffffff) + (s >> 32);
	return csum_fold((uint32_t)s);
}

uint16_t csum_pseudo4(ip4 from, ip4 to, uint8_t proto, uint16_t len)
{
	uint32_t a = ip4_raw(from), b = ip4_raw(to);
	uint32_t s = (a & 0xffff) + (a >> 16) + (b & 0xffff) + (b >> 16);
	return csum_fold(s + swap16(proto) + swap16(len));
}

uint16_t csum_pseudo6(const ip6 *from, const ip6 *to, uint8_t proto, uint16_t len)
{
	uint32_t s = (uint32_t)csum_sum(from, sizeof *from) + csum_sum(to, sizeof *to);
	return csum_fold(s + swap16(proto) + swap16(len));
}
