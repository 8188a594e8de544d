/* The flow cache of the translator: translates nearly all TCP and UDP packets.
 *
 * The result for such a packet depends on its two addresses and on a few fields. So each
 * direction has a table of address pairs with what the slow path (xlat46.c, xlat64.c)
 * found out about them: the translated addresses, the change of a checksum, the next hop.
 * A pair follows from the configuration alone, so an entry never becomes wrong. A flood
 * of new pairs costs no more than the slow path. */
#ifndef APPS_TRANSLATE_XLAT_CACHE_H
#define APPS_TRANSLATE_XLAT_CACHE_H

#include "apps/translate/xlat_packet.h"

#define XLAT_PAIR_BITS 11u

struct xlat_pair46 {
	uint32_t from, to; /* raw */
	uint32_t hop;      /* as in struct pkt; on the LAN */
	uint16_t delta;    /* change of a checksum by the addresses */
	ip6 from6, to6;
};

struct xlat_pair64 {
	ip6 from6, to6;
	uint32_t from, to; /* raw */
	uint32_t sum;      /* of these two */
	uint32_t hop;      /* as in struct pkt; on the WAN */
	uint16_t delta;    /* change of a checksum by the addresses */
};

struct xlat_cache {
	uint32_t mul46[2], mul64[2]; /* secret odd multipliers */
	struct xlat_pair46 at46[1u << XLAT_PAIR_BITS];
	struct xlat_pair64 at64[1u << XLAT_PAIR_BITS];
};

/* Draws the secret multipliers. t is zeroed memory; it holds no pair then. */
void xlat_cache_set_up(struct xlat_cache *t, struct rng *rng);

/* Rotates a raw IPv4 address so that its last byte becomes the lowest. Neighbouring
 * addresses differ in that byte, and multiplication carries upward only. */
static inline uint32_t xlat_pair_mix(uint32_t a)
{
	return a << 8 | a >> 24;
}

/* The place of a pair of raw IPv4 addresses in the table; it may hold another pair. */
static inline struct xlat_pair46 *xlat_pair46(struct xlat_cache *t, uint32_t from, uint32_t to)
{
	uint32_t h = xlat_pair_mix(from) * t->mul46[0] + xlat_pair_mix(to) * t->mul46[1];
	return &t->at46[h >> (32 - XLAT_PAIR_BITS)];
}

/* The place of a pair of IPv6 addresses in the table; it may hold another pair. The sum of
 * the words is enough of a hash: addresses of hosts differ in few places, and a host that
 * causes collisions on purpose only sends its own packets to the slow path. */
static inline struct xlat_pair64 *xlat_pair64(struct xlat_cache *t, const ip6 *from, const ip6 *to)
{
	uint32_t a = ip6_word(from, 1) + ip6_word(from, 2) + ip6_word(from, 3);
	uint32_t b = ip6_word(to, 1) + ip6_word(to, 2) + ip6_word(to, 3);
	uint32_t h = xlat_pair_mix(a) * t->mul64[0] + xlat_pair_mix(b) * t->mul64[1];
	return &t->at64[h >> (32 - XLAT_PAIR_BITS)];
}

/* Notes the result of the slow path for a pair of addresses: raw IPv4 addresses and x, with
 * the next hop of p. Only for a packet that is translated and routed and whose result
 * depends on nothing but its addresses. */
void xlat_cache_note46(struct translator *v, const struct pkt *p, uint32_t from, uint32_t to,
                       const struct xlat46 *x);

/* As xlat_cache_note46, for a pair of IPv6 addresses. */
void xlat_cache_note64(struct translator *v, const struct pkt *p, const ip6 *from, const ip6 *to,
                       const struct xlat64 *x);

/* Translates and sends a frame (app.h) whose pair of addresses is in the cache and that
 * needs no closer look: an ordinary header, a size that fits, a neighbour that is
 * reachable. Gives true and takes p then. Otherwise gives false and leaves p unchanged for
 * the slow path. */
bool xlat_cache_forward(struct gw *gw, const struct interface *in, struct pkt *p);

#endif
