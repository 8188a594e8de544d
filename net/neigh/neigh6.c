/* IPv6 neighbours: the states of RFC 4861 section 7.3.2 in the table of neigh.h, and limits
 * against scanning (RFC 6583). A network of 2^64 addresses allows anybody to send to many
 * addresses that no host has. So the number of neighbours that are resolved at one time,
 * and the number of new ones in a second, are limited for all and for each client that
 * causes them. Neighbours that answered before have a budget of their own, so that a scan
 * does not prevent their resolution (section 7 there: known neighbours first). Known
 * neighbours are not evicted for such resolutions while their set has another choice. */
#include "kernel/lib/bucket.h"
#include "net/client.h"
#include "net/ip6/ip6.h"
#include "net/ip6/nd.h"
#include "net/neigh/neigh.h"

#define DELAY_MS    5000u /* RFC 4861 section 10, as the next two */
#define ASK_TRIES   3u
#define PROBE_TRIES 3u
#define FAILED_MS   3000u         /* no solicitation for this time after three without an answer */
#define STALE_MS    NEIGH_MOST_MS /* removed when unused for this time */
#define ASKING_MAX  256u

/* Limits of new resolutions: 500 a second in bursts of 64. One sender that causes them gets
 * a quarter of the rate and half of the burst. Neighbours that were known before have the
 * same limit once more. */
static const struct bucket all = {2000, 64 * 2000}, one = {8000, 32 * 8000};

static const ip6 *address_of(const struct neigh *n)
{
	return (const ip6 *)n->key;
}

/* Takes a new entry without a state; NULL when there is no room. */
static struct neigh *take6(struct gw *gw, uint32_t iface, const ip6 *addr)
{
	struct neigh *n = neigh_take(gw, neigh_set6(&gw->neigh, addr), iface);
	if (!n)
		return NULL;
	n->is6 = true;
	memcpy(n->key, addr, sizeof n->key);
	return n;
}

static void ask(struct gw *gw, struct neigh *n)
{
	n->tries++;
	neigh_due_in(gw, n, gw->iface[n->iface].retrans_ms);
	nd_ask(gw, n->iface, address_of(n), n->state == NEIGH_PROBING ? &n->eth.to : NULL);
}

/* The hash by which a neighbour that answered is remembered, never 0; *set is set to its
 * set. */
static uint32_t known_as(struct neigh_table *t, uint32_t iface, const ip6 *a, uint32_t **set)
{
	uint32_t h = (ip6_word(a, 1) ^ ip6_word(a, 2)) * t->mul[0] + ip6_word(a, 3) * t->mul[1];
	*set = t->known6[(uint32_t)(neigh_set6(t, a) - t->entry[0]) / NEIGH_WAYS];
	return max_u32(h + iface, 1);
}

static bool was_known(struct neigh_table *t, uint32_t iface, const ip6 *addr)
{
	uint32_t *set, h = known_as(t, iface, addr, &set);
	for (uint32_t i = 0; i < NEIGH_KNOWN; i++)
		if (set[i] == h)
			return true;
	return false;
}

/* Remembers a neighbour that answered. The one of its set that answered least recently is
 * replaced. */
static void note_known(struct neigh_table *t, const struct neigh *n)
{
	uint32_t i = 0, *set, h = known_as(t, n->iface, address_of(n), &set);
	while (i < NEIGH_KNOWN - 1 && set[i] != h)
		i++;
	memmove(set + 1, set, i * sizeof *set);
	set[0] = h;
}

/* The client (client.h) that sent a packet; the gateway itself is one too. A client of an IPv4
 * host behind a translation is its whole IPv6 address, because any part of that may be the
 * host's own, and the host's MAC address is not that of an IPv6 neighbour. */
static uint32_t asker(struct gw *gw, const struct pkt *p)
{
	const struct addr from = {.is6 = true, .v6 = ip6_header(p)->from};
	if (p->iface == PKT_IF_SELF)
		return client_station(gw, p->out, &gw->iface[p->out].address);
	const struct route6 *back = p->iface == IF_WAN ? route6_for(&gw->routes6, &from.v6) : NULL;
	if (p->iface == IF_WAN && (gw->forwarder->no_wan6 || (back && back->iface == IF_APP)))
		return hash_three(&gw->client_key, ip6_word(&from.v6, 2), ip6_word(&from.v6, 3),
		                  client_beyond(gw, &from));
	return client_of(gw, p->iface, &from);
}

/* Decides whether a packet may start the resolution of a new neighbour, and charges the
 * budgets. */
static bool may_ask(struct gw *gw, const struct pkt *p, const ip6 *addr)
{
	struct neigh_table *t = &gw->neigh;
	uint32_t known_us = bucket_owed(gw->clock.us, t->known_us);
	if (was_known(t, p->out, addr) && bucket_take(&all, &known_us, 1)) {
		t->known_us = gw->clock.us + known_us;
		return true;
	}
	uint64_t *mine = &t->asker_us[asker(gw, p) % NEIGH_ASKERS];
	uint32_t one_us = bucket_owed(gw->clock.us, *mine);
	uint32_t all_us = bucket_owed(gw->clock.us, t->asks_us);
	if (!bucket_take(&one, &one_us, 1) || !bucket_take(&all, &all_us, 1))
		return false;
	*mine = gw->clock.us + one_us;
	t->asks_us = gw->clock.us + all_us;
	return true;
}

/* Evicts the entry that has been in resolution longest. So a flood leaves a real neighbour
 * the time to answer. */
