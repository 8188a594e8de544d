/* The cache of DNS64: whole messages by the question they answer, in memory of a fixed size.
 *
 * Records lie one after the other in a ring of bytes. A new record is put at the head. To make room
 * the oldest records are evicted; a record that was used since it was put there is moved to the
 * head instead (the CLOCK algorithm, with the ring as its clock). So room is found without a
 * search, memory is not fragmented, and popular records stay.
 *
 * A record is found by a keyed hash of its question in lower case, so that nobody can make chains
 * grow: the words of the name are summed up as NH does in UMAC (RFC 4418 section 5.2.2), where two
 * names have the same sum with a probability of 2^-32, whatever they are; the sum goes through the
 * hash function that all tables use. A record stays after it has expired: the policy decides
 * whether an expired record may serve. */
#ifndef APPS_DNS64_CACHE_DNS64_CACHE_H
#define APPS_DNS64_CACHE_DNS64_CACHE_H

#include "apps/dns64/message/dns_message.h"
#include "apps/dns64/shared/dns64_sizes.h"
#include "kernel/lib/addr.h"
#include "kernel/lib/rng.h"
#include "kernel/lib/when.h"

#define DNS64_RECORD_BYTES 112u    /* of the ring, for each record of the key dns64.cache */
#define DNS64_MESSAGE_MAX  65535u  /* the longest message, over TCP */
#define DNS64_MAX_TTL      604800u /* seconds; no record is fresh for longer (RFC 8767 section 4) */
#define DNS64_MOVES        64u /* records moved to the head at most while room is made for one */
#define DNS64_USED_MAX     3u

/* The index of ready answers has 2^DNS64_QUICK_BITS places; number 0 is not used. */
#ifndef DNS64_QUICK_BITS /* fewer in the fuzzers, which look at the whole index for each input */
#define DNS64_QUICK_BITS 16u
#endif

/* Words of a name, rounded up to an even number. */
#define DNS64_NAME_WORDS ((DNS_NAME_MAX + 7u) / 8u * 2u)

/* What is part of a record's key beside name, type and class. */
enum {
	DNS64_KEY_DO = 1,      /* DNSSEC records wanted (RFC 3225) */
	DNS64_KEY_CD = 2,      /* checking disabled (RFC 4035 section 3.2.2) */
	DNS64_KEY_NORD = 4,    /* no recursion desired */
	DNS64_KEY_Z = 8,       /* the reserved bit of the header */
	DNS64_KEY_FAIL = 16,   /* a failure; kept beside the last good answer */
	DNS64_KEY_READY = 32,  /* an answer to clients, made from other records */
	DNS64_KEY_ALWAYS = 64, /* READY, and made where AAAA records may be (dns64.always) */
};

struct dns64_question {
	struct dns_key name;
	uint32_t hash; /* of the name */
	uint16_t type, class;
	uint8_t key; /* DNS64_KEY_… but FAIL */
};

/* What kind of answer a message is. */
enum dns64_kind {
	DNS64_DATA,     /* has records of the type at the end of its CNAME chain */
	DNS64_EMPTY,    /* none of this type */
	DNS64_CHAIN,    /* a CNAME chain that leads out of the message */
	DNS64_NXDOMAIN, /* no such name */
	DNS64_ERROR,    /* any other response code */
};

enum {
	DNS64_R_ONCE = 1,       /* only for the client queries that wait for it */
	DNS64_R_GOOD = 2,       /* it has AAAA records outside dns64.exclude */
	DNS64_R_EXCLUDED = 4,   /* it has AAAA records inside dns64.exclude */
	DNS64_R_SOA = 8,        /* soa_ttl is set */
	DNS64_R_SIGNED = 16,    /* AD is set: the server has validated it */
	DNS64_R_REFETCHED = 32, /* a refetch was begun; there is only one */
	DNS64_R_BORROWED = 64,  /* a negative answer without SOA, kept for synthesis only */
	DNS64_R_PLAIN = 128     /* only A records of the queried name, DNS64_PLAIN_RR bytes each */
};

/* Bytes of an A record whose owner is a pointer, and of the AAAA record made from it. */
enum { DNS64_PLAIN_RR = 2 + DNS_RR_FIXED + 4, DNS64_MADE_RR = 2 + DNS_RR_FIXED + 16 };

