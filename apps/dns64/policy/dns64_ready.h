/* Ready answers: the answer that was synthesised for a popular name is put into the cache as it was
 * sent, so that the next client costs one lookup and one copy. */
#ifndef APPS_DNS64_POLICY_DNS64_READY_H
#define APPS_DNS64_POLICY_DNS64_READY_H

#include "apps/dns64/policy/dns64_policy.h"

/* The ready answer to a query; NULL: there is none. */
struct dns64_record *dns64_ready_find(const struct dns64_policy *y, const struct dns64_query *u);

/* Takes over policy.always, which has changed: answers that were made before it did are not used
 * while it is so. */
void dns64_ready_switch(const struct dns64_policy *y);

/* Takes over prefixes that have changed: answers that were made before are not used any more. */
void dns64_ready_renew(struct dns64_policy *y, uint32_t now_s);

/* Keeps the answer `m` of `len` bytes, built from this plan, if it is popular. The plan's records
 * are not valid afterwards. */
void dns64_ready_keep(const struct dns64_policy *y, const struct dns64_query *u,
                      const struct dns64_plan *p, const uint8_t *m, uint32_t len);

#endif
