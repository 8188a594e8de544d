/* See neigh.h. */
#include "net/neigh/neigh.h"

#include "kernel/lib/log.h"
#include "kernel/lib/when.h"
#include "net/ip4/icmp.h"
#include "net/ip6/icmp6.h"

#define SETTLE_US 3000000u /* a link that came up may not carry frames for so long */

void neigh_init(struct gw *gw)
{
	for (unsigned i = 0; i < ARRAY_SIZE(gw->neigh.mul); i++)
		gw->neigh.mul[i] = rng_u32(gw->rng) | 1;
}

/* A new stamp. It takes 2^32 changes until one comes again. */
static uint32_t stamp(struct neigh_table *t)
{
	do
		t->stamps++;
	while (t->stamps == 0 || t->stamps == NEIGH_NO_STAMP);
	return t->stamps;
}

void neigh_set_state(struct gw *gw, struct neigh *n, enum neigh_state state)
{
	gw->neigh.n_asking[n->is6] -= n->state == NEIGH_ASKING;
	gw->neigh.n_asking[n->is6] += state == NEIGH_ASKING;
	n->state = (uint8_t)state;
	uint32_t family = n->is6 ? NEIGH_READY6 : NEIGH_READY4;
	n->ready = neigh_usable(n) && state != NEIGH_STALE ? (uint16_t)(family | n->iface) : 0;
	if (!n->ready)
		n->stamp = 0;
	else if (!n->stamp)
		n->stamp = stamp(&gw->neigh);
}

void neigh_due_in(struct gw *gw, struct neigh *n, uint32_t ms)
{
	uint32_t now = gw->clock.ms;
	n->next_ms = now + ms;
	if (ms < when_left(now, gw->neigh.due_ms, NEIGH_MOST_MS))
		gw->neigh.due_ms = n->next_ms;
}

void neigh_set_mac(struct gw *gw, struct neigh *n, const mac *address)
{
	n->eth.to = *address;
	n->eth.from = gw->iface[n->iface].address;
	n->eth.type = be16_of(n->is6 ? ETH_IP6 : ETH_IP4);
}

/* Takes the oldest parked packet from an entry; NULL when there is none. */
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
	if (gw->forwarder->no_neighbour)
		gw->forwarder->no_neighbour(gw, p, six);
	else if (six)
		icmp6_error(gw, p, ICMP6_UNREACHABLE, ICMP6_ADDRESS, 0);
	else
		icmp_error(gw, p, ICMP_UNREACHABLE, ICMP_HOST, 0);
}

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
		if (p->hop) /* the routes may have changed */
			p->flags &= (uint16_t)~PKT_ROUTED;
		gw_send6(gw, p);
	}
}

void neigh_forget(struct gw *gw, struct neigh *n, enum drop reason)
{
	neigh_drop_parked(gw, n, reason);
	neigh_set_state(gw, n, NEIGH_FREE);
}

/* A rank for eviction; the entry with the highest is evicted first. Use of an IPv6 entry
 * does not count, because such an entry is reachable only if it was asked for recently. */
static uint32_t eviction_rank(const struct gw *gw, const struct neigh *n)
{
	static const uint8_t rank[] = {
	        [NEIGH_FREE] = 6,      [NEIGH_FAILED] = 5, [NEIGH_ASKING] = 4,  [NEIGH_STALE] = 3,
	        [NEIGH_REACHABLE] = 3, [NEIGH_DELAY] = 2,  [NEIGH_PROBING] = 2, [NEIGH_STATIC] = 0,
	};
	uint32_t age_s = min_u32((gw->clock.ms - n->confirmed_ms) >> 10, 0xffff);
	bool in_use = (n->used || n->is6) && n->state == NEIGH_REACHABLE;
	return (uint32_t)(rank[n->state] - in_use) << 16 | age_s;
}

/* True when entry a is evicted before entry b. Of equal ones the older is evicted, so that in a
 * flood of requests each entry has as long as possible for its answer. */
static bool evicted_before(const struct gw *gw, const struct neigh *a, const struct neigh *b)
{
	uint32_t of_a = eviction_rank(gw, a), of_b = eviction_rank(gw, b);
	return of_a != of_b ? of_a > of_b : (int16_t)(a->serial - b->serial) < 0;
}

