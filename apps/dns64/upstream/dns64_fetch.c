/* See dns64_fetch.h.
 *
 * Each of the last few attempts of a fetch may still be answered. An answer counts when it comes
 * from the server of the attempt, to its port and with its ID, and repeats the question to the
 * letter: upper and lower case of the name are random ("0x20"), as long as the server preserves
 * them. All other answers are counted and dropped. An error response that does not repeat the
 * question may be forged as well: it counts only when no right answer follows for a moment.
 *
 * A server that answers a message with an error that may be about OPT gets the question again
 * without OPT (RFC 6891 section 7). Only if it answers that, it is known not to know OPT. */
#include "apps/dns64/upstream/dns64_fetch.h"

#include "apps/dns64/cache/dns64_store.h"
#include "kernel/lib/alloc.h"
#include "kernel/lib/when.h"

#define HASH_HEADS   4096u     /* a power of two */
#define SPARE        256u      /* places that are kept free … */
#define EVICT_AGE_US 1000000u  /* … by ending fetches that are at least so old */
#define MAX_FETCH_US 60000000u /* for all attempts of a fetch together */
#define CASE_LOST    2u        /* answers that show that a server does not preserve case */
#define BARE_TTL     30u       /* of an answer without OPT to a query with DO */
#define DOUBT_US     100000u   /* wait for the right answer after one that may be forged */
#define FULL_WAIT_US 20000u    /* wait for a place on a connection */

/* The attempts of a fetch, DNS64_ATTEMPTS of them. */
static struct dns64_attempt *attempts_of(const struct gw *gw, const struct dns64_fetch *f)
{
	return &dns64_attempts_of(gw)->attempt[f->number * DNS64_ATTEMPTS];
}

/* --- the table ------------------------------------------------------------------------- */

static bool is_same(const struct dns64_fetch *f, const struct dns64_question *q, uint16_t type)
{
	return f->q.type == type && f->q.class == q->class && f->q.key == q->key &&
	       dns64_same_name(&f->q, q);
}

static struct dns64_fetch *take_free(struct gw *gw, struct dns64_fetches *all)
{
	if (UNLIKELY(all->free == DNS64_NONE)) {
		dns64_parts_of(gw)->table_full++;
		return NULL;
	}
	struct dns64_fetch *f = &all->fetch[all->free];
	all->free = f->next;
	all->n++;
	return f;
}

/* Puts a fetch into its chain, where queries find it, and makes it the youngest. A probe is in no
 * chain. */
static void enter(struct dns64_fetches *all, struct dns64_fetch *f)
{
	uint16_t me = f->number, *head = &all->hash[f->q.hash % HASH_HEADS];
	if (!f->probe) {
		f->next = *head;
		*head = me;
	}
	f->older = all->youngest;
	f->younger = DNS64_NONE;
	if (all->youngest == DNS64_NONE)
		all->oldest = me;
	else
		all->fetch[all->youngest].younger = me;
	all->youngest = me;
}

static void leave(struct dns64_fetches *all, struct dns64_fetch *f)
{
	uint16_t me = f->number, *at = &all->hash[f->q.hash % HASH_HEADS];
	if (!f->probe) {
		while (*at != me)
			at = &all->fetch[*at].next;
		*at = f->next;
	}
	*(f->older == DNS64_NONE ? &all->oldest : &all->fetch[f->older].younger) = f->younger;
	*(f->younger == DNS64_NONE ? &all->youngest : &all->fetch[f->younger].older) = f->older;
}

/* Ends a fetch with this answer or NULL: its attempts end, its place is free, and those who wait
 * for it go on. */
static void finish(struct gw *gw, struct dns64_fetch *f, const struct dns64_record *r)
{
	struct dns64_fetches *all = dns64_fetches_of(gw);
	struct dns64_attempt *t = attempts_of(gw, f);
	uint32_t waiters = f->waiters;
	/* An attempt takes the first free place. */
	uint32_t places = min_u32(f->n_attempts, DNS64_ATTEMPTS);
	for (uint32_t i = 0; i < places; i++)
		if (dns64_attempt_is_open(&t[i]))
			dns64_attempt_close(gw, &t[i]);
	leave(all, f);
	wheel_clear(dns64_wheel(gw), DNS64_TIMER_FETCH + f->number);
	f->waiters = DNS64_NONE;
	f->n_attempts = 0; /* free */
	f->next = all->free;
	all->free = f->number;
	all->n--;
	all->user->done(gw, waiters, r);
}

