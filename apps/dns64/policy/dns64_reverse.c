/* See dns64_reverse.h.
 *
 * Shorter names that lead to reverse names of synthesised addresses exist as well, inside and above
 * a prefix. A server may answer NXDOMAIN for them, which would deny all names below (RFC 8020) and
 * end the search of a resolver that asks label by label (RFC 9156). */
#include "apps/dns64/policy/dns64_reverse.h"

#include "apps/dns64/policy/dns64_lookup.h"

#define NIBBLES 32u

static const uint8_t wkn[] = DNS64_WKN; /* with the root's NUL */
static const uint8_t ip6_arpa[] = "\3ip6\4arpa";

static const uint8_t *key_name(const struct dns64_query *u)
{
	return (const uint8_t *)u->q->name.word;
}

static bool ends_with(const struct dns64_query *u, const uint8_t *tail, uint32_t len)
{
	return u->q->name.len >= len && memcmp(key_name(u) + u->q->name.len - len, tail, len) == 0;
}

/* --- ipv4only.arpa ------------------------------------------------------------------------ */

static bool plan_wkn(const struct dns64_query *u, struct dns64_plan *p)
{
	if (!ends_with(u, wkn, sizeof wkn) || dns_tail(key_name(u), 2) != sizeof wkn)
		return false;
	bool self = u->q->name.len == sizeof wkn;
	/* DS records belong to the parent zone and are fetched like any other, so that a client can
	 * see that this zone is not signed. */
	if (self && u->qtype == DNS_TYPE_DS)
		return false;
	/* Nothing is fetched for any client. One that validates gets no synthesised AAAA records
	 * (RFC 7050 section 3). */
	bool made = u->qtype == DNS_TYPE_AAAA && !dns64_query_validates(u);
	p->how = DNS64_HOW_LOCAL;
	p->local = !self                    ? DNS64_L_NXDOMAIN
	           : u->qtype == DNS_TYPE_A ? DNS64_L_A
	           : made                   ? DNS64_L_AAAA
	                                    : DNS64_L_NODATA;
	return true;
}

/* --- reverse names -------------------------------------------------------------------------- */

static uint32_t digit(uint8_t c)
{
	return c >= '0' && c <= '9' ? c - '0' + 0u : c >= 'a' && c <= 'f' ? c - 'a' + 10u : 16u;
}

/* The leading bits that the addresses below a name have in common, four for each nibble; for a name
 * of 32 nibbles the whole address (RFC 3596 section 2.5). False: it is no such name. */
static bool bits_of(const struct dns64_query *u, ip6 *out, uint32_t *bits)
{
	const uint8_t *name = key_name(u);
	uint32_t n = (u->q->name.len - (uint32_t)sizeof ip6_arpa) / 2;
	if (!ends_with(u, ip6_arpa, sizeof ip6_arpa) || n > NIBBLES ||
	    u->q->name.len != 2 * n + sizeof ip6_arpa)
		return false;
	memset(out, 0, sizeof *out);
	*bits = 4 * n;
	while (n-- > 0) {
		uint32_t v = digit(name[1]);
		if (name[0] != 1 || v > 15)
			return false;
		out->b[n / 2] |= (uint8_t)(n % 2 ? v : v << 4);
		name += 2;
	}
	return true;
}

/* True when an address under the form's prefix may begin with these bits. */
static bool may_begin(const struct embed_form *f, const ip6 *a, uint32_t bits)
{
	return addr_in6(a, (const ip6 *)f->prefix, (uint8_t)min_u32(bits, f->len));
}

/* True when names of synthesised addresses lie at or below the name with these bits. */
static bool leads_to_ours(const struct dns64_policy *y, const ip6 *a, uint32_t bits)
{
	for (uint32_t i = 0; i < y->n_maps; i++)
		if (!y->map[i].none && may_begin(&y->map[i].form, a, bits))
			return true;
	for (uint32_t i = 0; i < y->n_prefixes; i++)
		if (may_begin(&y->prefix[i], a, bits))
			return true;
	return false;
}

