/* From an upstream answer to a record of the cache: what kind of answer it is, and how long it may
 * be kept. */
#ifndef APPS_DNS64_CACHE_DNS64_STORE_H
#define APPS_DNS64_CACHE_DNS64_STORE_H

#include "apps/dns64/cache/dns64_cache.h"

/* False when a name of a message, of which dns_parse set `end`, lies in a TTL: TTLs change while an
 * answer is kept. */
static inline bool dns64_store_accepts(struct dns64_cache *c, struct dns_view m,
                                       const struct dns_layout *l)
{
	return dns_names_stay(m, l, c->scratch);
}

/* Puts an upstream answer, well-formed and for this question, into the cache; gives its record,
 * valid until the next one is added. TTLs are lowered to ttl_most seconds. An error response
 * becomes the record of a failure. */
struct dns64_record *dns64_store_answer(struct dns64_cache *c, uint32_t now_s,
                                        const struct dns64_question *q, struct dns_view m,
                                        const struct dns_layout *l, uint32_t ttl_most);

/* Puts into the cache that a question got no answer but `rcode`; gives the record. A failure that
 * repeats is kept longer if `longer` is set. */
struct dns64_record *dns64_store_failure(struct dns64_cache *c, uint32_t now_s,
                                         const struct dns64_question *q, uint16_t rcode,
                                         bool longer);

#endif
