/* Fetches: what is asked of the upstream servers, in a table of fixed size.
 *
 * A fetch makes attempts, one after the other, at one server or several, until an answer is taken
 * or the time is over. The answer goes into the cache. Client queries that need the same fetch
 * share it. How they wait is unknown here: a fetch keeps the head of their list, and reports its
 * end by the callbacks of struct dns64_fetch_user. */
#ifndef APPS_DNS64_UPSTREAM_DNS64_FETCH_H
#define APPS_DNS64_UPSTREAM_DNS64_FETCH_H

#include "apps/dns64/cache/dns64_cache.h"
#include "apps/dns64/upstream/dns64_attempt.h"

struct dns64_fetch {
	struct dns64_question q;
	struct dns64_request request;
	uint16_t number; /* of this fetch, constant */
	uint8_t last;    /* the server of the latest attempt */
	bool probe;      /* only to see whether a server is back; nobody waits */
	bool miscased;   /* an answer came with another case in its name */
	bool mute;       /* an error came without a question section */
	bool truncated;  /* an answer came with TC */
	uint8_t queued;  /* attempt `queued` - 1 waits for a place on a connection; 0: none */
	uint16_t next;   /* in the chain of its hash, or of the free fetches */
	uint16_t older, younger; /* in the order they began */
	uint16_t waiters;        /* head of the list of those who wait; DNS64_NONE: nobody */
	uint16_t n_attempts;     /* so far; 0: the fetch is free */
	uint16_t tried;          /* servers, a bit each */
	uint16_t plain;          /* of these, the ones that get no OPT in this fetch */
	uint32_t begun_us, deadline_us;
};

/* What fetches report to, and ask of, the part that waits for them. */
struct dns64_fetch_user {
	/* A fetch is over. `waiters` is the head of its list, r its answer; NULL: it failed. */
	void (*done)(struct gw *gw, uint32_t waiters, const struct dns64_record *r);
	/* The share of a client in this list that has fewer than n_free of `used` (by share);
	 * DNS64_NONE: there is none. */
	uint32_t (*share)(const struct gw *gw, uint32_t waiters, const uint16_t *used,
	                  uint32_t n_free);
};

struct dns64_fetches {
	struct dns64_fetch *fetch;
	uint16_t *hash; /* heads of chains, by name */
	uint16_t free, oldest, youngest;
	uint32_t n;
	const struct dns64_fetch_user *user;
	uint64_t joined, miscased; /* fetches that were there already; answers with another case */
};

static inline struct dns64_fetches *dns64_fetches_of(const struct gw *gw)
{
	return dns64_parts_of(gw)->fetches;
}

/* Allocates the tables; NULL, or what is wrong. */
const char *dns64_fetch_init(struct gw *gw, struct dns64_fetches *f,
                             const struct dns64_fetch_user *user);

/* The number of the fetch of a question with this type (q->type does not count). If there is none
 * it is begun, and its first attempt sent. DNS64_NONE: there are too many. */
uint32_t dns64_fetch_begin(struct gw *gw, const struct dns64_question *q, uint16_t type);

/* The timer of a fetch. */
void dns64_fetch_due(struct gw *gw, uint32_t fetch);

/* Ends the oldest fetch, without an answer, when few places are left or `crowded` is set, and it is
 * at least one second old. True: it did. */
bool dns64_fetch_evict(struct gw *gw, bool crowded);

#endif
