/* What the files of the application `dns64` share.
 *
 * A client's question becomes a query (dns64_client.c). A plan says what answers it, out of
 * records of the cache, or what must be asked first (dns64_plan.c, dns64_reverse.c);
 * the answer is built from the plan (dns64_answer.c). Where something must be asked,
 * the query waits (dns64_wait.c) for questions to upstream (dns64_ask.c) that many may
 * share; each answer goes into the cache, from which all answers to clients are made. */
#ifndef APPS_DNS64_DNS64_H
#define APPS_DNS64_DNS64_H

#include "apps/dns64/dns64_cache.h"
#include "apps/dns64/dns64_keys.h"
#include "apps/translate/embed.h"
#include "kernel/lib/when.h"
#include "net/gw.h"
#include "net/tcp/tcp.h"
#include "net/udp/udp_path.h"
#include "kernel/lib/wheel.h"

#define DNS64_ASKS          4096u /* questions to upstream at a time */
#define DNS64_WAITERS       2048u /* clients' questions that wait */
#define DNS64_SHARE         3u    /* of these for one client, for each that is free */
#define DNS64_SHARES        256u  /* clients told apart, a power of two */
#define DNS64_RELAYS        64u   /* questions that are passed on as they are */
#define DNS64_RECORDS_MIN   8192u /* of the cache: all that those who wait may need */
#define DNS64_PORT          53u   /* of upstream servers */
#define DNS64_TRIES         4u    /* of one question that can be answered at a time */
#define DNS64_LINKS         8u    /* of a CNAME chain that are followed */
#define DNS64_NONE          0xffffu
#define DNS64_EDNS_SIZE     1232u    /* asked of upstream, and sent to clients by default */
#define DNS64_MAX_NEGATIVE  10800u   /* three hours, RFC 2308 section 5 */
#define DNS64_NO_SOA        600u     /* RFC 6147 section 5.1.7 */
#define DNS64_PLAIN_S       600u     /* how long a server is spared OPT, or mixed case */
#define DNS64_STALE_WAIT_US 1800000u /* before stale records serve, RFC 8767 section 5 */
#define DNS64_STALE_RETRY   5u       /* seconds between attempts to refresh what is stale */
#define DNS64_STALE_TTL     30u /* of what is served although its time is over, RFC 8767 section 4 */

/* --- upstream servers (dns64_server.c) --------------------------------------------- */

struct dns64_server {
	struct addr addr;
	struct udp_path path;     /* to it, where it holds */
	uint32_t srtt_us, var_us; /* RFC 6298; srtt 0: not known yet */
	uint32_t missed;          /* tries in a row that were not answered in time */
	bool down;
	uint64_t answer_us; /* when the last answer came */
	uint64_t probe_us;  /* while down: when to look again */
	uint32_t probe_gap_us;
	uint32_t down_s;   /* while down: since when */
	uint32_t missed_s; /* when a try was last not answered in time */
	uint32_t plain_s;  /* until then without OPT, which it does not know; 0: with */
	uint32_t case_s;   /* until then the case of names is not compared; 0: it is */
	uint8_t case_lost; /* answers with another case, and no right one behind */
	uint64_t asked, answered;
};

/* --- questions to upstream (dns64_ask.c) ------------------------------------------------ */

/* One datagram that may still be answered. */
struct dns64_try {
	uint16_t port; /* ours; 0: free */
	uint16_t id;
	uint32_t sent_us;
	uint8_t server;
	bool edns;
	bool stream; /* asked over TCP, without a port of its own */
};

struct dns64_ask {
	struct dns64_question q;
	/* The same as it stands in a message, with the name as it is spelled (0x20). */
	uint8_t sent[DNS_NAME_MAX + 1 + DNS_QUESTION_FIXED];
	uint8_t last;            /* the server that was asked last */
	bool probe;              /* only to see whether a server is back */
	bool miscased;           /* an answer came with another case in its name */
	bool mute;               /* a complaint came without a question */
	bool truncated;          /* an answer came with TC */
	uint8_t queued;          /* the connection for try number `queued` - 1 is full; 0: none */
	uint16_t next;           /* with the same hash */
	uint16_t older, younger; /* in the order they began */
	uint16_t first;          /* who waits: number of a waiter's link */
	uint16_t n_tries;        /* so far */
	uint16_t tried;          /* servers, a bit each */
	uint16_t plain;          /* of these, the ones that complained about OPT, perhaps */
	uint32_t begun_us, deadline_us;
	struct dns64_try try[DNS64_TRIES];
};

