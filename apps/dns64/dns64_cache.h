/* The cache of the DNS64 server: whole messages by the question they answer, in
 * memory of a fixed size.
 *
 * Records lie one behind the other in a ring of bytes. A new one is put at its head;
 * for room the oldest go, but one that was asked for since it was put there is put at
 * the head once more instead (the CLOCK algorithm, with the ring as its clock). So
 * nothing is ever searched for room, nothing is fragmented, and what is popular stays.
 *
 * A record is found by a keyed hash of its question in lower case, so that nobody can
 * make chains grow: the words of the name are summed up as NH does in UMAC (RFC 4418
 * section 5.2.2), where two names meet with a probability of 2^-32 whatever they are, and
 * the sum goes through the hash of all other tables. It stays after its time is over: whether an
 * expired one may still serve is for others to say. */
#ifndef APPS_DNS64_DNS64_CACHE_H
#define APPS_DNS64_DNS64_CACHE_H

#include "apps/dns64/dns_message.h"
#include "kernel/lib/rng.h"

#define DNS64_RECORD_BYTES 112u   /* of the ring, for each record of dns64.cache */
#define DNS64_MESSAGE_MAX  65535u /* the longest there are, over TCP */
#define DNS64_MAX_TTL      604800u /* no record is fresh for longer: seven days, RFC 8767 section 4 */
#define DNS64_MOVES        64u     /* records kept on at most while room is made for one */
#define DNS64_USED_MAX     3u

/* Places of the index of ready answers. 0 is none. */
#ifndef DNS64_QUICK_BITS /* fewer in the fuzzers, which look at all of it for each input */
#define DNS64_QUICK_BITS 16u
#endif

/* Of a name, rounded up to an even number. */
#define DNS64_NAME_WORDS ((DNS_NAME_MAX + 7u) / 8u * 2u)

/* What of the question is part of the key beside name, type and class. */
enum {
	DNS64_KEY_DO = 1,    /* DNSSEC records wanted (RFC 3225) */
	DNS64_KEY_CD = 2,    /* checking disabled (RFC 4035 section 3.2.2) */
	DNS64_KEY_NORD = 4,  /* no recursion desired */
	DNS64_KEY_Z = 8,     /* the bit that still means nothing */
	DNS64_KEY_FAIL = 16, /* that asking failed; kept beside the last good answer */
	DNS64_KEY_READY = 32 /* an answer to clients, made from other records */
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
	DNS64_R_ONCE = 1,      /* only for those who wait for it */
	DNS64_R_GOOD = 2,      /* AAAA records outside of dns64.exclude */
	DNS64_R_EXCLUDED = 4,  /* AAAA records inside */
	DNS64_R_SOA = 8,       /* soa_ttl is set */
	DNS64_R_SIGNED = 16,   /* AD: upstream vouches for it */
	DNS64_R_ASKED = 32,    /* asked for anew: once is enough */
	DNS64_R_BORROWED = 64, /* a negative answer without SOA, kept for synthesis only */
	DNS64_R_PLAIN = 128 /* nothing but A records of the name in question, DNS64_PLAIN_RR each */
};

/* An A record whose owner is a pointer, and the AAAA record that is made of it. */
enum { DNS64_PLAIN_RR = 2 + DNS_RR_FIXED + 4, DNS64_MADE_RR = 2 + DNS_RR_FIXED + 16 };

struct dns64_record {
	uint32_t size; /* in the ring; DEAD marks what is no record any more */
	uint32_t next; /* of the chain: place + 1, 0 is none */
	uint32_t hash;
	uint32_t serial; /* of the answers, in the order they came */
	uint32_t stored_s, expire_s;
	uint32_t soa_ttl; /* of a negative answer (RFC 6147 section 5.1.7) */
	uint16_t len;     /* of the message */
	uint16_t end;     /* offset of the name at the end of the CNAME chain */
	uint16_t flags;   /* DNS64_R_… */
	uint8_t key;      /* DNS64_KEY_… */
	uint8_t kind;     /* enum dns64_kind */
	uint8_t used;     /* times asked for, up to DNS64_USED_MAX */
	uint8_t name_len;
	uint16_t quick; /* its place in the index of ready answers; 0: none */
};
_Static_assert(sizeof(struct dns64_record) % 8 == 0, "messages begin aligned");