static void fail(struct gw *gw, struct dns64_fetch *f)
{
	const struct dns64_parts *d = dns64_parts_of(gw);
	if (!f->probe)
		dns64_store_failure(d->cache, gw->clock.s, &f->q, DNS_SERVFAIL,
		                    d->servers->n_up > 0);
	finish(gw, f, NULL);
}

/* No server answered. If there was TC and only TCP failed, the client is told that there is more
 * (RFC 5625 section 4.4), unless a stale answer may serve. */
static void give_up(struct gw *gw, struct dns64_fetch *f)
{
	struct dns64_cache *cache = dns64_parts_of(gw)->cache;
	uint8_t m[DNS64_ATTEMPT_MAX];
	struct dns_view v = {m, 0};
	struct dns_layout l;
	if (LIKELY(!f->truncated || f->probe)) {
		fail(gw, f);
		return;
	}
	v.len = dns64_attempt_write(&f->request, &(struct dns64_attempt){0}, m);
	const struct dns64_record *old = dns64_cache_find(cache, &f->q, false);
	dns_put16(m + 2, DNS_QR | DNS_TC);
	if ((old && dns64_record_may_serve(cache, old, gw->clock.s)) || !dns_parse(v, &l))
		fail(gw, f);
	else
		finish(gw, f, dns64_store_answer(cache, gw->clock.s, &f->q, v, &l, DNS64_MAX_TTL));
}

bool dns64_fetch_evict(struct gw *gw, bool crowded)
{
	struct dns64_fetches *all = dns64_fetches_of(gw);
	bool full = all->n + SPARE > DNS64_FETCHES || crowded;
	if (LIKELY(!full) || all->n == 0 ||
	    dns64_now(gw) - all->fetch[all->oldest].begun_us < EVICT_AGE_US)
		return false;
	fail(gw, &all->fetch[all->oldest]);
	return true;
}

/* --- sending ---------------------------------------------------------------------------- */

static void set_timer(struct gw *gw, const struct dns64_fetch *f, uint32_t due_us)
{
	wheel_set(dns64_wheel(gw), DNS64_TIMER_FETCH + f->number, due_us);
}

/* Microseconds that are left for all attempts together. */
static uint32_t left(const struct gw *gw, const struct dns64_fetch *f)
{
	return when_left(dns64_now(gw), f->deadline_us, MAX_FETCH_US);
}

/* True when a server gets OPT in this fetch. */
static bool has_opt(const struct gw *gw, const struct dns64_fetch *f, uint32_t server)
{
	uint32_t until = dns64_servers_of(gw)->server[server].plain_s;
	return !(f->plain >> server & 1) &&
	       (until == 0 || when_come(gw->clock.s, until, DNS64_PLAIN_S));
}

/* Sends an attempt, and notes it in the fetch. */
static void send(struct gw *gw, struct dns64_fetch *f, uint32_t server)
{
	f->tried = (uint16_t)(f->tried | 1u << server);
	f->n_attempts = (uint16_t)min_u32(f->n_attempts + 1u, UINT16_MAX);
	f->last = (uint8_t)server;
	dns64_attempt_send(gw, f->number, &f->request, server, has_opt(gw, f, server));
}

/* One more attempt, and a timer for its answer. */
static void make_attempt(struct gw *gw, struct dns64_fetch *f, uint32_t server)
{
	uint32_t now = dns64_now(gw);
	uint32_t wait = dns64_server_wait_us(gw, server, f->n_attempts);
	f->queued = 0;
	send(gw, f, server);
	/* The last attempt has all the time that is left, if any. */
	uint32_t most = max_u32(left(gw, f), 1);
	if (f->n_attempts >= dns64_servers_of(gw)->n_attempts || wait > most)
		wait = most;
	set_timer(gw, f, now + wait);
}

static void attempt_next(struct gw *gw, struct dns64_fetch *f)
{
	make_attempt(gw, f, dns64_server_pick(gw, f->tried));
}

/* One more attempt at the same server, without OPT. */
static void attempt_plain(struct gw *gw, struct dns64_fetch *f, uint32_t server)
{
	f->plain = (uint16_t)(f->plain | 1u << server);
	make_attempt(gw, f, server);
}

/* Sets the name of a fetch, and its question section with random upper and lower case
 * (draft-vixie-dnsext-dns0x20). One random number has a bit for each of 32 characters: eight words
 * of four. */