/* --- clients' questions (dns64_client.c, dns64_wait.c) ---------------------------------- */

/* The way back to who asked; what plans and answers knows nothing of it. */
struct dns64_from {
	struct udp_ends ends;
	uint32_t conn; /* the TCP connection; TCP_NONE: a datagram */
	bool known;    /* it is known that this client may ask */
};

/* Memory for an answer, UDP_ROOM bytes or more. */
struct dns64_sheet {
	struct pkt *p; /* NULL: over TCP */
	uint8_t *at;
	uint32_t room;
};

struct dns64_query {
	struct dns64_question *q; /* its type is that of the latest look into the cache */
	uint16_t qtype;
	const uint8_t *name; /* as the client spelled it */
	uint16_t id, flags;  /* of its header */
	bool edns, dnssec;   /* it sent OPT, with DO */
	bool stream;         /* it came over TCP */
	bool skip;           /* nothing is synthesised for this client */
	uint16_t limit;      /* bytes of an answer */
	uint32_t serial;     /* of the latest answer in the cache when it was asked */
	uint32_t waited_us;
};

/* A query that waits for at most two questions. */
struct dns64_waiter {
	struct dns64_question q;
	struct dns64_query u;           /* points to q and name here */
	uint8_t name[DNS_NAME_MAX + 1]; /* as the client spelled it */
	struct dns64_from from;
	uint8_t rounds;  /* times it was planned */
	uint8_t share;   /* in which its client's are counted */
	uint16_t behind; /* the next that is held back for the same client (dns64_stream.c) */
	uint32_t since_us;
	/* Two links, numbered waiter * 2 + 0 or 1, into the lists of the questions waited for. */
	struct {
		uint16_t ask; /* DNS64_NONE: not in use */
		uint16_t prev, next;
	} link[2];
};

/* A question that is passed on as it is (dns64_relay.c). */
struct dns64_relay {
	uint8_t question[1280]; /* from its header on */
	uint16_t len;           /* 0: free */
	struct dns64_from from;
	uint16_t port; /* ours; 0: asked over TCP */
	uint16_t id, client_id, limit, n_tries;
	bool edns, dnssec; /* the client sent OPT, with DO */
	bool linked;       /* under way over TCP, with this ID */
	uint8_t server;
	uint8_t share; /* dns64_share_of its client */
	uint32_t begun_us;
};

/* --- plans (dns64_plan.c) -------------------------------------------------------------- */

enum dns64_how {
	DNS64_RELAY, /* the one record as it is */
	DNS64_JOIN,  /* the records, but for their AAAA records inside dns64.exclude */
	DNS64_MAKE,  /* the records, with AAAA records made from their A records */
	DNS64_TURN,  /* the one record's PTR records, behind a CNAME from the name in question */
	DNS64_LOCAL, /* out of our own knowledge */
	DNS64_RCODE, /* nothing but a response code */
	DNS64_WAIT,  /* ask first */
};

/* What is known locally: ipv4only.arpa and the reverse names of its addresses. */
enum dns64_local { DNS64_L_A, DNS64_L_AAAA, DNS64_L_NODATA, DNS64_L_NXDOMAIN, DNS64_L_PTR };

/* Something to ask upstream. */
struct dns64_need {
	struct dns64_question *q;
	uint16_t type;
};

struct dns64_plan {
	enum dns64_how how;
	enum dns64_local local;
	uint16_t rcode;
	bool stale;  /* the time of some record is over */
	bool exists; /* there are names of ours below: upstream's NXDOMAIN means empty (RFC 8020) */
	uint32_t n;  /* records, each but the last a CNAME chain that leads to the next */
	struct dns64_record *record[DNS64_LINKS];
	const struct dns64_record
	        *six;     /* with DNS64_MAKE: that there are no AAAA records; or NULL */
	uint32_t ttl_max; /* of AAAA records that are made */
	uint32_t n_needs; /* with DNS64_WAIT */
	struct dns64_need need[2];
	struct dns64_need again; /* although there is an answer: popular, or stale; q NULL: none */
	struct dns64_record *popular;   /* the record for which that is; NULL: a stale one */
	struct dns64_question other[2]; /* names other than the one in question */
};

