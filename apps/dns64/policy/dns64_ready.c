/* See dns64_ready.h.
 *
 * A ready answer never outlives the records it was made from. It expires some time before them, so
 * that a popular name is planned again early enough to be prefetched (dns64_lookup.c). */
#include "apps/dns64/policy/dns64_ready.h"

#define USES      2u /* as many as for prefetching */
#define LEAST_S   2u
#define READY_MAX DNS_PLAIN

/* True for a query of the usual kind: all such queries for a name get the same answer. */
static bool is_usual(const struct dns64_query *u)
{
	return u->qtype == DNS_TYPE_AAAA && u->q->class == DNS_CLASS_IN && u->q->key == 0 &&
	       !u->skip;
}

void dns64_ready_switch(const struct dns64_policy *y)
{
	y->cache->ready_key = (uint8_t)(DNS64_KEY_READY | (y->always ? DNS64_KEY_ALWAYS : 0));
}

void dns64_ready_renew(struct dns64_policy *y, uint32_t now_s)
{
	dns64_cache_leave_quick(y->cache);
	y->ready_from_s = now_s + 1;
}

struct dns64_record *dns64_ready_find(const struct dns64_policy *y, const struct dns64_query *u)
{
	if (!is_usual(u))
		return NULL;
	u->q->key = y->cache->ready_key;
	struct dns64_record *r = dns64_cache_find(y->cache, u->q, false);
	u->q->key = 0;
	if (!r || !dns64_record_is_fresh(r, u->now_s) ||
	    !when_come(r->stored_s, y->ready_from_s, DNS64_MAX_TTL + 1))
		return NULL;
	r->used = DNS64_USED_MAX;
	return r;
}

/* Seconds for which an answer made from this record may be kept; 0: it may not. */
static uint32_t lifetime(const struct dns64_query *u, const struct dns64_record *r)
{
	uint32_t left = r->expire_s - u->now_s, ahead = (r->expire_s - r->stored_s) / 8 + 1;
	bool may =
	        dns64_record_is_fresh(r, u->now_s) && !(r->flags & DNS64_R_ONCE) && r->used >= USES;
	return may && left > ahead ? left - ahead : 0;
}

void dns64_ready_keep(const struct dns64_policy *y, const struct dns64_query *u,
                      const struct dns64_plan *p, const uint8_t *m, uint32_t len)
{
	if (p->how != DNS64_HOW_SYNTHESISE || p->n != 1 || p->stale || p->refetch.q || !p->six ||
	    !is_usual(u) || m[2] & DNS_TC >> 8 || !y->cache->keep)
		return;
	uint32_t life = min_u32(lifetime(u, p->record[0]), lifetime(u, p->six));
	bool plain = p->record[0]->flags & DNS64_R_PLAIN;
	len -= dns64_query_opt_bytes(u);
	if (life < LEAST_S || len > READY_MAX)
		return;
	u->q->key = y->cache->ready_key;
	u->q->type = DNS_TYPE_AAAA;
	struct dns64_record *r = dns64_cache_add(y->cache, u->q, false, len, u->now_s);
	u->q->key = 0;
	uint8_t *to = dns64_message(r);
	memcpy(to, m, len);
	memcpy(to + DNS_HEADER, u->q->name.word, u->q->name.len);
	dns_put16(to + 2, DNS_QR);
	dns_put16(to + 10, dns_get16(to + 10) - (u->edns ? 1u : 0u));
	r->kind = DNS64_DATA;
	r->end = DNS_HEADER;
	r->flags = DNS64_R_GOOD;
	r->expire_s = u->now_s + life;
	if (plain)
		dns64_cache_enter(y->cache, r);
}