struct dns64_record {
	uint32_t size; /* in the ring, with a flag when the record was removed */
	uint32_t next; /* of the chain: place + 1, 0 is none */
	uint32_t hash;
	uint32_t serial; /* counts answers in the order they came */
	uint32_t stored_s, expire_s;
	uint32_t soa_ttl; /* of a negative answer (RFC 6147 section 5.1.7) */
	uint16_t len;     /* of the message */
	uint16_t end;     /* offset of the name at the end of the CNAME chain */
	uint16_t flags;   /* DNS64_R_… */
	uint8_t key;      /* DNS64_KEY_… */
	uint8_t kind;     /* enum dns64_kind */
	uint8_t used;     /* times used, up to DNS64_USED_MAX */
	uint8_t name_len;
	uint16_t quick; /* its place in the index of ready answers; 0: none */
};
_Static_assert(sizeof(struct dns64_record) % 8 == 0, "messages begin aligned");

struct dns64_cache {
	uint8_t *ring;
	uint32_t size;       /* of the ring */
	uint32_t head, tail; /* of the next record, of the oldest */
	uint32_t fill;       /* bytes between */
	uint32_t *bucket;
	uint32_t mask;
	uint32_t n, limit; /* records */
	uint32_t n_failed; /* of these, failures */
	struct hash_key secret;
	uint32_t nh[DNS64_NAME_WORDS]; /* secret, for the sum over a name */
	uint32_t serial;               /* of the latest answer */
	uint8_t ready_key; /* of the ready answers that may be used: READY, with ALWAYS or not */
	uint32_t *quick;   /* ready answers, by the hash of their question: place + 1, 0 is none */
	uint32_t quick_mul[(DNS_NAME_MAX + DNS_QUESTION_FIXED + 3) / 4]; /* secret, odd */
	uint64_t stored, evicted;

	/* From the configuration. */
	bool keep;        /* false: records serve only the queries that wait (dns64.cache 0) */
	uint32_t stale_s; /* seconds for which an expired record may serve */
	struct prefix exclude[DNS64_RANGES]; /* AAAA records that are not used */
	uint32_t n_exclude;

	/* Memory for one record that moves, and for one message that is rewritten or checked. */
	uint8_t moving[sizeof(struct dns64_record) + DNS64_MESSAGE_MAX + 8];
	uint8_t scratch[DNS64_MESSAGE_MAX];
};

/* The number of records, up to `records`, for which there is memory beside that of the tables that
 * the application makes after the cache. */
uint32_t dns64_cache_most(uint32_t records);

/* Sets up an empty cache for this number of records, or the bytes that they have on average. The
 * struct must be zero but for what the configuration sets. False when memory is short. */
bool dns64_cache_init(struct dns64_cache *c, uint32_t records, struct rng *rng) MUST_USE;

/* Sets a question and its hash, from a name in wire form of `len` bytes. Type, class and key may be
 * changed later. */
void dns64_question_set(const struct dns64_cache *c, struct dns64_question *q, const uint8_t *name,
                        uint32_t len, uint16_t type, uint16_t class, uint8_t key);

/* True when two questions have the same name. */
static inline bool dns64_same_name(const struct dns64_question *a, const struct dns64_question *b)
{
	uint32_t words = dns_key_words(a->name.len);
	if (a->hash != b->hash || a->name.len != b->name.len)
		return false;
	for (uint32_t i = 0; i < words; i++)
		if (a->name.word[i] != b->name.word[i])
			return false;
	return true;
}

/* Copies a question; of the name only the words in use. */
static inline void dns64_question_copy(struct dns64_question *to, const struct dns64_question *from)
{
	to->name.len = from->name.len;
	to->hash = from->hash;
	to->type = from->type;
	to->class = from->class;
	to->key = from->key;
	dns_copy_name((uint8_t *)to->name.word, (const uint8_t *)from->name.word, from->name.len);
}

/* The hash of dns64_hash_of in a class other than IN; `rest` is type and key. */
uint32_t dns64_hash_odd(const struct dns64_cache *c, const struct dns64_question *q, uint32_t rest);

/* The hash under which the record of a question with this key is found: of the name, the type and
 * the key. In class IN the types of one name fall into buckets of their own. Another class may be
 * chosen freely by a client, so it goes through the keyed hash. */