static void spell(struct gw *gw, struct dns64_fetch *f, const struct dns64_question *q)
{
	uint8_t *to = f->request.question;
	uint32_t len = q->name.len, words = dns_key_words(len);
	for (uint32_t i = 0; i < words;) {
		uint32_t random = rng_u32(gw->rng), end = min_u32(i + 8, words);
		for (; i < end; i++, random = random << 1 | random >> 31) {
			uint32_t w = q->name.word[i], low = w & 0x7f7f7f7f;
			/* Upper bits: from 'a' on, and not beyond 'z'. */
			uint32_t letter =
			        (low + 0x1f1f1f1f) & ~((low + 0x05050505) | w) & 0x80808080;
			f->q.name.word[i] = w;
			store32(to + 4 * i, w ^ (letter >> 2 & random));
		}
	}
	dns_put32(to + len, (uint32_t)f->q.type << 16 | f->q.class);
}

/* AD: clients that understand it get the server's (RFC 6840 section 5.7). */
static uint16_t flags_for(uint8_t key)
{
	return (uint16_t)(DNS_AD | (key & DNS64_KEY_NORD ? 0u : DNS_RD) |
	                  (key & DNS64_KEY_CD ? DNS_CD : 0u) | (key & DNS64_KEY_Z ? DNS_Z : 0u));
}

/* A new fetch without attempts; NULL when there are too many. */
static struct dns64_fetch *begin(struct gw *gw, const struct dns64_question *q, uint16_t type,
                                 bool probe)
{
	struct dns64_fetches *all = dns64_fetches_of(gw);
	struct dns64_fetch *f = take_free(gw, all);
	uint32_t len = q->name.len;
	uint8_t key = q->key;
	if (!f)
		return NULL;
	f->q.name.len = len;
	f->q.hash = q->hash;
	f->q.type = type;
	f->q.class = q->class;
	f->q.key = key;
	f->request.len = (uint16_t)(len + DNS_QUESTION_FIXED);
	f->request.flags = flags_for(key);
	f->request.dnssec = key & DNS64_KEY_DO;
	f->probe = probe;
	f->waiters = DNS64_NONE;
	f->n_attempts = f->tried = f->plain = 0;
	f->miscased = f->mute = f->truncated = false;
	f->queued = 0;
	f->begun_us = dns64_now(gw);
	f->deadline_us = f->begun_us + dns64_servers_of(gw)->fetch_us;
	spell(gw, f, q);
	enter(all, f);
	return f;
}

/* Sends the question also to a server that is down, to see whether it is back. */
static void probe(struct gw *gw, const struct dns64_question *q, uint16_t type, uint32_t server)
{
	struct dns64_fetch *f = begin(gw, q, type, true);
	if (!f)
		return;
	send(gw, f, server);
	set_timer(gw, f, f->begun_us + dns64_servers_of(gw)->attempt_us);
}

uint32_t dns64_fetch_begin(struct gw *gw, const struct dns64_question *q, uint16_t type)
{
	struct dns64_fetches *all = dns64_fetches_of(gw);
	uint16_t i = all->hash[q->hash % HASH_HEADS];
	for (; i != DNS64_NONE; i = all->fetch[i].next)
		if (is_same(&all->fetch[i], q, type)) {
			all->joined++;
			return i;
		}
	struct dns64_fetch *f = begin(gw, q, type, false);
	if (!f)
		return DNS64_NONE;
	attempt_next(gw, f);
	uint32_t down = dns64_server_probe(gw);
	if (UNLIKELY(down != DNS64_NONE))
		probe(gw, q, type, down);
	return f->number;
}

/* --- over TCP ----------------------------------------------------------------------------- */

/* The share of a client that waits for a fetch and may have one more message on a connection;
 * DNS64_NONE: there is none. */
static uint32_t share_for(const struct gw *gw, const struct dns64_fetch *f, uint32_t server)
{
	const uint16_t *used = dns64_conns_of(gw)->to[server].share;
	uint32_t n_free = dns64_conn_free(gw, server);
	if (f->waiters == DNS64_NONE)
		return used[DNS64_SHARES] < n_free ? DNS64_SHARES : DNS64_NONE;
	return dns64_fetches_of(gw)->user->share(gw, f->waiters, used, n_free);
}

/* Gets the whole of a truncated answer over TCP (RFC 7766 section 5). Where the connection is full
 * the fetch waits for a place. False: TCP cannot be used. */
