/* See dns64_limit.h.
 *
 * The number of a client says which set of the table it is in. In a full set the client that has
 * been silent longest is evicted. A new client begins with the answers of one second. */
#include "apps/dns64/client/dns64_limit.h"

#include "net/client.h"

#define SECOND_US 1000000u
#define ANSWER    SECOND_US /* tokens; a rate of 1 adds one each microsecond */
#define REFUSALS  50u       /* a second, to all clients together */

bool dns64_limit_allows(const struct gw *gw, const struct addr *client)
{
	const struct dns64_limits *d = dns64_limits_of(gw);
	return d->own_clients ? client_is_own(gw, client)
	                      : addr_in_prefixes(client, d->client, d->n_clients);
}

/* Adds the tokens of the time that has passed, and takes one answer. */
static bool take(struct dns64_bucket *b, uint32_t rate, uint64_t now)
{
	uint64_t most = (uint64_t)rate * ANSWER, passed = now - b->at_us;
	b->tokens += passed < SECOND_US ? passed * rate : most;
	b->at_us = now;
	if (b->tokens > most)
		b->tokens = most;
	if (b->tokens < ANSWER)
		return false;
	b->tokens -= ANSWER;
	return true;
}

bool dns64_limit_refusal(struct gw *gw)
{
	return take(&dns64_limits_of(gw)->refusals, REFUSALS, gw->clock.us);
}

bool dns64_limit_take(struct gw *gw, uint32_t client)
{
	struct dns64_limits *d = dns64_limits_of(gw);
	uint64_t now = gw->clock.us;
	/* An unused place counts as that of a client that was silent since the start. */
	struct dns64_bucket *set = d->bucket[client % DNS64_BUCKET_SETS], *oldest = set;
	for (uint32_t i = 0; i < DNS64_BUCKET_WAYS; i++) {
		if (set[i].client == client)
			return take(&set[i], d->rate, now);
		if (set[i].at_us < oldest->at_us)
			oldest = &set[i];
	}
	*oldest = (struct dns64_bucket){client, now, (uint64_t)d->rate * ANSWER};
	return take(oldest, d->rate, now);
}
