/* See reasm.h. */
#include "net/ip4/reasm.h"

#include "kernel/lib/when.h"
#include "net/gw.h"
#include "net/ip4/frag.h"
#include "net/ip4/ip4.h"

#define LOOK_MS 100u
#define NO_ECN  (1u << 0) /* bits of reasm_slot.ecn */
#define CE      (1u << 3)

void reasm_init(struct gw *gw, struct reasm_table *t)
{
	for (unsigned i = 0; i < ARRAY_SIZE(t->secret.k); i++)
		t->secret.k[i] = rng_u32(gw->rng);
}

static uint8_t *payload(const struct reasm_slot *s)
{
	return s->p->bytes + PKT_HEADROOM;
}

/* --- slots ---------------------------------------------------------------------------- */

static void free_buffer(struct gw *gw, struct reasm_slot *s)
{
	pool_unkeep(gw->pool);
	pkt_free(s->p);
	s->p = NULL;
}

/* The packet is lost. Further fragments of it are dropped until its time is over. */
static void spoil(struct gw *gw, struct reasm_slot *s)
{
	s->state = REASM_DEAD;
	free_buffer(gw, s);
}

static void empty(struct gw *gw, struct reasm_table *t, struct reasm_slot *s)
{
	if (s->state == REASM_OPEN) {
		/* The list of drops shows a header that came, not what the buffer held before. */
		pkt_trim(s->p, s->n_seen);
		if (pkt_push(s->p, s->hlen))
			gw_drop(gw, s->p, DROP_REASSEMBLY);
		free_buffer(gw, s);
	}
	s->state = REASM_FREE;
	t->n_used--;
}

/* Milliseconds until the slot ends. */
static uint32_t left(const struct gw *gw, const struct reasm_slot *s)
{
	return when_left(gw->clock.ms, s->due_ms, REASM_WAIT_MS);
}

/* Takes a slot for a packet: a free one, else that of the sender's oldest packet, else the
 * one in `next`. NULL when there is no buffer. */
static struct reasm_slot *take(struct gw *gw, struct reasm_table *t, uint32_t which,
                               const struct frag_key *key)
{
	struct reasm_slot *set = t->slot[which], *best = NULL;
	for (struct reasm_slot *s = set; s < set + REASM_WAYS; s++) {
		if (s->state == REASM_FREE) {
			best = s;
			break;
		}
		if (s->key.from == key->from && (!best || left(gw, s) < left(gw, best)))
			best = s;
	}
	if (!best)
		best = &set[t->next[which]++ % REASM_WAYS];
	if (best->state != REASM_FREE)
		empty(gw, t, best);
	if (!pool_keep(gw->pool))
		return NULL;
	struct pkt *p = pkt_alloc(gw->pool);
	if (!p || !pkt_put(p, REASM_BYTES)) {
		if (p)
			pkt_free(p);
		pool_unkeep(gw->pool);
		return NULL;
	}
	*best = (struct reasm_slot){
	        .key = *key,
	        .state = REASM_OPEN,
	        .due_ms = gw->clock.ms + REASM_WAIT_MS,
	        .p = p,
	};
	p->iface = (uint8_t)(key->what >> 24);
	t->n_used++;
	return best;
}

static struct reasm_slot *find(struct gw *gw, struct reasm_table *t, const struct frag_key *key)
{
	const uint32_t w[2] = {key->from, key->to};
	uint32_t which = (uint32_t)(hash_words(&t->secret, w, 2) % REASM_SETS);
	struct reasm_slot *set = t->slot[which];
	for (struct reasm_slot *s = set; s < set + REASM_WAYS; s++)
		if (s->state != REASM_FREE && s->key.from == key->from && s->key.to == key->to &&
		    s->key.what == key->what)
			return s;
	return take(gw, t, which, key);
}

/* --- fragments --------------------------------------------------------------------- */

/* Marks n bytes from `at` on as present. Gives how many of their 8-byte blocks were present
 * before. */
static uint32_t mark(struct reasm_slot *s, uint32_t at, uint32_t n)
{
	uint32_t before = 0;
	for (uint32_t block = at / 8; block < (at + n + 7) / 8; block++) {
		uint8_t bit = (uint8_t)(1u << block % 8);
		before += (s->have[block / 8] & bit) != 0;
		s->have[block / 8] |= bit;
	}
	return before;
}

