/* Questions to upstream: a fixed table of those that are in flight. See dns64.h.
 *
 * A question may have been sent several times, to one server or several; each time with a
 * port and an ID of its own (RFC 5452 section 9.2), and each of the last few may still be
 * answered. An answer counts when it comes from the server that was asked, to the port and
 * with the ID of that try, and repeats the question to the letter: upper and lower case of
 * its name are random ("0x20"), as long as the server keeps them. All others are counted
 * and dropped. A complaint that does not repeat it may be forged as well: only when no right
 * answer comes for a moment it has an effect.
 *
 * A server that complains is asked without OPT (RFC 6891 section 7). Only when it answers then,
 * it is known not to know OPT. */
#include "apps/dns64/dns64.h"

#include "kernel/lib/alloc.h"

#define HASH_HEADS   4096u     /* a power of two */
#define ROOM         256u      /* places in either table that the oldest give way for … */
#define GIVE_WAY_US  1000000u  /* … when they are so old, … */
#define ROOM_A_TURN  64u       /* … so many in one turn */
#define CROWD        1280u     /* clients that wait: old questions give way as well */
#define MAX_WAIT_US  60000000u /* for all tries of a question together */
#define CASE_LOST    2u        /* answers that show that a server loses case */
#define BARE_TTL     30u       /* of what came without OPT, for those who set DO */
#define DOUBT_US     100000u   /* for the right answer behind one that may be forged */
#define FULL_WAIT_US 20000u    /* for a place on a connection */

const char *dns64_ask_init(struct gw *gw, struct dns64 *d)
{
	const struct dns64_config *c = dns64_config(gw->config);
	d->try_us = min_u32(c->timeout_ms, MAX_WAIT_US / 1000) * 1000;
	d->tries = c->resend + 1;
	uint64_t all = (uint64_t)d->try_us * d->tries;
	d->wait_us = all > MAX_WAIT_US ? MAX_WAIT_US : (uint32_t)all;
	d->ask = alloc(DNS64_ASKS * sizeof *d->ask, 64);
	d->ask_hash = alloc(HASH_HEADS * sizeof *d->ask_hash, 64);
	if (!d->ask || !d->ask_hash ||
	    !wheel_init(&d->wheel, DNS64_ASKS + DNS64_WAITERS + DNS64_RELAYS, dns64_now(gw)))
		return "not enough memory";
	memset(d->ask_hash, 0xff, HASH_HEADS * sizeof *d->ask_hash);
	for (uint32_t i = 0; i < DNS64_ASKS; i++)
		d->ask[i].next = (uint16_t)(i + 1 < DNS64_ASKS ? i + 1 : DNS64_NONE);
	d->ask_free = 0;
	d->oldest = d->youngest = DNS64_NONE;
	return NULL;
}

static uint32_t number_of(const struct dns64 *d, const struct dns64_ask *a)
{
	return (uint32_t)(a - d->ask);
}

/* --- the table ------------------------------------------------------------------------- */

static bool same_question(const struct dns64_ask *a, const struct dns64_need *need)
{
	const struct dns64_question *q = need->q;
	return a->q.type == need->type && a->q.class == q->class && a->q.key == q->key &&
	       dns64_same_name(&a->q, q);
}

static struct dns64_ask *take_free(struct dns64 *d)
{
	if (UNLIKELY(d->ask_free == DNS64_NONE)) {
		d->count.full++;
		return NULL;
	}
	struct dns64_ask *a = &d->ask[d->ask_free];
	d->ask_free = a->next;
	d->n_asks++;
	return a;
}

/* Into its chain, where others can join it, and behind all others in age. */
static void link_in(struct dns64 *d, struct dns64_ask *a)
{
	uint16_t me = (uint16_t)number_of(d, a), *head = &d->ask_hash[a->q.hash % HASH_HEADS];
	if (!a->probe) {
		a->next = *head;
		*head = me;
	}
	a->older = d->youngest;
	a->younger = DNS64_NONE;
	if (d->youngest == DNS64_NONE)
		d->oldest = me;
	else
		d->ask[d->youngest].younger = me;
	d->youngest = me;
}

