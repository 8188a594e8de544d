/* Inside hosts that have IPv6 addresses. The tables of the NAT know an inside host by a raw IPv4
 * address. An IPv6 address has a number here that stands in its place: it lies in 240.0.0.0/4,
 * where no IPv4 host is (RFC 1112 section 4), so both kinds of hosts can share one table.
 *
 * The host whose sessions are counted, limited and evicted together is the address itself or its
 * /64, which has a number of its own: a host with privacy addresses has many (RFC 8981).
 *
 * The stations of one /64 are told apart by what they cannot make up as cheaply as addresses: the
 * client that stands behind an address (net/client.h). Only the sessions of each station are
 * counted, in a table without chains, so two stations may be counted as one; which, nobody outside
 * can know. Addresses whose station is not known yet are counted together, as station 0.
 *
 * An address keeps its number while a mapping of it is there. All memory is taken at start. */
#ifndef APPS_NAT_NAT_INSIDE_H
#define APPS_NAT_NAT_INSIDE_H

#include "kernel/lib/addr.h"
#include "kernel/lib/rng.h"
#include "net/neigh/neigh_table.h"

#ifndef NAT_INSIDES        /* the fuzzers, which fill the table, have a smaller one */
#define NAT_INSIDES 65536u /* addresses, at most */
#endif
#define NAT_INSIDE_NONE 0xffffffffu
#define NAT_STATIONS    4096u /* counters of stations */

/* An IPv6 address of an inside host, or the /64 of several. */
struct nat_inside {
	ip6 addr;
	uint32_t next;       /* in the hash chain or the free list */
	uint32_t n_users;    /* mappings of the address; addresses of the /64 */
	uint32_t n_sessions; /* of the address, without those with NAT_UNINVITED */
	uint32_t host;       /* the number of the host: its own, or that of its /64 */
	/* The next hop to the address, as the fast path keeps it, and gw->changes when it was
	 * looked up; 0: it was not. */
	struct neigh_hint hop;
	uint32_t changes;
	uint8_t iface;
	uint8_t len;      /* 128, or 64 */
	uint16_t station; /* of the address; 0: not known */
};

struct nat_insides {
	struct hash_key key;
	struct nat_inside *entry;
	uint32_t *bucket;
	uint32_t mask;
	uint32_t size, fresh, free; /* entries; those from `fresh` on were never used */
	uint32_t n;                 /* addresses */
	uint8_t host_len;           /* 64 or 128 */
	uint32_t *station;          /* sessions of each, without those with NAT_UNINVITED */
	uint32_t n_stations;        /* that have any */
};

/* Takes memory for as many addresses as n sessions may need, NAT_INSIDES at most. `host_len` says
 * what counts as one host, 64 or 128 bits. False when there is not enough memory. */
bool nat_inside_init(struct nat_insides *t, uint32_t n, uint8_t host_len, struct rng *rng) MUST_USE;

/* True for a number that stands for an IPv6 address. */
static inline bool nat_inside_is6(uint32_t number)
{
	return (number & 0xff) == 0xf0;
}

/* The entry of a number. */
static inline struct nat_inside *nat_inside_of(const struct nat_insides *t, uint32_t number)
{
	return &t->entry[number >> 8];
}

/* The number of an entry. */
static inline uint32_t nat_inside_number(const struct nat_insides *t, const struct nat_inside *e)
{
	return (uint32_t)(e - t->entry) << 8 | 0xf0;
}

/* True when two numbers are those of addresses of one /64: of one LAN, where each station can take
 * as many addresses as it likes. */
static inline bool nat_inside_is_near(const struct nat_insides *t, uint32_t a, uint32_t b)
{
	const ip6 *x = &nat_inside_of(t, a)->addr, *y = &nat_inside_of(t, b)->addr;
	return ip6_word(x, 0) == ip6_word(y, 0) && ip6_word(x, 1) == ip6_word(y, 1);
}

/* `by` more sessions of an address, and of its station. */
static inline void nat_inside_count(struct nat_insides *t, uint32_t number, uint32_t by)
{
	struct nat_inside *e = nat_inside_of(t, number);
	uint32_t *n = &t->station[e->station];
	e->n_sessions += by;
	t->n_stations += *n == 0;
	*n += by;
	t->n_stations -= *n == 0;
}

/* The sessions of the station that an address belongs to. */
static inline uint32_t nat_inside_station_sessions(const struct nat_insides *t, uint32_t number)
{
	return t->station[nat_inside_of(t, number)->station];
}

/* The station of an address is found: the one that is this client. */
void nat_inside_join(struct nat_insides *t, uint32_t number, uint32_t client);

/* The number of an address; NAT_INSIDE_NONE when it has none. */
uint32_t nat_inside_find(const struct nat_insides *t, const ip6 *a);

/* The number of the host that an address belongs to; NAT_INSIDE_NONE when that has none. */
uint32_t nat_inside_host(const struct nat_insides *t, const ip6 *a);

/* The number of an address, which gets one if it has none; NAT_INSIDE_NONE when there is none left.
 * A new number has no user: nat_inside_hold, or nat_inside_tidy, must follow. */
uint32_t nat_inside_get(struct nat_insides *t, const ip6 *a);

/* One more and one less mapping of an address. Without one its number is free. */
void nat_inside_hold(struct nat_insides *t, uint32_t number);
void nat_inside_release(struct nat_insides *t, uint32_t number);

/* Frees a number that has no user. */
void nat_inside_tidy(struct nat_insides *t, uint32_t number);

#endif
