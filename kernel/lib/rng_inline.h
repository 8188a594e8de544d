/* The inline functions of rng.h, which handle many packets. The keyed hash is HalfSipHash
 * (SipHash of Aumasson and Bernstein with 32-bit words) with one compression round and
 * three finalisation rounds. */
#ifndef KERNEL_LIB_RNG_INLINE_H
#define KERNEL_LIB_RNG_INLINE_H

#include "kernel/lib/rng.h"

static inline uint32_t rng_u32(struct rng *r)
{
	if (UNLIKELY(r->left == 0))
		rng_refill(r);
	uint32_t *at = &r->out[RNG_WORDS - r->left--];
	uint32_t v = *at;
	*at = 0;
	return v;
}

static inline uint16_t rng_u16(struct rng *r)
{
	uint32_t v = r->half;
	r->half = 0;
	if (v == 0) {
		v = rng_u32(r);
		r->half = v >> 16 | 0x80000000u;
	}
	return (uint16_t)v;
}

static inline uint32_t rotl32(uint32_t v, unsigned n)
{
	return v << n | v >> (32 - n);
}

#define HASH_ROUND(v0, v1, v2, v3)        \
	do {                              \
		v0 += v1;                 \
		v1 = rotl32(v1, 5) ^ v0;  \
		v0 = rotl32(v0, 16);      \
		v2 += v3;                 \
		v3 = rotl32(v3, 8) ^ v2;  \
		v0 += v3;                 \
		v3 = rotl32(v3, 7) ^ v0;  \
		v2 += v1;                 \
		v1 = rotl32(v1, 13) ^ v2; \
		v2 = rotl32(v2, 16);      \
	} while (0)

#define HASH_WORD(v0, v1, v2, v3, w)        \
	do {                                \
		v3 ^= (w);                  \
		HASH_ROUND(v0, v1, v2, v3); \
		v0 ^= (w);                  \
	} while (0)

#define HASH_END(v0, v1, v2, v3)            \
	do {                                \
		v2 ^= 0xff;                 \
		HASH_ROUND(v0, v1, v2, v3); \
		HASH_ROUND(v0, v1, v2, v3); \
		HASH_ROUND(v0, v1, v2, v3); \
	} while (0)

ALWAYS_INLINE uint32_t hash_three(const struct hash_key *key, uint32_t a, uint32_t b, uint32_t c)
{
	uint32_t v0 = key->k[0], v1 = key->k[1];
	uint32_t v2 = 0x6c796765u ^ key->k[0], v3 = 0x74656462u ^ key->k[1];
	HASH_WORD(v0, v1, v2, v3, a);
	HASH_WORD(v0, v1, v2, v3, b);
	HASH_WORD(v0, v1, v2, v3, c);
	HASH_END(v0, v1, v2, v3);
	return v1 ^ v3;
}

static inline uint32_t hash_words(const struct hash_key *key, const uint32_t *w, unsigned n)
{
	uint32_t v0 = key->k[0], v1 = key->k[1];
	uint32_t v2 = 0x6c796765u ^ key->k[0], v3 = 0x74656462u ^ key->k[1];
	for (unsigned i = 0; i < n; i++)
		HASH_WORD(v0, v1, v2, v3, w[i]);
	/* The length in bytes, modulo 256, in the highest byte. */
	HASH_WORD(v0, v1, v2, v3, n << 26);
	HASH_END(v0, v1, v2, v3);
	return v1 ^ v3;
}

#endif
