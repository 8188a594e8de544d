/* apps/dns64/dns_message.c: names with pointers good and bad, records, whole messages, keys,
 * text, and what is written out of a message that was read. */
#include "apps/dns64/dns_message.h"

#include <stdlib.h>

#include "tests/tap.h"

/* A message in memory of its own, so that a look beyond its end is found. */
struct bytes {
	uint8_t *at;
	uint32_t len;
};

static struct bytes bytes_of(const void *data, uint32_t len)
{
	struct bytes b = {malloc(len ? len : 1), len};
	memcpy(b.at, data, len);
	return b;
}

static struct dns_view view(const struct bytes *b)
{
	return (struct dns_view){b->at, b->len};
}

#define HEADER "\x12\x34\x81\x80\0\1\0\0\0\0\0\0"
/* Literals may hold NULs; the one at the end does not count. */
#define MESSAGE(name, text) struct bytes name = bytes_of(text, sizeof(text) - 1)

static uint32_t name_at(const struct bytes *b, uint32_t at, uint8_t *out)
{
	uint32_t len = 0;
	return dns_read_name(view(b), at, out, &len) ? len : 0;
}

static void names(void)
{
	uint8_t out[DNS_NAME_MAX];
	MESSAGE(m, HEADER "\3www\7example\3com\0" /* 12 */
	                  "\2ns\xc0\x10"          /* 29 */
	                  "\xc0\x1d");            /* 34 */
	CHECK_EQ(name_at(&m, 12, out), 17);
	CHECK(memcmp(out, "\3www\7example\3com", 17) == 0);
	CHECK_EQ(dns_skip_name(view(&m), 12), 29);
	CHECK_EQ(name_at(&m, 29, out), 16);
	CHECK(memcmp(out, "\2ns\7example\3com", 16) == 0);
	CHECK_EQ(dns_skip_name(view(&m), 29), 34);
	/* A pointer to a name that ends in a pointer. */
	CHECK_EQ(name_at(&m, 34, out), 16);
	CHECK(memcmp(out, "\2ns\7example\3com", 16) == 0);
	CHECK_EQ(dns_skip_name(view(&m), 34), 36);
	/* The root. */
	CHECK_EQ(name_at(&m, 28, out), 1);
	/* Nothing there. */
	CHECK_EQ(name_at(&m, 36, out), 0);
	CHECK_EQ(name_at(&m, 4000, out), 0);
	free(m.at);
}

static void bad_names(void)
{
	static const struct {
		const char *text;
		uint32_t len, at;
	} bad[] = {
	        {HEADER "\xc0\x0c", 14, 12},         /* to itself */
	        {HEADER "\xc0\x0e\xc0\x0c", 16, 12}, /* forward */
	        {HEADER "\xc0\x0e\xc0\x0c", 16, 14}, /* and back: a loop */
	        {HEADER "\xc0\x0e\0", 15, 12},       /* forward to a good name */
	        {HEADER "\1a\xc0\x0c", 16, 12},      /* to its own beginning */
	        {HEADER "\1a\xc0\x0d", 16, 12},      /* into itself */
	        {HEADER "\3a\xc0\x0c\0", 17, 14},    /* to a label that holds the pointer itself */
	        {HEADER "\0\xc0\x00", 15, 13},       /* into the header */
	        {HEADER "\0\xc0\x0b", 15, 13},       /* still the header */
	        {HEADER "\xc0", 13, 12},             /* half a pointer */
	        {HEADER "\3ab", 15, 12},             /* a label beyond the end */
	        {HEADER "\3abc", 16, 12},            /* no root */
	        {HEADER "\x40", 13, 12},             /* label types that are no more */
	        {HEADER "\x41\1\0\0", 16, 12},
	        {HEADER "\x80\0", 14, 12},
	        {HEADER "\0\xff\xff", 15, 13}, /* far away */
	};
	for (uint32_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct bytes m = bytes_of(bad[i].text, bad[i].len);
		uint8_t out[DNS_NAME_MAX];
		CHECK_EQ(name_at(&m, bad[i].at, out), 0);
		CHECK_EQ(dns_check_name(view(&m), bad[i].at), 0);
		free(m.at);
	}
	/* A pointer to the good root in front of it. */
	MESSAGE(m, HEADER "\0\xc0\x0c");
	CHECK_EQ(dns_check_name(view(&m), 13), 15);
	free(m.at);
}