static void unlink_from(struct dns64 *d, struct dns64_ask *a)
{
	uint16_t me = (uint16_t)number_of(d, a), *at = &d->ask_hash[a->q.hash % HASH_HEADS];
	if (!a->probe) {
		while (*at != me)
			at = &d->ask[*at].next;
		*at = a->next;
	}
	*(a->older == DNS64_NONE ? &d->oldest : &d->ask[a->older].younger) = a->younger;
	*(a->younger == DNS64_NONE ? &d->youngest : &d->ask[a->younger].older) = a->older;
}

/* The question is over, with this answer or NULL: its ports are closed, its place is free, and
 * those who wait for it go on. */
static void finish(struct gw *gw, struct dns64_ask *a, const struct dns64_record *r)
{
	struct dns64 *d = dns64_of(gw);
	uint32_t me = number_of(d, a), first = a->first;
	for (uint32_t i = 0; i < DNS64_TRIES; i++)
		if (a->try[i].port || a->try[i].stream)
			dns64_try_close(gw, &a->try[i]);
	unlink_from(d, a);
	wheel_clear(&d->wheel, me);
	a->first = DNS64_NONE;
	a->n_tries = 0; /* free */
	a->next = d->ask_free;
	d->ask_free = (uint16_t)me;
	d->n_asks--;
	dns64_wake(gw, first, r);
}

void dns64_ask_fail(struct gw *gw, uint32_t ask)
{
	struct dns64_ask *a = &dns64_of(gw)->ask[ask];
	if (!a->probe)
		dns64_store_failure(gw, &a->q, DNS_SERVFAIL);
	finish(gw, a, NULL);
}

/* Nobody answered. If there was TC, and only TCP failed, the client learns that there is more (RFC
 * 5625 section 4.4), unless a stale answer may serve. */
static void give_up(struct gw *gw, struct dns64_ask *a)
{
	uint8_t m[DNS64_QUESTION_MAX];
	struct dns_view v = {m, 0};
	struct dns_layout l;
	if (LIKELY(!a->truncated || a->probe)) {
		dns64_ask_fail(gw, number_of(dns64_of(gw), a));
		return;
	}
	v.len = dns64_try_write(a, &(struct dns64_try){0}, m);
	const struct dns64_record *old = dns64_cache_find(&dns64_of(gw)->cache, &a->q, false);
	dns_put16(m + 2, DNS_QR | DNS_TC);
	if ((old && dns64_may_serve(gw, old)) || !dns_parse(v, &l))
		dns64_ask_fail(gw, number_of(dns64_of(gw), a));
	else
		finish(gw, a, dns64_store(gw, &a->q, v, &l, DNS64_MAX_TTL));
}

bool dns64_ask_make_room(struct gw *gw)
{
	struct dns64 *d = dns64_of(gw);
	uint32_t now = dns64_now(gw);
	for (uint32_t i = 0; i < ROOM_A_TURN; i++) {
		bool full = d->n_asks + ROOM > DNS64_ASKS || d->n_waiters > CROWD;
		if (LIKELY(!full) || d->n_asks == 0 ||
		    now - d->ask[d->oldest].begun_us < GIVE_WAY_US)
			return false;
		dns64_ask_fail(gw, d->oldest);
	}
	return true;
}

/* --- sending ---------------------------------------------------------------------------- */

/* Microseconds until all tries together have taken too long. */
static uint32_t left(const struct gw *gw, const struct dns64_ask *a)
{
	return when_left(dns64_now(gw), a->deadline_us, MAX_WAIT_US);
}

