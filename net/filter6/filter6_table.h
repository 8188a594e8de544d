/* Sessions of inside hosts with hosts outside, and fragments on their way in: tables of fixed size
 * in sets, so that a look-up costs eight comparisons at most, whatever hosts send. Pure: it knows
 * no packet and no clock but seconds.
 *
 * A full set makes room by evicting what is of least use: what has ended, what a host outside began
 * and nobody answered, an echo or UDP that a host outside began, what was never answered; of these
 * it takes from the client that has most there. A session from inside evicts any that a host
 * outside began. One from outside evicts, of the inside's, only what was never answered; it does so
 * up to half of the set, and an echo never. Open sessions that inside hosts began are evicted last,
 * for one from inside only: of the client that has most in the set, or of the new one's own. Where
 * eight clients have one each, a ninth finds no room. */
#ifndef NET_FILTER6_FILTER6_TABLE_H
#define NET_FILTER6_FILTER6_TABLE_H

#include "kernel/lib/bytes.h"
#include "kernel/lib/rng.h"

#ifndef FILTER6_SET_BITS /* fewer in the fuzzers, so that the table fills */
#define FILTER6_SET_BITS 12u
#endif
#define FILTER6_SETS      (1u << FILTER6_SET_BITS)
#define FILTER6_WAYS      8u
#define FILTER6_FRAGMENTS 256u

/* Seconds: RFC 6092 section 3.2 and 3.3. */
#define FILTER6_UDP_S     300u
#define FILTER6_TCP_S     7440u
#define FILTER6_CLOSING_S 240u
#define FILTER6_ICMP_S    60u
#define FILTER6_PIECES_S  60u /* fragments of a packet (RFC 8200 section 4.5) */

enum filter6_state {
	FILTER6_FREE,
	FILTER6_NEW,    /* one side has sent */
	FILTER6_OPEN,   /* both have */
	FILTER6_FIN_IN, /* TCP: the inside host has sent a FIN, the outside host, both have */
	FILTER6_FIN_OUT,
	FILTER6_ENDED,
	FILTER6_RESET, /* TCP: one side has sent a RST */
};

/* Who talks to whom. Ports are raw; 0 where the protocol has none, and for the outside port of UDP:
 * any port of that host may answer (RFC 6092 REC-17). Of an ICMPv6 echo the identifier is the
 * inside port. */
struct filter6_key {
	ip6 inside, outside;
	uint16_t inside_port, outside_port;
	uint8_t proto;
};

struct filter6_session {
	struct filter6_key key;
	uint8_t state;   /* enum filter6_state */
	bool by_outside; /* a host outside began it */
	uint32_t end_s;  /* when it ends (when.h) */
	uint32_t client; /* the inside host, as a hash */
};

struct filter6_pieces { /* of a packet whose first fragment came in */
	ip6 from, to;
	uint32_t id, end_s;
};

struct filter6_table {
	struct hash_key hash;
	struct filter6_session (*set)[FILTER6_WAYS]; /* FILTER6_SETS of them */
	/* Those of sessions that hosts outside began have places of their own. */
	struct filter6_pieces pieces[2][FILTER6_FRAGMENTS];
	uint32_t n, swept;
	uint64_t created, evicted;
};

/* Makes an empty table with memory from alloc(); false when there is not enough. */
bool filter6_table_init(struct filter6_table *t, struct rng *rng) MUST_USE;

/* The session with this key, NULL when there is none. */
struct filter6_session *filter6_table_find(struct filter6_table *t, const struct filter6_key *key,
                                           uint32_t now_s);

/* A new session without a packet; the table has none with this key. NULL when there is no room. */
struct filter6_session *filter6_table_open(struct filter6_table *t, const struct filter6_key *key,
                                           uint32_t client, bool by_outside, uint32_t now_s);

/* Notes a packet of a session; `flags` are those of its TCP header, 0 otherwise. A packet from
 * outside makes only a session that the inside host has used live longer. */
void filter6_table_seen(struct filter6_session *s, bool from_inside, uint8_t flags, uint32_t now_s);

/* Remember and find a fragmented packet whose first fragment may come in. Of two with the same
 * place in the table the later one counts; a packet of a session that a host outside began takes no
 * other's place. */
void filter6_table_note(struct filter6_table *t, const ip6 *from, const ip6 *to, uint32_t id,
                        bool by_outside, uint32_t now_s);
bool filter6_table_noted(const struct filter6_table *t, const ip6 *from, const ip6 *to, uint32_t id,
                         uint32_t now_s);

/* Frees some sessions that have ended, so that the count is true in the end. */
void filter6_table_sweep(struct filter6_table *t, uint32_t now_s);

/* The place of session i of all places; NULL when it is free or has ended. */
const struct filter6_session *filter6_table_at(const struct filter6_table *t, uint32_t i,
                                               uint32_t now_s);

#endif
