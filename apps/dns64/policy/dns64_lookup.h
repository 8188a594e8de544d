/* Looking records up in the cache: which record may serve a client query, which question must be
 * fetched first, and which should be fetched again although there is an answer. */
#ifndef APPS_DNS64_POLICY_DNS64_LOOKUP_H
#define APPS_DNS64_POLICY_DNS64_LOOKUP_H

#include "apps/dns64/policy/dns64_policy.h"

/* Key bits of queries that are unusual but mostly get the usual answer. */
#define DNS64_KEY_ODD (DNS64_KEY_NORD | DNS64_KEY_Z)

/* The record that may serve a query for the name of `q` and this type; sets q->type. NULL: it must
 * be fetched first, and is noted as missing in the plan. */
struct dns64_record *dns64_lookup(const struct dns64_policy *y, const struct dns64_query *u,
                                  struct dns64_plan *p, struct dns64_question *q, uint16_t type);

/* Notes in the plan that a question is missing. */
void dns64_lookup_missing(struct dns64_plan *p, struct dns64_question *q, uint16_t type);

/* True when a record came after the query. Such a record serves even if it may not be kept. */
static inline bool dns64_lookup_is_new(const struct dns64_query *u, const struct dns64_record *r)
{
	return (int32_t)(r->serial - u->serial) > 0;
}

#endif