/* --- the application ---------------------------------------------------------------------- */

/* Which prefix stands in front of a range of IPv4 addresses, if any. */
struct dns64_map {
	uint32_t net, mask; /* host order */
	bool none;
	bool well_known;
	struct embed_form form;
};

/* The TCP connection to an upstream server, and the questions under way in it
 * (dns64_link.c). */
#define DNS64_LINK_ASKS 256u
struct dns64_link {
	uint32_t conn;     /* TCP_NONE: there is none */
	uint32_t n;        /* slots in use */
	uint32_t len;      /* of the message that is coming; 0: not known yet */
	uint32_t late;     /* questions in a row that were not answered in time */
	uint32_t heard_us; /* when the last answer came, or it was begun */
	uint32_t bad_s;    /* until then other servers are rather asked; 0: not at all */
	bool good;         /* an answer came */
	struct dns64_slot {
		uint16_t who; /* a question, behind all of them a relay; DNS64_NONE: free */
		uint16_t id, share;
	} slot[DNS64_LINK_ASKS];
	/* Slots by share (dns64_share_of); the last of what nobody waits for. */
	uint16_t share[DNS64_SHARES + 1];
};

/* A client's TCP connection (dns64_stream.c). */
struct dns64_stream {
	uint32_t conn;        /* TCP_NONE: there is none */
	uint32_t asked_s;     /* when the last question came */
	uint32_t n_waiting;   /* questions without an answer */
	uint16_t first, last; /* of those whose answers it cannot take yet; DNS64_NONE: none */
};

/* The answers of one client (dns64_limit.c). */
struct dns64_bucket {
	uint32_t client; /* its number (net/client.h) */
	uint64_t at_us;  /* when tokens were last added; does not wrap */
	uint64_t tokens; /* in millionths of an answer */
};
#define DNS64_CLIENT_BITS 11u   /* of the table of clients that may ask (dns64_known.c) */
#define DNS64_BUCKET_SETS 1024u /* a power of two */
#define DNS64_BUCKET_WAYS 4u

struct dns64_count {
	uint64_t queries, answers, hits, stale, synthesised, not_global, prefetched;
	uint64_t asked, answered, timeouts, joined, forged, miscased;
	uint64_t formerr, notimp, refused, badvers, servfail, truncated, full, relayed;
	uint64_t streamed, held, fetched, mute;
};

struct dns64 {
	struct dns64_cache cache;
	struct dns64_count count;
	/* From the configuration. */
	struct dns64_server server[NET_SERVERS];
	uint32_t n_servers;
	bool round_robin;
	uint32_t turn;        /* of round-robin */
	uint32_t try_us;      /* one try */
	uint32_t tries;       /* at most */
	uint32_t wait_us;     /* all of them */
	uint32_t patience_us; /* with AAAA records while A records are there */
	uint32_t size_max;    /* bytes of an answer */
	struct embed_form prefix[DNS64_PREFIXES];
	bool well_known[DNS64_PREFIXES];
	uint32_t n_prefixes;
	struct dns64_map map[DNS64_RANGES]; /* the longest first */
	uint32_t n_maps;
	struct dns_key skip_name[DNS64_RANGES];
	uint32_t skip_labels[DNS64_RANGES];
	uint32_t n_skip_names;
	struct prefix client[DNS64_CLIENTS];
	uint32_t n_clients;
	bool own_clients; /* those are the networks of our ports */
	struct prefix skip_client[DNS64_CLIENTS];
	uint32_t n_skip_clients;
	bool always, reverse, servfail, debug;
	uint64_t said_us; /* with debug: the last line about a question */
	bool keep;        /* answers; false: they live only for those who wait (dns64.cache 0) */
	uint32_t stale_s;
	uint32_t rate;
	/* Questions to upstream. */
	uint8_t handler; /* its number in gw->udp */
	struct dns64_ask *ask;
	uint16_t *ask_hash; /* by name; heads of chains */
	uint16_t ask_free, oldest, youngest;
	uint32_t n_asks;
	uint32_t n_up;                 /* servers that are not down */
	bool clients_only[INTERFACES]; /* ports with no server behind them */