struct dns64_cache {
	uint8_t *ring;
	uint32_t size;       /* of it */
	uint32_t head, tail; /* where the next record goes, where the oldest is */
	uint32_t fill;       /* bytes between */
	uint32_t *bucket;
	uint32_t mask;
	uint32_t n, limit; /* records */
	uint32_t n_failed; /* of these, such as tell that asking failed */
	struct hash_key secret;
	uint32_t nh[DNS64_NAME_WORDS]; /* secret as well */
	uint32_t serial;               /* of the latest answer */
	uint32_t *quick; /* ready answers, by the hash of their question: place + 1, 0 is none */
	uint32_t quick_mul[(DNS_NAME_MAX + DNS_QUESTION_FIXED + 3) / 4]; /* secret, odd */
	uint64_t stored, evicted;
	uint8_t moving[sizeof(struct dns64_record) + DNS64_MESSAGE_MAX + 8];
};

/* Sets up an empty cache for so many records, or as many bytes as they have on average, at
 * least one message; false when memory is short. The memory must be zero. */
bool dns64_cache_init(struct dns64_cache *c, uint32_t records, struct rng *rng) MUST_USE;

/* Sets a question, with the name in wire form; type, class and key may be changed later. */
void dns64_question_set(const struct dns64_cache *c, struct dns64_question *q, const uint8_t *name,
                        uint32_t len, uint16_t type, uint16_t class, uint8_t key);

/* Whether two questions are about the same name. */
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

/* Copies a question: no more of its name than there is. */
static inline void dns64_question_copy(struct dns64_question *to, const struct dns64_question *from)
{
	to->name.len = from->name.len;
	to->hash = from->hash;
	to->type = from->type;
	to->class = from->class;
	to->key = from->key;
	dns_copy_name((uint8_t *)to->name.word, (const uint8_t *)from->name.word, from->name.len);
}

uint32_t dns64_hash_odd(const struct dns64_cache *c, const struct dns64_question *q, uint32_t rest);

/* The hash under which the record of a question with this key is found: that of the name and
 * the rest. In class IN that is the type, and types of one name fall into buckets of their own;
 * what else somebody may choose freely needs the secret. */
ALWAYS_INLINE uint32_t dns64_hash_of(const struct dns64_cache *c, const struct dns64_question *q,
                                     uint8_t key)
{
	uint32_t rest = q->type | (uint32_t)key << 16;
	if (UNLIKELY(q->class != DNS_CLASS_IN))
		return dns64_hash_odd(c, q, rest);
	return q->hash + rest * 0x9e3779b1u;
}

/* The record of a chain (place + 1 of its first) with this hash, key and question; NULL: none. */
struct dns64_record *dns64_cache_walk(const struct dns64_cache *c, uint32_t at, uint32_t hash,
                                      const struct dns64_question *q, uint8_t key);

/* The record of a question, expired or not; that of its failure with fail. NULL when
 * there is none. Valid until the next dns64_cache_add. */
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

/* Room for a message of len bytes, DNS64_MESSAGE_MAX at most, in a record that takes
 * the place of the one with the same key. serial, hash, key, len, name_len are set, the
 * rest is zero; the message is the caller's to write, its question in lower case. */
struct dns64_record *dns64_cache_add(struct dns64_cache *c, const struct dns64_question *q,
                                     bool fail, uint32_t len, uint32_t now_s);

static inline uint8_t *dns64_message(struct dns64_record *r)
{
	return (uint8_t *)(r + 1);
}

static inline struct dns_view dns64_view(const struct dns64_record *r)
{
	return (struct dns_view){(const uint8_t *)(r + 1), r->len};
}

/* --- the index of ready answers: one place for a hash, which is taken over by whoever comes
 * last. The hash is a sum over the words of a question, upper and lower case alike, so that it can
 * be made in one loop with other things. */

/* Enters a record whose message is written. */
void dns64_cache_enter(struct dns64_cache *c, struct dns64_record *r);

/* What word number i adds to the hash; of the last one only the bytes that dns64_quick_mask
 * leaves count. */
static inline uint32_t dns64_quick_word(const struct dns64_cache *c, uint32_t i, uint32_t word)
{
	return (word | 0x20202020u) * c->quick_mul[i];
}

/* The bytes of the last word, not whole, of a question of n bytes. */
static inline uint32_t dns64_quick_mask(uint32_t n)
{
	return (1u << 8 * (n % 4)) - 1;
}

/* The record at the place of a hash, of this question or another; NULL: none. */
static inline struct dns64_record *dns64_quick_find(const struct dns64_cache *c, uint32_t hash)
{
	uint32_t at = c->quick[hash >> (32 - DNS64_QUICK_BITS)];
	return at ? (struct dns64_record *)(void *)(c->ring + at - 1) : NULL;
}

/* Walks through the ring and the chains; NULL, or what is inconsistent (tests). */
const char *dns64_cache_check(const struct dns64_cache *c);

#endif
