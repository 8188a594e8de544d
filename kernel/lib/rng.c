/* See rng.h. The first words of every batch of ChaCha blocks (RFC 8439 section 2.3) replace
 * the key, and each word is wiped when it is read. So the state never shows numbers that
 * were given out before.
 *
 * Left out on purpose: an estimate of entropy. The caller that seeds decides when there is
 * enough. */
#include "kernel/lib/rng.h"

enum { KEY_WORDS = 8, BLOCK_WORDS = 16 };

/* separates the two uses of the block function */
enum { USE_OUTPUT = 1, USE_SEED = 2 };

ALWAYS_INLINE void quarter_round(uint32_t *a, uint32_t *b, uint32_t *c, uint32_t *d)
{
	*a += *b;
	*d = rotl32(*d ^ *a, 16);
	*c += *d;
	*b = rotl32(*b ^ *c, 12);
	*a += *b;
	*d = rotl32(*d ^ *a, 8);
	*c += *d;
	*b = rotl32(*b ^ *c, 7);
}

void rng_block(uint32_t out[16], const uint32_t key[8], uint32_t counter, const uint32_t nonce[3],
               unsigned rounds)
{
	uint32_t in[BLOCK_WORDS] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
	memcpy(in + 4, key, KEY_WORDS * sizeof *key);
	in[12] = counter;
	memcpy(in + 13, nonce, 3 * sizeof *nonce);
	uint32_t x[BLOCK_WORDS];
	memcpy(x, in, sizeof x);
	for (unsigned i = 0; i < rounds / 2; i++) {
		quarter_round(&x[0], &x[4], &x[8], &x[12]);
		quarter_round(&x[1], &x[5], &x[9], &x[13]);
		quarter_round(&x[2], &x[6], &x[10], &x[14]);
		quarter_round(&x[3], &x[7], &x[11], &x[15]);
		quarter_round(&x[0], &x[5], &x[10], &x[15]);
		quarter_round(&x[1], &x[6], &x[11], &x[12]);
		quarter_round(&x[2], &x[7], &x[8], &x[13]);
		quarter_round(&x[3], &x[4], &x[9], &x[14]);
	}
	for (unsigned i = 0; i < BLOCK_WORDS; i++)
		out[i] = x[i] + in[i];
}

void rng_seed(struct rng *r, const void *seed, size_t n)
{
	const uint8_t *from = seed;
	while (n > 0) {
		uint32_t part[KEY_WORDS] = {0}, block[BLOCK_WORDS];
		size_t take = n < sizeof part ? n : sizeof part;
		memcpy(part, from, take);
		for (unsigned i = 0; i < KEY_WORDS; i++)
			r->key[i] ^= part[i];
		/* The length makes "a" and "a, zero" different seeds. The block function
		 * between two parts prevents that they cancel each other. */
		const uint32_t nonce[3] = {(uint32_t)take, 0, USE_SEED};
		rng_block(block, r->key, 0, nonce, RNG_ROUNDS);
		memcpy(r->key, block, sizeof r->key);
		from += take;
		n -= take;
	}
	/* Numbers that the old state had prepared are not given out any more. */
	memset(r->out, 0, sizeof r->out);
	r->left = r->half = 0;
}

void rng_refill(struct rng *r)
{
	static const uint32_t nonce[3] = {0, 0, USE_OUTPUT};
	for (unsigned i = 0; i < RNG_WORDS / BLOCK_WORDS; i++)
		rng_block(r->out + i * BLOCK_WORDS, r->key, i, nonce, RNG_ROUNDS);
	memcpy(r->key, r->out, sizeof r->key);
	memset(r->out, 0, sizeof r->key);
	r->left = RNG_WORDS - KEY_WORDS;
}

uint32_t rng_below(struct rng *r, uint32_t n)
{
	/* The result is the upper half of v * n. v is drawn again if a plain result would
	 * be biased, because n does not divide 2^32 evenly. That takes less than one more
	 * draw on average for every n. */
	uint32_t uneven = -n % n;
	for (;;) {
		uint64_t product = (uint64_t)rng_u32(r) * n;
		if ((uint32_t)product >= uneven)
			return (uint32_t)(product >> 32);
	}
}

void rng_bytes(struct rng *r, void *buf, size_t n)
{
	uint8_t *to = buf;
	while (n > 0) {
		uint32_t v = rng_u32(r);
		size_t take = n < sizeof v ? n : sizeof v;
		memcpy(to, &v, take);
		to += take;
		n -= take;
	}
}
