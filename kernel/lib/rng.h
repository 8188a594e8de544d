/* Random numbers that an attacker cannot guess, and a keyed hash.
 *
 * The generator is ChaCha (RFC 8439 section 2.3) with 12 rounds and fast key erasure. Its
 * seed comes from all sources that the machine has. The best known attack reaches 7 rounds,
 * and it needs more than anybody on a wire can have (J.-P. Aumasson, "Too Much Crypto",
 * 2019). Speed matters: an application may take 16 random bytes for each packet.
 *
 * The keyed 32-bit hash is for all tables whose keys come from the wire. */
#ifndef KERNEL_LIB_RNG_H
#define KERNEL_LIB_RNG_H

#include "kernel/lib/bytes.h"

enum { RNG_WORDS = 16 * 8, RNG_ROUNDS = 12 };

struct rng {
	uint32_t key[8];
	uint32_t left; /* words at the end of out that were not given out yet */
	uint32_t half; /* the unused half of a word of rng_u16, with the upper bit set; 0: none */
	uint32_t out[RNG_WORDS];
};

/* Mixes `n` bytes of seed into the key. The amount, the time and the quality do not matter:
 * mixing never makes the state easier to guess. A new rng is all zeros. */
void rng_seed(struct rng *r, const void *seed, size_t n);

/* Gives 32 random bits. */
static inline uint32_t rng_u32(struct rng *r);
/* Gives 16 random bits, at half the cost of rng_u32. */
static inline uint16_t rng_u16(struct rng *r);
/* Gives a random number below n (n > 0), without modulo bias. */
uint32_t rng_below(struct rng *r, uint32_t n);
/* Fills buf with n random bytes. */
void rng_bytes(struct rng *r, void *buf, size_t n);

/* Makes the next batch of numbers. For rng_u32 when none are left. */
void rng_refill(struct rng *r);

/* The block function (RFC 8439 section 2.3) with `rounds` rounds, an even number. All
 * values are words in host order. Public for the test. */
void rng_block(uint32_t out[16], const uint32_t key[8], uint32_t counter, const uint32_t nonce[3],
               unsigned rounds);

/* The key of the hash: two random words. */
struct hash_key {
	uint32_t k[2];
};
/* Gives HalfSipHash-1-3 of n words, 32 bits. */
static inline uint32_t hash_words(const struct hash_key *key, const uint32_t *w, unsigned n);

/* Gives the same kind of hash of exactly three words, without the block that holds the
 * length. For tables whose keys all have one length. */
static inline uint32_t hash_three(const struct hash_key *key, uint32_t a, uint32_t b, uint32_t c);

#include "kernel/lib/rng_inline.h"

#endif
