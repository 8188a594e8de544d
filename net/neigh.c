/* See neigh.h. */
#include "net/neigh.h"

#include "kernel/lib/log.h"
#include "kernel/lib/when.h"
#include "net/ether/arp.h"
#include "net/gw.h"
#include "net/ip4/ip4.h"
#include "net/ip6/ip6.h"

#define REACHABLE_MS 60000u /* how long an answer counts */
#define REFRESH_MS   10000u /* asked again so long before that, when in use */
/* Three questions in 0.9 s, then a pause: less than one a second on the whole (RFC
 * 1122 section 2.3.2.1), and what waits is let go within the second. */
#define ASK_MS    300u
#define ASK_TRIES 3u
#define FAILED_MS 3000u
#define PROBE_MS  1000u    /* between questions about an entry in use */
#define SETTLE_US 3000000u /* a link that came up may not carry frames before that */

void neigh_init(struct gw *gw)
{
	for (unsigned i = 0; i < ARRAY_SIZE(gw->neigh.mul); i++)
		gw->neigh.mul[i] = rng_u32(gw->rng) | 1;
}

void neigh_set_state(struct gw *gw, struct neigh *n, enum neigh_state state)
{
	if (n->is6 && n->state == NEIGH_ASKING)
		gw->neigh.n_asking6--;
	if (n->is6 && state == NEIGH_ASKING)
		gw->neigh.n_asking6++;
	n->state = (uint8_t)state;
	uint32_t family = n->is6 ? NEIGH_READY6 : NEIGH_READY4;
	n->ready = neigh_usable(n) && state != NEIGH_STALE ? (uint16_t)(family | n->iface) : 0;
}

void neigh_set_mac(struct gw *gw, struct neigh *n, const mac *address)
{
	n->eth.to = *address;
	n->eth.from = gw->iface[n->iface].address;
	n->eth.type = be16_of(n->is6 ? ETH_IP6 : ETH_IP4);
}

/* Takes the oldest waiting packet off an entry. */
static struct pkt *unpark(struct gw *gw, struct neigh *n)
{
	struct pkt *p = n->parked;
	if (!p)
		return NULL;
	n->parked = p->next;
	n->n_parked--;
	gw->neigh.n_parked--;
	pool_unkeep(gw->pool);
	return p;
}

void neigh_tell(struct gw *gw, struct pkt *p, bool six)
{
	if (gw->app->no_neighbour)
		gw->app->no_neighbour(gw, p, six);
	else if (six)
		icmp6_error(gw, p, ICMP6_UNREACHABLE, ICMP6_ADDRESS, 0);
	else
		icmp_error(gw, p, ICMP_UNREACHABLE, ICMP_HOST, 0);
}

/* Ends the wait of everything parked: the sender is told. */
void neigh_drop_parked(struct gw *gw, struct neigh *n, enum drop reason)
{
	for (struct pkt *p; (p = unpark(gw, n)) != NULL;) {
		if (reason == DROP_NO_NEIGHBOUR)
			neigh_tell(gw, p, n->is6);
		gw_discard(gw, p, reason);
	}
}

void neigh_release(struct gw *gw, struct neigh *n)
{
	for (struct pkt *p; (p = unpark(gw, n)) != NULL;) {
		if (!n->is6) {
			gw_send(gw, p);
			continue;
		}
		if (p->hop) /* the routes may be others by now */
			p->flags &= (uint16_t)~PKT_ROUTED;
		gw_send6(gw, p);
	}
}

void neigh_forget(struct gw *gw, struct neigh *n, enum drop reason)
{
	neigh_drop_parked(gw, n, reason);
	neigh_set_state(gw, n, NEIGH_FREE);
}

/* How willingly an entry gives way to a new one; higher goes first. IPv6 does not note
 * use, but an entry is reachable only because it was asked for lately. */
static uint32_t dispensable(const struct gw *gw, const struct neigh *n)
{
	static const uint8_t rank[] = {
	        [NEIGH_FREE] = 6,      [NEIGH_FAILED] = 5, [NEIGH_ASKING] = 4,  [NEIGH_STALE] = 3,
	        [NEIGH_REACHABLE] = 3, [NEIGH_DELAY] = 2,  [NEIGH_PROBING] = 2, [NEIGH_STATIC] = 0,
	};
	uint32_t age_s = min_u32((gw->now_ms - n->confirmed_ms) >> 10, 0xffff);
	bool in_use = (n->used || n->is6) && n->state == NEIGH_REACHABLE;
	return (uint32_t)(rank[n->state] - in_use) << 16 | age_s;
}

/* True when one of two entries gives way before the other; of equal ones the one that came
 * first, so that in a flood of questions each has the most time for its answer. */
static bool gives_way(const struct gw *gw, const struct neigh *a, const struct neigh *b)
{
	uint32_t of_a = dispensable(gw, a), of_b = dispensable(gw, b);
	return of_a != of_b ? of_a > of_b : (int16_t)(a->turn - b->turn) < 0;
}

struct neigh *neigh_take(struct gw *gw, struct neigh *set, uint32_t iface)
{
	struct neigh *best = &set[0];
	for (unsigned i = 1; i < NEIGH_WAYS; i++)
		if (gives_way(gw, &set[i], best))
			best = &set[i];
	if (best->state == NEIGH_STATIC)
		return NULL;
	if (best->state != NEIGH_FREE) {
		gw->neigh.evicted++;
		neigh_forget(gw, best, DROP_NEIGHBOUR_QUEUE);
	}
	memset(best, 0, sizeof *best);
	best->iface = (uint8_t)iface;
	best->turn = gw->neigh.turn++;
	best->confirmed_ms = gw->now_ms;
	return best;
}