/* 127 labels of one byte make 255 bytes; one more is too long. So is the same by
 * pointers, and a chain of pointers ends. */
static void long_names(void)
{
	uint8_t raw[4096] = HEADER, out[DNS_NAME_MAX];
	uint32_t at = 12;
	for (int i = 0; i < 127; i++, at += 2)
		memcpy(raw + at, "\1x", 2);
	raw[at++] = 0;
	CHECK_EQ(at, 12 + 255);
	memcpy(raw + at, "\1y\xc0\x0c", 4);
	struct bytes m = bytes_of(raw, at + 4);
	CHECK_EQ(name_at(&m, 12, out), 255);
	CHECK_EQ(name_at(&m, at, out), 0);
	CHECK_EQ(name_at(&m, 14, out), 253);
	memcpy(m.at + at, "\1y\xc0\x0e", 4);
	CHECK_EQ(name_at(&m, at, out), 255);
	CHECK_EQ(dns_labels(out), 127);
	free(m.at);
	memcpy(raw + at, "\2yy\xc0\x0e", 5); /* 256 */
	m = bytes_of(raw, at + 5);
	CHECK_EQ(name_at(&m, at, out), 0);
	free(m.at);
	/* 200 pointers, each to the one before. */
	raw[12] = 0;
	for (uint32_t i = 0; i < 200; i++)
		dns_put16(raw + 13 + 2 * i, 0xc000 | (i == 0 ? 12 : 11 + 2 * i));
	m = bytes_of(raw, 13 + 400);
	CHECK_EQ(name_at(&m, 13 + 2 * 126, out), 1);
	CHECK_EQ(name_at(&m, 13 + 2 * 127, out), 0);
	free(m.at);
}

static void same_names(void)
{
	MESSAGE(a, HEADER "\3WwW\7eXample\0\1x\xc0\x10\xc0\x0c");
	MESSAGE(b, HEADER "\3wWw\7Example\0\3wwx\7example\0\2ww\0\7example\3www\0");
	CHECK(dns_same_name(view(&a), 12, view(&b), 12));
	CHECK(dns_same_name(view(&b), 12, view(&a), 29));
	CHECK(dns_same_name(view(&a), 12, view(&a), 29));
	CHECK(!dns_same_name(view(&a), 12, view(&b), 25));
	CHECK(!dns_same_name(view(&a), 12, view(&b), 38));
	CHECK(!dns_same_name(view(&a), 12, view(&b), 42));
	CHECK(!dns_same_name(view(&a), 12, view(&a), 25));
	CHECK(!dns_same_name(view(&a), 12, view(&a), 16));
	CHECK(dns_same_name(view(&a), 16, view(&b), 16));
	/* '@' and '[' stand beside the letters and are no letters. */
	MESSAGE(c, HEADER "\4@[`{\0\4`{@[\0");
	CHECK(!dns_same_name(view(&c), 12, view(&c), 18));
	free(a.at);
	free(b.at);
	free(c.at);
}

static void tails(void)
{
	static const uint8_t name[] = "\3www\7example\3com";
	CHECK_EQ(dns_labels(name), 3);
	CHECK_EQ(dns_tail(name, 0), 1);
	CHECK_EQ(dns_tail(name, 1), 5);
	CHECK_EQ(dns_tail(name, 2), 13);
	CHECK_EQ(dns_tail(name, 3), 17);
	CHECK_EQ(dns_tail(name, 4), 0);
	CHECK_EQ(dns_labels((const uint8_t *)""), 0);
}

