/* See dns64_answer.h.
 *
 * Most answers are one record as it is: its bytes are copied after the question of the query, where
 * all compression pointers stay right, and its TTLs are lowered. All other answers are put together
 * record by record (dns_message.h). Resource records that do not fit are left out whole; TC is set
 * when a part of the answer is missing (RFC 2181 section 9). */
#include "apps/dns64/policy/dns64_answer.h"

#include "apps/dns64/policy/dns64_reverse.h"

/* An answer that is being built. */
struct answer {
	struct dns64_policy *y;
	const struct dns64_query *u;
	const struct dns64_plan *p;
	struct dns_out o;
	uint16_t count[DNS_SECTIONS];
	bool cut;         /* TC */
	uint32_t made;    /* AAAA records */
	uint32_t renamed; /* offset of the name that the next record of the plan is about */
};

/* --- header and OPT --------------------------------------------------------------------- */

static void put_header(uint8_t *at, const struct dns64_query *u, uint32_t flags)
{
	dns_put16(at, u->id);
	/* Opcode, RD and CD are copied from the query (RFC 1035 section 4.1.1, RFC 4035 section
	 * 3.2.2). RA is set: recursion is our service. */
	dns_put16(at + 2, DNS_QR | DNS_RA | (u->flags & (DNS_OPCODE | DNS_RD | DNS_CD)) | flags);
}

static bool put_opt(const struct dns64_query *u, struct dns_out *o, uint16_t rcode)
{
	if (!u->edns || o->limit - o->len < dns64_query_opt_bytes(u) ||
	    !dns_put_opt(o, DNS_EDNS_SIZE, rcode, u->dnssec))
		return false;
	if (!u->stream)
		return true;
	/* edns-tcp-keepalive (RFC 7828 section 3.1), in tenths of a second. */
	uint8_t *at = o->at + o->len;
	dns_put16(at - 2, DNS64_KEEP_ALIVE_BYTES);
	dns_put16(at, DNS_OPTION_KEEP_ALIVE);
	dns_put16(at + 2, 2);
	dns_put16(at + 4, DNS64_KEEP_ALIVE_S * 10);
	o->len += DNS64_KEEP_ALIVE_BYTES;
	return true;
}

uint32_t dns64_answer_rcode(const struct dns64_query *u, uint16_t rcode, uint8_t *at, uint32_t len)
{
	struct dns_out o;
	dns_out_init(&o, at, len, len + dns64_query_opt_bytes(u));
	memset(at + 4, 0, 8);
	at[5] = len > DNS_HEADER;
	at[11] = put_opt(u, &o, rcode);
	put_header(at, u, rcode & DNS_RCODE);
	return o.len;
}

/* AD is set only for clients that understand it (RFC 6840 section 5.8), and never on synthesised
 * records (RFC 6147 section 5.5). */
static uint32_t authentic(const struct dns64_query *u, const struct dns64_record *r)
{
	bool wanted = u->dnssec || u->flags & DNS_AD;
	return wanted && r->flags & DNS64_R_SIGNED ? DNS_AD : 0;
}

/* Response code, TC and AD of an answer that is one record. A name for which a server answers
 * NXDOMAIN exists if local names lie below it, unless it is an alias: that its target does not
 * exist is true in any case. */
static uint32_t flags_of_one(const struct dns64_query *u, const struct dns64_plan *p,
                             const struct dns64_record *r)
{
	uint32_t flags = dns_get16(dns64_view(r).at + 2) & (DNS_TC | DNS_RCODE);
	if (UNLIKELY(p->exists) && r->kind == DNS64_NXDOMAIN && r->end == DNS_HEADER)
		return flags & ~(uint32_t)DNS_RCODE;
	return flags | authentic(u, r);
}

/* --- one record as it is ------------------------------------------------------------------ */

/* What is left of a TTL. */
static uint32_t left(const struct dns64_query *u, const struct dns64_plan *p,
                     const struct dns64_record *r, uint32_t ttl)
{
	uint32_t age = u->now_s - r->stored_s;
	if (UNLIKELY(p->stale) && !dns64_record_is_fresh(r, u->now_s) && !(r->flags & DNS64_R_ONCE))
		return DNS64_STALE_TTL;
	return ttl > age ? ttl - age : 0;
}

