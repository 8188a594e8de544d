/* Who may ask, and how many answers a second a client gets. See dns64.h.
 *
 * The number of a client says which set of the table it is in; in a full set the client that was
 * silent longest gives way. A new one begins with a second's worth of answers. */
#include "apps/dns64/dns64.h"

#include "net/ip6/ip6.h"

#define SECOND_US 1000000u
#define ANSWER    SECOND_US /* tokens: a rate of one gives one each microsecond */
#define REFUSALS  50u       /* a second, to all together */

static bool in_prefix(const struct prefix *p, const struct addr *a)
{
	if (p->addr.is6 != a->is6)
		return false;
	if (a->is6)
		return addr_in6(&a->v6, &p->addr.v6, p->len);
	return ((ip4_get(a->v4) ^ ip4_get(p->addr.v4)) & addr_mask4(p->len)) == 0;
}

bool dns64_in_prefixes(const struct prefix *p, uint32_t n, const struct addr *a)
{
	for (uint32_t i = 0; i < n; i++)
		if (in_prefix(&p[i], a))
			return true;
	return false;
}

bool dns64_limit_allows(const struct dns64 *d, const struct addr *client)
{
	/* A link-local address is on a link of ours. */
	if (dns64_in_prefixes(d->client, d->n_clients, client))
		return true;
	return d->own_clients && client->is6 && ip6_is_link_local(&client->v6);
}

/* Adds what has grown since, and takes one answer. */
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
	return take(&dns64_of(gw)->refusals, REFUSALS, gw->now_us);
}

bool dns64_limit_take(struct gw *gw, uint32_t client)
{
	struct dns64 *d = dns64_of(gw);
	uint64_t now = gw->now_us;
	/* A place that nobody has had is as good as that of a client who was silent so far. */
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
