/* From an upstream answer to a record of the cache: what kind of answer it is and how
 * long it may be kept. See dns64.h.
 *
 * A message is kept as it came, without OPT, which is between neighbours only (RFC 6891
 * section 6.2.1). What may not be kept (TTL 0, truncated, negative without SOA) becomes a
 * record as well, for those who wait for it alone. */
#include "apps/dns64/dns64.h"

#define LINKS_MAX     16u /* of a CNAME chain within a message */
#define FAILURE_S     2u  /* RFC 9520 section 3.2: between 1 second and 5 minutes … */
#define FAILURE_MOST  16u /* … and longer from time to time, up to this */
#define FAILURE_STALE 30u /* where a stale answer serves meanwhile, RFC 8767 section 5 */

/* What a walk through a message finds. */
struct found {
	uint32_t end;      /* the name at the end of the CNAME chain */
	uint32_t links;    /* CNAME records on the way */
	uint32_t ttl;      /* the lowest of all records */
	uint32_t wanted;   /* records of the type at the end */
	uint32_t ttl_most; /* above which none is taken */
	uint32_t soa_ttl, soa_negative;
	bool has_soa;
	bool good, excluded;
};

/* The record of `type` whose owner is the name at `owner`, in the answer section, from
 * *at and number *i on. */
static bool next_of(struct dns_view m, const struct dns_layout *l, uint32_t owner, uint16_t type,
                    uint32_t *at, uint32_t *i, struct dns_rr *rr)
{
	while (*i < l->count[DNS_AN]) {
		if (!dns_read_rr(m, *at, rr))
			return false; /* was parsed; be sure */
		*at = rr->end;
		++*i;
		if (rr->class == l->qclass && (rr->type == type || type == DNS_TYPE_ANY) &&
		    dns_same_name(m, rr->owner, m, owner))
			return true;
	}
	return false;
}

static void follow_chain(struct dns_view m, const struct dns_layout *l, struct found *f)
{
	struct dns_rr rr;
	f->end = DNS_HEADER;
	if (l->qtype == DNS_TYPE_CNAME || l->qtype == DNS_TYPE_ANY)
		return;
	for (; f->links < LINKS_MAX; f->links++) {
		uint32_t at = l->section[DNS_AN], i = 0;
		if (!next_of(m, l, f->end, DNS_TYPE_CNAME, &at, &i, &rr))
			return;
		f->end = rr.data;
	}
}

/* The commonest answer of all: behind the question nothing but A records of its name, in
 * the form that every server gives them. Those need not be parsed again. */
static bool is_plain(struct dns_view m, const struct dns_layout *l)
{
	uint32_t at = l->question_end, n = l->count[DNS_AN];
	if (l->qtype != DNS_TYPE_A || l->qclass != DNS_CLASS_IN || n == 0 || l->count[DNS_NS] ||
	    l->count[DNS_AR] != l->n_opt || l->section[DNS_NS] - at != n * DNS64_PLAIN_RR)
		return false;
	for (; n; n--, at += DNS64_PLAIN_RR)
		if (dns_get16(m.at + at) != (0xc000 | DNS_HEADER) ||
		    dns_get32(m.at + at + 2) != (DNS_TYPE_A << 16 | DNS_CLASS_IN))
			return false;
	return true;
}

static void look_at_data(const struct gw *gw, struct dns_view m, const struct dns_layout *l,
                         struct found *f)
{
	uint32_t at = l->section[DNS_AN], i = 0;
	const struct dns64_config *c = dns64_config(gw->config);
	struct dns_rr rr;
	while (next_of(m, l, f->end, l->qtype, &at, &i, &rr)) {
		f->wanted++;
		if (rr.type != DNS_TYPE_AAAA || rr.class != DNS_CLASS_IN)
			continue;
		struct addr a = {.is6 = true};
		memcpy(a.v6.b, m.at + rr.data, sizeof a.v6);
		if (dns64_in_prefixes(c->exclude, c->n_exclude, &a))
			f->excluded = true;
		else
			f->good = true;
	}
}

/* TTLs of all records, and the SOA record of a negative answer (RFC 2308 section 5). */
static void look_at_ttls(struct dns_view m, const struct dns_layout *l, struct found *f)
{
	f->ttl = min_u32(l->ttl_least, f->ttl_most);
	if (l->soa.end == 0)
		return;
	f->has_soa = true;
	f->soa_ttl = min_u32(l->soa.ttl, f->ttl_most);
	f->soa_negative = min_u32(f->soa_ttl, dns_get32(m.at + l->soa.end - 4));
}