/* Lowers all TTLs from `at` to `end` in a message that was parsed. */
static void age_all(const struct dns64_query *u, const struct dns64_plan *p,
                    const struct dns64_record *r, uint8_t *at, const uint8_t *end)
{
	while (at < end) {
		while (*at > 0 && *at <= DNS_LABEL_MAX)
			at += *at + 1u;
		at += *at ? 2 : 1;
		dns_put32(at + 4, left(u, p, r, dns_get32(at + 4)));
		at += DNS_RR_FIXED + dns_get16(at + 8);
	}
}

/* Copies the whole record; gives the length of the answer, 0 when it does not fit. */
static uint32_t copy_whole(const struct dns64_query *u, const struct dns64_plan *p, uint8_t *at,
                           uint32_t limit)
{
	struct dns64_record *r = p->record[0];
	const uint8_t *m = dns64_message(r);
	uint32_t begin = DNS_HEADER + u->q->name.len + DNS_QUESTION_FIXED;
	uint32_t opt = dns64_query_opt_bytes(u);
	struct dns_out o;
	if (r->len > limit - opt)
		return 0;
	memcpy(at + begin, m + begin, r->len - begin);
	memcpy(at + 4, m + 4, 8); /* counts */
	age_all(u, p, r, at + begin, at + r->len);
	put_header(at, u, flags_of_one(u, p, r));
	dns_out_init(&o, at, r->len, limit);
	if (put_opt(u, &o, 0))
		dns_put16(at + 10, dns_get16(at + 10) + 1u);
	return o.len;
}

/* --- record by record ------------------------------------------------------------------------ */

static bool excluded(const struct answer *a, const struct dns_rr *rr)
{
	const struct dns64_cache *c = a->y->cache;
	struct addr addr = {.is6 = true};
	memcpy(addr.v6.b, a->o.from.at + rr->data, sizeof addr.v6);
	return addr_in_prefixes(&addr, c->exclude, c->n_exclude);
}

static bool is_type(const struct dns_rr *rr, uint16_t type)
{
	return rr->type == type && rr->class == DNS_CLASS_IN;
}

/* True for a signature over records of a type (RFC 4034 section 3.1). */
static bool signs(const struct answer *a, const struct dns_rr *rr, uint16_t type)
{
	return is_type(rr, DNS_TYPE_RRSIG) && rr->data_len >= 2 &&
	       dns_get16(a->o.from.at + rr->data) == type;
}

/* Puts one AAAA record made from an A record (RFC 6147 section 5.1.7). False: no room. */
static bool make_one(struct answer *a, const struct dns_rr *rr, const struct embed_form *form,
                     uint32_t ttl)
{
	ip6 addr;
	embed_to6(form, load32(a->o.from.at + rr->data), &addr);
	if (!dns_copy_owner(&a->o, rr->owner, DNS_TYPE_AAAA, DNS_CLASS_IN, ttl, &addr, sizeof addr))
		return false;
	a->made++;
	a->count[DNS_AN]++;
	return true;
}

/* Puts the AAAA record that an A record gives with prefix number `pass`, if any. False: no room. */
static bool make(struct answer *a, const struct dns_rr *rr, const struct dns64_record *r,
                 uint32_t pass)
{
	ip4 addr = ip4_from_raw(load32(a->o.from.at + rr->data));
	uint32_t ttl = min_u32(left(a->u, a->p, r, rr->ttl), a->p->ttl_max);
	const struct embed_form *form = dns64_policy_form(a->y, addr, pass);
	return !form || make_one(a, rr, form, ttl);
}

/* Puts the AAAA records of a message with only A records (DNS64_R_PLAIN). False: no room. */
static bool make_plain(struct answer *a, const struct dns64_record *r, uint32_t pass)
{
	const uint8_t *m = dns64_view(r).at;
	const uint8_t *at = m + DNS_HEADER + r->name_len + DNS_QUESTION_FIXED;
	uint32_t size = 2 + DNS_RR_FIXED + sizeof(ip6);
	for (uint32_t n = dns_get16(m + 6); n; n--, at += DNS64_PLAIN_RR) {
		uint32_t four = load32(at + 2 + DNS_RR_FIXED);
		const struct embed_form *form = dns64_policy_form(a->y, ip4_from_raw(four), pass);
		uint32_t ttl = left(a->u, a->p, r, dns_get32(at + 6));
		uint8_t *to = a->o.at + a->o.len;
		if (!form)
			continue;
		if (size > a->o.limit - a->o.len)
			return false;
		store16(to, load16(at));
		dns_put32(to + 2, DNS_TYPE_AAAA << 16 | DNS_CLASS_IN);
		dns_put32(to + 6, min_u32(ttl, a->p->ttl_max));
		dns_put16(to + 10, sizeof(ip6));
		embed_to6(form, four, (ip6 *)(to + 2 + DNS_RR_FIXED));
		a->o.len += size;
		a->made++;
		a->count[DNS_AN]++;
	}
	return true;
}