/* One more try, with a timer behind it. */
static void try_server(struct gw *gw, struct dns64_ask *a, uint32_t server)
{
	struct dns64 *d = dns64_of(gw);
	uint32_t now = dns64_now(gw);
	uint32_t wait = dns64_server_wait_us(d, server, a->n_tries);
	a->queued = 0;
	dns64_try_send(gw, a, server);
	/* The last try has all the time that is left, if any. */
	uint32_t most = max_u32(left(gw, a), 1);
	if (a->n_tries >= d->tries || wait > most)
		wait = most;
	wheel_set(&d->wheel, number_of(d, a), now + wait);
}

static void try_next(struct gw *gw, struct dns64_ask *a)
{
	try_server(gw, a, dns64_server_pick(gw, a->tried));
}

/* The same server without OPT. */
static void try_plain(struct gw *gw, struct dns64_ask *a, uint32_t server)
{
	a->plain = (uint16_t)(a->plain | 1u << server);
	try_server(gw, a, server);
}

/* The name of a question, and the question as it is sent: with random upper and lower case
 * (draft-vixie-dnsext-dns0x20). A random number has a bit for each of 32 characters: eight words
 * of four. */
static void spell(struct gw *gw, struct dns64_ask *a, const struct dns64_question *q)
{
	uint32_t words = dns_key_words(q->name.len);
	for (uint32_t i = 0; i < words;) {
		uint32_t random = rng_u32(gw->rng), end = min_u32(i + 8, words);
		for (; i < end; i++, random = random << 1 | random >> 31) {
			uint32_t w = q->name.word[i], low = w & 0x7f7f7f7f;
			/* Upper bits: from 'a' on, and not beyond 'z'. */
			uint32_t letter =
			        (low + 0x1f1f1f1f) & ~((low + 0x05050505) | w) & 0x80808080;
			a->q.name.word[i] = w;
			store32(a->sent + 4 * i, w ^ (letter >> 2 & random));
		}
	}
	dns_put16(a->sent + q->name.len, a->q.type);
	dns_put16(a->sent + q->name.len + 2, a->q.class);
}

/* A new question, not sent yet; NULL when there are too many. */
static struct dns64_ask *begin(struct gw *gw, const struct dns64_need *need, bool probe)
{
	struct dns64 *d = dns64_of(gw);
	struct dns64_ask *a = take_free(d);
	if (!a)
		return NULL;
	a->q.name.len = need->q->name.len;
	a->q.hash = need->q->hash;
	a->q.type = need->type;
	a->q.class = need->q->class;
	a->q.key = need->q->key;
	a->probe = probe;
	a->first = DNS64_NONE;
	a->n_tries = a->tried = a->plain = 0;
	a->miscased = a->mute = a->truncated = false;
	a->queued = 0;
	a->begun_us = dns64_now(gw);
	a->deadline_us = a->begun_us + d->wait_us;
	spell(gw, a, need->q);
	link_in(d, a);
	return a;
}

/* Asks a server that is down beside the others, to see whether it is back. Nobody waits
 * for that. */
static void probe(struct gw *gw, const struct dns64_need *need, uint32_t server)
{
	struct dns64 *d = dns64_of(gw);
	struct dns64_ask *a = begin(gw, need, true);
	if (!a)
		return;
	dns64_try_send(gw, a, server);
	wheel_set(&d->wheel, number_of(d, a), a->begun_us + d->try_us);
}

uint32_t dns64_ask_for(struct gw *gw, const struct dns64_need *need)
{
	struct dns64 *d = dns64_of(gw);
	uint16_t i = d->ask_hash[need->q->hash % HASH_HEADS];
	for (; i != DNS64_NONE; i = d->ask[i].next)
		if (same_question(&d->ask[i], need)) {
			d->count.joined++;
			return i;
		}
	struct dns64_ask *a = begin(gw, need, false);
	if (!a)
		return DNS64_NONE;
	try_next(gw, a);
	uint32_t down = dns64_server_probe(gw);
	if (UNLIKELY(down != DNS64_NONE))
		probe(gw, need, down);
	return number_of(d, a);
}

/* --- answers ---------------------------------------------------------------------------------- */