static enum dns64_kind kind_of(uint16_t rcode, const struct found *f)
{
	if (rcode == DNS_NXDOMAIN)
		return DNS64_NXDOMAIN;
	if (rcode != DNS_NOERROR || f->links == LINKS_MAX)
		return DNS64_ERROR;
	if (f->wanted)
		return DNS64_DATA;
	return f->links && !f->has_soa ? DNS64_CHAIN : DNS64_EMPTY;
}

/* Seconds that an answer may be kept; 0: not at all. */
static uint32_t lifetime(const struct gw *gw, const struct dns64_question *q, uint16_t flags,
                         enum dns64_kind kind, const struct found *f)
{
	if (!dns64_of(gw)->keep || flags & DNS_TC || q->class != DNS_CLASS_IN ||
	    q->key & (DNS64_KEY_NORD | DNS64_KEY_Z))
		return 0;
	if (kind == DNS64_DATA || kind == DNS64_CHAIN)
		return f->ttl;
	if (!f->has_soa)
		return 0;
	return min_u32(min_u32(f->ttl, f->soa_negative), DNS64_MAX_NEGATIVE);
}

/* Some answers are not as most servers write them: OPT is not the last record, or names
 * equal to the one in question are written out, in our random spelling. */
static bool is_untidy(struct dns_view m, const struct dns_layout *l)
{
	uint32_t first = l->question_end;
	if (l->n_opt && l->opt.end != l->end)
		return true;
	return l->count[DNS_AN] && dns_get16(m.at + first) != (0xc000 | DNS_HEADER) &&
	       dns_same_name(m, first, m, DNS_HEADER);
}

/* Writes such a message anew, without OPT and TSIG, which are between neighbours. False
 * when it grows too long. */
static bool tidy(struct dns64 *d, struct dns_view *m, struct dns_layout *l)
{
	struct dns_out o;
	struct dns_rr rr;
	uint32_t at = l->question_end;
	memcpy(d->tidy, m->at, at);
	dns_out_init(&o, d->tidy, at, sizeof d->tidy);
	dns_out_from(&o, *m, at);
	for (unsigned s = DNS_AN; s < DNS_SECTIONS; s++) {
		uint16_t n = 0;
		for (uint32_t i = 0; i < l->count[s] && dns_read_rr(*m, at, &rr);
		     i++, at = rr.end) {
			if (rr.type == DNS_TYPE_OPT || rr.type == DNS_TYPE_TSIG)
				continue;
			if (m->at[rr.owner] <= DNS_LABEL_MAX &&
			    dns_same_name(*m, rr.owner, *m, DNS_HEADER))
				dns_out_known(&o, rr.owner, DNS_HEADER);
			if (!dns_copy_rr(&o, &rr, rr.ttl))
				return false;
			n++;
		}
		dns_put16(d->tidy + 4 + 2 * s, n);
	}
	*m = (struct dns_view){d->tidy, o.len};
	return dns_parse(*m, l);
}

/* Writes the message into its record: the name in lower case, no OPT, TTLs within reason:
 * that of a negative answer's SOA record is the time for which it holds (RFC 2308 section
 * 5). */
static void write_message(struct dns64_record *r, const struct dns64_question *q, struct dns_view m,
                          const struct dns_layout *l, const struct found *f)
{
	uint8_t *to = dns64_message(r);
	struct dns_view v = {to, r->len};
	struct dns_rr rr;
	uint32_t behind = DNS_HEADER + q->name.len;
	dns_put32(to, dns_get16(m.at + 2)); /* no ID */
	dns_put32(to + 4, 1u << 16 | l->count[DNS_AN]);
	dns_put32(to + 8,
	          (uint32_t)l->count[DNS_NS] << 16 | (l->n_opt ? l->before_opt : l->count[DNS_AR]));
	dns_copy_name(to + DNS_HEADER, (const uint8_t *)q->name.word, q->name.len);
	memcpy(to + behind, m.at + behind, r->len - behind);
	if (UNLIKELY(l->ttl_most > f->ttl_most))
		for (uint32_t at = l->question_end; at < v.len && dns_read_rr(v, at, &rr);
		     at = rr.end)
			dns_put32(to + rr.data - 6, min_u32(rr.ttl, f->ttl_most));
	if (f->has_soa && f->wanted == 0)
		dns_put32(to + l->soa.data - 6, f->soa_negative);
}

