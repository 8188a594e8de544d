/* See dns64_plan.h. Sections in comments are those of RFC 6147.
 *
 * AAAA and A records are fetched together, so that synthesis needs no second round trip (section
 * 5.1.8). Where A records are known, a client waits for a missing AAAA answer no longer than
 * patience_us. */
#include "apps/dns64/policy/dns64_plan.h"

#include "apps/dns64/policy/dns64_host.h"
#include "apps/dns64/policy/dns64_lookup.h"
#include "apps/dns64/policy/dns64_reverse.h"

#define NO_SOA_TTL 600u /* of synthesised records without an SOA record, section 5.1.7 */

static void begin(struct dns64_plan *p)
{
	p->n = p->n_missing = 0;
	p->stale = p->exists = false;
	p->refetch.q = NULL;
	p->popular = NULL;
}

/* --- following CNAME chains that leave the message (section 5.1.5) --------------------- */

struct chain {
	struct dns64_record *record[DNS64_CNAMES];
	uint32_t n;
};

static const struct dns64_record *last_of(const struct chain *t)
{
	return t->record[t->n - 1];
}

/* Finds the records of a type for the queried name, and for the names that CNAME records lead to;
 * `other` is memory for such a name. False: a record must be fetched first. The chain is empty
 * when it is too long or broken. */
static bool follow(const struct dns64_policy *y, struct dns64_query *u, struct dns64_plan *p,
                   uint16_t type, struct dns64_question *other, struct chain *t)
{
	struct dns64_question *q = u->q;
	for (t->n = 0; t->n < DNS64_CNAMES;) {
		struct dns64_record *r = dns64_lookup(y, u, p, q, type);
		if (!r)
			return false;
		t->record[t->n++] = r;
		if (LIKELY(r->kind != DNS64_CHAIN))
			return true;
		uint8_t name[DNS_NAME_MAX];
		uint32_t len;
		if (!dns_read_name(dns64_view(r), r->end, name, &len))
			break;             /* the message was parsed, so this does not happen */
		if (p->refetch.q == other) /* `other` becomes the next name */
			p->refetch.q = NULL;
		dns64_question_set(y->cache, other, name, len, type, DNS_CLASS_IN, u->q->key);
		q = other;
	}
	t->n = 0;
	return true;
}

/* --- decisions ------------------------------------------------------------------------- */

static void answer_with(struct dns64_plan *p, const struct chain *t, enum dns64_how how)
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

/* A query that DNS64 does not change (sections 5.3.3 and 5.5). */
static void plan_plain(const struct dns64_policy *y, struct dns64_query *u, struct dns64_plan *p)
{
	struct chain t;
	t.record[0] = dns64_lookup(y, u, p, u->q, u->qtype);
	t.n = 1;
	if (!t.record[0]) {
		p->how = DNS64_HOW_FETCH;
		return;
	}
	if (t.record[0]->flags & DNS64_R_BORROWED && !dns64_lookup_is_new(u, t.record[0])) {
		dns64_lookup_missing(p, u->q, u->qtype);
		p->how = DNS64_HOW_FETCH;
		return;
	}
	answer_with(p, &t, DNS64_HOW_AS_IS);
}

/* The highest TTL that synthesised AAAA records may have (section 5.1.7). */
static uint32_t ttl_max(const struct dns64_query *u, const struct chain *t6)
{
	if (t6->n == 0)
		return NO_SOA_TTL;
	const struct dns64_record *r = last_of(t6);
	uint32_t age = u->now_s - r->stored_s;
	if (r->kind == DNS64_DATA && r->flags & DNS64_R_GOOD) /* dns64.always */
		return DNS64_MAX_TTL;
	if (!(r->flags & DNS64_R_SOA))
		return NO_SOA_TTL;
	return r->soa_ttl > age                     ? r->soa_ttl - age
	       : dns64_record_is_fresh(r, u->now_s) ? 0
	                                            : DNS64_STALE_TTL;
}

static bool truncated(const struct dns64_record *r)
{
	return dns_get16(dns64_view(r).at + 2) & DNS_TC;
}

/* A negative answer without SOA may not be kept. But the AAAA records made because of it may
 * (section 5.1.7), so it is kept for synthesis, as long as the A records. */
static void borrow(const struct dns64_policy *y, const struct dns64_query *u,
                   const struct chain *t6, const struct chain *t4)
{
	struct dns64_record *r = t6->n ? t6->record[t6->n - 1] : NULL;
	if (!r || r->kind != DNS64_EMPTY || r->flags & DNS64_R_SOA || !y->cache->keep ||
	    !(r->flags & DNS64_R_ONCE) || r->key & DNS64_KEY_ODD || truncated(r))
		return;
	uint32_t left = when_left(u->now_s, last_of(t4)->expire_s, DNS64_MAX_TTL);
	if (left == 0)
		return;
	r->flags = (uint16_t)((r->flags & ~DNS64_R_ONCE) | DNS64_R_BORROWED);
	r->expire_s = u->now_s + min_u32(left, NO_SOA_TTL);
}

/* True when an IPv4 address (raw, at a) is answered with any prefix. */
static bool has_form(const struct dns64_policy *y, const uint8_t *a)
{
	for (uint32_t i = 0; i < y->n_prefixes; i++)
		if (dns64_policy_form(y, ip4_from_raw(load32(a)), i))
			return true;
	return false;
}

