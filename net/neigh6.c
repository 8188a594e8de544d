/* IPv6 neighbours: the states of RFC 4861 section 7.3.2 over the table of neigh.h,
 * and the bounds against scanning (RFC 6583): a network of 2^64 addresses lets
 * anybody send to as many that nobody has. How many are asked for at one time and
 * how many new ones in a second is limited; known neighbours never give way to
 * such questions while there is another choice in their set. */
#include "net/gw.h"
#include "net/ip6.h"
#include "net/nd.h"

#define REACHABLE_MS 30000u /* on average; RFC 4861 section 10, as the next four */
#define DELAY_MS     5000u
#define RETRANS_MS   1000u
#define ASK_TRIES    3u
#define PROBE_TRIES  3u
#define FAILED_MS    3000u         /* no questions for so long after three without answer */
#define STALE_MS     NEIGH_MOST_MS /* unused for so long: forgotten */
#define ASKING_MAX   256u
#define ASK_RATE     500u /* new questions a second */
#define ASK_BURST    64u

static const ip6 *address_of(const struct neigh *n)
{
	return (const ip6 *)n->key;
}

/* A new entry, without state yet; NULL when there is no room. */
static struct neigh *take6(struct gw *gw, uint32_t port, const ip6 *addr)
{
	struct neigh *n = neigh_take(gw, neigh_set6(&gw->neigh, addr), port);
	if (!n)
		return NULL;
	n->is6 = true;
	memcpy(n->key, addr, sizeof n->key);
	return n;
}

static void ask(struct gw *gw, struct neigh *n)
{
	n->tries++;
	n->next_ms = gw->now_ms + RETRANS_MS;
	nd_ask(gw, n->port, address_of(n), n->state == NEIGH_PROBING ? &n->eth.to : NULL);
}

static bool may_ask(struct gw *gw)
{
	struct neigh_table *t = &gw->neigh;
	uint32_t fresh = (gw->now_ms - t->ask_ms) * ASK_RATE / 1000;
	if (gw->now_ms - t->ask_ms >= 1000)
		fresh = ASK_BURST;
	if (fresh) {
		t->ask_tokens = min_u32(t->ask_tokens + fresh, ASK_BURST);
		t->ask_ms = gw->now_ms;
	}
	if (t->ask_tokens == 0)
		return false;
	t->ask_tokens--;
	return true;
}

/* The entry that has been asked for longest gives way, so that a flood of questions
 * leaves a real neighbour the time to answer. */
static void drop_oldest_question(struct gw *gw)
{
	struct neigh *oldest = NULL;
	for (unsigned s = 0; s < NEIGH_SETS; s++)
		for (unsigned w = 0; w < NEIGH_WAYS; w++) {
			struct neigh *n = &gw->neigh.entry[s][w];
			if (n->is6 && n->state == NEIGH_ASKING &&
			    (!oldest ||
			     gw->now_ms - n->confirmed_ms > gw->now_ms - oldest->confirmed_ms))
				oldest = n;
		}
	if (oldest)
		neigh_forget(gw, oldest, DROP_NEIGHBOUR_QUEUE);
}

static struct neigh *start_asking(struct gw *gw, uint32_t port, const ip6 *addr)
{
	if (!may_ask(gw))
		return NULL;
	if (gw->neigh.n_asking6 >= ASKING_MAX)
		drop_oldest_question(gw);
	struct neigh *n = take6(gw, port, addr);
	if (!n)
		return NULL;
	neigh_set_state(gw, n, NEIGH_ASKING);
	ask(gw, n);
	return n;
}

void neigh_resolve6(struct gw *gw, struct pkt *p)
{
	const ip6 *hop = ip6_hop_of(gw, p);
	struct neigh *n = neigh_find6(&gw->neigh, p->out, hop);
	if (!gw->port[p->out].link_up) {
		gw_discard(gw, p, DROP_LINK_DOWN);
		return;
	}
	if (n && n->state == NEIGH_STALE) {
		neigh_set_state(gw, n, NEIGH_DELAY);
		n->next_ms = gw->now_ms + DELAY_MS;
		n->tries = 0;
		gw_send6(gw, p);
		return;
	}
	if (n && n->state == NEIGH_FAILED) {
		gw_error6(gw, p, ICMP6_UNREACHABLE, ICMP6_ADDRESS, 0);
		gw_discard(gw, p, DROP_NO_NEIGHBOUR);
		return;
	}
	if (!n)
		n = start_asking(gw, p->out, hop);
	if (n)
		neigh_park(gw, n, p);
	else
		gw_discard(gw, p, DROP_NEIGHBOUR_QUEUE);
}

