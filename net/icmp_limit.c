/* See icmp_limit.h. */
#include "net/icmp_limit.h"

#include "kernel/lib/bucket.h"

static const struct bucket all = {1000, 100 * 1000}, one = {4000, 50 * 4000};

bool icmp_limit_take(struct icmp_limit *kind, struct rng *rng, uint64_t now_us, uint32_t client)
{
	uint64_t *mine = &kind->one_us[client % ICMP_LIMIT_CLIENTS];
	/* One or two, so that nobody can count by them what others caused (the side
	 * channel of "SAD DNS", CVE-2020-25705). */
	uint32_t n = 1 + rng_below(rng, 2);
	uint32_t one_us = bucket_owed(now_us, *mine);
	uint32_t all_us = bucket_owed(now_us, kind->all_us);
	if (!bucket_take(&one, &one_us, n) || !bucket_take(&all, &all_us, n))
		return false;
	*mine = now_us + one_us;
	kind->all_us = now_us + all_us;
	return true;
}