	/* Who waits. */
	struct dns64_waiter *waiter;
	uint16_t waiter_free;
	uint32_t n_waiters;
	uint16_t share[DNS64_SHARES]; /* how many of each share (dns64_share_of) */
	uint32_t n_held;
	uint16_t held[DNS64_SHARES]; /* of these, how many wait for their client to read */

	/* What is passed on. */
	struct dns64_relay *relay;
	uint8_t relay_handler;

	struct wheel wheel; /* asks, then waiters, then relays */

	/* TCP: memory for one question, one answer of ours, one of upstream. */
	uint8_t *question, *reply, *fetched;
	struct dns64_stream *stream; /* by number of the connection, modulo TCP_CONNECTIONS */
	struct dns64_link link[NET_SERVERS];

	uint8_t tidy[DNS64_MESSAGE_MAX]; /* an answer that is written anew (dns64_store.c) */

	struct dns64_bucket bucket[DNS64_BUCKET_SETS][DNS64_BUCKET_WAYS];
	struct dns64_bucket refusals; /* of all that may not ask */

	uint16_t port;          /* on which clients ask */
	uint32_t client_mul[2]; /* secret, odd */
	struct udp_path known[1u << DNS64_CLIENT_BITS];
};

static inline struct dns64 *dns64_of(const struct gw *gw)
{
	return gw->state;
}

/* Whether a client validates itself: nothing is made for it (RFC 6147 section 5.5). */
static inline bool dns64_validates(const struct dns64_query *u)
{
	return (~u->q->key & (DNS64_KEY_DO | DNS64_KEY_CD)) == 0;
}

/* Microseconds that wrap after 71 minutes, for differences. */
static inline uint32_t dns64_now(const struct gw *gw)
{
	return (uint32_t)gw->now_us;
}

/* The part of the cache's key that is in a question's flags. */
static inline uint8_t dns64_key_of(uint16_t flags, bool dnssec)
{
	return (uint8_t)((dnssec ? DNS64_KEY_DO : 0) | (flags & DNS_CD ? DNS64_KEY_CD : 0) |
	                 (flags & DNS_RD ? 0 : DNS64_KEY_NORD) | (flags & DNS_Z ? DNS64_KEY_Z : 0));
}

static inline bool dns64_fresh(const struct gw *gw, const struct dns64_record *r)
{
	return !when_come(gw->now_s, r->expire_s, DNS64_MAX_TTL);
}

/* Whether a record may serve when it cannot be asked for, though its time is over. */
static inline bool dns64_may_serve(const struct gw *gw, const struct dns64_record *r)
{
	uint32_t life = r->expire_s - r->stored_s;
	return !(r->flags & DNS64_R_ONCE) && gw->now_s - r->stored_s < life + dns64_of(gw)->stale_s;
}

/* Bytes of the OPT record in an answer. Over TCP it says how long a silent connection stays (RFC
 * 7828). */
#define DNS64_KEEP_ALIVE_BYTES 6u
static inline uint32_t dns64_opt_bytes(const struct dns64_query *u)
{
	return u->edns ? DNS_OPT_BYTES + (u->stream ? DNS64_KEEP_ALIVE_BYTES : 0) : 0;
}

/* --- dns64_client.c: a message of `len` bytes from a client, in memory of `room` bytes, UDP_ROOM
 * at least. Gives the length of the answer that then stands there; 0: none now, and *why says
 * whether the message counts as dropped, or waits (DROP_NONE). */
uint32_t dns64_question(struct gw *gw, const struct dns64_from *from, uint8_t *m, uint32_t len,
                        uint32_t room, enum drop *why);

/* --- dns64_known.c: takes a frame as it came in, if all about it is usual: a question of a known
 * client, an answer of upstream; else false, with nothing changed (net/app.h). */
