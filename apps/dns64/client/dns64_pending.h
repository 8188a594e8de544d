/* Client queries that wait for fetches, in a table of fixed size.
 *
 * A pending query holds no packet, only what its answer needs: the client, and the question as it
 * was spelled. It waits for at most two fetches and stands in the list of each. When a fetch is
 * over the query is planned again. One client cannot take all places, nor can a few: what a client
 * may have depends on what is free. */
#ifndef APPS_DNS64_CLIENT_DNS64_PENDING_H
#define APPS_DNS64_CLIENT_DNS64_PENDING_H

#include "apps/dns64/client/dns64_reply.h"
#include "apps/dns64/policy/dns64_policy.h"
#include "apps/dns64/upstream/dns64_fetch.h"

struct dns64_pending {
	struct dns64_question q;
	struct dns64_query u;           /* points to q and name here */
	uint8_t name[DNS_NAME_MAX + 1]; /* as the client spelled it */
	struct dns64_client from;
	uint8_t rounds; /* times it was planned */
	uint8_t share;  /* number under which its client's queries are counted */
	uint16_t after; /* the next one that is held back for the same connection */
	uint32_t since_us;
	/* Its places in the lists of two fetches, numbered pending * 2 + 0 or 1. */
	struct {
		uint16_t fetch; /* DNS64_NONE: not in use */
		uint16_t prev, next;
	} place[2];
};

struct dns64_pendings {
	struct dns64_pending *pending;
	uint16_t free;
	uint32_t n;
	uint16_t share[DNS64_SHARES]; /* entries of each share */
	uint32_t n_held;              /* of these, held back until their client reads */
	uint16_t held[DNS64_SHARES];
	uint64_t count_held, prefetched; /* since the start */
};

static inline struct dns64_pendings *dns64_pendings_of(const struct gw *gw)
{
	return dns64_parts_of(gw)->pendings;
}

/* What pending queries are to the fetches that they wait for. */
extern const struct dns64_fetch_user dns64_pending_of_fetches;

/* The number under which the queries of the client at the remote end are counted (net/client.h).
 * Two clients may have the same, and its limits. */
uint8_t dns64_pending_share(struct gw *gw, const struct udp_ends *e);

/* Allocates the table; false when memory is short. */
bool dns64_pending_init(struct dns64_pendings *all) MUST_USE;

#define DNS64_STALE_WAIT_US 1800000u /* before stale records serve, RFC 8767 section 5 */

/* Sets the times of a query before it is planned. A stale answer serves earlier where all servers
 * are down, and at once where they are gone. */
static inline void dns64_pending_set_times(const struct gw *gw, struct dns64_query *u,
                                           uint32_t waited_us)
{
	u->now_s = gw->clock.s;
	u->waited_us = waited_us;
	if (LIKELY(dns64_servers_of(gw)->n_up > 0))
		u->stale_wait_us = DNS64_STALE_WAIT_US;
	else if (dns64_server_all_gone(gw))
		u->stale_wait_us = 0;
	else
		u->stale_wait_us = dns64_parts_of(gw)->policy->patience_us;
}

/* Lets a query wait for what its plan misses, which is fetched. False: it cannot wait. */
bool dns64_pending_add(struct gw *gw, const struct dns64_query *u, const struct dns64_plan *p,
                       const struct dns64_client *from) MUST_USE;

/* Fetches what a plan with an answer wants to have again, if there is room. */
void dns64_pending_refetch(struct gw *gw, const struct dns64_plan *p);

/* True when so many queries wait that old fetches should end. */
bool dns64_pending_is_crowded(const struct gw *gw);

/* A query that was held back goes on: it is planned again. */
void dns64_pending_resume(struct gw *gw, uint32_t pending);

/* A query that was held back is given up, since its client is gone. */
void dns64_pending_drop(struct gw *gw, uint32_t pending);

/* The timer of a pending query. */
void dns64_pending_due(struct gw *gw, uint32_t pending);

#endif
