/* apps/dns64/cache/dns64_cache.c: records are found, replaced and evicted as in a simple model, and
 * its own check finds nothing. */
#include "apps/dns64/cache/dns64_cache.h"

#include "kernel/lib/alloc.h"
#include "kernel/seam/io.h"

#include <stdlib.h>

#include "tests/tap.h"

static struct dns64_cache c;
static struct rng rng;

static void start(uint32_t records)
{
	uint32_t seed = 7;
	host_arena(16u << 20);
	memset(&c, 0, sizeof c);
	memset(&rng, 0, sizeof rng);
	rng_seed(&rng, &seed, sizeof seed);
	CHECK(dns64_cache_init(&c, records, &rng));
}

static struct dns64_question question(const char *text, uint16_t type)
{
	struct dns64_question q;
	uint8_t name[DNS_NAME_MAX];
	uint32_t len = dns_name_of_text(name, text);
	dns64_question_set(&c, &q, name, len, type, DNS_CLASS_IN, 0);
	return q;
}

/* A record whose message is the question and `extra` bytes. */
static struct dns64_record *add(const struct dns64_question *q, bool fail, uint32_t extra,
                                uint32_t now_s, uint32_t ttl)
{
	uint32_t end = DNS_HEADER + q->name.len + DNS_QUESTION_FIXED;
	struct dns64_record *r = dns64_cache_add(&c, q, fail, end + extra, now_s);
	uint8_t *m = dns64_message(r);
	memset(m, 0, r->len);
	memcpy(m + DNS_HEADER, q->name.word, q->name.len);
	dns_put16(m + end - 4, q->type);
	dns_put16(m + end - 2, q->class);
	for (uint32_t i = 0; i < extra; i++)
		m[end + i] = (uint8_t)(i + q->type);
	r->expire_s = now_s + ttl;
	return r;
}

static void sound(void)
{
	const char *bad = dns64_cache_check(&c);
	CHECK_STR(bad ? bad : "", "");
}

static void find(void)
{
	start(4096);
	struct dns64_question a = question("www.example.com", 1),
	                      b = question("WWW.Example.COM", 1);
	struct dns64_question other = question("www.example.co", 1),
	                      aaaa = question("www.example.com", 28);
	CHECK(!dns64_cache_find(&c, &a, false));
	struct dns64_record *r = add(&a, false, 10, 5, 60);
	CHECK_EQ(r->serial, 1);
	CHECK_EQ(r->stored_s, 5);
	CHECK(dns64_cache_find(&c, &a, false) == r);
	CHECK(dns64_cache_find(&c, &b, false) == r);
	CHECK(!dns64_cache_find(&c, &a, true));
	CHECK(!dns64_cache_find(&c, &other, false));
	CHECK(!dns64_cache_find(&c, &aaaa, false));
	b.class = 3;
	CHECK(!dns64_cache_find(&c, &b, false));
	b.class = 1;
	b.key = DNS64_KEY_DO;
	CHECK(!dns64_cache_find(&c, &b, false));
	/* Its failure, another type, class and key are records of their own. */
	struct dns64_question chaos = a;
	chaos.class = 3;
	CHECK(add(&a, true, 0, 6, 2) != r);
	add(&aaaa, false, 16, 6, 60);
	add(&b, false, 16, 6, 60);
	add(&chaos, false, 16, 6, 60);
	CHECK(dns64_cache_find(&c, &a, false) == r);
	CHECK_EQ(dns64_cache_find(&c, &a, true)->stored_s, 6);
	CHECK_EQ(dns64_cache_find(&c, &chaos, false)->serial, 5);
	CHECK_EQ(c.n, 5);
	sound();
}

static void replace(void)
{
	start(4096);
	struct dns64_question q = question("a.example", 1);
	add(&q, false, 10, 1, 60)->used = 2;
	struct dns64_record *r = add(&q, false, 300, 2, 60);
	CHECK_EQ(c.n, 1);
	CHECK_EQ(r->used, 2);
	CHECK(dns64_cache_find(&c, &q, false) == r);
	CHECK_EQ(r->len, 12 + 11 + 4 + 300);
	sound();
}

static struct dns64_question numbered(uint32_t i)
{
	char text[40];
	snprintf(text, sizeof text, "n%u.example", i);
	return question(text, 1);
}