/* Sets the IPv4 address inside a synthesised IPv6 address. False: it is none. */
static bool embedded(const struct dns64_policy *y, const ip6 *a, ip4 *out)
{
	for (uint32_t i = 0; i < y->n_maps; i++)
		if (!y->map[i].none && embed_has(&y->map[i].form, a)) {
			*out = ip4_from_raw(embed_to4(&y->map[i].form, a));
			return true;
		}
	for (uint32_t i = 0; i < y->n_prefixes; i++)
		if (embed_has(&y->prefix[i], a)) {
			*out = ip4_from_raw(embed_to4(&y->prefix[i], a));
			return true;
		}
	return false;
}

/* d.c.b.a.in-addr.arpa in wire form; gives its length. */
static uint32_t reverse_name(uint8_t *out, ip4 a)
{
	static const uint8_t tail[] = "\7in-addr\4arpa";
	uint32_t len = 0;
	for (unsigned i = 4; i-- > 0;) {
		uint8_t v = a.b[i], n = v >= 100 ? 3 : v >= 10 ? 2 : 1;
		out[len] = n;
		for (uint8_t k = n; k > 0; k--, v /= 10)
			out[len + k] = (uint8_t)('0' + v % 10);
		len += n + 1u;
	}
	memcpy(out + len, tail, sizeof tail);
	return len + (uint32_t)sizeof tail;
}

/* A query for PTR records of an address. False: it is not a synthesised one. */
static bool plan_reverse(const struct dns64_policy *y, struct dns64_query *u, struct dns64_plan *p,
                         const ip6 *addr)
{
	uint8_t name[DNS_NAME_MAX];
	ip4 inner;
	if (!embedded(y, addr, &inner))
		return false;
	if (ip4_get(inner) == DNS64_WKA_1 || ip4_get(inner) == DNS64_WKA_2) {
		p->how = DNS64_HOW_LOCAL;
		p->local = DNS64_L_PTR;
		return true;
	}
	/* Follows CNAME records that the servers did not follow (RFC 2317). */
	uint32_t len = reverse_name(name, inner), n_cnames = 0;
	struct dns64_record *r;
	do {
		p->refetch.q = NULL; /* of the previous name */
		dns64_question_set(y->cache, &p->other[0], name, len, DNS_TYPE_PTR, DNS_CLASS_IN,
		                   u->q->key);
		r = dns64_lookup(y, u, p, &p->other[0], DNS_TYPE_PTR);
	} while (r && r->kind == DNS64_CHAIN && ++n_cnames < DNS64_CNAMES &&
	         dns_read_name(dns64_view(r), r->end, name, &len));
	p->how = r ? DNS64_HOW_REVERSE : DNS64_HOW_FETCH;
	p->record[0] = r;
	p->n = 1;
	if (r && (r->kind == DNS64_ERROR || r->kind == DNS64_CHAIN)) {
		p->how = DNS64_HOW_RCODE;
		p->rcode = r->kind == DNS64_ERROR ? dns_get16(dns64_view(r).at + 2) & DNS_RCODE
		                                  : DNS_SERVFAIL;
	}
	return true;
}

bool dns64_reverse_plan(const struct dns64_policy *y, struct dns64_query *u, struct dns64_plan *p)
{
	/* All these names end in "arpa". */
	static const uint8_t arpa[] = "\4arpa";
	if (LIKELY(!ends_with(u, arpa, sizeof arpa)))
		return false;
	if (plan_wkn(u, p))
		return true;
	ip6 addr;
	uint32_t bits;
	if (!y->reverse || dns64_query_validates(u) || !bits_of(u, &addr, &bits))
		return false;
	if (bits == 4 * NIBBLES && u->qtype == DNS_TYPE_PTR && plan_reverse(y, u, p, &addr))
		return true;
	p->exists = leads_to_ours(y, &addr, bits);
	return false;
}