static bool send_over_tcp(struct gw *gw, struct dns64_fetch *f, struct dns64_attempt *t)
{
	uint32_t now = dns64_now(gw), share = share_for(gw, f, t->server);
	bool full = share == DNS64_NONE || dns64_conn_is_busy(gw, t->server);
	bool wait = full && left(gw, f) > 0;
	f->queued = wait ? (uint8_t)(t - attempts_of(gw, f) + 1) : 0;
	f->last = t->server;
	f->miscased = f->mute = false;
	if (!wait && (share == DNS64_NONE || !dns64_attempt_send_tcp(gw, t, &f->request, share)))
		return false;
	set_timer(gw, f, now + (wait ? FULL_WAIT_US : dns64_servers_of(gw)->attempt_us));
	return true;
}

/* --- answers ---------------------------------------------------------------------------------- */

enum match { MATCH_NO, MATCH_CASE, MATCH_YES };

/* For an answer that does not repeat the question to the letter: MATCH_CASE when only upper and
 * lower case differ. */
static enum match match_question(const struct dns64_fetch *f, struct dns_view m,
                                 const struct dns_layout *l)
{
	uint32_t n = f->q.name.len;
	if (l->count[DNS_QD] != 1 || l->name_len != n || l->qtype != f->q.type ||
	    l->qclass != f->q.class)
		return MATCH_NO;
	struct dns_key key;
	dns_key_set(&key, m.at + DNS_HEADER, n);
	return memcmp(key.word, f->q.name.word, sizeof key.word[0] * dns_key_words(n)) == 0
	               ? MATCH_CASE
	               : MATCH_NO;
}

/* Waits a moment for the right answer, since this one may be a guess with all right but the
 * spelling. False: the fetch does not wait, it already gets the answer of another server. */
static bool doubt(struct gw *gw, struct dns64_fetch *f, const struct dns64_attempt *t)
{
	if (f->queued)
		return false;
	if (!f->miscased && !f->mute)
		set_timer(gw, f, dns64_now(gw) + DOUBT_US);
	f->last = t->server;
	return true;
}

/* True when a server that changed the case of a name is known to do so. */
static bool case_accepted(struct gw *gw, struct dns64_fetch *f, const struct dns64_attempt *t)
{
	const struct dns64_server *s = &dns64_servers_of(gw)->server[t->server];
	if (s->case_s && !when_come(gw->clock.s, s->case_s, DNS64_PLAIN_S))
		return true;
	dns64_fetches_of(gw)->miscased++;
	f->miscased |= doubt(gw, f, t);
	return false;
}

/* No right answer followed one with another case. When that happens again the case of the server's
 * answers is not compared for some time. */
static void case_lost(struct gw *gw, struct dns64_fetch *f)
{
	struct dns64_server *s = &dns64_servers_of(gw)->server[f->last];
	f->miscased = false;
	if (++s->case_lost < CASE_LOST)
		return;
	s->case_lost = 0;
	s->case_s = gw->clock.s + DNS64_PLAIN_S;
}

/* True when a server may be asked that was not tried yet. */
static bool may_ask_other(const struct gw *gw, const struct dns64_fetch *f)
{
	const struct dns64_servers *s = dns64_servers_of(gw);
	uint32_t all = (1u << s->n) - 1;
	return !f->probe && f->tried != all && f->n_attempts < s->n_attempts;
}

/* The latest attempt failed: makes one more, or gives up. */
static void retry(struct gw *gw, struct dns64_fetch *f)
{
	/* After two failures over TCP: a client that gets TC comes back over TCP while it still
	 * waits. */
	bool enough = f->truncated && f->n_attempts >= 2 && !may_ask_other(gw, f);
	if (!f->probe && !enough && f->n_attempts < dns64_servers_of(gw)->n_attempts &&
	    left(gw, f) > 0)
		attempt_next(gw, f);
	else
		give_up(gw, f);
}

/* No right answer followed one that may be forged. */
static void doubt_over(struct gw *gw, struct dns64_fetch *f)
{
	bool mute = f->mute;
	f->mute = false;
	if (f->miscased) {
		case_lost(gw, f);
		attempt_next(gw, f);
	} else if (mute && has_opt(gw, f, f->last)) {
		attempt_plain(gw, f, f->last);
	} else {
		retry(gw, f);
	}
}

