/* Answers kept ready: what was made for a name that is asked for again and again is put into
 * the cache as it went out, so that the next client costs one look and one copy. See dns64.h.
 *
 * Such an answer never outlives the records it was made from; it ends a while before them, so
 * that a popular name is planned anew in time to be asked for ahead (dns64_plan.c). */
#include "apps/dns64/dns64.h"

#define USES      2u /* as many as for asking ahead */
#define LEAST_S   2u
#define READY_MAX DNS_PLAIN

/* Questions of the usual kind: nothing about them changes what is made. */
static bool is_usual(const struct dns64_query *u)
{
	return u->qtype == DNS_TYPE_AAAA && u->q->class == DNS_CLASS_IN && u->q->key == 0 &&
	       !u->skip;
}

struct dns64_record *dns64_ready_find(struct gw *gw, struct dns64_query *u)
{
	if (!is_usual(u))
		return NULL;
	u->q->key = DNS64_KEY_READY;
	struct dns64_record *r = dns64_cache_find(&dns64_of(gw)->cache, u->q, false);
	u->q->key = 0;
	if (!r || !dns64_fresh(gw, r))
		return NULL;
	r->used = DNS64_USED_MAX;
	return r;
}

/* Seconds that what was made from this record may be kept. */
static uint32_t lifetime(const struct gw *gw, const struct dns64_record *r)
{
	uint32_t left = r->expire_s - gw->now_s, ahead = (r->expire_s - r->stored_s) / 8 + 1;
	bool may = dns64_fresh(gw, r) && !(r->flags & DNS64_R_ONCE) && r->used >= USES;
	return may && left > ahead ? left - ahead : 0;
}

void dns64_ready_keep(struct gw *gw, struct dns64_query *u, const struct dns64_plan *p,
                      const uint8_t *m, uint32_t len)
{
	struct dns64 *d = dns64_of(gw);
	if (p->how != DNS64_HOW_SYNTHESISE || p->n != 1 || p->stale || p->again.q || !p->six ||
	    !is_usual(u) || m[2] & DNS_TC >> 8 || !d->keep)
		return;
	uint32_t life = min_u32(lifetime(gw, p->record[0]), lifetime(gw, p->six));
	bool plain = p->record[0]->flags & DNS64_R_PLAIN;
	len -= dns64_opt_bytes(u);
	if (life < LEAST_S || len > READY_MAX)
		return;
	u->q->key = DNS64_KEY_READY;
	u->q->type = DNS_TYPE_AAAA;
	struct dns64_record *r = dns64_cache_add(&d->cache, u->q, false, len, gw->now_s);
	u->q->key = 0;
	uint8_t *to = dns64_message(r);
	memcpy(to, m, len);
	memcpy(to + DNS_HEADER, u->q->name.word, u->q->name.len);
	dns_put16(to + 2, DNS_QR);
	dns_put16(to + 10, dns_get16(to + 10) - (u->edns ? 1u : 0u));
	r->kind = DNS64_DATA;
	r->end = DNS_HEADER;
	r->flags = DNS64_R_GOOD;
	r->expire_s = gw->now_s + life;
	if (plain)
		dns64_cache_enter(&d->cache, r);
}