static void drop_oldest_question(struct gw *gw)
{
	struct neigh *oldest = NULL;
	for (unsigned s = 0; s < NEIGH_SETS; s++)
		for (unsigned w = 0; w < NEIGH_WAYS; w++) {
			struct neigh *n = &gw->neigh.entry[s][w];
			if (n->is6 && n->state == NEIGH_ASKING &&
			    (!oldest ||
			     gw->clock.ms - n->confirmed_ms > gw->clock.ms - oldest->confirmed_ms))
				oldest = n;
		}
	if (oldest)
		neigh_forget(gw, oldest, DROP_NEIGHBOUR_QUEUE);
}

/* Starts the resolution of the next hop of a packet; NULL when a limit is reached. */
static struct neigh *start_asking(struct gw *gw, const struct pkt *p, const ip6 *addr)
{
	if (!may_ask(gw, p, addr))
		return NULL;
	if (gw->neigh.n_asking[true] >= ASKING_MAX)
		drop_oldest_question(gw);
	struct neigh *n = take6(gw, p->out, addr);
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
	if (!gw->iface[p->out].carrier) {
		gw_discard(gw, p, DROP_LINK_DOWN);
		return;
	}
	if (n && n->state == NEIGH_STALE) {
		neigh_set_state(gw, n, NEIGH_DELAY);
		neigh_due_in(gw, n, DELAY_MS);
		n->tries = 0;
		gw_send6(gw, p);
		return;
	}
	if (n && n->state == NEIGH_FAILED) {
		neigh_tell(gw, p, true);
		gw_discard(gw, p, DROP_NO_NEIGHBOUR);
		return;
	}
	if (!n)
		n = start_asking(gw, p, hop);
	if (n)
		neigh_park(gw, n, p);
	else
		gw_discard(gw, p, DROP_NEIGHBOUR_QUEUE);
}

void neigh_watch6(struct gw *gw, uint32_t iface, const ip6 *addr)
{
	struct neigh *n = neigh_find6(&gw->neigh, iface, addr);
	if (!gw->iface[iface].carrier || !interface_own6(&gw->iface[iface], addr))
		return;
	if (!n) {
		n = take6(gw, iface, addr);
		if (!n)
			return;
		neigh_set_state(gw, n, NEIGH_ASKING);
		ask(gw, n);
	} else if (n->state == NEIGH_STALE || (n->state == NEIGH_REACHABLE &&
	                                       gw->clock.ms - n->confirmed_ms >= NEIGH_WATCH_MS)) {
		n->tries = 0;
		neigh_set_state(gw, n, NEIGH_PROBING);
		ask(gw, n);
	}
}

bool neigh_fix6(struct gw *gw, uint32_t iface, const ip6 *addr, const mac *address)
{
	struct neigh *n = neigh_find6(&gw->neigh, iface, addr);
	if (!n)
		n = take6(gw, iface, addr);
	if (!n)
		return false;
	neigh_set_mac(gw, n, address);
	neigh_set_state(gw, n, NEIGH_STATIC);
	return true;
}

static void set_reachable(struct gw *gw, struct neigh *n)
{
	neigh_set_state(gw, n, NEIGH_REACHABLE);
	note_known(&gw->neigh, n);
	n->confirmed_ms = gw->clock.ms;
	uint32_t average_ms = gw->iface[n->iface].reachable_ms;
	neigh_due_in(gw, n, average_ms / 2 + rng_below(gw->rng, average_ms));
}

static void set_stale(struct gw *gw, struct neigh *n)
{
	neigh_set_state(gw, n, NEIGH_STALE);
	neigh_due_in(gw, n, STALE_MS);
}

/* Takes an entry for a station that we did not ask: a free one, or one that is not in use.
 * Entries that packets wait for or are sent to are not evicted, because any station can
 * send from any number of addresses. */
static struct neigh *take_unasked(struct gw *gw, uint32_t iface, const ip6 *addr)
{
	struct neigh *set = neigh_set6(&gw->neigh, addr), *best = NULL;
	for (struct neigh *n = set; n < set + NEIGH_WAYS; n++) {
		if (n->state == NEIGH_FREE || n->state == NEIGH_FAILED)
			return take6(gw, iface, addr); /* which takes one of these first */
		bool idle = n->state == NEIGH_STALE ||
		            (n->state == NEIGH_REACHABLE && !n->is6 && !n->used);
		if (idle &&
		    (!best || gw->clock.ms - n->confirmed_ms > gw->clock.ms - best->confirmed_ms))
			best = n;
	}
	if (!best)
		return NULL;
	neigh_forget(gw, best, DROP_NEIGHBOUR_QUEUE);
	gw->neigh.evicted++;
	return take6(gw, iface, addr);
}

void neigh_heard6(struct gw *gw, uint32_t iface, const ip6 *addr, const mac *address)
{
	struct neigh *n = neigh_find6(&gw->neigh, iface, addr);
	if (!n)
		n = take_unasked(gw, iface, addr);
	else if (n->state == NEIGH_STATIC || (neigh_usable(n) && mac_eq(&n->eth.to, address)))
		return;
	if (!n)
		return;
	neigh_set_mac(gw, n, address);
	set_stale(gw, n);
	neigh_release(gw, n);
}

bool neigh_answered6(struct gw *gw, uint32_t iface, const ip6 *addr, const mac *address,
                     uint32_t flags)
{
	struct neigh *n = neigh_find6(&gw->neigh, iface, addr);
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
		neigh_set_state(gw, n, NEIGH_FAILED); /* before the errors, which may return */
		neigh_due_in(gw, n, FAILED_MS);
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