/* The attempt's connection is gone. */
static void attempt_lost(struct gw *gw, uint32_t attempt, bool answered)
{
	struct dns64_fetch *f = &dns64_fetches_of(gw)->fetch[attempt / DNS64_ATTEMPTS];
	struct dns64_attempt *t = &dns64_attempts_of(gw)->attempt[attempt];
	if (!answered || left(gw, f) == 0 || !send_over_tcp(gw, f, t))
		retry(gw, f);
}

void dns64_fetch_due(struct gw *gw, uint32_t fetch)
{
	struct dns64_fetch *f = &dns64_fetches_of(gw)->fetch[fetch];
	const struct dns64_attempt *t = attempts_of(gw, f);
	if (UNLIKELY(f->queued)) {
		if (!send_over_tcp(gw, f, attempts_of(gw, f) + f->queued - 1))
			retry(gw, f);
		return;
	}
	if (f->miscased || f->mute) {
		doubt_over(gw, f);
		return;
	}
	uint32_t over_tcp = 0; /* servers that did not answer over TCP, a bit each */
	for (uint32_t i = 0; i < DNS64_ATTEMPTS; i++)
		over_tcp |= (uint32_t)t[i].tcp << t[i].server;
	dns64_server_missed(gw, f->last);
	retry(gw, f);
	if (UNLIKELY(over_tcp))
		dns64_conn_late(gw, over_tcp);
}

/* True for a response code that says that the server does not understand the message. */
static bool is_complaint(uint32_t rcode)
{
	return rcode == DNS_FORMERR || rcode == DNS_NOTIMP;
}

/* What to do after an answer: take it, send the question without OPT, send it to another server,
 * or wait for one that has it already. */
enum outcome { TAKE, SEND_PLAIN, SEND_OTHER, WAIT_ON };

/* True when another server than that of attempt `t` may still answer. */
static bool awaits_other(const struct gw *gw, const struct dns64_fetch *f,
                         const struct dns64_attempt *t)
{
	const struct dns64_attempt *all = attempts_of(gw, f);
	for (uint32_t i = 0; i < DNS64_ATTEMPTS; i++)
		if (all[i].port && all[i].server != t->server)
			return true;
	return false;
}

/* `more`: the answer is truncated, and its whole is to be had over TCP. */
static enum outcome judge(struct gw *gw, const struct dns64_fetch *f, const struct dns64_attempt *t,
                          uint32_t rcode, const struct dns_layout *l, bool more)
{
	bool other = may_ask_other(gw, f), error = is_complaint(rcode);
	/* An error without OPT may be about ours (RFC 6891 section 7). A fetch sends one attempt
	 * without OPT to each server. */
	if (t->edns && ((error && l->n_opt == 0) || rcode == DNS_BADVERS))
		return f->plain >> t->server & 1 ? WAIT_ON : SEND_PLAIN;
	if (rcode == DNS_NOERROR || rcode == DNS_NXDOMAIN)
		return more && other && dns64_conn_is_bad(gw, t->server) ? SEND_OTHER : TAKE;
	/* Another server may know better: one that was not asked yet, or has not answered. */
	if (other)
		return SEND_OTHER;
	return awaits_other(gw, f, t) ? WAIT_ON : TAKE;
}

/* A server that answered without OPT what it refused with OPT does not know OPT. */
static void note_plain(struct gw *gw, const struct dns64_fetch *f, const struct dns64_attempt *t,
                       uint32_t rcode)
{
	if (!t->edns && f->plain >> t->server & 1 &&
	    (rcode == DNS_NOERROR || rcode == DNS_NXDOMAIN))
		dns64_servers_of(gw)->server[t->server].plain_s = gw->clock.s + DNS64_PLAIN_S;
}

static void take_answer(struct gw *gw, struct dns64_fetch *f, const struct dns64_attempt *t,
                        struct dns_view m, const struct dns_layout *l, uint32_t rcode)
{
	struct dns64_cache *cache = dns64_parts_of(gw)->cache;
	/* Without OPT there is no DO, and there are no signatures. */
	bool bare = !t->edns && f->q.key & DNS64_KEY_DO;
	uint32_t ttl_most = bare ? BARE_TTL : DNS64_MAX_TTL;
	struct dns64_record *r;
	/* The upper bits of a response code are in OPT, which is not passed on. */
	if (rcode > DNS_RCODE)
		r = dns64_store_failure(cache, gw->clock.s, &f->q, DNS_SERVFAIL, true);
	else
		r = dns64_store_answer(cache, gw->clock.s, &f->q, m, l, ttl_most);
	finish(gw, f, r);
}