bool neigh_fix6(struct gw *gw, uint32_t port, const ip6 *addr, const mac *address)
{
	struct neigh *n = neigh_find6(&gw->neigh, port, addr);
	if (!n)
		n = take6(gw, port, addr);
	if (!n)
		return false;
	neigh_set_mac(gw, n, address);
	neigh_set_state(gw, n, NEIGH_STATIC);
	return true;
}

static void set_reachable(struct gw *gw, struct neigh *n)
{
	neigh_set_state(gw, n, NEIGH_REACHABLE);
	n->confirmed_ms = gw->now_ms;
	n->next_ms = gw->now_ms + REACHABLE_MS / 2 + rng_below(gw->rng, REACHABLE_MS);
}

static void set_stale(struct gw *gw, struct neigh *n)
{
	neigh_set_state(gw, n, NEIGH_STALE);
	n->next_ms = gw->now_ms + STALE_MS;
}

/* An entry for a station that only says it is there: a free place, or that of one that
 * is not in use. Nobody whom packets of ours wait for or go to gives way: any station
 * can ask from as many addresses as it likes. */
static struct neigh *take_unasked(struct gw *gw, uint32_t port, const ip6 *addr)
{
	struct neigh *set = neigh_set6(&gw->neigh, addr), *best = NULL;
	for (struct neigh *n = set; n < set + NEIGH_WAYS; n++) {
		if (n->state == NEIGH_FREE || n->state == NEIGH_FAILED)
			return take6(gw, port, addr); /* which takes one of these first */
		bool idle = n->state == NEIGH_STALE ||
		            (n->state == NEIGH_REACHABLE && !n->is6 && !n->used);
		if (idle &&
		    (!best || gw->now_ms - n->confirmed_ms > gw->now_ms - best->confirmed_ms))
			best = n;
	}
	if (!best)
		return NULL;
	neigh_forget(gw, best, DROP_NEIGHBOUR_QUEUE);
	gw->neigh.evicted++;
	return take6(gw, port, addr);
}

void neigh_heard6(struct gw *gw, uint32_t port, const ip6 *addr, const mac *address)
{
	struct neigh *n = neigh_find6(&gw->neigh, port, addr);
	if (!n)
		n = take_unasked(gw, port, addr);
	else if (n->state == NEIGH_STATIC || (neigh_usable(n) && mac_eq(&n->eth.to, address)))
		return;
	if (!n)
		return;
	neigh_set_mac(gw, n, address);
	set_stale(gw, n);
	neigh_release(gw, n);
}

bool neigh_answered6(struct gw *gw, uint32_t port, const ip6 *addr, const mac *address,
                     uint32_t flags)
{
	struct neigh *n = neigh_find6(&gw->neigh, port, addr);
	if (!n)
		return false;
	if (n->state == NEIGH_STATIC)
		return true;
	if (!neigh_usable(n)) {
		if (!address)
			return true;
		neigh_set_mac(gw, n, address);
		if (flags & ND_SOLICITED)
			set_reachable(gw, n);
		else
			set_stale(gw, n);
		neigh_release(gw, n);
		return true;
	}
	bool other = address && !mac_eq(&n->eth.to, address);
	if (other && !(flags & ND_OVERRIDE)) {
		if (n->state == NEIGH_REACHABLE)
			set_stale(gw, n);
		return true;
	}
	if (other)
		neigh_set_mac(gw, n, address);
	if (flags & ND_SOLICITED)
		set_reachable(gw, n);
	else if (other)
		set_stale(gw, n);
	return true;
}

void neigh_tick6(struct gw *gw, struct neigh *n)
{
	switch (n->state) {
	case NEIGH_ASKING:
		if (n->tries < ASK_TRIES || neigh_settling(gw, n)) {
			ask(gw, n);
			return;
		}
		neigh_set_state(gw, n, NEIGH_FAILED); /* before the errors, which may come back */
		n->next_ms = gw->now_ms + FAILED_MS;
		neigh_drop_parked(gw, n, DROP_NO_NEIGHBOUR);
		return;
	case NEIGH_REACHABLE:
		set_stale(gw, n);
		return;
	case NEIGH_DELAY:
		neigh_set_state(gw, n, NEIGH_PROBING);
		n->tries = 0;
		ask(gw, n);
		return;
	case NEIGH_PROBING:
		if (n->tries < PROBE_TRIES)
			ask(gw, n);
		else
			neigh_forget(gw, n, DROP_NO_NEIGHBOUR);
		return;
	default:
		neigh_forget(gw, n, DROP_NO_NEIGHBOUR);
	}
}
