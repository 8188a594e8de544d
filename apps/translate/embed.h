/* IPv4 addresses in IPv6 addresses: the form of RFC 6219 (IVI), the six forms of RFC 6052,
 * explicit mappings (RFC 7757), and the port sets of hosts that share an IPv4 address (RFC
 * 7597 section 5.1). Pure functions; tables are set up once.
 *
 * Addresses are handled as raw words (network byte order). An IPv4 address lies in whole
 * octets, and a rotation by whole octets is the same in any byte order. */
#ifndef APPS_TRANSLATE_EMBED_H
#define APPS_TRANSLATE_EMBED_H

#include "kernel/lib/addr.h"

/* --- a prefix with an embedded address --------------------------------------------- */

/* A form: which octets of the IPv6 address hold the IPv4 address. Words are raw. */
struct embed_form {
	uint32_t prefix[4];
	uint32_t mask[4];   /* of the prefix */
	uint32_t octets[4]; /* octets of each word that hold the IPv4 address … */
	uint8_t rotate[4];  /* … rotated left by this number of bits */
	uint8_t len;        /* bits in front of the IPv4 address */
	uint8_t set_at;     /* octet where the number of the port set begins; 0: no room */
	uint8_t end[33]; /* length of the IPv6 prefix that an IPv4 prefix becomes, by its length */
};

/* Sets up a form. Gives NULL, or what is wrong with the prefix as a text that follows the
 * key's name. */
const char *embed_set_up(struct embed_form *f, const struct prefix *prefix, bool ivi);

/* True when an address lies under the form's prefix. */
static inline bool embed_has(const struct embed_form *f, const ip6 *a)
{
	return (load32(a->b) & f->mask[0]) == f->prefix[0] &&
	       (load32(a->b + 4) & f->mask[1]) == f->prefix[1] &&
	       (load32(a->b + 8) & f->mask[2]) == f->prefix[2];
}

/* True when the bits of an address under the prefix that are neither prefix nor IPv4 address are
 * zero, as embed_to6 makes them. */
static inline bool embed_is_plain(const struct embed_form *f, const ip6 *a)
{
	uint32_t rest = 0;
	for (unsigned i = 1; i < 4; i++)
		rest |= load32(a->b + 4 * i) & ~(f->mask[i] | f->octets[i]);
	return rest == 0;
}

/* Rotates a word left by a number of bits from 0 to 31. */
static inline uint32_t embed_rotate_left(uint32_t v, uint8_t bits)
{
	return v << (bits & 31) | v >> (-bits & 31);
}

/* The raw IPv4 address in an address under the prefix. Octet 8 and the suffix are ignored
 * (RFC 6052 section 2.2). */
static inline uint32_t embed_to4(const struct embed_form *f, const ip6 *a)
{
	uint32_t v = 0;
	for (unsigned i = 1; i < 4; i++)
		v |= embed_rotate_left(load32(a->b + 4 * i) & f->octets[i], (uint8_t)-f->rotate[i]);
	return v;
}

/* The IPv6 address of a raw IPv4 address. Octet 8 (RFC 6052) and the suffix are zero. */
static inline void embed_to6(const struct embed_form *f, uint32_t v, ip6 *out)
{
	store32(out->b, f->prefix[0]);
	for (unsigned i = 1; i < 4; i++)
		store32(out->b + 4 * i,
		        f->prefix[i] | (embed_rotate_left(v, f->rotate[i]) & f->octets[i]));
}

/* True for 64:ff9b::/96, which must not be used with an IPv4 address that is not global
 * (RFC 6052 section 3.1). */
bool embed_is_well_known(const struct embed_form *f);

/* False for the special addresses of RFC 5735 section 3 and those that were added since. */
bool embed_is_global(ip4 a);

/* --- explicit mappings (RFC 7757) ------------------------------------------------ */

/* A mapping as it is written. */
struct embed_pair {
	ip4 net4;
	uint8_t len4, len6; /* of the prefixes */
	ip6 net6;
};

/* A mapping, ready to use. */
struct embed_map {
	uint32_t net4, mask4; /* raw */
	uint32_t net6[4];     /* raw */
	uint32_t suffix;      /* bits behind the IPv4 prefix, host order */
	uint8_t len4, len6;   /* of the prefixes */
	uint8_t word, bit;    /* where the suffix ends in the IPv6 address */
};

#define EMBED_MAPS  256u
#define EMBED_SLOTS 512u /* a power of two, at least twice the number of mappings */

/* All mappings. A lookup tries the lengths that occur, the longest first, and finds a
 * prefix of that length by its hash. */
struct embed_table {
	uint32_t n;
	uint32_t n_len4, n_len6;
	uint32_t len4_mask[33]; /* raw masks of the lengths that occur, longest first */
	uint8_t len6[129];      /* lengths that occur, longest first */
	uint32_t len6_mask[129][4];
	uint32_t mul[5];                                 /* secret odd multipliers of the hash */
	uint16_t slot4[EMBED_SLOTS], slot6[EMBED_SLOTS]; /* 1 + index; 0: free */
	struct embed_map map[EMBED_MAPS];
};
_Static_assert(EMBED_SLOTS >= 2 * EMBED_MAPS, "room to probe");