struct dns64_record *dns64_store(struct gw *gw, struct dns64_question *q, struct dns_view m,
                                 const struct dns_layout *l, uint32_t ttl_most)
{
	struct dns64 *d = dns64_of(gw);
	uint16_t flags = be16_get(dns_header_of(m)->flags);
	struct found f = {.ttl_most = ttl_most};
	struct dns_layout tidied;
	struct dns_view written = m;
	if (UNLIKELY(is_untidy(m, l))) {
		tidied = *l;
		if (tidy(d, &written, &tidied)) {
			m = written;
			l = &tidied;
		}
	}
	bool plain = is_plain(m, l);
	if (LIKELY(plain)) {
		f.end = DNS_HEADER;
		f.wanted = l->count[DNS_AN];
	} else {
		follow_chain(m, l, &f);
		look_at_data(gw, m, l, &f);
	}
	look_at_ttls(m, l, &f);
	enum dns64_kind kind = kind_of(flags & DNS_RCODE, &f);
	if (kind == DNS64_ERROR)
		return dns64_store_failure(gw, q,
		                           flags & DNS_RCODE ? flags & DNS_RCODE : DNS_SERVFAIL);
	/* Behind OPT stands nothing, or what made the message too long to be tidy. */
	uint32_t len = l->n_opt ? l->opt.owner : l->end;
	struct dns64_record *r = dns64_cache_add(&d->cache, q, false, len, gw->now_s);
	write_message(r, q, m, l, &f);
	uint32_t life = lifetime(gw, q, flags, kind, &f);
	r->kind = (uint8_t)kind;
	r->end = (uint16_t)f.end;
	r->expire_s = gw->now_s + life;
	r->soa_ttl = f.soa_ttl;
	r->flags = (uint16_t)((life ? 0 : DNS64_R_ONCE) | (f.good ? DNS64_R_GOOD : 0) |
	                      (f.excluded ? DNS64_R_EXCLUDED : 0) | (f.has_soa ? DNS64_R_SOA : 0) |
	                      (flags & DNS_AD ? DNS64_R_SIGNED : 0) |
	                      (kind == DNS64_DATA && plain ? DNS64_R_PLAIN : 0));
	return r;
}

/* Seconds that a failure is remembered. What fails again and again is asked for ever more rarely
 * (RFC 9520 section 3.2), unless nothing is answered at all. */
static uint32_t failure_life(const struct gw *gw, const struct dns64_question *q)
{
	const struct dns64 *d = dns64_of(gw);
	const struct dns64_record *good = dns64_cache_find(&d->cache, q, false);
	const struct dns64_record *before = dns64_cache_find(&d->cache, q, true);
	if (good && dns64_may_serve(gw, good))
		return FAILURE_STALE;
	bool again = before && d->n_up && gw->now_s - before->expire_s < FAILURE_MOST &&
	             !(good && (int32_t)(good->serial - before->serial) > 0);
	return again ? min_u32(2 * (before->expire_s - before->stored_s), FAILURE_MOST) : FAILURE_S;
}

struct dns64_record *dns64_store_failure(struct gw *gw, struct dns64_question *q, uint16_t rcode)
{
	struct dns64 *d = dns64_of(gw);
	uint32_t end = DNS_HEADER + q->name.len + DNS_QUESTION_FIXED;
	uint32_t life = failure_life(gw, q);
	struct dns64_record *r = dns64_cache_add(&d->cache, q, true, end, gw->now_s);
	uint8_t *to = dns64_message(r);
	memset(to, 0, DNS_HEADER);
	dns_put16(to + 2, DNS_QR | rcode);
	dns_put16(to + 4, 1);
	memcpy(to + DNS_HEADER, q->name.word, q->name.len);
	dns_put16(to + end - 4, q->type);
	dns_put16(to + end - 2, q->class);
	r->kind = DNS64_ERROR;
	r->end = DNS_HEADER;
	r->flags = d->keep ? 0 : DNS64_R_ONCE;
	r->expire_s = gw->now_s + (d->keep ? life : 0);
	return r;
}