/* Puts one resource record of an answer section, changed as the plan says. False: no room. */
static bool put_answer(struct answer *a, const struct dns_rr *rr, const struct dns64_record *r,
                       uint32_t pass)
{
	bool last = r == a->p->record[a->p->n - 1];
	if (a->p->how == DNS64_HOW_SYNTHESISE && last) {
		if (is_type(rr, DNS_TYPE_A) &&
		    dns_same_name(a->o.from, rr->owner, a->o.from, r->end))
			return make(a, rr, r, pass);
		if (signs(a, rr, DNS_TYPE_A))
			return true;
	}
	if (pass > 0)
		return true;
	if (a->p->how == DNS64_HOW_MERGE && r->flags & DNS64_R_EXCLUDED &&
	    (is_type(rr, DNS_TYPE_AAAA) ? excluded(a, rr) : signs(a, rr, DNS_TYPE_AAAA)))
		return true;
	uint32_t at = a->o.len;
	if (!dns_copy_rr(&a->o, rr, left(a->u, a->p, r, rr->ttl)))
		return false;
	a->count[DNS_AN]++;
	if (rr->data == r->end) { /* the CNAME that leads to the next message */
		struct dns_rr here;
		if (dns_read_rr((struct dns_view){a->o.at, a->o.len}, at, &here))
			a->renamed = here.data;
	}
	return true;
}

/* Puts the answer section of one message, to synthesise once for each prefix. */
static void put_answers(struct answer *a, const struct dns64_record *r)
{
	uint32_t passes = a->p->how == DNS64_HOW_SYNTHESISE ? a->y->n_prefixes : 1;
	struct dns_view m = dns64_view(r);
	uint16_t n = be16_get(dns_header_of(m)->count[DNS_AN]);
	for (uint32_t pass = 0; pass < passes; pass++) {
		uint32_t at = DNS_HEADER + r->name_len + DNS_QUESTION_FIXED;
		struct dns_rr rr;
		if (LIKELY(r->flags & DNS64_R_PLAIN && a->p->how == DNS64_HOW_SYNTHESISE &&
		           a->p->n == 1)) {
			a->cut |= !make_plain(a, r, pass);
			continue;
		}
		for (uint32_t i = 0; i < n && dns_read_rr(m, at, &rr); i++, at = rr.end)
			if (!put_answer(a, &rr, r, pass)) {
				a->cut = true;
				return;
			}
	}
}

/* The offset at which a section of a message begins. */
static uint32_t section_at(struct dns_view m, const struct dns64_record *r, enum dns_section s)
{
	uint32_t at = DNS_HEADER + r->name_len + DNS_QUESTION_FIXED;
	struct dns_rr rr;
	for (unsigned k = DNS_AN; k < s; k++)
		for (uint32_t n = be16_get(dns_header_of(m)->count[k]); n; n--)
			if (dns_read_rr(m, at, &rr))
				at = rr.end;
	return at;
}

/* Puts the authority or additional section of the last message; false: not the whole. A negative
 * answer is not complete without its SOA record, all other records may be missing (RFC 2181
 * section 9). */
static bool put_section(struct answer *a, const struct dns64_record *r, enum dns_section s)
{
	struct dns_view m = dns64_view(r);
	uint32_t at = section_at(m, r, s), begin = a->o.len, n_seen = a->o.n_seen;
	struct dns_rr rr;
	for (uint32_t n = be16_get(dns_header_of(m)->count[s]); n; n--) {
		if (!dns_read_rr(m, at, &rr))
			return false;
		at = rr.end;
		if (dns_copy_rr(&a->o, &rr, left(a->u, a->p, r, rr.ttl))) {
			a->count[s]++;
			continue;
		}
		if (s == DNS_AR)
			return false;
		a->cut |= a->count[DNS_AN] == 0;
		a->o.len = begin;
		a->o.n_seen = n_seen;
		a->count[s] = 0;
		return false;
	}
	return true;
}

/* Puts all messages of the plan, one after the other. Each but the first is about the name that the
 * CNAME before it leads to. */
