/* What answers a question: RFC 6147 section 5 as one decision over what is in the cache.
 * See dns64.h. Nothing here waits: what is missing is noted as a need, and the same
 * decision is made again when it has come.
 *
 * AAAA and A are asked for together, so that synthesis costs no second round trip
 * (section 5.1.8), and a missing AAAA answer costs a client that has A records no more
 * than dns64_patience. */
#include "apps/dns64/dns64.h"

#define PREFETCH_USES 2u
#define ODD_KEY       (DNS64_KEY_NORD | DNS64_KEY_Z)

static void begin(struct dns64_plan *p)
{
	p->n = p->n_needs = 0;
	p->stale = p->exists = false;
	p->again.q = NULL;
	p->popular = NULL;
}

static void need(struct dns64_plan *p, struct dns64_question *q, uint16_t type)
{
	if (p->n_needs < ARRAY_SIZE(p->need))
		p->need[p->n_needs++] = (struct dns64_missing){q, type};
}

/* Came in while the query was waiting. */
static bool is_new(const struct dns64_query *u, const struct dns64_record *r)
{
	return (int32_t)(r->serial - u->serial) > 0;
}

/* Popular records are asked for anew before their time is over: in its last eighth. */
static void prefetch(const struct gw *gw, struct dns64_plan *p, struct dns64_question *q,
                     struct dns64_record *r)
{
	uint32_t left = r->expire_s - gw->now_s, life = r->expire_s - r->stored_s;
	if (LIKELY(left > life / 8) || r->used < PREFETCH_USES || r->flags & DNS64_R_ASKED ||
	    life < 8 || p->again.q)
		return;
	p->again = (struct dns64_missing){q, q->type};
	p->popular = r;
}

void dns64_plan_again(struct gw *gw, const struct dns64_plan *p)
{
	struct dns64 *d = dns64_of(gw);
	if (LIKELY(p->again.q == NULL) || d->n_asks >= DNS64_FETCHES / 2)
		return;
	if (p->popular) {
		p->popular->flags |= DNS64_R_ASKED;
		d->count.prefetched++;
	}
	dns64_fetch_begin(gw, &p->again);
}

/* Whether a client has waited long enough for upstream to get a stale answer (RFC 8767 section 5):
 * less where all servers are down, and not at all when nobody is there to ask. */
static bool waited_enough(const struct gw *gw, const struct dns64_query *u)
{
	const struct dns64 *d = dns64_of(gw);
	if (LIKELY(d->n_up > 0))
		return u->waited_us >= DNS64_STALE_WAIT_US;
	return u->waited_us >= d->patience_us || dns64_server_all_gone(gw);
}

/* Nothing fresh: what is known of the question all the same, NULL when nothing is. */
static struct dns64_record *look_further(struct gw *gw, const struct dns64_query *u,
                                         struct dns64_plan *p, struct dns64_question *q,
                                         struct dns64_record *r)
{
	struct dns64 *d = dns64_of(gw);
	struct dns64_record *failed = dns64_cache_find(&d->cache, q, true);
	bool know = failed && (dns64_fresh(gw, failed) || is_new(u, failed));
	bool serve = r && dns64_may_serve(gw, r);
	if (!serve)
		return know ? failed : NULL;
	/* It may serve when the attempt to refresh it failed or takes too long. Then it is asked
	 * for behind the client's back. */
	if (!know && !waited_enough(gw, u))
		return NULL;
	p->stale = true;
	if (!know || gw->now_s - failed->stored_s >= DNS64_STALE_RETRY) {
		p->again = (struct dns64_missing){q, q->type};
		p->popular = NULL;
	}
	return r;
}

