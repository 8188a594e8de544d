/* See nat64_gather.h. */
#include "apps/nat64/nat64_gather.h"

#include "kernel/lib/when.h"
#include "net/gw.h"

#define LOOK_MS    100u
#define GATHER_MAX 65535u /* payload bytes of a packet */

void nat64_gather_init(struct nat64_gathers *t, struct rng *rng, uint32_t wait_ms)
{
	for (unsigned i = 0; i < ARRAY_SIZE(t->secret.k); i++)
		t->secret.k[i] = rng_u32(rng);
	t->wait_ms = wait_ms;
}

void nat64_gather_discard(struct gw *gw, struct pkt *list, enum drop reason)
{
	for (struct pkt *next; list; list = next) {
		next = list->next;
		gw_discard(gw, list, reason);
	}
}

/* --- slots ---------------------------------------------------------------------------- */

/* Takes the fragments out of a slot. */
static struct pkt *take_all(struct gw *gw, struct nat64_gathers *t, struct nat64_gather *g)
{
	struct pkt *list = g->piece;
	for (; g->n_pieces > 0; g->n_pieces--) {
		t->n_pieces--;
		pool_unkeep(gw->pool);
	}
	g->piece = NULL;
	return list;
}

/* The packet is lost. Further fragments of it are dropped until its time is over. */
static void spoil(struct gw *gw, struct nat64_gathers *t, struct nat64_gather *g, enum drop why)
{
	nat64_gather_discard(gw, take_all(gw, t, g), why);
	g->state = GATHER_DEAD;
}

static void empty(struct gw *gw, struct nat64_gathers *t, struct nat64_gather *g)
{
	nat64_gather_discard(gw, take_all(gw, t, g), DROP_REASSEMBLY);
	g->state = GATHER_FREE;
	t->n_used--;
}

/* Milliseconds until the slot ends. */
static uint32_t left(const struct gw *gw, const struct nat64_gathers *t,
                     const struct nat64_gather *g)
{
	return when_left(gw->clock.ms, g->due_ms, t->wait_ms);
}

/* Takes a slot for a packet: a free one, else that of the sender's oldest packet, else the one in
 * `next`. */
static struct nat64_gather *take(struct gw *gw, struct nat64_gathers *t, uint32_t which,
                                 const struct nat64_gather_key *key)
{
	struct nat64_gather *set = t->slot[which], *best = NULL;
	for (struct nat64_gather *g = set; g < set + GATHER_WAYS; g++) {
		if (g->state == GATHER_FREE) {
			best = g;
			break;
		}
		if (memcmp(g->key.from, key->from, sizeof key->from) == 0 &&
		    (!best || left(gw, t, g) < left(gw, t, best)))
			best = g;
	}
	if (!best)
		best = &set[t->next[which]++ % GATHER_WAYS];
	if (best->state != GATHER_FREE)
		empty(gw, t, best);
	*best = (struct nat64_gather){
	        .key = *key, .state = GATHER_OPEN, .due_ms = gw->clock.ms + t->wait_ms};
	t->n_used++;
	return best;
}

static struct nat64_gather *find(struct gw *gw, struct nat64_gathers *t,
                                 const struct nat64_gather_key *key)
{
	uint32_t w[8];
	memcpy(w, key->from, sizeof key->from);
	memcpy(w + 4, key->to, sizeof key->to);
	uint32_t which = hash_words(&t->secret, w, 8) % GATHER_SETS;
	struct nat64_gather *set = t->slot[which];
	for (struct nat64_gather *g = set; g < set + GATHER_WAYS; g++)
		if (g->state != GATHER_FREE && memcmp(&g->key, key, sizeof *key) == 0)
			return g;
	return take(gw, t, which, key);
}

/* Makes room for one more fragment of g: the oldest other packet is evicted when there are too
 * many. False when there is none. */