static void keys(void)
{
	struct dns_key a, b;
	memset(&a, 0xaa, sizeof a);
	memset(&b, 0x55, sizeof b);
	dns_key_set(&a, (const uint8_t *)"\5ExAmP\2Le", 10);
	dns_key_set(&b, (const uint8_t *)"\5eXaMp\2lE", 10);
	CHECK_EQ(a.len, 10);
	CHECK_EQ(dns_key_words(a.len), 3);
	CHECK(memcmp(a.word, b.word, 12) == 0);
	CHECK(memcmp(a.word, "\5examp\2le\0\0\0", 12) == 0);
	/* Every byte alone, in each place: letters become small, all else stays. */
	for (uint32_t c = 0; c < 256; c++)
		for (uint32_t shift = 0; shift < 32; shift += 8) {
			uint32_t want = c >= 'A' && c <= 'Z' ? c + 32 : c;
			CHECK_EQ(dns_lower4(c << shift), want << shift);
			CHECK_EQ(dns_lower4(0xffffffff ^ (c ^ 0xff) << shift),
			         0xffffffff ^ (want ^ 0xff) << shift);
		}
}

static void texts(void)
{
	char text[64];
	uint8_t name[DNS_NAME_MAX];
	CHECK_STR(dns_name_text(text, sizeof text, (const uint8_t *)"\3www\2a.\1\7"),
	          "www.a\\046.\\007.");
	CHECK_STR(dns_name_text(text, sizeof text, (const uint8_t *)""), ".");
	CHECK_STR(dns_name_text(text, 6, (const uint8_t *)"\3www\7example"), "www.e");
	CHECK_EQ(dns_name_of_text(name, "www.example.com"), 17);
	CHECK(memcmp(name, "\3www\7example\3com", 17) == 0);
	CHECK_EQ(dns_name_of_text(name, "com."), 5);
	CHECK_EQ(dns_name_of_text(name, "a..b"), 0);
	CHECK_EQ(dns_name_of_text(name, "."), 0);
	char big[80];
	memset(big, 'x', sizeof big);
	big[63] = 0;
	CHECK_EQ(dns_name_of_text(name, big), 65);
	big[63] = 'x';
	big[64] = 0;
	CHECK_EQ(dns_name_of_text(name, big), 0);
}

/* A question with an answer, an authority section and OPT. */
#define QUESTION "\3www\7example\0\0\x1c\0\1" /* 12..29 */
#define WHOLE                                                                       \
	"\x12\x34\x81\x80\0\1\0\2\0\1\0\1" QUESTION                                 \
	"\xc0\x0c\0\5\0\1\0\0\0\x3c\0\5\2hi\xc0\x10" /* CNAME hi.example, 29..46 */ \
	"\xc0\x29\0\1\0\1\0\0\1\0\0\4\xc0\0\2\x21"   /* A, 46..62 */                \
	"\xc0\x10\0\6\0\1\0\0\0\x1e\0\x20\2ns\xc0\x10\4root\xc0\x10"                \
	"\0\0\0\1\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0\5" /* SOA, 62..106 */               \
	"\0\0\x29\4\xd0\0\0\x80\0\0\0"             /* OPT 1232 DO */

static void messages(void)
{
	MESSAGE(m, WHOLE);
	struct dns_layout l;
	CHECK(dns_parse(view(&m), &l));
	CHECK_EQ(l.name_len, 13);
	CHECK_EQ(l.qtype, 28);
	CHECK_EQ(l.qclass, 1);
	CHECK_EQ(l.question_end, 29);
	CHECK_EQ(l.section[DNS_AN], 29);
	CHECK_EQ(l.section[DNS_NS], 62);
	CHECK_EQ(l.section[DNS_AR], 106);
	CHECK_EQ(l.end, m.len);
	CHECK_EQ(l.n_opt, 1);
	CHECK_EQ(l.opt.class, 1232);
	CHECK_EQ(l.opt.ttl, 0x8000);
	struct dns_rr rr;
	CHECK(dns_read_rr(view(&m), 46, &rr));
	CHECK_EQ(rr.type, DNS_TYPE_A);
	CHECK_EQ(rr.ttl, 256);
	CHECK_EQ(rr.data_len, 4);
	CHECK_EQ(rr.end, 62);
	/* Whatever is cut off, and whatever is added, it is no message any more. */
	for (uint32_t n = 0; n < m.len; n++) {
		struct bytes cut = bytes_of(m.at, n);
		CHECK(!dns_parse(view(&cut), &l));
		free(cut.at);
	}
	MESSAGE(more, WHOLE "\0");
	CHECK(!dns_parse(view(&more), &l));
	free(more.at);
	/* Each count one too many or one too few. */
	for (uint32_t at = 5; at < 12; at += 2)
		for (int by = -1; by <= 1; by += 2) {
			m.at[at] = (uint8_t)(m.at[at] + by);
			CHECK(!dns_parse(view(&m), &l));
			m.at[at] = (uint8_t)(m.at[at] - by);
		}
	CHECK(dns_parse(view(&m), &l));
	free(m.at);
}