/* True when AAAA records can be made from the A records of a message. */
static bool can_make(struct dns64_policy *y, const struct dns64_record *r)
{
	struct dns_view m = dns64_view(r);
	uint32_t at = DNS_HEADER + r->name_len + DNS_QUESTION_FIXED;
	struct dns_rr rr;
	for (uint32_t n = be16_get(dns_header_of(m)->count[DNS_AN]); n; n--) {
		if (LIKELY(r->flags & DNS64_R_PLAIN)) {
			at += DNS64_PLAIN_RR;
			if (has_form(y, m.at + at - sizeof(ip4)))
				return true;
			continue;
		}
		if (!dns_read_rr(m, at, &rr))
			break;
		at = rr.end;
		if (rr.type == DNS_TYPE_A && rr.class == DNS_CLASS_IN &&
		    has_form(y, m.at + rr.data))
			return true;
	}
	y->not_global++;
	return false;
}

/* There are no usable AAAA records: the A records decide (sections 5.1.6 and 5.4). `t6` is empty
 * when there is no answer about AAAA. */
static void plan_synthesis(struct dns64_policy *y, const struct dns64_query *u,
                           struct dns64_plan *p, const struct chain *t6, const struct chain *t4)
{
	const struct dns64_record *four = t4->n ? last_of(t4) : NULL;
	const struct dns64_record *six = t6->n ? last_of(t6) : NULL;
	bool real = six && six->kind == DNS64_DATA && six->flags & DNS64_R_GOOD;
	bool data = four && four->kind == DNS64_DATA,
	     made = data && can_make(y, t4->record[t4->n - 1]);
	/* A truncated answer may lack its addresses. */
	bool nothing = four && (four->kind == DNS64_EMPTY || data) && !truncated(four);
	p->ttl_max = ttl_max(u, t6);
	p->six = t6->n == 1 ? six : NULL;
	if (made)
		borrow(y, u, t6, t4);
	/* With dns64.always and nothing to make AAAA records from, the real ones; else the original
	 * answer (section 5.4). */
	if (!made && (real || (nothing && six && six->kind == DNS64_EMPTY)))
		answer_with(p, t6, DNS64_HOW_MERGE);
	else
		answer_with(p, t4, data ? DNS64_HOW_SYNTHESISE : DNS64_HOW_MERGE);
}

/* True when expired AAAA records are known that will serve when their refresh takes too long (RFC
 * 8767): they are better than synthesised ones. */
static bool native_may_serve(const struct dns64_policy *y, const struct dns64_query *u)
{
	struct dns64_query later = *u;
	struct dns64_plan p;
	struct chain t;
	begin(&p);
	later.waited_us = INT32_MAX;
	if (y->always || !follow(y, &later, &p, DNS_TYPE_AAAA, &p.other[0], &t) || t.n == 0)
		return false;
	return last_of(&t)->kind == DNS64_DATA && last_of(&t)->flags & DNS64_R_GOOD;
}

static void plan_aaaa(struct dns64_policy *y, struct dns64_query *u, struct dns64_plan *p)
{
	struct chain t6, t4;
	bool know6 = follow(y, u, p, DNS_TYPE_AAAA, &p->other[0], &t6);
	const struct dns64_record *six = know6 && t6.n ? last_of(&t6) : NULL;
	if (six) {
		bool good = six->kind == DNS64_DATA && six->flags & DNS64_R_GOOD && !y->always;
		bool partial = six->kind != DNS64_ERROR && truncated(six);
		bool error = six->kind == DNS64_ERROR && y->servfail;
		if (good || partial || error || six->kind == DNS64_NXDOMAIN) {
			answer_with(p, &t6, DNS64_HOW_MERGE);
			return;
		}
	}
	bool know4 = follow(y, u, p, DNS_TYPE_A, &p->other[1], &t4);
	bool data4 = know4 && t4.n && last_of(&t4)->kind == DNS64_DATA;
	/* A missing AAAA answer counts as an error after a while (section 5.1.3). */
	bool late = !know6 && data4 && !y->servfail && u->waited_us >= y->patience_us &&
	            !native_may_serve(y, u);
	if (!know4 || (!know6 && !late)) {
		p->how = DNS64_HOW_FETCH;
		return;
	}
	if (!six || six->kind == DNS64_ERROR)
		t6.n = 0;
	plan_synthesis(y, u, p, &t6, &t4);
}

/* --- the plan -------------------------------------------------------------------------- */

/* True when nothing is synthesised for the queried name (dns64.skip-name). */
static bool skips_name(const struct dns64_policy *y, const struct dns64_query *u)
{
	const uint8_t *name = (const uint8_t *)u->q->name.word;
	for (uint32_t i = 0; i < y->n_skip_names; i++) {
		const struct dns_key *skip = &y->skip_name[i];
		uint32_t tail = dns_tail(name, y->skip_labels[i]);
		if (tail == skip->len &&
		    memcmp(name + u->q->name.len - tail, skip->word, tail) == 0)
			return true;
	}
	return false;
}

void dns64_plan(struct dns64_policy *y, struct dns64_query *u, struct dns64_plan *p)
{
	begin(p);
	/* DNS64 concerns class IN only (section 5.1). */
	bool plain =
	        u->skip || u->q->class != DNS_CLASS_IN || (y->n_skip_names && skips_name(y, u));
	if (y->hosts && u->q->class == DNS_CLASS_IN && dns64_host_plan(y, u, p))
		return;
	if (!plain && dns64_reverse_plan(y, u, p))
		return;
	if (!plain && !dns64_query_validates(u) && u->qtype == DNS_TYPE_AAAA)
		plan_aaaa(y, u, p);
	else
		plan_plain(y, u, p);
}

void dns64_plan_final(struct dns64_policy *y, struct dns64_query *u, struct dns64_plan *p)
{
	u->waited_us = INT32_MAX;
	dns64_plan(y, u, p);
	if (p->how != DNS64_HOW_FETCH)
		return;
	p->how = DNS64_HOW_RCODE;
	p->rcode = DNS_SERVFAIL;
	p->n_missing = 0;
}
