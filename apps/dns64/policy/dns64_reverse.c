/* Names that DNS64 answers for itself: ipv4only.arpa, by which clients find the prefix
 * (RFC 7050, RFC 8880 section 7.1), and names under ip6.arpa of addresses that were made
 * here (RFC 6147 section 5.3.1, the second way: a CNAME to the name under in-addr.arpa,
 * where there are PTR records). Names on the way to these exist as well: shorter ones, inside and
 * above a prefix. Of them upstream may say NXDOMAIN, which would deny all below (RFC 8020) and end
 * the search of those who ask label by label (RFC 9156). See dns64.h. */
#include "apps/dns64/dns64.h"

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
	/* DS records are the parent's: resolved like any other, so that a client can see
	 * that nothing is signed here. */
	if (self && u->qtype == DNS_TYPE_DS)
		return false;
	/* Nobody is asked, whoever wants to know. Those who validate get what was not made
	 * here: no AAAA records (RFC 7050 section 3). */
	bool made = u->qtype == DNS_TYPE_AAAA && !dns64_validates(u);
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

/* The leading bits that the addresses below a name have in common, four for each nibble; of a name
 * of 32 nibbles the address (RFC 3596 section 2.5). False: it is no such name. */
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

/* Whether an address under the form's prefix begins with so many bits. */
static bool may_begin(const struct embed_form *f, const ip6 *a, uint32_t bits)
{
	return addr_in6(a, (const ip6 *)f->prefix, (uint8_t)min_u32(bits, f->len));
}

/* Whether names of ours lie at or below the one with these bits. */
static bool leads_to_ours(const struct dns64 *d, const ip6 *a, uint32_t bits)
{
	for (uint32_t i = 0; i < d->n_maps; i++)
		if (!d->map[i].none && may_begin(&d->map[i].form, a, bits))
			return true;
	for (uint32_t i = 0; i < d->n_prefixes; i++)
		if (may_begin(&d->prefix[i], a, bits))
			return true;
	return false;
}

/* The IPv4 address in an IPv6 address that is of our making. */
static bool embedded(const struct dns64 *d, const ip6 *a, ip4 *out)
{
	for (uint32_t i = 0; i < d->n_maps; i++)
		if (!d->map[i].none && embed_has(&d->map[i].form, a)) {
			*out = ip4_from_raw(embed_to4(&d->map[i].form, a));
			return true;
		}
	for (uint32_t i = 0; i < d->n_prefixes; i++)
		if (embed_has(&d->prefix[i], a)) {
			*out = ip4_from_raw(embed_to4(&d->prefix[i], a));
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

static bool plan_reverse(struct gw *gw, struct dns64_query *u, struct dns64_plan *p,
                         const ip6 *addr)
{
	struct dns64 *d = dns64_of(gw);
	uint8_t name[DNS_NAME_MAX];
	ip4 inner;
	if (!embedded(d, addr, &inner))
		return false;
	if (ip4_get(inner) == DNS64_WKA_1 || ip4_get(inner) == DNS64_WKA_2) {
		p->how = DNS64_HOW_LOCAL;
		p->local = DNS64_L_PTR;
		return true;
	}
	/* CNAME records that upstream does not follow (RFC 2317) lead to the last of these. */
	uint32_t len = reverse_name(name, inner), links = 0;
	struct dns64_record *r;
	do {
		p->again.q = NULL; /* of the name before */
		dns64_question_set(&d->cache, &p->other[0], name, len, DNS_TYPE_PTR, DNS_CLASS_IN,
		                   u->q->key);
		r = dns64_lookup(gw, u, p, &p->other[0], DNS_TYPE_PTR);
	} while (r && r->kind == DNS64_CHAIN && ++links < DNS64_CNAMES &&
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

bool dns64_reverse_plan(struct gw *gw, struct dns64_query *u, struct dns64_plan *p)
{
	/* Both end in "arpa". */
	static const uint8_t arpa[] = "\4arpa";
	if (LIKELY(!ends_with(u, arpa, sizeof arpa)))
		return false;
	if (plan_wkn(u, p))
		return true;
	const struct dns64 *d = dns64_of(gw);
	ip6 addr;
	uint32_t bits;
	if (!d->reverse || dns64_validates(u) || !bits_of(u, &addr, &bits))
		return false;
	if (bits == 4 * NIBBLES && u->qtype == DNS_TYPE_PTR && plan_reverse(gw, u, p, &addr))
		return true;
	p->exists = leads_to_ours(d, &addr, bits);
	return false;
}