enum match { MATCH_NO, MATCH_CASE, MATCH_YES };

/* For more than four bytes. */
static inline bool same_bytes(const uint8_t *a, const uint8_t *b, uint32_t n)
{
	n -= 4;
	if (load32(a + n) != load32(b + n))
		return false;
	for (uint32_t i = 0; i < n; i += 4)
		if (load32(a + i) != load32(b + i))
			return false;
	return true;
}

/* Whether the question came back to the letter. */
static bool repeats(const struct dns64_ask *a, struct dns_view m)
{
	uint32_t n = a->q.name.len + DNS_QUESTION_FIXED;
	return m.len - DNS_HEADER >= n && be16_raw(dns_header_of(m)->count[DNS_QD]) == swap16(1) &&
	       same_bytes(m.at + DNS_HEADER, a->sent, n);
}

/* The same where it did not: MATCH_CASE when only upper and lower case differ. */
static enum match match_question(const struct dns64_ask *a, struct dns_view m,
                                 const struct dns_layout *l)
{
	uint32_t n = a->q.name.len;
	if (l->count[DNS_QD] != 1 || l->name_len != n || l->qtype != a->q.type ||
	    l->qclass != a->q.class)
		return MATCH_NO;
	struct dns_key key;
	dns_key_set(&key, m.at + DNS_HEADER, n);
	return memcmp(key.word, a->q.name.word, sizeof key.word[0] * dns_key_words(n)) == 0
	               ? MATCH_CASE
	               : MATCH_NO;
}

/* The right answer may still come: somebody else may have guessed all but the spelling. Gives
 * whether it is waited for. */
static bool doubt(struct gw *gw, struct dns64_ask *a, const struct dns64_try *t)
{
	if (a->queued) /* the whole answer of another server is asked for */
		return false;
	if (!a->miscased && !a->mute)
		wheel_set(&dns64_of(gw)->wheel, number_of(dns64_of(gw), a),
		          dns64_now(gw) + DOUBT_US);
	a->last = t->server;
	return true;
}

/* Whether a server that changed the case of a name is known for that. */
static bool case_accepted(struct gw *gw, struct dns64_ask *a, const struct dns64_try *t)
{
	struct dns64 *d = dns64_of(gw);
	const struct dns64_server *s = &d->server[t->server];
	if (s->case_s && !when_come(gw->now_s, s->case_s, DNS64_PLAIN_S))
		return true;
	d->count.miscased++;
	a->miscased |= doubt(gw, a, t);
	return false;
}

/* No right answer came after one with another case. A server of which that is true once more
 * loses case. */
static void case_lost(struct gw *gw, struct dns64_ask *a)
{
	struct dns64_server *s = &dns64_of(gw)->server[a->last];
	a->miscased = false;
	if (++s->case_lost < CASE_LOST)
		return;
	s->case_lost = 0;
	s->case_s = gw->now_s + DNS64_PLAIN_S;
}

/* No right answer came behind one that may be forged. */
static void doubt_over(struct gw *gw, struct dns64_ask *a)
{
	bool complained = a->mute;
	a->mute = false;
	if (a->miscased) {
		case_lost(gw, a);
		try_next(gw, a);
	} else if (complained && dns64_try_has_opt(gw, a, a->last)) {
		try_plain(gw, a, a->last);
	} else {
		dns64_ask_lost(gw, number_of(dns64_of(gw), a));
	}
}

/* Whether a server may be asked that was not yet. */
static bool may_ask_other(const struct dns64 *d, const struct dns64_ask *a)
{
	uint32_t all = (1u << d->n_servers) - 1;
	return !a->probe && a->tried != all && a->n_tries < d->tries;
}

/* All of an answer comes over TCP (RFC 7766 section 5). Where the connection is full a place is
 * waited for. False: it cannot be. */
