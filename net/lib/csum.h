/* The Internet checksum (RFC 1071) and its incremental update (RFC 1624).
 *
 * Everything works on 16-bit words as the machine loads them: the one's
 * complement sum does not depend on byte order (RFC 1071 section 2 (B)). */
#ifndef NET_LIB_CSUM_H
#define NET_LIB_CSUM_H

#include "kernel/lib/bytes.h"

/* Folds a sum of 16-bit words to 16 bits: adds its halves, and the carry of that. Both halves of a
 * word and the same word with its halves swapped are one addition. */
static inline uint16_t csum_fold(uint32_t sum)
{
	return (uint16_t)((sum + (sum << 16 | sum >> 16)) >> 16);
}

/* One's complement sum of n bytes, not inverted; an odd last byte counts as
 * followed by a zero. Sums of two pieces may be added with csum_plus when the
 * first piece has an even length. */
uint16_t csum_sum(const void *data, size_t n);

/* One's complement addition: the carry is added at the lower end, which gives no second carry. */
static inline uint16_t csum_plus(uint16_t a, uint16_t b)
{
	uint32_t sum = (uint32_t)a + b;
	return (uint16_t)(sum + (sum >> 16));
}

/* One's complement addition of 32-bit words. The sum is compared with a and not with b: b may be in
 * memory, and need not be loaded first. */
static inline uint32_t csum_add32(uint32_t a, uint32_t b)
{
	uint32_t sum = a + b;
	return sum + (sum < a);
}

/* Sum of an IPv4 header without options; 0xffff when its checksum is right. */
static inline uint16_t csum_ip4_header(const void *h)
{
	const uint8_t *b = h;
	uint32_t s = csum_add32(load32(b), load32(b + 4));
	s = csum_add32(s, load32(b + 8));
	s = csum_add32(s, load32(b + 12));
	return csum_fold(csum_add32(s, load32(b + 16)));
}

/* What to add to a sum when `was` becomes `is` (RFC 1624, equation 3:
 * HC' = ~(~HC + ~m + m')). Deltas may be added with csum_plus; Adding ~delta undoes the change. */
static inline uint16_t csum_delta16(uint16_t was, uint16_t is)
{
	return csum_fold((was ^ 0xffffu) + is);
}

/* The same before folding, for a sum of few deltas. */
static inline uint32_t csum_change16(uint16_t was, uint16_t is)
{
	return (was ^ 0xffffu) + is;
}

static inline uint16_t csum_delta32(uint32_t was, uint32_t is)
{
	return csum_plus(csum_delta16((uint16_t)was, (uint16_t)is),
	                 csum_delta16((uint16_t)(was >> 16), (uint16_t)(is >> 16)));
}

/* The checksum field after a change by `delta`, which may be a sum of several deltas that was not
 * folded. */
static inline be16 csum_apply(be16 sum, uint32_t delta)
{
	return be16_from_raw((uint16_t)~csum_fold((be16_raw(sum) ^ 0xffffu) + delta));
}

/* csum_apply for ICMP, which has no pseudo header. The checksum of a message of zeros is all ones,
 * and the update cannot tell all ones from zero (RFC 1624 section 3); it gives all ones, which a
 * receiver accepts in both cases. */
static inline be16 csum_apply_icmp(be16 sum, uint32_t delta)
{
	be16 r = csum_apply(sum, delta);
	return be16_raw(r) == 0 ? be16_from_raw(0xffff) : r;
}

/* csum_apply for UDP: zero means "no checksum" and stays; a result of zero is sent as all ones (RFC
 * 768). Adding the inverted delta to a field that is not zero gives all ones by itself: such a sum
 * is never zero. */
static inline be16 csum_apply_udp(be16 sum, uint16_t delta)
{
	return be16_raw(sum) == 0 ? sum : be16_from_raw(csum_plus(be16_raw(sum), (uint16_t)~delta));
}

/* Sum of the IPv4 pseudo header (RFC 768, RFC 9293 section 3.1). */
uint16_t csum_pseudo4(ip4 from, ip4 to, uint8_t proto, uint16_t len);

/* Sum of the IPv6 pseudo header (RFC 8200 section 8.1). */
uint16_t csum_pseudo6(const ip6 *from, const ip6 *to, uint8_t proto, uint16_t len);

#endif
