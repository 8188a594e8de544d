/* Fuzzer: any bytes as a DNS message. Of a message that is accepted, every record is copied whole
 * to another place, as often as there is room; the copy must be well formed and have the same
 * contents. A malformed message must only be refused. The first byte chooses how much room there is
 * and how far records move. */
#include "apps/dns64/message/dns_message.h"
#include "tests/fuzz/must.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST = 400 }; /* maximum number of compared records */

struct copy {
	struct dns_out o;
	uint16_t count[DNS_SECTIONS];
	struct dns_rr rr[MOST]; /* the copied records, as in the source */
	uint32_t n;
};

/* Compares the data of two records. Types that hold names are compared as names, all others as
 * bytes. `at` and `bt` advance over `n` bytes that must be equal. */
static void same_bytes(struct dns_view a, uint32_t *at, struct dns_view b, uint32_t *bt, uint32_t n)
{
	MUST(*at <= a.len && n <= a.len - *at && *bt <= b.len && n <= b.len - *bt);
	MUST(memcmp(a.at + *at, b.at + *bt, n) == 0);
	*at += n;
	*bt += n;
}

static void same_data(struct dns_view a, const struct dns_rr *ra, struct dns_view b,
                      const struct dns_rr *rb)
{
	uint32_t at = ra->data, bt = rb->data, names = 0, before = 0;
	switch (ra->type) {
	case 6:
	case 14:
	case 17:
		names = 2;
		break;
	case 2:
	case 3:
	case 4:
	case 5:
	case 7:
	case 8:
	case 9:
	case 12:
	case 30:
	case 39:
	case 47:
		names = 1;
		break;
	case 15:
	case 18:
	case 21:
	case 36:
		names = 1, before = 2;
		break;
	case 26:
		names = 2, before = 2;
		break;
	case 33:
		names = 1, before = 6;
		break;
	case 24:
	case 46:
		names = 1, before = 18;
		break;
	default:
		break;
	}
	same_bytes(a, &at, b, &bt, before);
	for (; names; names--) {
		MUST(dns_same_name(a, at, b, bt));
		at = dns_check_name(a, at);
		bt = dns_check_name(b, bt);
		MUST(at && bt);
	}
	MUST(ra->end - at == rb->end - bt);
	same_bytes(a, &at, b, &bt, ra->end - at);
}

/* Checks that the names that are read are valid, and that reading them again gives the same. */
static void check_name(struct dns_view m, uint32_t at)
{
	uint8_t name[DNS_NAME_MAX], again[DNS_NAME_MAX];
	char text[1200];
	uint32_t len, len2;
	uint32_t end = dns_read_name(m, at, name, &len);
	MUST(dns_check_name(m, at) == end);
	if (!end)
		return;
	MUST(end == dns_skip_name(m, at) && end > at && end <= m.len);
	MUST(len >= 1 && len <= DNS_NAME_MAX && name[len - 1] == 0);
	MUST(dns_tail(name, dns_labels(name)) == len);
	MUST(dns_read_name((struct dns_view){name, len}, 0, again, &len2) == len);
	MUST(len2 == len && memcmp(name, again, len) == 0);
	MUST(dns_same_name(m, at, (struct dns_view){name, len}, 0));
	struct dns_key key;
	dns_key_set(&key, name, len);
	MUST(dns_same_name(m, at, (struct dns_view){(uint8_t *)key.word, len}, 0));
	MUST(dns_name_text(text, sizeof text, name) == text && strlen(text) >= 1);
}

static void copy(struct copy *c, struct dns_view m, const struct dns_layout *l)
{
	for (unsigned s = DNS_AN; s < DNS_SECTIONS; s++) {
		uint32_t at = l->section[s];
		for (uint32_t i = 0; i < l->count[s]; i++) {
			struct dns_rr rr;
			MUST(dns_read_rr(m, at, &rr));
			check_name(m, rr.owner);
			uint32_t len = c->o.len;
			if (c->n < MOST && dns_copy_rr(&c->o, &rr, ~rr.ttl)) {
				c->rr[c->n++] = rr;
				c->count[s]++;
			} else {
				MUST(c->o.len == len);
			}
			MUST(c->o.len <= c->o.limit);
			at = rr.end;
		}
	}
}

static void compare(const struct copy *c, struct dns_view m, struct dns_view to, uint32_t skip)
{
	struct dns_layout l;
	MUST(dns_parse(to, &l));
	uint32_t n = 0;
	for (unsigned s = DNS_AN; s < DNS_SECTIONS; s++) {
		uint32_t at = l.section[s];
		for (uint32_t i = 0; i < l.count[s]; i++) {
			struct dns_rr rr;
			MUST(dns_read_rr(to, at, &rr));
			at = rr.end;
			if (skip) {
				skip--;
				continue;
			}
			const struct dns_rr *was = &c->rr[n++];
			MUST(rr.type == was->type && rr.class == was->class && rr.ttl == ~was->ttl);
			MUST(dns_same_name(m, was->owner, to, rr.owner));
			same_data(m, was, to, &rr);
		}
	}
	MUST(n == c->n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct copy c;
	struct dns_layout l;
	if (size < 1 || size > 4097)
		return 0;
	uint8_t how = data[0];
	uint8_t *raw = malloc(size);
	MUST(raw);
	memcpy(raw, data + 1, size - 1);
	struct dns_view m = {raw, (uint32_t)size - 1};
	for (uint32_t at = 0; at < m.len; at += 7)
		check_name(m, at);
	if (dns_parse(m, &l) && l.count[DNS_QD] == 1) {
		uint32_t limit = how & 1 ? 8192 : l.question_end + how * 8u;
		uint8_t *to = calloc(1, limit);
		MUST(to);
		memset(&c, 0, sizeof c);
		memcpy(to, raw, l.question_end);
		dns_out_init(&c.o, to, l.question_end, limit);
		uint32_t moved =
		        how & 2 && dns_put_rr(&c.o, DNS_HEADER, 16, 1, 0, "abcdef", how >> 6);
		dns_out_from(&c.o, m, how & 4 ? 0 : l.question_end);
		copy(&c, m, &l);
		c.count[DNS_QD] = 1;
		c.count[DNS_AN] = (uint16_t)(c.count[DNS_AN] + moved);
		for (unsigned s = 0; s < DNS_SECTIONS; s++)
			dns_put16(to + 4 + 2 * s, c.count[s]);
		compare(&c, m, (struct dns_view){to, c.o.len}, moved);
		free(to);
	}
	free(raw);
	return 0;
}
