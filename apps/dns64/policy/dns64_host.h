/* Hosts of the inside, by the names that they have leases with: forward (A) and reverse (PTR). */
#ifndef APPS_DNS64_POLICY_DNS64_HOST_H
#define APPS_DNS64_POLICY_DNS64_HOST_H

#include "apps/dns64/policy/dns64_policy.h"

#define DNS64_HOST_TTL 60u /* at most: a lease may end earlier than it says */

/* Plans the answer about a host of the inside, where y->hosts is set. False when the queried name
 * is none's: the servers are asked then. Other types than A have an answer without records (RFC
 * 2308 section 2.2), so that nothing is synthesised for a host nearby. */
bool dns64_host_plan(const struct dns64_policy *y, const struct dns64_query *u,
                     struct dns64_plan *p);

#endif