static bool fetch_over_tcp(struct gw *gw, struct dns64_ask *a, struct dns64_try *t)
{
	struct dns64 *d = dns64_of(gw);
	uint32_t now = dns64_now(gw);
	bool full = dns64_link_is_full(gw, a, t->server) && left(gw, a) > 0;
	a->queued = full ? (uint8_t)(t - a->try + 1) : 0;
	a->last = t->server;
	a->miscased = a->mute = false;
	if (!a->queued && !dns64_link_ask(gw, a, t))
		return false;
	wheel_set(&d->wheel, number_of(d, a), now + (a->queued ? FULL_WAIT_US : d->try_us));
	return true;
}

/* The same of one that has waited. */
static void fetch_later(struct gw *gw, struct dns64_ask *a)
{
	if (!fetch_over_tcp(gw, a, &a->try[a->queued - 1]))
		dns64_ask_lost(gw, number_of(dns64_of(gw), a));
}

void dns64_ask_cut_off(struct gw *gw, uint32_t ask, struct dns64_try *t)
{
	struct dns64_ask *a = &dns64_of(gw)->ask[ask];
	if (left(gw, a) == 0 || !fetch_over_tcp(gw, a, t))
		dns64_ask_lost(gw, ask);
}

void dns64_ask_due(struct gw *gw, uint32_t ask)
{
	struct dns64 *d = dns64_of(gw);
	struct dns64_ask *a = &d->ask[ask];
	if (UNLIKELY(a->queued)) {
		fetch_later(gw, a);
		return;
	}
	if (a->miscased || a->mute) {
		doubt_over(gw, a);
		return;
	}
	uint32_t links = 0; /* on which it waits for an answer, a bit each */
	for (uint32_t i = 0; i < DNS64_TRIES; i++)
		links |= (uint32_t)a->try[i].stream << a->try[i].server;
	dns64_server_missed(gw, a->last);
	dns64_ask_lost(gw, ask);
	if (UNLIKELY(links))
		dns64_link_late(gw, links);
}

void dns64_ask_lost(struct gw *gw, uint32_t ask)
{
	struct dns64 *d = dns64_of(gw);
	struct dns64_ask *a = &d->ask[ask];
	/* Twice in vain over TCP: who gets TC comes back over TCP, before its patience is over. */
	bool enough = a->truncated && a->n_tries >= 2 && !may_ask_other(d, a);
	if (!a->probe && !enough && a->n_tries < d->tries && left(gw, a) > 0)
		try_next(gw, a);
	else
		give_up(gw, a);
}

/* The server does not understand the question. */
static bool is_complaint(uint32_t rcode)
{
	return rcode == DNS_FORMERR || rcode == DNS_NOTIMP;
}

/* What to do with a response code. */
enum outcome { TAKE, ASK_PLAIN, ASK_OTHER, WAIT_ON };

/* Whether another server than that of try `t` may still answer. */
static bool awaits_other(const struct dns64_ask *a, const struct dns64_try *t)
{
	for (uint32_t i = 0; i < DNS64_TRIES; i++)
		if (a->try[i].port && a->try[i].server != t->server)
			return true;
	return false;
}

static enum outcome judge(struct gw *gw, const struct dns64_ask *a, const struct dns64_try *t,
                          uint32_t rcode, const struct dns_layout *l, bool fetch)
{
	bool other = may_ask_other(dns64_of(gw), a), error = is_complaint(rcode);
	/* No OPT in an answer that complains (RFC 6891 section 7): it may be about ours. Once is
	 * enough to ask without. */
	if (t->edns && ((error && l->n_opt == 0) || rcode == DNS_BADVERS))
		return a->plain >> t->server & 1 ? WAIT_ON : ASK_PLAIN;
	if (rcode == DNS_NOERROR || rcode == DNS_NXDOMAIN)
		return fetch && other && dns64_link_is_bad(gw, t->server) ? ASK_OTHER : TAKE;
	/* Another server may know better: one that has not been asked yet, or has not answered. */
	if (other)
		return ASK_OTHER;
	return awaits_other(a, t) ? WAIT_ON : TAKE;
}

