/* Random numbers that an outsider cannot guess: ChaCha (RFC 8439 section 2.3) with 12 rounds
 * as a generator with fast key erasure, seeded from everything the machine has. The best known
 * attack reaches 7 rounds, and what it would need nobody on a wire has (J.-P. Aumasson, "Too Much
 * Crypto", 2019); an application may take 16 random bytes for each packet.
 * Also the keyed 32-bit hash of all tables whose keys come from the wire. */
#ifndef KERNEL_LIB_RNG_H
#define KERNEL_LIB_RNG_H

#include "kernel/lib/bytes.h"

enum { RNG_WORDS = 16 * 8, RNG_ROUNDS = 12 };

struct rng {
	uint32_t key[8];
	uint32_t left; /* unread words at the end of out */
	uint32_t half; /* what rng_u16 left of a word, with the upper bit set; 0: nothing */
	uint32_t out[RNG_WORDS];
};

/* Mixes `n` bytes of seed into the key. Any amount, any time, any quality:
 * mixing never makes the state more guessable. A new rng is all zeros. */
void rng_seed(struct rng *r, const void *seed, size_t n);

/* 32 random bits; 16; a number below n (n > 0, without modulo bias); n bytes. */
static inline uint32_t rng_u32(struct rng *r);
static inline uint16_t rng_u16(struct rng *r); /* half of what rng_u32 costs */
uint32_t rng_below(struct rng *r, uint32_t n);
void rng_bytes(struct rng *r, void *buf, size_t n);

/* Makes new numbers when there are none left; for rng_u32. */
void rng_refill(struct rng *r);

/* The block function (RFC 8439 section 2.3) with so many rounds, an even number, as words; for the
 * test. */
void rng_block(uint32_t out[16], const uint32_t key[8], uint32_t counter, const uint32_t nonce[3],
               unsigned rounds);

/* HalfSipHash-1-3 of whole words, 32-bit result. The key is two random words. */
struct hash_key {
	uint32_t k[2];
};
static inline uint32_t hash_words(const struct hash_key *key, const uint32_t *w, unsigned n);

/* The same of exactly three words, without the block that holds the length, for
 * tables all of whose keys have one length. */
static inline uint32_t hash_three(const struct hash_key *key, uint32_t a, uint32_t b, uint32_t c);

#include "kernel/lib/rng_inline.h"

#endif
