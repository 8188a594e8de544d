/* The rules of DNS64 (RFC 6147 section 5) as one decision over what is in the cache. Nothing here
 * waits: what is missing is noted in the plan, and the same decision is made again when it has been
 * fetched. */
#ifndef APPS_DNS64_POLICY_DNS64_PLAN_H
#define APPS_DNS64_POLICY_DNS64_PLAN_H

#include "apps/dns64/policy/dns64_policy.h"

/* Plans the answer to a query. The plan's records are valid until the next one is added. */
void dns64_plan(struct dns64_policy *y, struct dns64_query *u, struct dns64_plan *p);

/* Plans the answer when nothing more can be fetched: from whatever is known, or SERVFAIL. */
void dns64_plan_final(struct dns64_policy *y, struct dns64_query *u, struct dns64_plan *p);

#endif