struct dns64_record *dns64_lookup(struct gw *gw, const struct dns64_query *u, struct dns64_plan *p,
                                  struct dns64_question *q, uint16_t type)
{
	struct dns64 *d = dns64_of(gw);
	q->type = type;
	struct dns64_record *r = dns64_cache_find(&d->cache, q, false);
	if (UNLIKELY(q->key & ODD_KEY && !(r && is_new(u, r)))) {
		/* What is known anyway serves those as well that ask oddly. */
		uint8_t key = q->key;
		q->key &= (uint8_t)~ODD_KEY;
		struct dns64_record *usual = dns64_cache_find(&d->cache, q, false);
		q->key = key;
		if (usual && dns64_fresh(gw, usual))
			return usual;
	}
	if (r && UNLIKELY(is_new(u, r)))
		return r;
	if (LIKELY(r && dns64_fresh(gw, r))) {
		r->used = (uint8_t)min_u32(r->used + 1u, DNS64_USED_MAX);
		prefetch(gw, p, q, r);
		return r;
	}
	r = look_further(gw, u, p, q, r);
	if (!r)
		need(p, q, type);
	return r;
}

/* --- following CNAME chains that leave the message (RFC 6147 section 5.1.5) ---------- */

struct trail {
	struct dns64_record *record[DNS64_CNAMES];
	uint32_t n;
};

static const struct dns64_record *last_of(const struct trail *t)
{
	return t->record[t->n - 1];
}

/* Records of a type for the name in question, and for those that CNAME records lead to.
 * False when one must be asked for first. */
static bool follow(struct gw *gw, struct dns64_query *u, struct dns64_plan *p, uint16_t type,
                   struct dns64_question *other, struct trail *t)
{
	struct dns64_question *q = u->q;
	for (t->n = 0; t->n < DNS64_CNAMES;) {
		struct dns64_record *r = dns64_lookup(gw, u, p, q, type);
		if (!r)
			return false;
		t->record[t->n++] = r;
		if (LIKELY(r->kind != DNS64_CHAIN))
			return true;
		uint8_t name[DNS_NAME_MAX];
		uint32_t len;
		if (!dns_read_name(dns64_view(r), r->end, name, &len))
			break;           /* it was parsed; be sure */
		if (p->again.q == other) /* which becomes the next name */
			p->again.q = NULL;
		dns64_question_set(&dns64_of(gw)->cache, other, name, len, type, DNS_CLASS_IN,
		                   u->q->key);
		q = other;
	}
	t->n = 0;
	return true;
}

/* --- decisions ------------------------------------------------------------------------- */

static void answer_with(struct dns64_plan *p, const struct trail *t, enum dns64_how how)
{
	const struct dns64_record *last = t->n ? last_of(t) : NULL;
	p->n = t->n;
	memcpy(p->record, t->record, t->n * sizeof t->record[0]);
	p->how = how;
	if (!last || last->kind == DNS64_ERROR) {
		p->how = DNS64_HOW_RCODE;
		p->rcode = last ? dns_get16(dns64_view(last).at + 2) & DNS_RCODE : DNS_SERVFAIL;
	} else if (how == DNS64_HOW_MERGE && t->n == 1 && !(last->flags & DNS64_R_EXCLUDED)) {
		p->how = DNS64_HOW_AS_IS;
	}
}

/* A question that DNS64 has nothing to do with (sections 5.3.3 and 5.5). */
static void plan_plain(struct gw *gw, struct dns64_query *u, struct dns64_plan *p)
{
	struct trail t;
	t.record[0] = dns64_lookup(gw, u, p, u->q, u->qtype);
	t.n = 1;
	if (!t.record[0]) {
		p->how = DNS64_HOW_FETCH;
		return;
	}
	if (t.record[0]->flags & DNS64_R_BORROWED && !is_new(u, t.record[0])) {
		need(p, u->q, u->qtype);
		p->how = DNS64_HOW_FETCH;
		return;
	}
	answer_with(p, &t, DNS64_HOW_AS_IS);
}

/* The TTL that AAAA records may have at most (section 5.1.7). */
static uint32_t ttl_max(const struct gw *gw, const struct trail *t6)
{
	if (t6->n == 0)
		return DNS64_NO_SOA;
	const struct dns64_record *r = last_of(t6);
	uint32_t age = gw->now_s - r->stored_s;
	if (r->kind == DNS64_DATA && r->flags & DNS64_R_GOOD) /* dns64.always */
		return DNS64_MAX_TTL;
	if (!(r->flags & DNS64_R_SOA))
		return DNS64_NO_SOA;
	return r->soa_ttl > age ? r->soa_ttl - age : dns64_fresh(gw, r) ? 0 : DNS64_STALE_TTL;
}