static struct neigh *take4(struct gw *gw, uint32_t iface, ip4 addr)
{
	struct neigh *n = neigh_take(gw, neigh_set4(&gw->neigh, ip4_raw(addr)), iface);
	if (n)
		n->key[3] = ip4_raw(addr);
	return n;
}

static ip4 address_of(const struct neigh *n)
{
	return ip4_from_raw(n->key[3]);
}

static void ask(struct gw *gw, struct neigh *n, const mac *to)
{
	n->tries++;
	n->next_ms = gw->now_ms + (n->state == NEIGH_PROBING ? PROBE_MS : ASK_MS);
	arp_ask(gw, n->iface, address_of(n), to);
}

/* When too many wait the oldest goes: the latest is the one still wanted (RFC 1122
 * section 2.3.2.2, RFC 4861 section 7.2.2). */
void neigh_park(struct gw *gw, struct neigh *n, struct pkt *p)
{
	if (n->n_parked >= NEIGH_PARKED)
		gw_discard(gw, unpark(gw, n), DROP_NEIGHBOUR_QUEUE);
	if (gw->neigh.n_parked >= NEIGH_PARKED_ALL || !pool_keep(gw->pool)) {
		gw_discard(gw, p, DROP_NEIGHBOUR_QUEUE);
		return;
	}
	struct pkt **end = &n->parked;
	while (*end)
		end = &(*end)->next;
	*end = p;
	p->next = NULL;
	n->n_parked++;
	gw->neigh.n_parked++;
}

void neigh_resolve4(struct gw *gw, struct pkt *p)
{
	ip4 hop = ip4_from_raw(p->hop);
	struct neigh *n = neigh_find4(&gw->neigh, p->out, p->hop);
	if (!gw->iface[p->out].link_up) {
		gw_discard(gw, p, DROP_LINK_DOWN);
		return;
	}
	if (n && n->state == NEIGH_FAILED) {
		neigh_tell(gw, p, false);
		gw_discard(gw, p, DROP_NO_NEIGHBOUR);
		return;
	}
	if (!n) {
		n = take4(gw, p->out, hop);
		if (!n) {
			gw_discard(gw, p, DROP_NEIGHBOUR_QUEUE);
			return;
		}
		neigh_set_state(gw, n, NEIGH_ASKING);
		ask(gw, n, NULL);
	}
	neigh_park(gw, n, p);
}

void neigh_learn4(struct gw *gw, uint32_t iface, ip4 addr, const mac *address, bool create,
                  enum neigh_state state)
{
	struct neigh *n = neigh_find4(&gw->neigh, iface, ip4_raw(addr));
	if (!n && create)
		n = take4(gw, iface, addr);
	if (!n || n->state == NEIGH_STATIC)
		return;
	neigh_set_state(gw, n, state);
	n->tries = 0;
	n->used = false;
	n->confirmed_ms = gw->now_ms;
	n->next_ms = gw->now_ms + REACHABLE_MS - REFRESH_MS;
	neigh_set_mac(gw, n, address);
	neigh_release(gw, n);
}

bool neigh_settling(const struct gw *gw, const struct neigh *n)
{
	return gw->now_us - gw->iface[n->iface].up_us < SETTLE_US;
}

static void tick_entry(struct gw *gw, struct neigh *n)
{
	if (n->state == NEIGH_FREE || n->state == NEIGH_STATIC ||
	    !when_come(gw->now_ms, n->next_ms, NEIGH_MOST_MS))
		return;
	if (n->is6) {
		neigh_tick6(gw, n);
		return;
	}
	switch (n->state) {
	case NEIGH_ASKING:
		if (n->tries < ASK_TRIES || neigh_settling(gw, n)) {
			ask(gw, n, NULL);
			return;
		}
		neigh_set_state(gw, n,
		                NEIGH_FAILED); /* before the errors, which may come back here */
		n->next_ms = gw->now_ms + FAILED_MS;
		neigh_drop_parked(gw, n, DROP_NO_NEIGHBOUR);
		return;
	case NEIGH_REACHABLE:
		if (!n->used) {
			if (gw->now_ms - n->confirmed_ms >= REACHABLE_MS)
				neigh_forget(gw, n, DROP_NO_NEIGHBOUR);
			return;
		}
		neigh_set_state(gw, n, NEIGH_PROBING);
		ask(gw, n, &n->eth.to);
		return;
	case NEIGH_PROBING:
		if (n->tries >= 2 * ASK_TRIES)
			neigh_forget(gw, n, DROP_NO_NEIGHBOUR);
		else /* first the station itself, then everybody (it may have moved) */
			ask(gw, n, n->tries < ASK_TRIES ? &n->eth.to : NULL);
		return;
	default:
		neigh_forget(gw, n, DROP_NO_NEIGHBOUR);
	}
}

void neigh_tick(struct gw *gw)
{
	for (unsigned s = 0; s < NEIGH_SETS; s++)
		for (unsigned w = 0; w < NEIGH_WAYS; w++)
			tick_entry(gw, &gw->neigh.entry[s][w]);
}

void neigh_flush(struct gw *gw, uint32_t iface)
{
	for (unsigned s = 0; s < NEIGH_SETS; s++)
		for (unsigned w = 0; w < NEIGH_WAYS; w++) {
			struct neigh *n = &gw->neigh.entry[s][w];
			if (n->state != NEIGH_FREE && n->state != NEIGH_STATIC && n->iface == iface)
				neigh_forget(gw, n, DROP_LINK_DOWN);
		}
}
