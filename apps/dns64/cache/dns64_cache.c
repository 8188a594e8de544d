/* See dns64_cache.h. */
#include "apps/dns64/cache/dns64_cache.h"

#include "kernel/lib/alloc.h"

#define DEAD         0x80000000u
#define NOWHERE      UINT32_MAX
#define OTHER_TABLES (3u << 20) /* more than dns64_init allocates behind the cache */
#define MAX_SIZE     ((sizeof(struct dns64_record) + DNS64_MESSAGE_MAX + 7) & ~7u)

/* The number of buckets for so many records: a power of two. */
static uint32_t buckets_for(uint32_t records)
{
	uint32_t buckets = 1;
	while (buckets < records)
		buckets *= 2;
	return buckets;
}

/* The memory of a cache for n records, behind that of the tables that are made after it. */
static void pieces(uint32_t n, size_t size[ALLOC_PIECES])
{
	size[0] = OTHER_TABLES;
	size[1] = buckets_for(n) * sizeof(uint32_t);
	size[2] = n * DNS64_RECORD_BYTES;
	size[3] = sizeof *((struct dns64_cache *)0)->quick << DNS64_QUICK_BITS;
}

uint32_t dns64_cache_most(uint32_t records)
{
	return alloc_most(min_u32(records, DEAD / DNS64_RECORD_BYTES - 1), pieces);
}

bool dns64_cache_init(struct dns64_cache *c, uint32_t records, struct rng *rng)
{
	c->limit = records;
	c->ready_key = DNS64_KEY_READY;
	if (records > DEAD / DNS64_RECORD_BYTES - 1)
		return false;
	c->size = c->limit * DNS64_RECORD_BYTES;
	uint32_t buckets = buckets_for(records);
	c->mask = buckets - 1;
	c->bucket = alloc(buckets * sizeof *c->bucket, 64);
	c->ring = alloc_raw(c->size, 64);
	c->quick = alloc(sizeof *c->quick << DNS64_QUICK_BITS, 64);
	for (unsigned i = 0; i < ARRAY_SIZE(c->secret.k); i++)
		c->secret.k[i] = rng_u32(rng);
	for (unsigned i = 0; i < ARRAY_SIZE(c->nh); i++)
		c->nh[i] = rng_u32(rng);
	for (unsigned i = 0; i < ARRAY_SIZE(c->quick_mul); i++)
		c->quick_mul[i] = rng_u32(rng) | 1;
	return c->bucket && c->ring && c->quick;
}

/* --- questions -------------------------------------------------------------------------- */

uint32_t dns64_hash_odd(const struct dns64_cache *c, const struct dns64_question *q, uint32_t rest)
{
	return hash_three(&c->secret, q->hash, rest, q->class);
}

/* The last n bytes of a name, fewer than a word, with zeros after them. */
static inline uint32_t last_word(const uint8_t *at, uint32_t n)
{
	uint32_t word = 0;
	while (n > 0)
		word = word << 8 | at[--n];
	return word;
}

void dns64_question_set(const struct dns64_cache *c, struct dns64_question *q, const uint8_t *name,
                        uint32_t len, uint16_t type, uint16_t class, uint8_t key)
{
	uint32_t *word = q->name.word, whole = len / 4, i = 0;
	const uint32_t *nh = c->nh;
	uint64_t sum = 0;
	for (; i + 1 < whole; i += 2) {
		uint32_t one = dns_lower4(load32(name + 4 * i));
		uint32_t two = dns_lower4(load32(name + 4 * i + 4));
		word[i] = one;
		word[i + 1] = two;
		sum += (uint64_t)(one + nh[i]) * (two + nh[i + 1]);
	}
	uint32_t rest = len - 4 * i; /* bytes, fewer than two words */
	if (rest) {
		uint32_t one = rest < 4 ? last_word(name + 4 * i, rest) : load32(name + 4 * i);
		uint32_t two = rest > 4 ? last_word(name + 4 * i + 4, rest - 4) : 0;
		word[i] = one = dns_lower4(one);
		word[i + 1] = two = dns_lower4(two);
		sum += (uint64_t)(one + nh[i]) * (two + nh[i + 1]);
	}
	q->name.len = len;
	q->type = type;
	q->class = class;
	q->key = key;
	q->hash = hash_three(&c->secret, (uint32_t)sum, (uint32_t)(sum >> 32), len);
}

