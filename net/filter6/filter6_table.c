/* See filter6_table.h. */
#include "net/filter6/filter6_table.h"

#include "kernel/lib/alloc.h"
#include "kernel/lib/when.h"
#include "net/lib/wire.h"

#define SWEPT_AT_ONCE 64u /* sets */

bool filter6_table_init(struct filter6_table *t, struct rng *rng)
{
	rng_bytes(rng, &t->hash, sizeof t->hash);
	t->set = alloc(FILTER6_SETS * sizeof *t->set, 64);
	return t->set != NULL;
}

static bool is_live(const struct filter6_session *s, uint32_t now_s)
{
	return s->state != FILTER6_FREE && !when_come(now_s, s->end_s, FILTER6_TCP_S);
}

static bool same_key(const struct filter6_key *a, const struct filter6_key *b)
{
	return a->inside_port == b->inside_port && a->outside_port == b->outside_port &&
	       a->proto == b->proto && ip6_eq(&a->inside, &b->inside) &&
	       ip6_eq(&a->outside, &b->outside);
}

static struct filter6_session *set_of(const struct filter6_table *t, const struct filter6_key *key)
{
	uint32_t w[10] = {
	        [8] = (uint32_t)key->inside_port << 16 | key->outside_port, [9] = key->proto};
	memcpy(w, &key->inside, 16);
	memcpy(w + 4, &key->outside, 16);
	return t->set[hash_words(&t->hash, w, ARRAY_SIZE(w)) % FILTER6_SETS];
}

struct filter6_session *filter6_table_find(struct filter6_table *t, const struct filter6_key *key,
                                           uint32_t now_s)
{
	struct filter6_session *set = set_of(t, key);
	for (uint32_t i = 0; i < FILTER6_WAYS; i++)
		if (same_key(&set[i].key, key) && is_live(&set[i], now_s))
			return &set[i];
	return NULL;
}

/* How many sessions of a full set hosts outside began. */
static uint32_t of_outside(const struct filter6_session *set)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < FILTER6_WAYS; i++)
		n += set[i].by_outside;
	return n;
}

/* How many sessions of a full set the client began. */
static uint32_t share_of(const struct filter6_session *set, uint32_t client)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < FILTER6_WAYS; i++)
		n += !set[i].by_outside && set[i].client == client;
	return n;
}

/* How readily a session is evicted for a new one; 0: not at all. `outside` is of_outside(). */
static uint32_t readiness(const struct filter6_session *s, const struct filter6_session *fresh,
                          uint32_t outside)
{
	if (s->state >= FILTER6_ENDED)
		return 5;
	if (s->by_outside && s->state == FILTER6_NEW)
		return 4;
	if (s->by_outside && s->key.proto != PROTO_TCP)
		return 3;
	if (s->by_outside && !fresh->by_outside)
		return outside > FILTER6_WAYS / 2 ? 3 : 1;
	if (s->state != FILTER6_NEW || s->by_outside)
		return 0;
	if (!fresh->by_outside)
		return 2;
	/* Anybody may send echo requests, a rule names the others. */
	return fresh->key.proto != PROTO_ICMP6 && outside < FILTER6_WAYS / 2;
}

/* The session of a full set to evict for a new one; NULL: none. Of equal ones the one that ends
 * first. */
static struct filter6_session *victim(struct filter6_session *set,
                                      const struct filter6_session *fresh, uint32_t now_s)
{
	struct filter6_session *best = NULL;
	uint32_t rank = 0, left = 0, outside = of_outside(set);
	for (uint32_t i = 0; i < FILTER6_WAYS; i++) {
		uint32_t ready = readiness(&set[i], fresh, outside);
		/* What a host outside began is not to the charge of the client it reached. */
		uint32_t share = set[i].by_outside ? 0 : share_of(set, set[i].client);
		uint32_t is = ready * (FILTER6_WAYS + 1) + share;
		uint32_t ends = when_left(now_s, set[i].end_s, FILTER6_TCP_S);
		if (ready == 0 || (best && (is < rank || (is == rank && ends >= left))))
			continue;
		best = &set[i];
		rank = is;
		left = ends;
	}
	return best;
}

/* The session to evict where all are open and of inside hosts: the one that ends first of the
 * client that has most, if the new one's has two fewer, otherwise of the new one's. NULL: it has
 * none. */
static struct filter6_session *fair_victim(struct filter6_session *set, uint32_t client,
                                           uint32_t now_s)
{
	struct filter6_session *best = NULL;
	uint32_t payer = client, own = share_of(set, client), most = own + 1;
	for (uint32_t i = 0; i < FILTER6_WAYS; i++)
		if (share_of(set, set[i].client) > most) {
			payer = set[i].client;
			most = share_of(set, payer);
		}
	for (uint32_t i = 0; i < FILTER6_WAYS; i++)
		if (!set[i].by_outside && set[i].client == payer &&
		    (!best || when_left(now_s, set[i].end_s, FILTER6_TCP_S) <
		                      when_left(now_s, best->end_s, FILTER6_TCP_S)))
			best = &set[i];
	return best;
}