static bool truncated(const struct dns64_record *r)
{
	return dns_get16(dns64_view(r).at + 2) & DNS_TC;
}

/* A negative answer without SOA may not be kept. But what was made for want of it may
 * (section 5.1.7), and so may the knowledge that it must be made. */
static void borrow(const struct gw *gw, const struct trail *t6, const struct trail *t4)
{
	struct dns64_record *r = t6->n ? t6->record[t6->n - 1] : NULL;
	if (!r || r->kind != DNS64_EMPTY || r->flags & DNS64_R_SOA || !dns64_of(gw)->keep ||
	    !(r->flags & DNS64_R_ONCE) || r->key & ODD_KEY || truncated(r))
		return;
	uint32_t left = when_left(gw->now_s, last_of(t4)->expire_s, DNS64_MAX_TTL);
	if (left == 0)
		return;
	r->flags = (uint16_t)((r->flags & ~DNS64_R_ONCE) | DNS64_R_BORROWED);
	r->expire_s = gw->now_s + min_u32(left, DNS64_NO_SOA);
}

const struct embed_form *dns64_form_for(const struct dns64 *d, ip4 a, uint32_t i)
{
	const struct dns64_map *m = d->map, *end = m + d->n_maps;
	for (; m < end; m++) {
		if ((ip4_get(a) & m->mask) != m->net)
			continue;
		bool unfit = m->none || (m->well_known && !embed_is_global(a));
		return i == 0 && !unfit ? &m->form : NULL;
	}
	/* The well-known prefix stands for global addresses only (RFC 6052 section 3.1). */
	return d->well_known[i] && !embed_is_global(a) ? NULL : &d->prefix[i];
}

static bool has_form(const struct dns64 *d, const uint8_t *a)
{
	for (uint32_t i = 0; i < d->n_prefixes; i++)
		if (dns64_form_for(d, ip4_from_raw(load32(a)), i))
			return true;
	return false;
}

/* Whether any AAAA record can be made of a record's A records. */
static bool can_make(struct dns64 *d, const struct dns64_record *r)
{
	struct dns_view m = dns64_view(r);
	uint32_t at = DNS_HEADER + r->name_len + DNS_QUESTION_FIXED;
	struct dns_rr rr;
	for (uint32_t n = be16_get(dns_header_of(m)->count[DNS_AN]); n; n--) {
		if (LIKELY(r->flags & DNS64_R_PLAIN)) {
			at += DNS64_PLAIN_RR;
			if (has_form(d, m.at + at - sizeof(ip4)))
				return true;
			continue;
		}
		if (!dns_read_rr(m, at, &rr))
			break;
		at = rr.end;
		if (rr.type == DNS_TYPE_A && rr.class == DNS_CLASS_IN &&
		    has_form(d, m.at + rr.data))
			return true;
	}
	d->count.not_global++;
	return false;
}

/* No usable AAAA records: the A records decide (sections 5.1.6 and 5.4). `t6` has no
 * records when there is no answer about AAAA. */
static void plan_synthesis(struct gw *gw, struct dns64_plan *p, const struct trail *t6,
                           const struct trail *t4)
{
	struct dns64 *d = dns64_of(gw);
	const struct dns64_record *four = t4->n ? last_of(t4) : NULL;
	const struct dns64_record *six = t6->n ? last_of(t6) : NULL;
	bool real = six && six->kind == DNS64_DATA && six->flags & DNS64_R_GOOD;
	bool data = four && four->kind == DNS64_DATA,
	     made = data && can_make(d, t4->record[t4->n - 1]);
	/* What was cut off may have been addresses. */
	bool nothing = four && (four->kind == DNS64_EMPTY || data) && !truncated(four);
	p->ttl_max = ttl_max(gw, t6);
	p->six = t6->n == 1 ? six : NULL;
	if (made)
		borrow(gw, t6, t4);
	/* dns64.always, and nothing to make them of; or the original answer (section 5.4). */
	if (!made && (real || (nothing && six && six->kind == DNS64_EMPTY)))
		answer_with(p, t6, DNS64_HOW_MERGE);
	else
		answer_with(p, t4, data ? DNS64_HOW_SYNTHESISE : DNS64_HOW_MERGE);
}

