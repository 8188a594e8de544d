/* What the files of the policy share: what a client query is, what a plan for its answer is, and
 * what the configuration says about synthesis. */
#ifndef APPS_DNS64_POLICY_DNS64_POLICY_H
#define APPS_DNS64_POLICY_DNS64_POLICY_H

#include "apps/dns64/cache/dns64_cache.h"
#include "apps/translate/embed.h"

#define DNS64_CNAMES 8u /* messages of a CNAME chain that are followed */
#define DNS64_STALE_TTL \
	30u /* of records that serve although they have expired, RFC 8767 section 4 */

/* --- a client query ------------------------------------------------------------------------ */

struct dns64_query {
	struct dns64_question *q; /* its type is that of the latest lookup in the cache */
	uint16_t qtype;
	const uint8_t *name; /* as the client spelled it */
	uint16_t id, flags;  /* of its header */
	bool edns, dnssec;   /* it has OPT, with DO */
	bool stream;         /* it came over TCP */
	bool skip;           /* nothing is synthesised for this client */
	uint16_t limit;      /* bytes of an answer */
	uint32_t serial;     /* of the latest record in the cache when the query came */

	/* To be set before each plan. */
	uint32_t now_s;
	uint32_t waited_us;     /* since the query came */
	uint32_t stale_wait_us; /* after so long a stale answer may serve */
};

/* True when a client validates itself: nothing is synthesised for it (RFC 6147 section 5.5). */
static inline bool dns64_query_validates(const struct dns64_query *u)
{
	return (~u->q->key & (DNS64_KEY_DO | DNS64_KEY_CD)) == 0;
}

/* The part of the cache's key that the flags of a query are. */
static inline uint8_t dns64_query_key(uint16_t flags, bool dnssec)
{
	return (uint8_t)((dnssec ? DNS64_KEY_DO : 0) | (flags & DNS_CD ? DNS64_KEY_CD : 0) |
	                 (flags & DNS_RD ? 0 : DNS64_KEY_NORD) | (flags & DNS_Z ? DNS64_KEY_Z : 0));
}

/* Bytes of the OPT record in an answer. Over TCP it has an option that says how long an idle
 * connection stays open (RFC 7828). */
#define DNS64_KEEP_ALIVE_BYTES 6u
#define DNS64_KEEP_ALIVE_S     10u
static inline uint32_t dns64_query_opt_bytes(const struct dns64_query *u)
{
	return u->edns ? DNS_OPT_BYTES + (u->stream ? DNS64_KEEP_ALIVE_BYTES : 0) : 0;
}

/* --- a plan ---------------------------------------------------------------------------------- */

enum dns64_how {
	DNS64_HOW_AS_IS,      /* the one record as it is */
	DNS64_HOW_MERGE,      /* all records, without AAAA records inside dns64.exclude */
	DNS64_HOW_SYNTHESISE, /* all records, with AAAA records made from their A records */
	DNS64_HOW_REVERSE,    /* a CNAME, and the PTR records of the one record */
	DNS64_HOW_LOCAL,      /* from what DNS64 knows itself */
	DNS64_HOW_RCODE,      /* only a response code */
	DNS64_HOW_FETCH,      /* fetch what is missing first */
};

/* What is known locally: ipv4only.arpa, and the reverse names of its addresses; a host of the
 * inside by its name and by its address. */
enum dns64_local {
	DNS64_L_A,
	DNS64_L_AAAA,
	DNS64_L_NODATA,
	DNS64_L_NXDOMAIN,
	DNS64_L_PTR,
	DNS64_L_HOST,
	DNS64_L_HOST_PTR,
	DNS64_L_HOST_NODATA,
};

/* A host of the inside that has a name. */
struct dns64_host {
	ip4 addr;
	uint32_t ttl;
	uint8_t name[DNS_NAME_MAX]; /* in wire form */
	uint32_t len;               /* of the name */
};

/* A question to fetch: q with this type. */
struct dns64_missing {
	struct dns64_question *q;
	uint16_t type;
};

struct dns64_plan {
	enum dns64_how how;
	enum dns64_local local;
	uint16_t rcode;
	bool stale;  /* some record has expired */
	bool exists; /* local names lie below: NXDOMAIN becomes an empty answer (RFC 8020) */
	uint32_t n;  /* records; each but the last is a CNAME chain that leads to the next */
	struct dns64_record *record[DNS64_CNAMES];
	const struct dns64_record *six; /* to synthesise: no AAAA records are there; or NULL */
	uint32_t ttl_max;               /* of AAAA records that are made */
	uint32_t n_missing;             /* with DNS64_HOW_FETCH */
	struct dns64_missing missing[2];
	struct dns64_missing refetch; /* although there is an answer; q NULL: nothing */
	struct dns64_record
	        *popular; /* the record to refetch before it expires; NULL: a stale one */
	struct dns64_question other[2]; /* names other than the queried one */
	struct dns64_host host;         /* with DNS64_L_HOST … */
};

/* --- the configuration ----------------------------------------------------------------------- */

/* The prefix for a range of IPv4 addresses, if any. */
struct dns64_map {
	uint32_t net, mask; /* host order */
	bool none;          /* nothing is synthesised for these addresses */
	bool well_known;
	struct embed_form form;
};

struct dns64_policy {
	struct dns64_cache *cache;
	/* Who knows the hosts of the inside: by a name in wire form and lower case, and by an
	 * address. False when there is no such host. */
	bool (*host_by_name)(const void *hosts, const uint8_t *name, struct dns64_host *out);
	bool (*host_by_address)(const void *hosts, ip4 addr, struct dns64_host *out);
	const void *hosts;

	/* From the configuration. */
	struct embed_form prefix[DNS64_PREFIXES];
	bool well_known[DNS64_PREFIXES];
	uint32_t n_prefixes;
	struct dns64_map map[DNS64_RANGES]; /* the longest first */
	uint32_t n_maps;
	struct dns_key skip_name[DNS64_RANGES];
	uint32_t skip_labels[DNS64_RANGES];
	uint32_t n_skip_names;
	uint32_t patience_us; /* wait for AAAA records while A records are there */
	bool always, reverse, servfail;
	uint32_t ready_from_s; /* ready answers that are older have prefixes of then */

	/* Counters. */
	uint64_t synthesised, not_global, stale, truncated, failed;
};

/* The form in which an IPv4 address is answered with prefix number i; NULL: it is not. A dns64.map
 * replaces all prefixes; its form counts as that of prefix 0. */
static inline const struct embed_form *dns64_policy_form(const struct dns64_policy *y, ip4 a,
                                                         uint32_t i)
{
	const struct dns64_map *m = y->map, *end = m + y->n_maps;
	for (; m < end; m++) {
		if ((ip4_get(a) & m->mask) != m->net)
			continue;
		bool unfit = m->none || (m->well_known && !embed_is_global(a));
		return i == 0 && !unfit ? &m->form : NULL;
	}
	/* The well-known prefix is for global addresses only (RFC 6052 section 3.1). */
	return y->well_known[i] && !embed_is_global(a) ? NULL : &y->prefix[i];
}

#endif
