/* Building the answer to a client query from its plan. */
#ifndef APPS_DNS64_POLICY_DNS64_ANSWER_H
#define APPS_DNS64_POLICY_DNS64_ANSWER_H

#include "apps/dns64/policy/dns64_policy.h"

/* Builds the answer at `at`, where the question section stands after room for the header; `limit`
 * bytes at most. Gives its length. The plan does not say DNS64_HOW_FETCH. */
uint32_t dns64_answer(struct dns64_policy *y, const struct dns64_query *u,
                      const struct dns64_plan *p, uint8_t *at, uint32_t limit);

/* Builds an answer with a response code and no records but OPT, after `len` bytes (a header, or a
 * header and the question section). Gives its length. */
uint32_t dns64_answer_rcode(const struct dns64_query *u, uint16_t rcode, uint8_t *at, uint32_t len);

#endif