/* Whether AAAA records are known, past their time, that will serve when their refresh takes too
 * long (RFC 8767): they are better than what could be made meanwhile. */
static bool native_may_serve(struct gw *gw, const struct dns64_query *u)
{
	struct dns64_query later = *u;
	struct dns64_plan p;
	struct trail t;
	begin(&p);
	later.waited_us = INT32_MAX;
	if (dns64_of(gw)->always || !follow(gw, &later, &p, DNS_TYPE_AAAA, &p.other[0], &t) ||
	    t.n == 0)
		return false;
	return last_of(&t)->kind == DNS64_DATA && last_of(&t)->flags & DNS64_R_GOOD;
}

static void plan_aaaa(struct gw *gw, struct dns64_query *u, struct dns64_plan *p)
{
	struct dns64 *d = dns64_of(gw);
	struct trail t6, t4;
	bool know6 = follow(gw, u, p, DNS_TYPE_AAAA, &p->other[0], &t6);
	const struct dns64_record *six = know6 && t6.n ? last_of(&t6) : NULL;
	if (six) {
		bool good = six->kind == DNS64_DATA && six->flags & DNS64_R_GOOD && !d->always;
		bool partial = six->kind != DNS64_ERROR && truncated(six);
		bool error = six->kind == DNS64_ERROR && d->servfail;
		if (good || partial || error || six->kind == DNS64_NXDOMAIN) {
			answer_with(p, &t6, DNS64_HOW_MERGE);
			return;
		}
	}
	bool know4 = follow(gw, u, p, DNS_TYPE_A, &p->other[1], &t4);
	bool data4 = know4 && t4.n && last_of(&t4)->kind == DNS64_DATA;
	/* An AAAA answer that does not come counts as an error (section 5.1.3). */
	bool late = !know6 && data4 && !d->servfail && u->waited_us >= d->patience_us &&
	            !native_may_serve(gw, u);
	if (!know4 || (!know6 && !late)) {
		p->how = DNS64_HOW_FETCH;
		return;
	}
	if (!six || six->kind == DNS64_ERROR)
		t6.n = 0;
	plan_synthesis(gw, p, &t6, &t4);
}

/* --- all together -------------------------------------------------------------------------- */

static bool skips_name(const struct dns64 *d, const struct dns64_query *u)
{
	const uint8_t *name = (const uint8_t *)u->q->name.word;
	for (uint32_t i = 0; i < d->n_skip_names; i++) {
		const struct dns_key *skip = &d->skip_name[i];
		uint32_t tail = dns_tail(name, d->skip_labels[i]);
		if (tail == skip->len &&
		    memcmp(name + u->q->name.len - tail, skip->word, tail) == 0)
			return true;
	}
	return false;
}

void dns64_plan(struct gw *gw, struct dns64_query *u, struct dns64_plan *p)
{
	struct dns64 *d = dns64_of(gw);
	begin(p);
	/* Another class: as if there were no DNS64 (section 5.1). */
	bool plain =
	        u->skip || u->q->class != DNS_CLASS_IN || (d->n_skip_names && skips_name(d, u));
	if (!plain && dns64_reverse_plan(gw, u, p))
		return;
	if (!plain && !dns64_validates(u) && u->qtype == DNS_TYPE_AAAA)
		plan_aaaa(gw, u, p);
	else
		plan_plain(gw, u, p);
}

void dns64_plan_final(struct gw *gw, struct dns64_query *u, struct dns64_plan *p)
{
	u->waited_us = INT32_MAX;
	dns64_plan(gw, u, p);
	if (p->how != DNS64_HOW_FETCH)
		return;
	p->how = DNS64_HOW_RCODE;
	p->rcode = DNS_SERVFAIL;
	p->n_needs = 0;
}