static bool make_room(struct gw *gw, struct nat64_gathers *t, const struct nat64_gather *g)
{
	struct nat64_gather *oldest = NULL;
	if (t->n_pieces < GATHER_ALL && pool_keep(gw->pool))
		return true;
	for (unsigned i = 0; i < GATHER_SETS * GATHER_WAYS; i++) {
		struct nat64_gather *k = &t->slot[i / GATHER_WAYS][i % GATHER_WAYS];
		if (k != g && k->n_pieces && (!oldest || left(gw, t, k) < left(gw, t, oldest)))
			oldest = k;
	}
	if (!oldest)
		return false;
	empty(gw, t, oldest);
	return pool_keep(gw->pool);
}

/* --- fragments --------------------------------------------------------------------- */

/* Puts a fragment into its place. False when it contradicts the others. */
static bool insert(struct nat64_gather *g, struct pkt *p, uint32_t at, bool more)
{
	struct pkt **place = &g->piece, *before = NULL;
	uint32_t end = at + p->l4_len;
	while (*place && (*place)->hint < at) {
		before = *place;
		place = &before->next;
	}
	const struct pkt *behind = *place;
	if ((before && before->hint + before->l4_len > at) || (behind && behind->hint < end) ||
	    (g->n_all && (more ? end > g->n_all : end != g->n_all)) || (!more && behind))
		return false;
	p->hint = at;
	p->next = *place;
	*place = p;
	g->n_pieces++;
	g->n_seen += p->l4_len;
	if (!more)
		g->n_all = end;
	return true;
}

/* Why a fragment cannot be one. */
static enum drop wrong(const struct pkt *p, uint32_t at, bool more)
{
	if (p->l4_len == 0 || (more && p->l4_len % 8 != 0) || at + p->l4_len > GATHER_MAX)
		return DROP_FRAGMENT;
	return p->flags & PKT_L2_GROUP ? DROP_MULTICAST : DROP_NONE;
}

/* True for an exact repetition of a fragment's place. */
static bool is_again(const struct nat64_gather *g, const struct pkt *p, uint32_t at)
{
	for (const struct pkt *k = g->piece; k; k = k->next)
		if (k->hint == at && k->l4_len == p->l4_len)
			return memcmp(k->data + k->l4, p->data + p->l4, p->l4_len) == 0;
	return false;
}

struct pkt *nat64_gather_add(struct gw *gw, struct nat64_gathers *t,
                             const struct nat64_gather_key *key, struct pkt *p, uint32_t at,
                             bool more)
{
	enum drop bad = wrong(p, at, more);
	if (bad != DROP_NONE) {
		gw_discard(gw, p, bad);
		return NULL;
	}
	struct nat64_gather *g = find(gw, t, key);
	if (g->state == GATHER_DEAD || is_again(g, p, at)) {
		gw_discard(gw, p, g->state == GATHER_DEAD ? DROP_REASSEMBLY : DROP_OVERLAP);
		return NULL;
	}
	if (g->n_pieces == GATHER_PIECE || !make_room(gw, t, g)) {
		gw_discard(gw, p, DROP_REASSEMBLY);
		spoil(gw, t, g, DROP_REASSEMBLY);
		return NULL;
	}
	if (!insert(g, p, at, more)) {
		pool_unkeep(gw->pool);
		gw_discard(gw, p, DROP_OVERLAP);
		spoil(gw, t, g, DROP_OVERLAP);
		return NULL;
	}
	t->n_pieces++;
	if (!g->n_all || g->n_seen != g->n_all)
		return NULL;
	struct pkt *list = take_all(gw, t, g);
	g->state = GATHER_FREE;
	t->n_used--;
	return list;
}

void nat64_gather_tick(struct gw *gw, struct nat64_gathers *t)
{
	if (t->n_used == 0 || !when_again(gw->clock.ms, &t->next_look_ms, LOOK_MS))
		return;
	for (unsigned i = 0; i < GATHER_SETS * GATHER_WAYS; i++) {
		struct nat64_gather *g = &t->slot[i / GATHER_WAYS][i % GATHER_WAYS];
		if (g->state != GATHER_FREE && left(gw, t, g) == 0)
			empty(gw, t, g);
	}
}
