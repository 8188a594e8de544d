/* The way of nearly every packet: TCP and UDP between two hosts that have been
 * translated lately.
 *
 * What becomes of such a packet depends on its two addresses and, for the rest, on a
 * few fields. So each direction has a table of address pairs with all that the whole
 * way (xlat46.c, xlat64.c) found out about them once: the other addresses, what these
 * change in a checksum, the next hop. Pairs are a function of the configuration; none
 * ever gets wrong, and a flood of pairs costs no more than the whole way. */
#ifndef APPS_TRANSLATE_XLAT_KNOWN_H
#define APPS_TRANSLATE_XLAT_KNOWN_H

#include "apps/translate/xlat.h"

#define XLAT_PAIR_BITS 11u

struct xlat_pair46 {
	uint32_t from, to; /* raw */
	uint32_t hop;      /* as in struct pkt; the port is that of the other side */
	uint16_t delta;
	ip6 from6, to6;
};

struct xlat_pair64 {
	ip6 from6, to6;
	uint32_t from, to; /* raw */
	uint32_t sum;      /* of these two */
	uint32_t hop;
	uint16_t delta;
};

struct xlat_pairs {
	uint32_t mul46[2], mul64[2]; /* secret odd multipliers */
	struct xlat_pair46 at46[1u << XLAT_PAIR_BITS];
	struct xlat_pair64 at64[1u << XLAT_PAIR_BITS];
};

/* Makes the secret, and no pair known; t is zeroed memory. */
void ivi_pairs_set_up(struct xlat_pairs *t, struct rng *rng);

/* Multiplication carries upward only, and neighbours differ in the last byte of an IPv4
 * address: it goes to the lower end. */
static inline uint32_t xlat_turned(uint32_t a)
{
	return a << 8 | a >> 24;
}

static inline struct xlat_pair46 *xlat_pair46(struct xlat_pairs *t, uint32_t from, uint32_t to)
{
	uint32_t h = xlat_turned(from) * t->mul46[0] + xlat_turned(to) * t->mul46[1];
	return &t->at46[h >> (32 - XLAT_PAIR_BITS)];
}

/* Adding words up is enough of a hash: hosts differ in few places, and whoever makes
 * collisions on purpose only makes his own packets go the whole way. */
static inline struct xlat_pair64 *xlat_pair64(struct xlat_pairs *t, const ip6 *from, const ip6 *to)
{
	uint32_t a = ip6_word(from, 1) + ip6_word(from, 2) + ip6_word(from, 3);
	uint32_t b = ip6_word(to, 1) + ip6_word(to, 2) + ip6_word(to, 3);
	uint32_t h = xlat_turned(a) * t->mul64[0] + xlat_turned(b) * t->mul64[1];
	return &t->at64[h >> (32 - XLAT_PAIR_BITS)];
}

/* Takes a frame as the gateway gets it (app.h) if all about it is usual: neither its
 * addresses nor its size, its headers or the neighbour it goes to need a closer look.
 * Then it is translated and sent; else it stays as it is, for the whole way. */
bool xlat_known(struct gw *gw, const struct interface *in, struct pkt *p);

#endif