/* What was refused with OPT is answered without: the server does not know OPT. */
static void note_plain(struct gw *gw, const struct dns64_ask *a, const struct dns64_try *t,
                       uint32_t rcode)
{
	if (!t->edns && a->plain >> t->server & 1 &&
	    (rcode == DNS_NOERROR || rcode == DNS_NXDOMAIN))
		dns64_of(gw)->server[t->server].plain_s = gw->now_s + DNS64_PLAIN_S;
}

static void take_answer(struct gw *gw, struct dns64_ask *a, const struct dns64_try *t,
                        struct dns_view m, const struct dns_layout *l, uint32_t rcode)
{
	/* Without OPT there is no DO, and there are no signatures. */
	bool bare = !t->edns && a->q.key & DNS64_KEY_DO;
	/* Upper bits are in OPT, which we do not pass on. */
	finish(gw, a,
	       rcode > DNS_RCODE ? dns64_store_failure(gw, &a->q, DNS_SERVFAIL)
	                         : dns64_store(gw, &a->q, m, l, bare ? BARE_TTL : DNS64_MAX_TTL));
}

enum drop dns64_ask_answer(struct gw *gw, struct dns64_ask *a, struct dns64_try *t,
                           struct dns_view m)
{
	struct dns64 *d = dns64_of(gw);
	struct dns64_server *s = &d->server[t->server];
	struct dns_layout l;
	uint32_t flags = be16_get(dns_header_of(m)->flags);
	if (!(flags & DNS_QR) || flags & DNS_OPCODE)
		return DROP_DNS_FORGED;
	bool same = repeats(a, m);
	/* Bytes behind the last record do no harm. */
	bool whole =
	        (LIKELY(same) ? dns_parse_rest(m, a->q.name.len, &l) : dns_parse(m, &l)) || l.end;
	/* Of a truncated message the end may be missing as well. */
	bool truncated = !whole && flags & DNS_TC && l.name_len;
	uint32_t rcode = flags & DNS_RCODE;
	if ((!whole && !truncated) || (whole && !dns_names_stay(m, &l, d->tidy)))
		return DROP_DNS_ANSWER;
	enum match match = LIKELY(same) ? MATCH_YES : match_question(a, m, &l);
	/* Who does not understand the question need not repeat it (RFC 1035 section 4.1.1). */
	bool mute = l.count[DNS_QD] == 0 && is_complaint(rcode);
	if (match == MATCH_NO && !mute)
		return DROP_DNS_FORGED;
	if (mute && !t->stream) { /* on a connection nobody else can answer */
		a->mute |= doubt(gw, a, t);
		return DROP_DNS_FORGED;
	}
	if (match == MATCH_CASE && !case_accepted(gw, a, t))
		return DROP_DNS_FORGED;
	if (match == MATCH_YES)
		s->case_lost = 0;
	if (l.n_opt)
		rcode |= l.opt.ttl >> 24 << 4;
	d->count.answered++;
	dns64_server_answered(gw, t->server, dns64_now(gw) - t->sent_us);
	bool fetch = flags & DNS_TC && !t->stream && !a->probe;
	a->truncated |= fetch;
	enum outcome o = judge(gw, a, t, rcode, &l, fetch);
	note_plain(gw, a, t, rcode);
	if (o != TAKE) {
		dns64_try_close(gw, t);
		if (o == ASK_PLAIN)
			try_plain(gw, a, t->server);
		else if (o == ASK_OTHER)
			try_next(gw, a);
	} else if (mute) {
		dns64_ask_fail(gw, number_of(d, a));
	} else if (flags & DNS_TC && a->probe) {
		finish(gw, a, NULL);
	} else if (!fetch || !fetch_over_tcp(gw, a, t)) {
		if (truncated) {
			dns_layout_cut(&l);
		}
		take_answer(gw, a, t, m, &l, rcode);
	}
	return DROP_NONE;
}