bool dns64_known(struct gw *gw, const struct interface *in, struct pkt *p);
void dns64_known_init(struct gw *gw, struct dns64 *d);

/* Notes a client whose question came all the way and was answered; the path to such a one, NULL:
 * not noted. */
void dns64_know(struct gw *gw, const struct udp_ends *e);
const struct udp_path *dns64_path_to(const struct gw *gw, const struct udp_ends *e);

/* --- dns64.c: a question in a datagram whose payload p is. Takes the packet. Memory for an answer
 * that comes later (false: none is free), and its way out. */
void dns64_send_datagram(struct gw *gw, struct pkt *p, const struct dns64_from *from);
bool dns64_reply_begin(struct gw *gw, const struct dns64_from *from,
                       struct dns64_sheet *s) MUST_USE;
void dns64_reply_end(struct gw *gw, const struct dns64_from *from, const struct dns64_sheet *s,
                     uint32_t len);

/* --- dns64_stream.c: clients over TCP (RFC 7766) */
#define DNS64_STREAM_MAX    65535u
#define DNS64_STREAM_IDLE_S 10u
const char *dns64_stream_init(struct gw *gw, struct dns64 *d);
void dns64_stream_reply(struct gw *gw, const struct dns64_from *from, uint32_t len);

/* Whether this client can take a long answer now. */
bool dns64_stream_takes(const struct gw *gw, const struct dns64_from *from);

/* For one that cannot: waiter number w is held back until it can (dns64_wait_on), or its connection
 * is gone (dns64_wait_drop). */
void dns64_stream_hold(struct gw *gw, const struct dns64_from *from, uint32_t waiter);

/* --- dns64_link.c: upstream over TCP. Asks once more what was answered with TC: the try becomes
 * one over TCP. False: it cannot be. */
void dns64_link_init(struct dns64 *d);
bool dns64_link_ask(struct gw *gw, struct dns64_ask *a, struct dns64_try *t) MUST_USE;

/* Whether no more of those who wait for this question goes onto the connection to this server. */
bool dns64_link_is_full(const struct gw *gw, const struct dns64_ask *a, uint32_t server);

/* Passes a question on, with an ID of its own (r->id). False: it cannot be. */
bool dns64_link_relay(struct gw *gw, struct dns64_relay *r) MUST_USE;

/* Takes no answer with this ID any more. */
void dns64_link_forget(struct gw *gw, uint32_t server, uint16_t id);

/* A question on the connections to these servers (a bit each) was not answered in time. One that
 * answers nothing is given up. */
void dns64_link_late(struct gw *gw, uint32_t servers);

/* Whether TCP to this server did not work lately. */
bool dns64_link_is_bad(const struct gw *gw, uint32_t server);

/* --- dns64_plan.c: what answers a query, with what is in the cache now */
void dns64_plan(struct gw *gw, struct dns64_query *u, struct dns64_plan *p);

/* Asks for what a plan with an answer wants to have anew, if there is room for it. */
void dns64_plan_again(struct gw *gw, const struct dns64_plan *p);

/* The same as dns64_plan when nothing more can be asked: whatever there is, or SERVFAIL. */
void dns64_plan_now(struct gw *gw, struct dns64_query *u, struct dns64_plan *p);

/* The record that may serve this query for a question of type `type`; NULL, with the
 * need noted in the plan, when that must be asked first. */
struct dns64_record *dns64_look(struct gw *gw, const struct dns64_query *u, struct dns64_plan *p,
                                struct dns64_question *q, uint16_t type);

/* The form in which an IPv4 address is answered with prefix number i; NULL: not at all. A
 * dns64.map takes the place of the first prefix, and of all. */
const struct embed_form *dns64_form_for(const struct dns64 *d, ip4 a, uint32_t i);

/* --- dns64_reverse.c: names that we know something of ourselves: ipv4only.arpa (RFC 7050,
 * RFC 8880), and those of addresses under our prefixes (RFC 6147 section 5.3.1). False
 * when upstream has to say something about the name in question; p->exists is set then. */
bool dns64_reverse_plan(struct gw *gw, struct dns64_query *u, struct dns64_plan *p);

