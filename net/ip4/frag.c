/* See frag.h. */
#include "net/ip4/frag.h"

#include "kernel/lib/when.h"
#include "net/ip4/ip4.h"

#define LOOK_MS 100u

void frag_init(struct gw *gw)
{
	for (unsigned i = 0; i < ARRAY_SIZE(gw->frags.secret.k); i++)
		gw->frags.secret.k[i] = rng_u32(gw->rng);
}

struct frag_key frag_key(const struct pkt *p)
{
	const struct ip4_hdr *h = (const struct ip4_hdr *)p->data;
	return (struct frag_key){
	        .from = ip4_raw(h->from),
	        .to = ip4_raw(h->to),
	        .what = be16_raw(h->id) | (uint32_t)h->proto << 16 | (uint32_t)p->iface << 24,
	};
}

static struct frag *set_of(struct frag_table *t, const struct frag_key *k)
{
	const uint32_t w[3] = {k->from, k->to, k->what};
	return t->entry[hash_words(&t->secret, w, 3) % FRAG_SETS];
}

static struct frag *find(struct gw *gw, const struct frag_key *k)
{
	struct frag *f = set_of(&gw->frags, k);
	for (unsigned i = 0; i < FRAG_WAYS; i++, f++)
		if (f->state != FRAG_FREE && f->key.what == k->what && f->key.from == k->from &&
		    f->key.to == k->to)
			return f;
	return NULL;
}

static struct pkt *unpark(struct gw *gw, struct frag *f)
{
	struct pkt *p = f->parked;
	if (!p)
		return NULL;
	f->parked = p->next;
	f->n_parked--;
	gw->frags.n_parked--;
	pool_unkeep(gw->pool);
	return p;
}

static void forget(struct gw *gw, struct frag *f)
{
	for (struct pkt *p; (p = unpark(gw, f)) != NULL;)
		gw_discard(gw, p, DROP_FRAGMENT);
	gw->frags.n_used -= f->state != FRAG_FREE;
	f->state = FRAG_FREE;
}

/* Milliseconds until the entry ends. */
static uint32_t left(const struct gw *gw, const struct frag *f)
{
	return when_left(gw->clock.ms, f->due_ms, FRAG_LIVE_MS);
}

/* Takes an entry of the set, in the order of the states, the oldest one of each state. So
 * packets in order do not suffer from fragments without a first one. `for_first` may take
 * any entry; a later fragment never takes one with a decision that is still needed. */
static struct frag *take(struct gw *gw, const struct frag_key *k, bool for_first)
{
	struct frag *f = set_of(&gw->frags, k), *best = NULL;
	for (unsigned i = 0; i < FRAG_WAYS; i++, f++) {
		if (f->state == FRAG_KNOWN && !for_first)
			continue;
		if (!best || f->state < best->state ||
		    (f->state == best->state && left(gw, f) < left(gw, best)))
			best = f;
	}
	if (!best)
		return NULL;
	forget(gw, best);
	*best = (struct frag){.key = *k};
	gw->frags.n_used++;
	return best;
}

struct frag *frag_known(struct gw *gw, const struct frag_key *key)
{
	struct frag *f = find(gw, key);
	return f && f->state == FRAG_KNOWN ? f : NULL;
}

/* A number for a boundary between fragments; 0 for the beginning. */
static uint32_t boundary(uint32_t at)
{
	return at * at * at * 0x9e3779b1u;
}

/* Each fragment adds the number of its end and subtracts that of its beginning. When every
 * fragment passed once, in any order, the number of the packet's end is left. A fragment
 * that came twice does not complete the packet, because the missing ones would then wait
 * for another first fragment. */
void frag_count(struct frag *f, const struct pkt *p)
{
	uint32_t frag = be16_get(ip4_header(p)->frag);
	uint32_t at = (frag & IP4_OFFSET) * 8, end = at + p->l4_len;
	f->n_seen += p->l4_len;
	f->cover += boundary(end) - boundary(at);
	if (!(frag & IP4_MF))
		f->n_all = end;
	if (f->n_all && f->n_seen == f->n_all && f->cover == boundary(f->n_all))
		f->state = FRAG_DONE;
}

struct frag *frag_decide(struct gw *gw, const struct frag_key *key)
{
	struct frag *f = find(gw, key);
	if (!f)
		f = take(gw, key, true);
	if (f->n_all && f->n_seen >= f->n_all) /* it is the next packet with this identification */
		f->n_seen = f->n_all = f->cover = 0;
	f->state = FRAG_KNOWN;
	f->due_ms = gw->clock.ms + FRAG_LIVE_MS;
	return f;
}

void frag_release(struct gw *gw, struct frag *f)
{
	/* Takes all of them out first: a reinjected fragment may be parked again, and the
	 * entry may belong to another packet then. */
	struct pkt *list = f->parked;
	gw->frags.n_parked -= f->n_parked;
	f->parked = NULL;
	f->n_parked = 0;
	while (list) {
		struct pkt *p = list;
		list = p->next;
		pool_unkeep(gw->pool);
		gw_reinject(gw, p, p->iface, FAMILY_IP4);
	}
}

static void wait_for_first(const struct gw *gw, struct frag *f)
{
	f->state = FRAG_WAITING;
	f->due_ms = gw->clock.ms + FRAG_WAIT_MS;
}

bool frag_park(struct gw *gw, struct pkt *p)
{
	struct frag_key key = frag_key(p);
	struct frag *f = find(gw, &key);
	if (!f) {
		f = take(gw, &key, false);
		if (!f)
			return false;
		wait_for_first(gw, f);
	} else if (f->state == FRAG_DONE) { /* of the next packet with this identification */
		f->n_seen = f->n_all = f->cover = 0;
		wait_for_first(gw, f);
	}
	if (f->n_parked >= FRAG_PARKED || gw->frags.n_parked >= FRAG_ALL || !pool_keep(gw->pool))
		return false;
	struct pkt **end = &f->parked;
	while (*end)
		end = &(*end)->next;
	*end = p;
	p->next = NULL;
	f->n_parked++;
	gw->frags.n_parked++;
	return true;
}

void frag_forget_all(struct gw *gw)
{
	for (unsigned s = 0; s < FRAG_SETS; s++)
		for (unsigned w = 0; w < FRAG_WAYS; w++)
			forget(gw, &gw->frags.entry[s][w]);
}

void frag_tick(struct gw *gw)
{
	struct frag_table *t = &gw->frags;
	if (t->n_used == 0 || !when_again(gw->clock.ms, &t->next_look_ms, LOOK_MS))
		return;
	for (unsigned s = 0; s < FRAG_SETS; s++)
		for (unsigned w = 0; w < FRAG_WAYS; w++) {
			struct frag *f = &t->entry[s][w];
			if (f->state != FRAG_FREE && left(gw, f) == 0)
				forget(gw, f);
		}
}
