/* The service `dns64`: all its parts.
 *
 * A message of a client is a client query (client/dns64_client.h). A plan says which records of the
 * cache answer it, or what must be fetched first (policy/dns64_plan.h), and the answer is built
 * from the plan (policy/dns64_answer.h). Where something must be fetched, the query waits
 * (client/dns64_pending.h) for fetches (upstream/dns64_fetch.h), which several queries may share.
 * Each answer of a server goes into the cache (cache/dns64_store.h), and the queries that wait are
 * planned again.
 *
 * Left out on purpose: recursion, zones of our own, validation (RFC 6147 leaves it to the servers
 * that we ask). */
#ifndef APPS_DNS64_DNS64_H
#define APPS_DNS64_DNS64_H

#include "apps/dns64/cache/dns64_cache.h"
#include "apps/dns64/client/dns64_client.h"
#include "apps/dns64/client/dns64_limit.h"
#include "apps/dns64/client/dns64_passthrough.h"
#include "apps/dns64/client/dns64_path.h"
#include "apps/dns64/client/dns64_pending.h"
#include "apps/dns64/client/dns64_stream.h"
#include "apps/dns64/shared/dns64_parts.h"
#include "apps/dns64/dns64_keys.h"
#include "apps/dns64/policy/dns64_policy.h"
#include "apps/dns64/upstream/dns64_attempt.h"
#include "apps/dns64/upstream/dns64_conn.h"
#include "apps/dns64/upstream/dns64_fetch.h"
#include "apps/dns64/upstream/dns64_server.h"

#define DNS64_RECORDS_MIN 8192u /* of the cache: enough for all queries that wait */

struct dns64 {
	struct dns64_parts part; /* the first member: dns64_parts_of */
	struct dns64_cache cache;
	struct dns64_policy policy;
	struct dns64_servers servers;
	struct dns64_conns conns;
	struct dns64_attempts attempts;
	struct dns64_fetches fetches;
	struct dns64_limits limits;
	struct dns64_pendings pendings;
	struct dns64_passthroughs passthroughs;
	struct dns64_clients clients;
	struct dns64_paths paths;
	struct dns64_streams streams;
	struct prefix pref64[DNS64_PREFIXES]; /* to advertise */
	uint32_t n_pref64;
	bool follows;                  /* the prefix is that of the translator beside us */
	bool plain;                    /* nothing is synthesised: the service `dns` */
	bool auto_always;              /* policy.always follows the default routes for IPv6 */
	bool clients_only[INTERFACES]; /* interfaces with no server behind them */
};

static inline struct dns64 *dns64_of(const struct gw *gw)
{
	return gw->service_state[SERVICE_dns64];
}

/* Takes the configuration over into the parts; NULL, or what is wrong. */
const char *dns64_set_up(struct gw *gw, struct dns64 *d);

/* Takes over the prefix of the translator beside us again, where it is followed. */
void dns64_follow_prefix(struct gw *gw, struct dns64 *d);

/* Lets the policy find the hosts that have leases of ours, where there is a DHCP server. */
void dns64_hosts_set_up(const struct gw *gw, struct dns64_policy *y);

/* The counters, and listings for people (net/service.h). */
extern const struct count_table dns64_counts;
bool dns64_show(struct gw *gw, enum listing what, uint32_t *cursor, char *buf, size_t size);

#endif