/* Sets up the table from zeroed memory. Gives NULL, or what is wrong. `mul` is five odd
 * random numbers. */
const char *embed_maps_set_up(struct embed_table *t, const struct embed_pair *map, uint32_t n,
                              const uint32_t mul[5]);

/* The mapping with the longest prefix that an address (raw) lies under, or NULL. */
static inline const struct embed_map *embed_find4(const struct embed_table *t, uint32_t v);
static inline const struct embed_map *embed_find6(const struct embed_table *t, const ip6 *a);

/* The address on the other side of a mapping. IPv4 addresses are raw. */
void embed_map_to6(const struct embed_map *m, uint32_t v, ip6 *out);
uint32_t embed_map_to4(const struct embed_map *m, const ip6 *a);

/* --- shared addresses (RFC 7597 section 5.1) ---------------------------------------- */

/* Shared addresses as they are written. */
struct embed_sharing {
	ip4 net;
	uint8_t len;
	uint32_t ratio; /* hosts for each address, a power of two */
	uint32_t run;   /* ports in a row, a power of two */
};

/* Shared addresses, ready to use. */
struct embed_share {
	uint32_t net, mask; /* raw */
	uint32_t sets;      /* number of sets, less one */
	uint8_t run_bits;   /* ports of a run, as a power of two (m) */
	uint8_t low_bits;   /* k + m */
};

/* Sets up the rule of a shared network from the configuration. */
void embed_share_set_up(struct embed_share *s, const struct embed_sharing *c);

/* The number of the set that a port (host order) belongs to. */
static inline uint32_t embed_set_of(const struct embed_share *s, uint32_t port)
{
	return port >> s->run_bits & s->sets;
}

/* True when a port (host order) belongs to a host. Ports of the first round (A = 0) belong
 * to none when there is more than one round. */
static inline bool embed_has_owner(const struct embed_share *s, uint32_t port)
{
	return s->low_bits >= 16 || port >> s->low_bits != 0;
}

/* The number of the port set in an address of the form, which has room for one. */
static inline uint32_t embed_set_in(const struct embed_form *f, const ip6 *a)
{
	return (uint32_t)a->b[f->set_at] << 8 | a->b[f->set_at + 1];
}

/* Writes the number of the port set into an address of the form, which has room for one. */
static inline void embed_put_set(const struct embed_form *f, uint32_t set, ip6 *a)
{
	a->b[f->set_at] = (uint8_t)(set >> 8);
	a->b[f->set_at + 1] = (uint8_t)set;
}

/* --- inline functions -------------------------------------------------------------- */

static inline uint32_t embed_slot4(const struct embed_table *t, uint32_t net, uint32_t mask)
{
	return (net * t->mul[0] + mask * t->mul[4]) >> 23;
}

static inline uint32_t embed_slot6(const struct embed_table *t, const uint32_t net[4], uint32_t len)
{
	return (net[0] * t->mul[0] + net[1] * t->mul[1] + net[2] * t->mul[2] + net[3] * t->mul[3] +
	        len * t->mul[4]) >>
	       23;
}
_Static_assert(EMBED_SLOTS == 1u << 9, "the hash takes the upper nine bits");

static inline const struct embed_map *embed_find4(const struct embed_table *t, uint32_t v)
{
	for (uint32_t i = 0; i < t->n_len4; i++) {
		uint32_t mask = t->len4_mask[i], net = v & mask;
		uint32_t at = embed_slot4(t, net, mask);
		for (; t->slot4[at]; at = (at + 1) % EMBED_SLOTS) {
			const struct embed_map *m = &t->map[t->slot4[at] - 1];
			if (m->net4 == net && m->mask4 == mask)
				return m;
		}
	}
	return NULL;
}

static inline const struct embed_map *embed_find6(const struct embed_table *t, const ip6 *a)
{
	for (uint32_t i = 0; i < t->n_len6; i++) {
		const uint32_t *mask = t->len6_mask[i];
		const uint32_t net[4] = {load32(a->b) & mask[0], load32(a->b + 4) & mask[1],
		                         load32(a->b + 8) & mask[2], load32(a->b + 12) & mask[3]};
		uint32_t at = embed_slot6(t, net, t->len6[i]);
		for (; t->slot6[at]; at = (at + 1) % EMBED_SLOTS) {
			const struct embed_map *m = &t->map[t->slot6[at] - 1];
			if (m->net6[0] == net[0] && m->net6[1] == net[1] && m->net6[2] == net[2] &&
			    m->net6[3] == net[3] && m->len6 == t->len6[i])
				return m;
		}
	}
	return NULL;
}

#endif