/* The two addresses of ipv4only.arpa, its name, and how long they may be kept. */
#define DNS64_WKA_1   0xc00000aau
#define DNS64_WKA_2   0xc00000abu
#define DNS64_WKN     "\10ipv4only\4arpa"
#define DNS64_WKN_LEN 15u
#define DNS64_WKN_TTL 3600u

/* --- dns64_answer.c: builds what was planned into `at`, where the question stands behind
 * room for the header; `limit` bytes at most in all. Gives the length. */
uint32_t dns64_answer(struct gw *gw, const struct dns64_query *u, const struct dns64_plan *p,
                      uint8_t *at, uint32_t limit);

/* An answer without records but OPT, behind `len` bytes (header, or question as well). */
uint32_t dns64_answer_rcode(const struct dns64_query *u, uint16_t rcode, uint8_t *at, uint32_t len);

/* --- dns64_ready.c: an answer to this question that is kept ready; NULL: none */
struct dns64_record *dns64_ready(struct gw *gw, struct dns64_query *u);

/* Keeps an answer that was built, if it is worth it. The plan's records are not valid behind. */
void dns64_keep_ready(struct gw *gw, struct dns64_query *u, const struct dns64_plan *p,
                      const uint8_t *m, uint32_t len);

/* --- dns64_store.c: puts an upstream answer, well-formed and for this question, into the
 * cache, and gives its record. TTLs are seconds, those above ttl_most become that. */
struct dns64_record *dns64_store(struct gw *gw, struct dns64_question *q, struct dns_view m,
                                 const struct dns_layout *l, uint32_t ttl_most);

/* The same of a question that got none. */
struct dns64_record *dns64_store_failure(struct gw *gw, struct dns64_question *q, uint16_t rcode);

/* --- dns64_ask.c: questions to upstream */
const char *dns64_ask_init(struct gw *gw, struct dns64 *d);

/* The number of the question in flight for this, asked now if it was not; DNS64_NONE when
 * there are too many. */
uint32_t dns64_ask_for(struct gw *gw, const struct dns64_need *need);

/* The timer of a question. */
void dns64_ask_due(struct gw *gw, uint32_t ask);

/* Ends a question without an answer. */
void dns64_ask_fail(struct gw *gw, uint32_t ask);

/* Keeps some places free: the oldest questions give way. True when there is more to do. */
bool dns64_ask_make_room(struct gw *gw);

/* A message from the server that was asked, with the ID of this try; to be taken if the
 * question is right. Gives why it is dropped, or DROP_NONE. */
enum drop dns64_ask_answer(struct gw *gw, struct dns64_ask *a, struct dns64_try *t,
                           struct dns_view m);

/* Its last try was in vain: asks anew, or gives up. */
void dns64_ask_lost(struct gw *gw, uint32_t ask);

/* The connection of its last try `t` is gone, on which others were answered: asks on a new one. */
void dns64_ask_cut_off(struct gw *gw, uint32_t ask, struct dns64_try *t);

/* --- dns64_try.c: how questions to upstream and their answers travel. Asks one server;
 * whatever hinders it, the timer goes on. */
void dns64_try_send(struct gw *gw, struct dns64_ask *a, uint32_t server);

/* Writes the question of a try into DNS64_QUESTION_MAX bytes; gives its length. */
#define DNS64_QUESTION_MAX (DNS_HEADER + DNS_NAME_MAX + DNS_QUESTION_FIXED + DNS_OPT_BYTES)
uint32_t dns64_try_write(const struct dns64_ask *a, const struct dns64_try *t, uint8_t *m);

/* Whether a server gets this question with OPT. */
bool dns64_try_has_opt(const struct gw *gw, const struct dns64_ask *a, uint32_t server);

/* Takes no answer to this try any more. */
void dns64_try_close(struct gw *gw, struct dns64_try *t);

/* A frame with the UDP header `udp` (udp_path.h), taken if it is a datagram from a server that was
 * asked; else false, with nothing changed. */
bool dns64_try_heard(struct gw *gw, const struct interface *in, struct pkt *p,
                     const struct udp_hdr *udp);

/* A datagram to the port of question number `arg` (udp.h). */
enum verdict dns64_try_input(struct gw *gw, struct pkt *p, const struct udp_ends *ends,
                             uint32_t arg);