static void put_records(struct answer *a)
{
	for (uint32_t i = 0; i < a->p->n && !a->cut; i++) {
		const struct dns64_record *r = a->p->record[i];
		if (i == 0) {
			dns_out_from(&a->o, dns64_view(r), a->o.len);
		} else {
			dns_out_from(&a->o, dns64_view(r), 0);
			dns_out_known(&a->o, DNS_HEADER, a->renamed);
		}
		put_answers(a, r);
	}
	const struct dns64_record *last = a->p->record[a->p->n - 1];
	if (load32(dns64_view(last).at + 8) == 0) /* neither authority nor additional */
		return;
	if (!a->cut && put_section(a, last, DNS_NS))
		put_section(a, last, DNS_AR);
}

/* --- reverse names (RFC 6147 section 5.3.1) ----------------------------------------------------
 */

/* Puts a CNAME from the queried name to the one that has PTR records, and these records. A CNAME
 * chain that leads to them is left out. */
static void put_reverse(struct answer *a)
{
	const struct dns64_record *r = a->p->record[0];
	struct dns_view m = dns64_view(r);
	uint8_t name[DNS_NAME_MAX];
	uint32_t len = 0, at = DNS_HEADER + r->name_len + DNS_QUESTION_FIXED, ttl = DNS64_MAX_TTL;
	struct dns_rr rr;
	if (r->kind != DNS64_DATA || !dns_read_name(m, r->end, name, &len))
		return;
	uint16_t n = be16_get(dns_header_of(m)->count[DNS_AN]);
	uint32_t cname = a->o.len + 2 + DNS_RR_FIXED;
	a->cut = !dns_put_rr(&a->o, DNS_HEADER, DNS_TYPE_CNAME, DNS_CLASS_IN, 0, name, len);
	if (a->cut)
		return;
	a->count[DNS_AN]++;
	dns_out_from(&a->o, m, 0);
	dns_out_known(&a->o, r->end, cname);
	dns_out_known(&a->o, DNS_HEADER, cname);
	for (uint32_t i = 0; i < n && dns_read_rr(m, at, &rr); i++, at = rr.end) {
		if (!is_type(&rr, DNS_TYPE_PTR) || !dns_same_name(m, rr.owner, m, r->end))
			continue;
		uint32_t one = left(a->u, a->p, r, rr.ttl);
		ttl = min_u32(ttl, one);
		if (!dns_copy_rr(&a->o, &rr, one)) {
			a->cut = true;
			break;
		}
		a->count[DNS_AN]++;
	}
	dns_put32(a->o.at + cname - 6, ttl);
}

/* --- local names (RFC 8880 section 7) -------------------------------------------------
 */

static void put_local_rr(struct answer *a, uint16_t type, uint32_t ttl, const void *data,
                         uint32_t len)
{
	if (a->cut || !dns_put_rr(&a->o, DNS_HEADER, type, DNS_CLASS_IN, ttl, data, len))
		a->cut = true;
	else
		a->count[DNS_AN]++;
}

/* Puts an SOA record, so that the negative answer may be kept (RFC 2308). Its owner is the end of
 * the queried name. */
static void put_soa(struct answer *a)
{
	static const uint8_t soa[] =
	        DNS64_WKN "\0\6nobody\7invalid\0"
	                  "\0\0\0\1\0\0\x0e\x10\0\0\x04\xb0\0\x09\x3a\x80\0\0\x0e\x10";
	uint32_t owner = DNS_HEADER + a->u->q->name.len - DNS64_WKN_LEN;
	if (dns_put_rr(&a->o, owner, DNS_TYPE_SOA, DNS_CLASS_IN, DNS64_WKN_TTL, soa,
	               sizeof soa - 1))
		a->count[DNS_NS]++;
	else
		a->cut = true;
}

