/* Who may query, and how many answers a second a client gets (dns64.rate). */
#ifndef APPS_DNS64_CLIENT_DNS64_LIMIT_H
#define APPS_DNS64_CLIENT_DNS64_LIMIT_H

#include "apps/dns64/shared/dns64_parts.h"
#include "apps/dns64/shared/dns64_sizes.h"

#define DNS64_BUCKET_SETS 1024u /* a power of two */
#define DNS64_BUCKET_WAYS 4u

/* The answers that one client may still have. */
struct dns64_bucket {
	uint32_t client; /* its number (net/client.h) */
	uint64_t at_us;  /* when tokens were last added; does not wrap */
	uint64_t tokens; /* in millionths of an answer */
};

struct dns64_limits {
	/* From the configuration. */
	struct prefix client[DNS64_CLIENTS];
	uint32_t n_clients;
	bool own_clients; /* the configuration names none: the hosts of our networks */
	uint32_t rate;    /* answers a second for each client; 0: no limit */

	struct dns64_bucket bucket[DNS64_BUCKET_SETS][DNS64_BUCKET_WAYS];
	struct dns64_bucket refusals; /* of all clients that may not query */
};

static inline struct dns64_limits *dns64_limits_of(const struct gw *gw)
{
	return dns64_parts_of(gw)->limits;
}

/* True when a client with this address may query. */
bool dns64_limit_allows(const struct gw *gw, const struct addr *client);

/* Takes one answer from what the client with this number (net/client.h) may have. False: it has
 * none left. Only where a rate is set. */
bool dns64_limit_take(struct gw *gw, uint32_t client);

/* Takes one refusal from what all clients that may not query may have together. */
bool dns64_limit_refusal(struct gw *gw);

#endif