/* --- dns64_server.c: which server, how long to wait, who is down */
const char *dns64_server_init(struct gw *gw, struct dns64 *d);

/* A server for the next try of a question that `tried` (a bit each) were asked for; one of
 * them only where there is no other. */
uint32_t dns64_server_choose(struct gw *gw, uint32_t tried);
static inline uint32_t dns64_server_pick(struct gw *gw, uint32_t tried)
{
	return dns64_of(gw)->n_servers == 1 ? 0 : dns64_server_choose(gw, tried);
}

/* A server that is down and should be looked at now; DNS64_NONE: none. */
uint32_t dns64_server_look(struct gw *gw);
static inline uint32_t dns64_server_probe(struct gw *gw)
{
	const struct dns64 *d = dns64_of(gw);
	return LIKELY(d->n_up == d->n_servers) || d->n_up == 0 ? DNS64_NONE : dns64_server_look(gw);
}

/* Whether nobody is there to ask: all servers have been down for a while, and were asked in vain
 * until a moment ago. */
bool dns64_server_all_gone(const struct gw *gw);

/* How long to wait for the answer to try number n (from 0). */
uint32_t dns64_server_wait_us(const struct dns64 *d, uint32_t server, uint32_t n);

/* It answered, after so long; it did not. */
void dns64_server_answered(struct gw *gw, uint32_t server, uint32_t rtt_us);
void dns64_server_missed(struct gw *gw, uint32_t server);

/* --- dns64_wait.c: queries that wait. Where the questions of the client (net/client.h) at the
 * remote end are counted; two clients may share that and its limits. */
uint8_t dns64_share_of(struct gw *gw, const struct udp_ends *e);

bool dns64_wait_init(struct dns64 *d);

/* Lets a query wait for what its plan needs; false when it cannot. */
bool dns64_wait(struct gw *gw, const struct dns64_query *u, const struct dns64_plan *p,
                const struct dns64_from *from);

/* A question is over, with this answer or NULL: all who waited for it, from this link on, are
 * planned anew, but those who cannot be answered before the other one is over. */
void dns64_wake(struct gw *gw, uint32_t first, const struct dns64_record *r);

/* A query that was held back goes on, or is given up. */
void dns64_wait_on(struct gw *gw, uint32_t waiter);
void dns64_wait_drop(struct gw *gw, uint32_t waiter);

/* The timer of a waiter. */
void dns64_wait_due(struct gw *gw, uint32_t waiter);

/* --- dns64_relay.c: questions that are passed on as they are */
bool dns64_relay_init(struct gw *gw, struct dns64 *d);

/* Passes a message on; false when there are too many. */
bool dns64_relay(struct gw *gw, struct dns_view m, const struct dns64_query *u,
                 const struct dns64_from *from) MUST_USE;

/* A datagram to the port of number `arg`; a message over TCP with the ID of number i: why it is
 * dropped, or DROP_NONE; its connection is gone (`good`: others were answered on it); its timer. */
enum verdict dns64_relay_input(struct gw *gw, struct pkt *p, const struct udp_ends *ends,
                               uint32_t arg);
enum drop dns64_relay_answer(struct gw *gw, uint32_t i, struct dns_view m);
void dns64_relay_lost(struct gw *gw, uint32_t i, bool good);
void dns64_relay_due(struct gw *gw, uint32_t i);

/* --- dns64_limit.c: who may ask, and how much */
bool dns64_may_ask(const struct dns64 *d, const struct addr *client);
bool dns64_in_prefixes(const struct prefix *p, uint32_t n, const struct addr *a);

/* Takes an answer out of what the client with this number (net/client.h) may have, where dns64.rate
 * is set; false when there is none. */
bool dns64_limit(struct gw *gw, uint32_t client);

/* The same for a refusal. */
bool dns64_limit_refusal(struct gw *gw);

/* --- dns64_setup.c: what the configuration says */
const char *dns64_set_up(struct gw *gw, struct dns64 *d);

/* --- dns64_show.c */
extern const struct count_table dns64_counts;
bool dns64_show(struct gw *gw, enum app_show what, uint32_t *cursor, char *buf, size_t size);

#endif