/* True when the question section at `at`, after the header, is this question. */
static inline bool is_question(const struct dns64_question *q, const uint8_t *at)
{
	uint32_t whole = q->name.len / 4, rest = q->name.len % 4;
	const uint8_t *behind = at + q->name.len;
	if (load32(behind) != (swap16(q->type) | (uint32_t)swap16(q->class) << 16))
		return false;
	for (uint32_t i = 0; i < whole; i++)
		if (UNLIKELY(load32(at + 4 * i) != q->name.word[i]))
			return false;
	return rest == 0 ||
	       ((load32(at + 4 * whole) ^ q->name.word[whole]) << (32 - 8 * rest)) == 0;
}

/* --- chains -------------------------------------------------------------------------------- */

static struct dns64_record *record_at(const struct dns64_cache *c, uint32_t place)
{
	return (struct dns64_record *)(void *)(c->ring + place);
}

static void enter(struct dns64_cache *c, struct dns64_record *r)
{
	uint32_t *chain = &c->bucket[r->hash & c->mask];
	r->next = *chain;
	*chain = (uint32_t)((uint8_t *)r - c->ring) + 1;
	if (UNLIKELY(r->quick))
		c->quick[r->quick] = *chain;
	c->n++;
	c->n_failed += (r->key & DNS64_KEY_FAIL) != 0;
}

void dns64_cache_enter(struct dns64_cache *c, struct dns64_record *r)
{
	const uint8_t *at = dns64_message(r) + DNS_HEADER;
	uint32_t n = r->name_len + (uint32_t)DNS_QUESTION_FIXED, i = 0, hash = 0;
	for (; i < n / 4; i++, at += 4)
		hash += dns64_quick_word(c, i, load32(at));
	/* The records of a ready answer follow its question, so a whole word can be read. */
	hash += dns64_quick_word(c, i, load32(at) & dns64_quick_mask(n));
	r->quick = (uint16_t)(hash >> (32 - DNS64_QUICK_BITS));
	if (r->quick)
		c->quick[r->quick] = (uint32_t)((uint8_t *)r - c->ring) + 1;
}

void dns64_cache_leave_quick(struct dns64_cache *c)
{
	memset(c->quick, 0, sizeof *c->quick << DNS64_QUICK_BITS);
}

/* Takes a record out of its chain; its bytes stay in the ring, marked as DEAD. */
static void leave(struct dns64_cache *c, struct dns64_record *r)
{
	uint32_t *at = &c->bucket[r->hash & c->mask];
	uint32_t me = (uint32_t)((uint8_t *)r - c->ring) + 1;
	while (*at != me)
		at = &record_at(c, *at - 1)->next;
	*at = r->next;
	if (c->quick[r->quick] == me) /* place 0 is not used */
		c->quick[r->quick] = 0;
	else
		r->quick = 0; /* another one has the place, or it is to be found no more */
	r->size |= DEAD;
	c->n--;
	c->n_failed -= (r->key & DNS64_KEY_FAIL) != 0;
}

struct dns64_record *dns64_cache_walk(const struct dns64_cache *c, uint32_t at, uint32_t hash,
                                      const struct dns64_question *q, uint8_t key)
{
	do {
		struct dns64_record *r = record_at(c, at - 1);
		at = r->next;
		if (r->hash != hash || r->key != key || r->name_len != q->name.len)
			continue;
		if (is_question(q, dns64_message(r) + DNS_HEADER))
			return r;
	} while (at);
	return NULL;
}

/* --- the ring ------------------------------------------------------------------------------ */

/* The place of n free bytes at the head; NOWHERE: there are none. Bytes at the end of the ring are
 * skipped when they are too few. */
static uint32_t room(struct dns64_cache *c, uint32_t n)
{
	if (c->fill == 0)
		c->head = c->tail = 0;
	if (c->head < c->tail || c->fill == c->size)
		return c->fill < c->size && c->tail - c->head >= n ? c->head : NOWHERE;
	if (c->size - c->head >= n)
		return c->head;
	if (c->tail < n)
		return NOWHERE;
	if (c->head < c->size) {
		record_at(c, c->head)->size = (c->size - c->head) | DEAD;
		c->fill += c->size - c->head;
	}
	c->head = 0;
	return 0;
}