ALWAYS_INLINE uint32_t dns64_hash_of(const struct dns64_cache *c, const struct dns64_question *q,
                                     uint8_t key)
{
	uint32_t rest = q->type | (uint32_t)key << 16;
	if (UNLIKELY(q->class != DNS_CLASS_IN))
		return dns64_hash_odd(c, q, rest);
	return q->hash + rest * 0x9e3779b1u;
}

/* The record with this hash, key and question in the chain whose first record is at place `at` - 1
 * of the ring; NULL: there is none. */
struct dns64_record *dns64_cache_walk(const struct dns64_cache *c, uint32_t at, uint32_t hash,
                                      const struct dns64_question *q, uint8_t key);

/* The record of a question, expired or not; with `fail` the record of its failure. NULL when there
 * is none. Valid until the next dns64_cache_add. */
ALWAYS_INLINE struct dns64_record *dns64_cache_find(const struct dns64_cache *c,
                                                    const struct dns64_question *q, bool fail)
{
	if (fail && LIKELY(c->n_failed == 0))
		return NULL;
	uint8_t key = (uint8_t)(q->key | (fail ? DNS64_KEY_FAIL : 0));
	uint32_t hash = dns64_hash_of(c, q, key), at = c->bucket[hash & c->mask];
	while (at) {
		const struct dns64_record *r = (const void *)(c->ring + at - 1);
		if (r->hash == hash)
			return dns64_cache_walk(c, at, hash, q, key);
		at = r->next;
	}
	return NULL;
}

/* Adds a record with room for a message of len bytes, DNS64_MESSAGE_MAX at most. It replaces the
 * record with the same key. serial, hash, key, len, name_len, stored_s and expire_s are set, the
 * rest is zero. The caller writes the message, its question in lower case. */
struct dns64_record *dns64_cache_add(struct dns64_cache *c, const struct dns64_question *q,
                                     bool fail, uint32_t len, uint32_t now_s);

/* The message of a record, to write and to read. */
static inline uint8_t *dns64_message(struct dns64_record *r)
{
	return (uint8_t *)(r + 1);
}

static inline struct dns_view dns64_view(const struct dns64_record *r)
{
	return (struct dns_view){(const uint8_t *)(r + 1), r->len};
}

/* True while a record has not expired. */
static inline bool dns64_record_is_fresh(const struct dns64_record *r, uint32_t now_s)
{
	return !when_come(now_s, r->expire_s, DNS64_MAX_TTL);
}

/* True when a record may serve, although it may have expired, because a fetch failed. */
static inline bool dns64_record_may_serve(const struct dns64_cache *c, const struct dns64_record *r,
                                          uint32_t now_s)
{
	uint32_t life = r->expire_s - r->stored_s;
	return !(r->flags & DNS64_R_ONCE) && now_s - r->stored_s < life + c->stale_s;
}

/* --- the index of ready answers. It has one place for each hash; a new answer replaces the old
 * one. The hash is a sum over the words of a question that does not tell upper from lower case, so
 * that one loop can compute it together with a checksum. */

/* Enters a record into the index; its message must be written. */
void dns64_cache_enter(struct dns64_cache *c, struct dns64_record *r);

/* Takes all records out of the index. */
void dns64_cache_leave_quick(struct dns64_cache *c);

/* What word number i of a question adds to the hash. Of the last word only the bytes of
 * dns64_quick_mask count. */
static inline uint32_t dns64_quick_word(const struct dns64_cache *c, uint32_t i, uint32_t word)
{
	return (word | 0x20202020u) * c->quick_mul[i];
}

/* Mask of the bytes of a question of n bytes that its last, incomplete word has. */
static inline uint32_t dns64_quick_mask(uint32_t n)
{
	return (1u << 8 * (n % 4)) - 1;
}

/* The record at the place of a hash, which may be of another question; NULL: there is none. */
static inline struct dns64_record *dns64_quick_find(const struct dns64_cache *c, uint32_t hash)
{
	uint32_t at = c->quick[hash >> (32 - DNS64_QUICK_BITS)];
	return at ? (struct dns64_record *)(void *)(c->ring + at - 1) : NULL;
}

/* Checks the ring, the chains and the index; NULL, or what is inconsistent. For tests. */
const char *dns64_cache_check(const struct dns64_cache *c);

#endif
