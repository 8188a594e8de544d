/* SPDX-License-Identifier: BSD-2-Clause */
/* fakedns: the answer to a query, with its faults; no sockets. */
#include "fakedns.h"

#include "perfname.h"

#include <strings.h>

/* SplitMix64: good enough to choose faults. */
double draw_share(struct random *r)
{
	uint64_t z = r->state += 0x9e3779b97f4a7c15u;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

bool happens(struct random *r, double share)
{
	return share > 0 && draw_share(r) < share;
}

/* Whether a name has an AAAA record; the same for each query. */
static bool has_aaaa(const struct options *opt, uint32_t address)
{
	struct random r = {address};
	return happens(&r, opt->have_aaaa);
}

/* The address in a name's first label, or in a name under in-addr.arpa. */
static bool name_address(const uint8_t *name, uint32_t *address, bool *reverse)
{
	static const char arpa[] = "\007in-addr\004arpa";
	*reverse = false;
	if (label_address(name + 1, name[0], address))
		return true;
	uint32_t a = 0;
	for (int i = 0; i < 4; i++) {
		unsigned v = 0, n = name[0];
		for (unsigned k = 1; k <= n; k++)
			v = name[k] >= '0' && name[k] <= '9' ? v * 10 + name[k] - '0' : 1000;
		if (n == 0 || n > 3 || v > 255)
			return false;
		a |= v << 8 * i;
		name += n + 1;
	}
	*address = a;
	*reverse = true;
	return strcasecmp((const char *)name, arpa) == 0;
}

/* Parent names of names with addresses exist. */
static bool above(const uint8_t *name)
{
	const char *text = (const char *)name;
	return name[0] == 0 || strcasecmp(text, perf_domain) == 0 ||
	       strcasecmp(text, perf_domain + 1 + perf_domain[0]) == 0;
}

static unsigned put_rr(const struct options *opt, uint8_t *to, unsigned type, const void *data,
                       unsigned len)
{
	put16(to, 0xc000 | DNS_HEADER);
	put16(to + 2, type);
	put16(to + 4, 1);
	put32(to + 6, opt->ttl);
	put16(to + 10, len);
	memcpy(to + 12, data, len);
	return 12 + len;
}

/* SOA of the name's last two labels, or of fewer if it has fewer. */
static unsigned put_soa(const struct options *opt, uint8_t *to, const uint8_t *m, unsigned question)
{
	unsigned at[130], n = 0, len;
	for (unsigned i = DNS_HEADER; m[i] && i < DNS_HEADER + question; i += m[i] + 1u)
		at[n++] = i;
	unsigned zone = n >= 2 ? at[n - 2] : DNS_HEADER;
	uint8_t data[] = "\002ns..\004root..????????????????????";
	data[3] = data[10] = (uint8_t)(0xc0 | zone >> 8);
	data[4] = data[11] = (uint8_t)zone;
	for (unsigned i = 0; i < 5; i++)
		put32(data + 12 + 4 * i, i == 4 ? opt->ttl : 3600);
	len = put_rr(opt, to, TYPE_SOA, data, 32);
	put16(to, 0xc000 | zone);
	return len;
}

/* Writes the answer's records after the question; gives the message's length. */
static unsigned put_records(const struct options *opt, struct tally *count, uint8_t *m,
                            unsigned question, unsigned type)
{
	uint8_t six[16] = {0x20, 0x01, 0x0d, 0xb8}, name[64];
	unsigned end = DNS_HEADER + question;
	uint32_t a;
	bool reverse, known = name_address(m + DNS_HEADER, &a, &reverse);
	put32(six + 12, a);
	if (known && !reverse && type == TYPE_A) {
		count->a++;
		m[7] = 1;
		return end + put_rr(opt, m + end, TYPE_A, six + 12, 4);
	}
	if (known && !reverse && type == TYPE_AAAA && has_aaaa(opt, a)) {
		count->aaaa++;
		m[7] = 1;
		return end + put_rr(opt, m + end, TYPE_AAAA, six, 16);
	}
	if (known && reverse && type == TYPE_PTR) {
		name[0] = LABEL;
		put_label(name + 1, a);
		memcpy(name + 1 + LABEL, perf_domain, sizeof perf_domain);
		m[7] = 1;
		return end + put_rr(opt, m + end, TYPE_PTR, name, 1 + LABEL + sizeof perf_domain);
	}
	count->empty++;
	if (!known && !above(m + DNS_HEADER))
		m[3] |= 3;
	if (!opt->soa)
		return end;
	m[9] = 1;
	return end + put_soa(opt, m + end, m, question);
}

/* Applies the faults that change an answer; gives its length. */
static unsigned bend(const struct options *opt, struct random *r, uint8_t *m, unsigned len,
                     unsigned question)
{
	unsigned end = DNS_HEADER + question;
	bool error = happens(r, opt->rcode_share), cut = !error && happens(r, opt->truncate);
	if (error || cut) {
		memset(m + 6, 0, 6);
		m[2] |= cut ? 2 : 0;
		m[3] = (uint8_t)((m[3] & 0xf0) | (cut ? 0 : opt->rcode));
		len = end;
	}
	if (happens(r, opt->wrong_id))
		m[1] ^= 0x55;
	if (happens(r, opt->wrong_name))
		m[DNS_HEADER + 1] ^= 1;
	if (happens(r, opt->lower))
		for (unsigned i = DNS_HEADER; i < end - 5; i++)
			m[i] |= m[i] >= 'A' && m[i] <= 'Z' ? 0x20 : 0;
	return len;
}

unsigned fake_answer(const struct options *opt, struct random *r, struct tally *count, uint8_t *m,
                     unsigned len, bool *faulty)
{
	unsigned question = len >= DNS_HEADER ? question_length(m, len) : 0;
	if (!question || m[2] & 0x80 || get16(m + 4) != 1)
		return 0;
	unsigned end = DNS_HEADER + question, type = get16(m + end - 4);
	/* OPT, if it is the only record after the question. */
	bool edns = get16(m + 10) == 1 && len >= end + 11 && m[end] == 0 &&
	            get16(m + end + 1) == TYPE_OPT;
	*faulty = opt->only_type == 0 || opt->only_type == type;
	m[2] = (uint8_t)(0x84 | (m[2] & 0x79)); /* QR, AA; opcode and RD of the query */
	m[3] = 0x80;
	memset(m + 6, 0, 6);
	if (edns && !opt->edns) {
		m[3] |= 1;
		return end;
	}
	len = put_records(opt, count, m, question, type);
	if (*faulty)
		len = bend(opt, r, m, len, question);
	if (edns) {
		memset(m + len, 0, 11);
		put16(m + len + 1, TYPE_OPT);
		put16(m + len + 3, 1232);
		m[11] = 1;
		len += 11;
	}
	return len;
}