struct filter6_session *filter6_table_open(struct filter6_table *t, const struct filter6_key *key,
                                           uint32_t client, bool by_outside, uint32_t now_s)
{
	const struct filter6_session fresh = {
	        .key = *key, .state = FILTER6_NEW, .by_outside = by_outside, .client = client};
	struct filter6_session *set = set_of(t, key), *s = NULL;
	for (uint32_t i = 0; !s && i < FILTER6_WAYS; i++)
		if (!is_live(&set[i], now_s))
			s = &set[i];
	if (!s) {
		s = victim(set, &fresh, now_s);
		if (!s && !by_outside)
			s = fair_victim(set, client, now_s);
		if (!s)
			return NULL;
		t->evicted++;
	}
	t->n += s->state == FILTER6_FREE;
	t->created++;
	*s = fresh;
	return s;
}

/* The next state of a session, after a packet. A reset may be forged: the inside host shows that it
 * was by going on. */
static enum filter6_state next_state(const struct filter6_session *s, bool from_inside,
                                     uint8_t flags)
{
	enum filter6_state state = (enum filter6_state)s->state;
	bool answer = from_inside == s->by_outside;
	if (flags & TCP_RST && state == FILTER6_NEW)
		return answer ? FILTER6_ENDED : FILTER6_NEW;
	if (flags & TCP_RST)
		return state == FILTER6_ENDED ? FILTER6_ENDED : FILTER6_RESET;
	/* The same ports again: another connection. */
	if (flags & TCP_SYN && !(flags & TCP_ACK) && state > FILTER6_OPEN)
		return FILTER6_NEW;
	if ((state == FILTER6_NEW && answer) || (state == FILTER6_RESET && from_inside))
		state = FILTER6_OPEN;
	if (!(flags & TCP_FIN) || state == FILTER6_NEW || state >= FILTER6_ENDED)
		return state;
	if (state == (from_inside ? FILTER6_FIN_OUT : FILTER6_FIN_IN))
		return FILTER6_ENDED;
	return from_inside ? FILTER6_FIN_IN : FILTER6_FIN_OUT;
}

static uint32_t life_of(const struct filter6_session *s)
{
	switch (s->key.proto) {
	case PROTO_TCP:
		return s->state == FILTER6_NEW || s->state >= FILTER6_ENDED ? FILTER6_CLOSING_S
		                                                            : FILTER6_TCP_S;
	case PROTO_ICMP6:
		return FILTER6_ICMP_S;
	default:
		return FILTER6_UDP_S;
	}
}

void filter6_table_seen(struct filter6_session *s, bool from_inside, uint8_t flags, uint32_t now_s)
{
	uint8_t was = s->state;
	s->state = (uint8_t)next_state(s, from_inside, flags);
	if (s->state == FILTER6_NEW && was != FILTER6_NEW)
		s->by_outside = !from_inside;
	bool begins = s->end_s == 0;
	if (begins || s->state != was || from_inside || s->state == FILTER6_OPEN)
		s->end_s = now_s + life_of(s);
}

/* --- fragments ------------------------------------------------------------------------------ */

static uint32_t place_of(const struct filter6_table *t, const ip6 *from, const ip6 *to, uint32_t id)
{
	uint32_t w[9] = {[8] = id};
	memcpy(w, from, 16);
	memcpy(w + 4, to, 16);
	return hash_words(&t->hash, w, ARRAY_SIZE(w)) % FILTER6_FRAGMENTS;
}

void filter6_table_note(struct filter6_table *t, const ip6 *from, const ip6 *to, uint32_t id,
                        bool by_outside, uint32_t now_s)
{
	t->pieces[by_outside][place_of(t, from, to, id)] = (struct filter6_pieces){
	        .from = *from, .to = *to, .id = id, .end_s = now_s + FILTER6_PIECES_S};
}

bool filter6_table_noted(const struct filter6_table *t, const ip6 *from, const ip6 *to, uint32_t id,
                         uint32_t now_s)
{
	uint32_t place = place_of(t, from, to, id);
	for (uint32_t i = 0; i < ARRAY_SIZE(t->pieces); i++) {
		const struct filter6_pieces *p = &t->pieces[i][place];
		if (p->id == id && ip6_eq(&p->from, from) && ip6_eq(&p->to, to) &&
		    !when_come(now_s, p->end_s, FILTER6_PIECES_S))
			return true;
	}
	return false;
}

/* --- all places ----------------------------------------------------------------------------- */

void filter6_table_sweep(struct filter6_table *t, uint32_t now_s)
{
	for (uint32_t i = 0; i < min_u32(SWEPT_AT_ONCE, FILTER6_SETS); i++) {
		struct filter6_session *set = t->set[t->swept++ % FILTER6_SETS];
		for (uint32_t k = 0; k < FILTER6_WAYS; k++)
			if (set[k].state != FILTER6_FREE && !is_live(&set[k], now_s)) {
				set[k].state = FILTER6_FREE;
				t->n--;
			}
	}
}

const struct filter6_session *filter6_table_at(const struct filter6_table *t, uint32_t i,
                                               uint32_t now_s)
{
	const struct filter6_session *s = &t->set[i / FILTER6_WAYS][i % FILTER6_WAYS];
	return is_live(s, now_s) ? s : NULL;
}