/* A message from the server of an attempt, with its ID. Gives why it is dropped, or DROP_NONE. */
static enum drop answer(struct gw *gw, uint32_t attempt, struct dns_view m)
{
	struct dns64_fetch *f = &dns64_fetches_of(gw)->fetch[attempt / DNS64_ATTEMPTS];
	struct dns64_attempt *t = &dns64_attempts_of(gw)->attempt[attempt];
	struct dns64_servers *servers = dns64_servers_of(gw);
	struct dns64_server *s = &servers->server[t->server];
	struct dns_layout l;
	uint32_t flags = be16_get(dns_header_of(m)->flags);
	if (!(flags & DNS_QR) || flags & DNS_OPCODE)
		return DROP_DNS_FORGED;
	bool same = dns64_attempt_repeats(&f->request, m);
	/* Bytes after the last record do no harm. */
	bool whole =
	        (LIKELY(same) ? dns_parse_rest(m, f->q.name.len, &l) : dns_parse(m, &l)) || l.end;
	/* A truncated message may lack its end as well. */
	bool cut = !whole && flags & DNS_TC && l.name_len;
	uint32_t rcode = flags & DNS_RCODE;
	if ((!whole && !cut) || (whole && !dns64_store_accepts(dns64_parts_of(gw)->cache, m, &l)))
		return DROP_DNS_ANSWER;
	enum match match = LIKELY(same) ? MATCH_YES : match_question(f, m, &l);
	/* A server that does not understand the message need not repeat the question (RFC 1035
	 * section 4.1.1). */
	bool mute = l.count[DNS_QD] == 0 && is_complaint(rcode);
	if (match == MATCH_NO && !mute)
		return DROP_DNS_FORGED;
	if (mute && !t->tcp) { /* on a connection nobody else can answer */
		f->mute |= doubt(gw, f, t);
		return DROP_DNS_FORGED;
	}
	if (match == MATCH_CASE && !case_accepted(gw, f, t))
		return DROP_DNS_FORGED;
	if (match == MATCH_YES)
		s->case_lost = 0;
	if (l.n_opt)
		rcode |= l.opt.ttl >> 24 << 4;
	servers->answered++;
	dns64_server_answered(gw, t->server, dns64_now(gw) - t->sent_us);
	bool more = flags & DNS_TC && !t->tcp && !f->probe;
	f->truncated |= more;
	enum outcome o = judge(gw, f, t, rcode, &l, more);
	note_plain(gw, f, t, rcode);
	if (o != TAKE) {
		dns64_attempt_close(gw, t);
		if (o == SEND_PLAIN)
			attempt_plain(gw, f, t->server);
		else if (o == SEND_OTHER)
			attempt_next(gw, f);
	} else if (mute) {
		fail(gw, f);
	} else if (flags & DNS_TC && f->probe) {
		finish(gw, f, NULL);
	} else if (!more || !send_over_tcp(gw, f, t)) {
		if (cut)
			dns_layout_cut(&l);
		take_answer(gw, f, t, m, &l, rcode);
	}
	return DROP_NONE;
}

/* --- start -------------------------------------------------------------------------------- */

const char *dns64_fetch_init(struct gw *gw, struct dns64_fetches *all,
                             const struct dns64_fetch_user *user)
{
	static const struct dns64_attempt_user attempts = {answer, attempt_lost};
	struct dns64_servers *s = dns64_servers_of(gw);
	uint64_t together = (uint64_t)s->attempt_us * s->n_attempts;
	s->fetch_us = together > MAX_FETCH_US ? MAX_FETCH_US : (uint32_t)together;
	all->user = user;
	all->fetch = alloc(DNS64_FETCHES * sizeof *all->fetch, 64);
	all->hash = alloc(HASH_HEADS * sizeof *all->hash, 64);
	if (!all->fetch || !all->hash ||
	    !dns64_attempt_init(gw, dns64_attempts_of(gw), &attempts) ||
	    !dns64_conn_init(dns64_conns_of(gw)))
		return "not enough memory";
	memset(all->hash, 0xff, HASH_HEADS * sizeof *all->hash);
	for (uint32_t i = 0; i < DNS64_FETCHES; i++) {
		all->fetch[i].number = (uint16_t)i;
		all->fetch[i].next = (uint16_t)(i + 1 < DNS64_FETCHES ? i + 1 : DNS64_NONE);
	}
	all->free = 0;
	all->oldest = all->youngest = DNS64_NONE;
	return NULL;
}