/* True when a fragment's end contradicts the other fragments. */
static bool contradicts(const struct reasm_slot *s, uint32_t end, bool last)
{
	if (s->n_all)
		return last ? end != s->n_all : end > s->n_all;
	if (!last)
		return false;
	/* No byte may be present behind the end. */
	for (uint32_t block = (end + 7) / 8; block < REASM_BYTES / 8; block++)
		if (s->have[block / 8] & 1u << block % 8)
			return true;
	return false;
}

enum added { ADDED, AGAIN, BAD };

/* Copies a fragment to its place: payload bytes [at, at + l4_len). */
static enum added add(struct reasm_slot *s, const struct pkt *p, uint32_t at, bool last)
{
	const uint8_t *from = p->data + p->l4;
	uint32_t n = p->l4_len;
	if (contradicts(s, at + n, last))
		return BAD;
	uint32_t before = mark(s, at, n);
	if (before) {
		/* An exact repetition is harmless; anything else is an attack. */
		bool same = before == (n + 7) / 8 && memcmp(payload(s) + at, from, n) == 0 &&
		            (!last || s->n_all);
		return same ? AGAIN : BAD;
	}
	memcpy(payload(s) + at, from, n);
	s->n_seen += n;
	if (last)
		s->n_all = at + n;
	if (at == 0 || s->hlen == 0) {
		s->hlen = (uint8_t)p->l4;
		memcpy(payload(s) - p->l4, p->data, p->l4);
	}
	s->ecn |= (uint8_t)(1u << (ip4_header(p)->tos & 3));
	return ADDED;
}

/* Completes the packet with the header of the first fragment. */
static enum drop finish(struct reasm_slot *s)
{
	struct pkt *p = s->p;
	pkt_trim(p, s->n_all);
	if (!pkt_push(p, s->hlen))
		return DROP_NO_PACKET; /* does not happen: the headroom has room for any header */
	struct ip4_hdr *h = ip4_header(p);
	if (s->ecn & CE) { /* RFC 3168 section 5.3 */
		if (s->ecn & NO_ECN)
			return DROP_ECN;
		h->tos |= 3;
	}
	h->len = be16_of((uint16_t)p->len);
	h->frag = be16_of(0);
	h->sum = be16_of(0);
	h->sum = be16_from_raw((uint16_t)~csum_sum(h, s->hlen));
	return DROP_NONE;
}

static void complete(struct gw *gw, struct reasm_table *t, struct reasm_slot *s)
{
	struct pkt *p = s->p;
	enum drop bad = finish(s);
	s->state = REASM_FREE;
	t->n_used--;
	pool_unkeep(gw->pool);
	if (bad == DROP_NONE)
		gw_reinject(gw, p, p->iface, FAMILY_IP4);
	else
		gw_discard(gw, p, bad);
}

enum verdict reasm_ip4(struct gw *gw, struct reasm_table *t, struct pkt *p)
{
	const struct frag_key key = frag_key(p);
	uint32_t frag = be16_get(ip4_header(p)->frag), at = (frag & IP4_OFFSET) * 8;
	bool last = !(frag & IP4_MF);
	if (p->flags & PKT_L2_GROUP)
		return gw_drop(gw, p, DROP_MULTICAST);
	if (p->l4_len == 0 || (!last && p->l4_len % 8 != 0))
		return gw_drop(gw, p, DROP_FRAGMENT);
	struct reasm_slot *s = find(gw, t, &key);
	if (!s || s->state == REASM_DEAD)
		return gw_drop(gw, p, DROP_REASSEMBLY);
	if (at > REASM_BYTES || p->l4_len > REASM_BYTES - at) {
		spoil(gw, s);
		return gw_drop(gw, p, DROP_REASSEMBLY);
	}
	enum added done = add(s, p, at, last);
	if (done == BAD)
		spoil(gw, s);
	if (done != ADDED)
		return gw_drop(gw, p, DROP_OVERLAP);
	pkt_free(p);
	if (s->n_all && s->n_seen == s->n_all)
		complete(gw, t, s);
	return V_KEPT;
}

void reasm_tick(struct gw *gw, struct reasm_table *t)
{
	if (t->n_used == 0 || !when_again(gw->clock.ms, &t->next_look_ms, LOOK_MS))
		return;
	for (unsigned i = 0; i < REASM_SETS; i++)
		for (unsigned w = 0; w < REASM_WAYS; w++) {
			struct reasm_slot *s = &t->slot[i][w];
			if (s->state != REASM_FREE && left(gw, s) == 0)
				empty(gw, t, s);
		}
}