/* Data that are not what their type says. */
static void bad_data(void)
{
	static const struct {
		const char *text;
		uint32_t len;
	} bad[] = {
#define RR(text) {"\0\0\0\0\0\0\0\1\0\0\0\0" text, sizeof(text) - 1 + 12}
	        RR("\0\0\1\0\1\0\0\0\0\0\3abc"),                       /* A of 3 */
	        RR("\0\0\1\0\1\0\0\0\0\0\5abcde"),                     /* A of 5 */
	        RR("\0\0\x1c\0\1\0\0\0\0\0\4abcd"),                    /* AAAA of 4 */
	        RR("\0\0\5\0\1\0\0\0\0\0\0"),                          /* CNAME of nothing */
	        RR("\0\0\5\0\1\0\0\0\0\0\2\0\0"),                      /* CNAME and a byte */
	        RR("\0\0\5\0\1\0\0\0\0\0\3\3ab"),                      /* name beyond the data */
	        RR("\0\0\5\0\1\0\0\0\0\0\2\xc0\x17"),                  /* to itself */
	        RR("\0\0\5\0\1\0\0\0\0\0\1\xc0"),                      /* half a pointer */
	        RR("\0\0\x0f\0\1\0\0\0\0\0\2\0\1"),                    /* MX without a name */
	        RR("\0\0\x0f\0\1\0\0\0\0\0\1\0"),                      /* half a preference */
	        RR("\0\0\6\0\1\0\0\0\0\0\x15\0\0abcdefghijklmnopqrs"), /* SOA, one short */
#undef RR
	};
	struct dns_layout l;
	for (uint32_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct bytes m = bytes_of(bad[i].text, bad[i].len);
		CHECK(!dns_parse(view(&m), &l));
		free(m.at);
	}
	/* An unknown type is any bytes; A of another class is not four. */
	MESSAGE(m, "\0\0\0\0\0\0\0\2\0\0\0\0"
	           "\0\xff\1\0\1\0\0\0\0\0\3\xc0\xff\xff"
	           "\0\0\1\0\3\0\0\0\0\0\5\1a\0\1\2");
	CHECK(dns_parse(view(&m), &l));
	free(m.at);
}

static void questions(void)
{
	struct dns_layout l;
	MESSAGE(none, "\0\0\0\0\0\0\0\0\0\0\0\0");
	CHECK(dns_parse(view(&none), &l));
	CHECK_EQ(l.name_len, 0);
	CHECK(!dns_parse_question(view(&none), &l));
	free(none.at);
	MESSAGE(two, "\0\0\0\0\0\2\0\0\0\0\0\0\1a\0\0\1\0\1\xc0\x0c\0\2\0\1");
	CHECK(dns_parse(view(&two), &l));
	CHECK_EQ(l.qtype, 1);
	CHECK_EQ(l.question_end, 19);
	CHECK_EQ(l.section[DNS_AN], 25);
	free(two.at);
	MESSAGE(packed, "\0\0\0\0\0\1\0\0\0\0\0\0\xc0\x0c\0\1\0\1");
	CHECK(!dns_parse(view(&packed), &l));
	free(packed.at);
	/* A name of 255 bytes passes, of 256 not. */
	uint8_t raw[300] = "\0\0\0\0\0\1";
	for (uint32_t at = 12; at < 12 + 254; at += 2)
		raw[at] = 1;
	struct bytes m = bytes_of(raw, 12 + 255 + 4);
	CHECK(dns_parse_question(view(&m), &l));
	CHECK_EQ(l.name_len, 255);
	free(m.at);
	raw[12 + 254] = 1;
	m = bytes_of(raw, 12 + 257 + 4);
	CHECK(!dns_parse_question(view(&m), &l));
	free(m.at);
}