struct neigh *neigh_take(struct gw *gw, struct neigh *set, uint32_t iface)
{
	struct neigh *best = &set[0];
	for (unsigned i = 1; i < NEIGH_WAYS; i++)
		if (evicted_before(gw, &set[i], best))
			best = &set[i];
	if (best->state == NEIGH_STATIC)
		return NULL;
	if (best->state != NEIGH_FREE) {
		gw->neigh.evicted++;
		neigh_forget(gw, best, DROP_NEIGHBOUR_QUEUE);
	}
	uint32_t s = (uint32_t)(set - gw->neigh.entry[0]) / NEIGH_WAYS;
	gw->neigh.taken[s / 32] |= 1u << s % 32;
	memset(best, 0, sizeof *best);
	best->iface = (uint8_t)iface;
	best->serial = gw->neigh.serial++;
	best->confirmed_ms = gw->clock.ms;
	neigh_due_in(gw, best, 0);
	return best;
}

/* When too many packets wait, the oldest is dropped: the latest is the most useful one (RFC 1122
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

bool neigh_settling(const struct gw *gw, const struct neigh *n)
{
	return gw->clock.us - gw->iface[n->iface].up_us < SETTLE_US;
}

/* Runs the timer of an entry if its time has come. Gives in how many milliseconds it ends, or
 * NEIGH_MOST_MS when it has none. */
static uint32_t tick_entry(struct gw *gw, struct neigh *n)
{
	if (n->state == NEIGH_FREE || n->state == NEIGH_STATIC)
		return NEIGH_MOST_MS;
	uint32_t left = when_left(gw->clock.ms, n->next_ms, NEIGH_MOST_MS);
	if (left != 0)
		return left;
	if (n->is6)
		neigh_tick6(gw, n);
	else
		neigh_tick4(gw, n);
	return NEIGH_MOST_MS; /* neigh_due_in has noted a new time */
}

void neigh_tick(struct gw *gw)
{
	struct neigh_table *t = &gw->neigh;
	uint32_t now = gw->clock.ms, least = NEIGH_MOST_MS;
	if (!when_come(now, t->due_ms, NEIGH_MOST_MS))
		return;
	t->due_ms = now + NEIGH_MOST_MS;
	for (unsigned i = 0; i < ARRAY_SIZE(t->taken); i++)
		for (uint32_t sets = t->taken[i]; sets; sets &= sets - 1) {
			uint32_t bit = (uint32_t)__builtin_ctz(sets), any = 0;
			t->taken[i] &= ~(1u << bit); /* a timer may take an entry */
			struct neigh *set = t->entry[i * 32 + bit];
			for (struct neigh *n = set; n < set + NEIGH_WAYS; n++) {
				least = min_u32(least, tick_entry(gw, n));
				any |= n->state != NEIGH_FREE;
			}
			t->taken[i] |= any << bit;
		}
	t->due_ms = now + min_u32(least, when_left(now, t->due_ms, NEIGH_MOST_MS));
}

uint32_t neigh_due_ms(const struct gw *gw)
{
	const struct neigh_table *t = &gw->neigh;
	bool asking = (t->n_asking[0] | t->n_asking[1]) != 0;
	return asking ? when_left(gw->clock.ms, t->due_ms, NEIGH_MOST_MS) : NEIGH_MOST_MS;
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

/* True when the address of an entry is on a network of its interface. */
static bool is_on_link(const struct gw *gw, const struct neigh *n)
{
	const struct interface *iface = &gw->iface[n->iface];
	return n->is6 ? interface_on_link6(iface, (const ip6 *)n->key)
	              : interface_on_link4(iface, ip4_from_raw(n->key[3])) != NULL;
}

void neigh_moved(struct gw *gw, uint32_t iface)
{
	for (unsigned s = 0; s < NEIGH_SETS; s++)
		for (unsigned w = 0; w < NEIGH_WAYS; w++) {
			struct neigh *n = &gw->neigh.entry[s][w];
			if (n->state == NEIGH_FREE || n->iface != iface)
				continue;
			neigh_drop_parked(gw, n, DROP_NO_ROUTE);
			if (n->state != NEIGH_STATIC && !is_on_link(gw, n))
				neigh_forget(gw, n, DROP_NO_ROUTE);
		}
}