/* There are never more records than allowed, and the oldest are evicted first. */
static void limit(void)
{
	start(2000);
	for (uint32_t i = 0; i < 10000; i++) {
		struct dns64_question q = numbered(i);
		add(&q, false, i % 50, 1, 60);
	}
	sound();
	CHECK(c.n <= 2000 && c.n >= 1000);
	for (uint32_t i = 0; i < 10000; i++) {
		struct dns64_question q = numbered(i);
		bool there = dns64_cache_find(&c, &q, false) != NULL;
		CHECK_EQ(there, i >= 10000 - c.n);
	}
	CHECK_EQ(c.evicted, 10000 - c.n);
}

/* A record in use stays while ten times the cache passes; an expired one is evicted. */
static void popular(void)
{
	start(2000);
	for (uint32_t i = 0; i < 100; i++) {
		struct dns64_question q = numbered(i);
		add(&q, false, 20, 1, i < 50 ? 1000 : 0);
	}
	for (uint32_t i = 1000; i < 21000; i++) {
		struct dns64_question q = numbered(i);
		add(&q, false, 20, 2, 60);
		for (uint32_t k = 0; k < 100; k++) {
			q = numbered(k);
			struct dns64_record *r = i % 500 ? NULL : dns64_cache_find(&c, &q, false);
			if (r)
				r->used = 1;
		}
	}
	sound();
	for (uint32_t i = 0; i < 100; i++) {
		struct dns64_question q = numbered(i);
		CHECK_EQ(dns64_cache_find(&c, &q, false) != NULL, i < 50);
	}
}

/* Room is made even if all records are popular. */
static void all_popular(void)
{
	start(1024);
	for (uint32_t i = 0; i < 5000; i++) {
		struct dns64_question q = numbered(i);
		add(&q, false, 100, 1, 1000)->used = DNS64_USED_MAX;
		CHECK(dns64_cache_find(&c, &q, false));
	}
	sound();
}

/* A model remembers the latest answer to each question: no other one is found. Sizes are from
 * nothing to the largest. */
static void model(void)
{
	enum { NAMES = 3000 };
	static uint32_t serial[NAMES];
	memset(serial, 0, sizeof serial);
	start(1500);
	uint32_t found = 0;
	for (uint32_t i = 0; i < 60000; i++) {
		uint32_t k = rng_below(&rng, rng_below(&rng, 3) ? 300 : NAMES);
		struct dns64_question q = numbered(k);
		struct dns64_record *r = dns64_cache_find(&c, &q, false);
		if (r) {
			uint32_t end = DNS_HEADER + q.name.len + DNS_QUESTION_FIXED;
			CHECK_EQ(r->serial, serial[k]);
			for (uint32_t at = end; at < r->len; at++)
				if (dns64_message(r)[at] != (uint8_t)(at - end + 1))
					CHECK(!"the message as it was written");
			r->used = r->used < 3 ? (uint8_t)(r->used + 1) : 3;
			found++;
		}
		if (!r || rng_below(&rng, 4) == 0) {
			uint32_t extra =
			        rng_below(&rng, 20) ? rng_below(&rng, 120) : rng_below(&rng, 4050);
			serial[k] = add(&q, false, extra, i / 1000, rng_below(&rng, 20))->serial;
		}
		if (i % 5000 == 0)
			sound();
	}
	sound();
	CHECK(found > 10000);
}

/* The longest name and the longest message. */
static void longest(void)
{
	start(1024);
	uint8_t name[DNS_NAME_MAX];
	struct dns64_question q;
	for (uint32_t i = 0; i < 254; i += 2) {
		name[i] = 1;
		name[i + 1] = 'x';
	}
	name[254] = 0;
	dns64_question_set(&c, &q, name, 255, 28, 1, DNS64_KEY_DO);
	for (uint32_t i = 0; i < 200; i++) {
		q.type = (uint16_t)i;
		CHECK_EQ(add(&q, false, DNS64_MESSAGE_MAX - 271, 1, 60)->len, DNS64_MESSAGE_MAX);
		CHECK(dns64_cache_find(&c, &q, false));
	}
	sound();
}

/* Too many records for any memory. */
static void too_many(void)
{
	host_arena(16u << 20);
	memset(&c, 0, sizeof c);
	CHECK(!dns64_cache_init(&c, 16000000, &rng));
	CHECK(!dns64_cache_init(&c, UINT32_MAX, &rng));
}

int main(void)
{
	TEST(find);
	TEST(replace);
	TEST(limit);
	TEST(popular);
	TEST(all_popular);
	TEST(model);
	TEST(longest);
	TEST(too_many);
	return tap_done();
}