static void put_local(struct answer *a)
{
	const ip4 wka[2] = {ip4_of(DNS64_WKA_1), ip4_of(DNS64_WKA_2)};
	switch (a->p->local) {
	case DNS64_L_A:
		put_local_rr(a, DNS_TYPE_A, DNS64_WKN_TTL, &wka[0], sizeof wka[0]);
		put_local_rr(a, DNS_TYPE_A, DNS64_WKN_TTL, &wka[1], sizeof wka[1]);
		break;
	case DNS64_L_AAAA:
		for (uint32_t i = 0; i < 2 * a->y->n_prefixes; i++) {
			ip6 addr;
			embed_to6(&a->y->prefix[i / 2], ip4_raw(wka[i % 2]), &addr);
			put_local_rr(a, DNS_TYPE_AAAA, DNS64_WKN_TTL, &addr, sizeof addr);
			a->made++;
		}
		break;
	case DNS64_L_PTR:
		put_local_rr(a, DNS_TYPE_PTR, DNS64_WKN_TTL, DNS64_WKN, DNS64_WKN_LEN);
		break;
	case DNS64_L_NODATA:
	case DNS64_L_NXDOMAIN:
		put_soa(a);
		break;
	case DNS64_L_HOST:
		put_local_rr(a, DNS_TYPE_A, a->p->host.ttl, &a->p->host.addr, sizeof(ip4));
		break;
	case DNS64_L_HOST_PTR:
		put_local_rr(a, DNS_TYPE_PTR, a->p->host.ttl, a->p->host.name, a->p->host.len);
		break;
	case DNS64_L_HOST_NODATA: /* without SOA it is not kept: the host may soon have another name
	                           */
		break;
	}
}

/* --- the whole answer
 * ----------------------------------------------------------------------------------- */

/* The flags of an answer that was put together. */
static uint32_t flags_of(const struct answer *a)
{
	const struct dns64_plan *p = a->p;
	if (p->how == DNS64_HOW_LOCAL)
		return DNS_AA | (p->local == DNS64_L_NXDOMAIN ? DNS_NXDOMAIN : DNS_NOERROR);
	const struct dns64_record *last = p->record[p->n - 1];
	uint32_t of_last = dns_get16(dns64_view(last).at + 2);
	uint32_t flags = of_last & (DNS_RCODE | DNS_TC);
	bool whole = p->how == DNS64_HOW_AS_IS || (p->how == DNS64_HOW_MERGE && p->n == 1);
	return whole && !(last->flags & DNS64_R_EXCLUDED) ? flags_of_one(a->u, p, last) : flags;
}

static uint32_t put_together(struct dns64_policy *y, const struct dns64_query *u,
                             const struct dns64_plan *p, uint8_t *at, uint32_t limit)
{
	struct answer a;
	a.y = y;
	a.u = u;
	a.p = p;
	a.cut = false;
	a.made = a.renamed = 0;
	a.count[DNS_QD] = 1;
	a.count[DNS_AN] = a.count[DNS_NS] = a.count[DNS_AR] = 0;
	uint32_t begin = DNS_HEADER + u->q->name.len + DNS_QUESTION_FIXED;
	dns_out_init(&a.o, at, begin, limit - dns64_query_opt_bytes(u));
	if (p->how == DNS64_HOW_LOCAL)
		put_local(&a);
	else if (p->how == DNS64_HOW_REVERSE)
		put_reverse(&a);
	else
		put_records(&a);
	a.o.limit = limit;
	a.count[DNS_AR] = (uint16_t)(a.count[DNS_AR] + put_opt(u, &a.o, 0));
	for (unsigned s = 0; s < DNS_SECTIONS; s++)
		dns_put16(at + 4 + 2 * s, a.count[s]);
	put_header(at, u, flags_of(&a) | (a.cut ? DNS_TC : 0));
	y->synthesised += a.made > 0;
	return a.o.len;
}

uint32_t dns64_answer(struct dns64_policy *y, const struct dns64_query *u,
                      const struct dns64_plan *p, uint8_t *at, uint32_t limit)
{
	uint32_t begin = DNS_HEADER + u->q->name.len + DNS_QUESTION_FIXED, n = 0;
	limit = min_u32(limit, u->limit);
	y->stale += p->stale;
	if (p->how == DNS64_HOW_RCODE) {
		y->failed += p->rcode == DNS_SERVFAIL;
		return dns64_answer_rcode(u, p->rcode, at, begin);
	}
	if (p->how == DNS64_HOW_AS_IS)
		n = copy_whole(u, p, at, limit);
	if (n == 0)
		n = put_together(y, u, p, at, limit);
	/* A client on TCP has no other transport to try after TC. */
	if (UNLIKELY(u->stream) && dns_get16(at + 2) & DNS_TC && dns_get16(at + 6) == 0) {
		y->failed++;
		return dns64_answer_rcode(u, DNS_SERVFAIL, at, begin);
	}
	y->truncated += (dns_get16(at + 2) & DNS_TC) != 0;
	return n;
}
