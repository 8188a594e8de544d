/* How the parts of DNS64 find each other.
 *
 * Each part keeps its state in a struct of its own, which only its header shows. struct dns64
 * (dns64.h) holds all of them by value. A part is called with the gateway, finds its state and that
 * of the parts below it by the pointers here, and never sees struct dns64. What all parts share is
 * here too: one timer wheel, and the numbers of its nodes. */
#ifndef APPS_DNS64_SHARED_DNS64_PARTS_H
#define APPS_DNS64_SHARED_DNS64_PARTS_H

#include "apps/services.h"
#include "kernel/lib/wheel.h"
#include "net/gw.h"

#define DNS64_NONE 0xffffu /* no entry of a table */

/* Entries of the tables whose entries have timers. */
#define DNS64_FETCHES      4096u
#define DNS64_PENDING      2048u
#define DNS64_PASSTHROUGHS 64u

/* The first node in the wheel of each of these tables. */
#define DNS64_TIMER_FETCH       0u
#define DNS64_TIMER_PENDING     DNS64_FETCHES
#define DNS64_TIMER_PASSTHROUGH (DNS64_TIMER_PENDING + DNS64_PENDING)
#define DNS64_TIMERS            (DNS64_TIMER_PASSTHROUGH + DNS64_PASSTHROUGHS)

/* Clients are told apart by this many numbers where they share a table. A power of two. */
#define DNS64_SHARES 256u

#define DNS64_PORT 53u /* of upstream servers */

struct dns64_parts {
	struct dns64_cache *cache;
	struct dns64_policy *policy;
	struct dns64_servers *servers;
	struct dns64_conns *conns;
	struct dns64_attempts *attempts;
	struct dns64_fetches *fetches;
	struct dns64_limits *limits;
	struct dns64_pendings *pendings;
	struct dns64_passthroughs *passthroughs;
	struct dns64_clients *clients;
	struct dns64_paths *paths;
	struct dns64_streams *streams;
	struct wheel wheel;
	uint64_t table_full; /* client queries and fetches for which a table had no place */
};

static inline struct dns64_parts *dns64_parts_of(const struct gw *gw)
{
	return gw->service_state[SERVICE_dns64];
}

/* The timer wheel of all parts. */
static inline struct wheel *dns64_wheel(const struct gw *gw)
{
	return &dns64_parts_of(gw)->wheel;
}

/* Microseconds that wrap after 71 minutes, for differences. */
static inline uint32_t dns64_now(const struct gw *gw)
{
	return (uint32_t)gw->clock.us;
}

#endif
