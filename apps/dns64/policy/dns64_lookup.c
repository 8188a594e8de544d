/* See dns64_lookup.h. */
#include "apps/dns64/policy/dns64_lookup.h"

#define PREFETCH_USES 2u
#define STALE_RETRY_S 5u /* between attempts to refresh a stale record, RFC 8767 section 5 */

void dns64_lookup_missing(struct dns64_plan *p, struct dns64_question *q, uint16_t type)
{
	if (p->n_missing < ARRAY_SIZE(p->missing))
		p->missing[p->n_missing++] = (struct dns64_missing){q, type};
}

/* A popular record is fetched again before it expires: in the last eighth of its life. */
static void prefetch(const struct dns64_query *u, struct dns64_plan *p, struct dns64_question *q,
                     struct dns64_record *r)
{
	uint32_t left = r->expire_s - u->now_s, life = r->expire_s - r->stored_s;
	if (LIKELY(left > life / 8) || r->used < PREFETCH_USES || r->flags & DNS64_R_REFETCHED ||
	    life < 8 || p->refetch.q)
		return;
	p->refetch = (struct dns64_missing){q, q->type};
	p->popular = r;
}

/* There is no fresh record: a failure or a stale record that may serve; NULL: there is none. `r` is
 * the stale record, or NULL. */
static struct dns64_record *look_further(const struct dns64_policy *y, const struct dns64_query *u,
                                         struct dns64_plan *p, struct dns64_question *q,
                                         struct dns64_record *r)
{
	struct dns64_record *failed = dns64_cache_find(y->cache, q, true);
	bool know = failed &&
	            (dns64_record_is_fresh(failed, u->now_s) || dns64_lookup_is_new(u, failed));
	bool serve = r && dns64_record_may_serve(y->cache, r, u->now_s);
	if (!serve)
		return know ? failed : NULL;
	/* A stale record may serve when the attempt to refresh it failed or takes too long. It is
	 * then refreshed after the client has its answer. */
	if (!know && u->waited_us < u->stale_wait_us)
		return NULL;
	p->stale = true;
	if (!know || u->now_s - failed->stored_s >= STALE_RETRY_S) {
		p->refetch = (struct dns64_missing){q, q->type};
		p->popular = NULL;
	}
	return r;
}

struct dns64_record *dns64_lookup(const struct dns64_policy *y, const struct dns64_query *u,
                                  struct dns64_plan *p, struct dns64_question *q, uint16_t type)
{
	q->type = type;
	struct dns64_record *r = dns64_cache_find(y->cache, q, false);
	if (UNLIKELY(q->key & DNS64_KEY_ODD && !(r && dns64_lookup_is_new(u, r)))) {
		/* A fresh answer to the usual query serves the unusual one as well. */
		uint8_t key = q->key;
		q->key &= (uint8_t)~DNS64_KEY_ODD;
		struct dns64_record *usual = dns64_cache_find(y->cache, q, false);
		q->key = key;
		if (usual && dns64_record_is_fresh(usual, u->now_s))
			return usual;
	}
	if (r && UNLIKELY(dns64_lookup_is_new(u, r)))
		return r;
	if (LIKELY(r && dns64_record_is_fresh(r, u->now_s))) {
		r->used = (uint8_t)min_u32(r->used + 1u, DNS64_USED_MAX);
		prefetch(u, p, q, r);
		return r;
	}
	r = look_further(y, u, p, q, r);
	if (!r)
		dns64_lookup_missing(p, q, type);
	return r;
}