/* Copies every record of `from` behind a question; gives the copy parsed. */
static struct bytes copy_all(struct dns_view from, const struct dns_layout *l, uint32_t same,
                             uint32_t shift, uint32_t limit)
{
	struct bytes to = {calloc(1, limit), 0};
	struct dns_out o;
	uint8_t count[4] = {1, 0, 0, 0};
	memcpy(to.at, from.at, l->question_end);
	dns_out_init(&o, to.at, l->question_end, limit);
	if (shift) { /* something in front moves all the rest */
		CHECK(dns_put_rr(&o, DNS_HEADER, 16, 1, 9, "\5shift", 6));
		count[1]++;
	}
	dns_out_from(&o, from, same);
	for (unsigned s = DNS_AN; s <= DNS_AR; s++) {
		uint32_t at = l->section[s];
		struct dns_rr rr;
		for (uint32_t i = 0; i < l->count[s] && dns_read_rr(from, at, &rr); i++) {
			if (dns_copy_rr(&o, &rr, rr.ttl + 1))
				count[s]++;
			at = rr.end;
		}
	}
	for (unsigned s = 0; s < 4; s++)
		dns_put16(to.at + 4 + 2 * s, count[s]);
	to.len = o.len;
	return to;
}

static void copies(void)
{
	MESSAGE(m, WHOLE);
	struct dns_layout l, c;
	CHECK(dns_parse(view(&m), &l));
	/* The same place: the same bytes, but for the TTL. */
	struct bytes same = copy_all(view(&m), &l, l.question_end, 0, 512);
	CHECK_EQ(same.len, m.len);
	CHECK_EQ(dns_get32(same.at + 35), 61);
	dns_put32(same.at + 35, 60);
	CHECK(memcmp(same.at, m.at, 46) == 0);
	CHECK(dns_parse(view(&same), &c));
	/* Moved: pointers go along, also those inside the data. */
	struct bytes moved = copy_all(view(&m), &l, l.question_end, 1, 512);
	CHECK(dns_parse(view(&moved), &c));
	CHECK_EQ(moved.len, m.len + 18);
	CHECK_EQ(c.count[DNS_AN], 3);
	struct dns_rr rr;
	CHECK(dns_read_rr(view(&moved), 47, &rr));
	CHECK_EQ(rr.type, DNS_TYPE_CNAME);
	CHECK(dns_same_name(view(&moved), rr.data, view(&m), 41));
	CHECK(dns_read_rr(view(&moved), rr.end, &rr));
	CHECK_EQ(rr.type, DNS_TYPE_A);
	CHECK(dns_same_name(view(&moved), rr.owner, view(&m), 41));
	CHECK(dns_read_rr(view(&moved), rr.end, &rr));
	CHECK(dns_same_name(view(&moved), rr.data, view(&m), 74));
	free(same.at);
	free(moved.at);
	/* Nothing is written beyond any limit, and what is written is whole. */
	for (uint32_t limit = l.question_end; limit <= m.len + 18; limit++) {
		for (uint32_t shift = 0; shift < 2; shift++) {
			if (shift && limit < l.question_end + 18)
				continue;
			struct bytes cut = copy_all(view(&m), &l, l.question_end, shift, limit);
			CHECK(cut.len <= limit);
			CHECK(dns_parse(view(&cut), &c));
			free(cut.at);
		}
	}
	free(m.at);
}

/* A name that leads into a TTL is another one when that has changed. */
static void names_in_ttls(void)
{
	MESSAGE(m, "\x12\x34\x81\x80\0\1\0\2\0\0\0\0"
	           "\1a\0\0\1\0\1"
	           "\xc0\x0c\0\1\0\1\3abc\0\4\1\2\3\4" /* 19, its TTL is at 25 */
	           "\xc0\x19\0\1\0\1\0\0\0\1\0\4\1\2\3\4" /* 35 */);
	struct dns_layout l;
	struct dns_rr rr;
	CHECK(dns_parse(view(&m), &l));
	struct bytes copy = copy_all(view(&m), &l, l.question_end, 0, 512);
	CHECK(dns_read_rr(view(&copy), 35, &rr));
	CHECK(dns_same_name(view(&copy), rr.owner, view(&m), 25));
	free(copy.at);
	free(m.at);
}