static void take_bytes(struct dns64_cache *c, uint32_t n)
{
	c->head += n;
	c->fill += n;
}

/* Removes the oldest record. A fresh one that was used is moved to the head while *moves is not 0
 * and there is room. */
static void remove_oldest(struct dns64_cache *c, uint32_t *moves, uint32_t now_s)
{
	struct dns64_record *r = record_at(c, c->tail);
	uint32_t size = r->size & ~DEAD;
	bool live = !(r->size & DEAD), keep = false;
	if (live) {
		keep = r->used && *moves && !when_come(now_s, r->expire_s, DNS64_MAX_TTL);
		leave(c, r);
	}
	if (keep)
		memcpy(c->moving, r, size);
	c->tail += size;
	c->fill -= size;
	if (c->tail == c->size)
		c->tail = 0;
	uint32_t place = keep ? room(c, size) : NOWHERE;
	if (place == NOWHERE) {
		c->evicted += live;
		return;
	}
	--*moves;
	take_bytes(c, size);
	r = record_at(c, place);
	memcpy(r, c->moving, size);
	r->size = size;
	r->used--;
	enter(c, r);
}

struct dns64_record *dns64_cache_add(struct dns64_cache *c, const struct dns64_question *q,
                                     bool fail, uint32_t len, uint32_t now_s)
{
	uint32_t size = ((uint32_t)sizeof(struct dns64_record) + len + 7) & ~7u, place;
	uint32_t moves = DNS64_MOVES;
	struct dns64_record *r = dns64_cache_find(c, q, fail);
	uint8_t used = r ? r->used : 0;
	if (r)
		leave(c, r);
	while (c->n >= c->limit || (place = room(c, size)) == NOWHERE)
		remove_oldest(c, &moves, now_s);
	take_bytes(c, size);
	r = record_at(c, place);
	uint8_t key = (uint8_t)(q->key | (fail ? DNS64_KEY_FAIL : 0));
	*r = (struct dns64_record){
	        .size = size,
	        .hash = dns64_hash_of(c, q, key),
	        .serial = ++c->serial,
	        .stored_s = now_s,
	        .expire_s = now_s,
	        .len = (uint16_t)len,
	        .key = key,
	        .used = used,
	        .name_len = (uint8_t)q->name.len,
	};
	c->stored++;
	enter(c, r);
	return r;
}

const char *dns64_cache_check(const struct dns64_cache *c)
{
	uint32_t live = 0, chained = 0, bytes = 0;
	for (uint32_t at = c->tail; bytes < c->fill; at = at == c->size ? 0 : at) {
		const struct dns64_record *r = record_at(c, at);
		uint32_t size = r->size & ~DEAD;
		if (size == 0 || size % 8 || size > c->size - at || size > c->fill - bytes)
			return "a record of the cache has a wrong size";
		if (!(r->size & DEAD)) {
			live++;
			if (size > MAX_SIZE || sizeof *r + r->len > size)
				return "a record of the cache is too short for its message";
		}
		bytes += size;
		at += size;
	}
	for (uint32_t i = 0; i <= c->mask; i++)
		for (uint32_t at = c->bucket[i]; at; at = record_at(c, at - 1)->next) {
			const struct dns64_record *r = record_at(c, at - 1);
			if (r->size & DEAD || (r->hash & c->mask) != i || ++chained > c->n)
				return "a chain of the cache is wrong";
		}
	static const uint32_t none[256];
	for (uint32_t i = 0; i < 1u << DNS64_QUICK_BITS; i++) {
		if (i % 256 == 0 && memcmp(&c->quick[i], none, sizeof none) == 0) {
			i += 255; /* most of the index is empty */
			continue;
		}
		const struct dns64_record *r = dns64_quick_find(c, i << (32 - DNS64_QUICK_BITS));
		if (r && (i == 0 || r->size & DEAD || r->quick != i ||
		          (r->key & ~DNS64_KEY_ALWAYS) != DNS64_KEY_READY))
			return "the index of ready answers is wrong";
	}
	return live != c->n || chained != c->n ? "the cache miscounts its records" : NULL;
}