/* Names in SRV data were compressed by some; ours are not (RFC 3597 section 4). */
/* Two records, of which the second has a name that leads into the first. */
static void names_that_stay(void)
{
	static const struct {
		const char *into; /* the name of the second record */
		bool stays;
	} cases[] = {{"\xc0\x0c", true},
	             {"\xc0\x13", true},
	             {"\xc0\x1a", false},
	             {"\xc0\x1d", false},
	             {"\xc0\x20", true}};
	for (uint32_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint8_t m[] = "\0\0\x80\0\0\1\0\2\0\0\0\0\1a\0\0\1\0\1"
		              "\1b\0\0\5\0\1\0\0\0\0\0\3\1c\0"
		              "..\0\x10\0\1\0\0\0\5\0\2\1x";
		uint8_t room[sizeof m];
		struct dns_layout l;
		memcpy(m + 35, cases[i].into, 2);
		struct dns_view v = {m, sizeof m - 1};
		CHECK(dns_parse(v, &l));
		CHECK_EQ(dns_names_stay(v, &l, room), cases[i].stays);
	}
}

static void no_compression(void)
{
	MESSAGE(m, "\0\0\0\0\0\1\0\2\0\0\0\0"
	           "\1s\4host\0\0\x21\0\1" /* 12..24 */
	           "\xc0\x0c\0\x21\0\1\0\0\0\0\0\x0a\0\1\0\2\0\3\1t\xc0\x0e"
	           "\xc0\x0c\0\x0f\0\1\0\0\0\0\0\6\0\5\1m\xc0\x0e");
	struct dns_layout l, c;
	struct dns_rr rr;
	CHECK(dns_parse(view(&m), &l));
	struct bytes to = copy_all(view(&m), &l, l.question_end, 1, 512);
	CHECK(dns_parse(view(&to), &c));
	CHECK(dns_read_rr(view(&to), 24 + 18, &rr));
	CHECK_EQ(rr.type, 33);
	CHECK_EQ(rr.data_len, 14);
	CHECK(memcmp(to.at + rr.data, "\0\1\0\2\0\3\1t\4host", 14) == 0);
	CHECK(dns_read_rr(view(&to), rr.end, &rr));
	CHECK_EQ(rr.data_len, 6);
	free(to.at);
	free(m.at);
}

static void own_records(void)
{
	uint8_t to[128] = "\0\0\0\0\0\1\0\0\0\0\0\0\1a\0\0\x1c\0\1";
	struct dns_out o;
	struct dns_layout l;
	dns_out_init(&o, to, 19, sizeof to);
	CHECK(dns_put_rr(&o, DNS_HEADER, DNS_TYPE_AAAA, 1, 77, "0123456789abcdef", 16));
	CHECK(dns_put_opt(&o, 1232, DNS_BADVERS, true));
	to[7] = to[11] = 1;
	CHECK(dns_parse((struct dns_view){to, o.len}, &l));
	CHECK_EQ(l.n_opt, 1);
	CHECK_EQ(l.opt.class, 1232);
	CHECK_EQ(l.opt.ttl, 0x01008000);
	CHECK_EQ(o.len, 19 + 28 + 11);
	/* Too little room: nothing. */
	dns_out_init(&o, to, 19, 19 + 27);
	CHECK(!dns_put_rr(&o, DNS_HEADER, DNS_TYPE_AAAA, 1, 77, "0123456789abcdef", 16));
	CHECK_EQ(o.len, 19);
	CHECK(!dns_copy_owner(&o, DNS_HEADER, DNS_TYPE_AAAA, 1, 77, "0123456789abcdef", 16));
	CHECK_EQ(o.len, 19);
	CHECK(dns_put_opt(&o, 512, 0, false));
	dns_out_init(&o, to, 19, 19 + 10);
	CHECK(!dns_put_opt(&o, 512, 0, false));
	CHECK_EQ(o.len, 19);
}

int main(void)
{
	TEST(names);
	TEST(bad_names);
	TEST(long_names);
	TEST(same_names);
	TEST(tails);
	TEST(keys);
	TEST(texts);
	TEST(messages);
	TEST(bad_data);
	TEST(questions);
	TEST(copies);
	TEST(names_in_ttls);
	TEST(names_that_stay);
	TEST(no_compression);
	TEST(own_records);
	return tap_done();
}
