/* How many connections and packets each client has, and eviction. See tcp_conn.h.
 *
 * A client (net/client.h) has the counter of its number; two clients with the same number
 * share its limits.
 *
 * One client cannot deny service to others. A new connection is always accepted. In the
 * next tick the oldest connection of a client that has too many is evicted, or, when all
 * together have too many, the oldest one of the client that has most. So a client that
 * opens, asks and closes keeps its connections. Of the packets, a client may hold twice as
 * many as are left to others then. When packets run short, the client that holds most of
 * them loses a connection: the one with the highest product of packets held and time
 * without progress. Slow progress does not protect a connection. */
#include "net/tcp/tcp_conn.h"

#include "net/client.h"

#define A_SHARE        4u /* a quarter (1/A_SHARE) of the packets that may be kept is left to others */
#define AHEAD          8u  /* an eighth (1/AHEAD) is made free before it is needed */
#define EVICTED_A_TICK 16u /* connections that are evicted in one tick */
#define TICK_US        1000u

/* --- lists ------------------------------------------------------------------------------------ */

void tcp_lists_init(struct tcp *t)
{
	for (uint32_t i = 0; i < TCP_LISTS; i++)
		t->list[i].oldest = t->list[i].youngest = TCP_NO_INDEX;
}

void tcp_list_leave(struct gw *gw, struct tcp_conn *c)
{
	struct tcp *t = gw->tcp;
	if (c->list == TCP_NO_INDEX)
		return;
	struct tcp_list *l = &t->list[c->list];
	*(c->older == TCP_NO_INDEX ? &l->oldest : &t->conn[c->older].younger) = c->younger;
	*(c->younger == TCP_NO_INDEX ? &l->youngest : &t->conn[c->younger].older) = c->older;
	l->n--;
	l->packets = (uint16_t)(l->packets - c->held);
	if (l->n)
		l->since = t->conn[l->oldest].order;
	t->n_clients -= c->list < TCP_CLIENTS;
	c->list = TCP_NO_INDEX;
}

void tcp_list_join(struct gw *gw, struct tcp_conn *c, uint32_t list)
{
	struct tcp *t = gw->tcp;
	struct tcp_list *l = &t->list[list];
	uint16_t me = (uint16_t)(c - t->conn);
	tcp_list_leave(gw, c);
	c->list = (uint16_t)list;
	c->order = t->joined++;
	c->older = l->youngest;
	c->younger = TCP_NO_INDEX;
	*(l->youngest == TCP_NO_INDEX ? &l->oldest : &t->conn[l->youngest].younger) = me;
	l->youngest = me;
	if (l->n++ == 0)
		l->since = c->order;
	l->packets = (uint16_t)(l->packets + c->held);
	t->n_clients += list < TCP_CLIENTS;
}

/* Wakes the tick that evicts soon. */
static void wake_soon(struct gw *gw)
{
	gw_wake_at(gw, gw->clock.us + TICK_US);
}

/* --- connections ------------------------------------------------------------------------------ */

bool tcp_count_client(struct gw *gw, struct tcp_conn *c)
{
	struct tcp *t = gw->tcp;
	if (c->active)
		return true;
	uint32_t list = client_of(gw, c->ends.iface, &c->ends.remote) % TCP_CLIENTS;
	if (t->list[list].n >= TCP_CLIENT_MAX + TCP_SLACK)
		return false;
	tcp_list_join(gw, c, list);
	if (t->list[list].n > TCP_CLIENT_MAX || t->n_clients > TCP_OPEN_MAX) {
		t->crowded = true;
		wake_soon(gw);
	}
	return true;
}

/* The client that has most connections; of several the one whose oldest connection is
 * oldest. */
static struct tcp_list *most_connections(struct tcp *t)
{
	struct tcp_list *best = &t->list[0];
	for (struct tcp_list *l = best + 1; l < &t->list[TCP_CLIENTS]; l++)
		if (l->n > best->n || (l->n == best->n && l->n && seq_lt(l->since, best->since)))
			best = l;
	return best;
}

/* --- packets ---------------------------------------------------------------------------------- */

/* The number of packets that all connections may hold together. */
static uint32_t packets_max(const struct gw *gw)
{
	return gw->pool->kept_max - gw->pool->kept_max / A_SHARE;
}

/* The packets that the client of a connection holds. Connections that we opened are limited
 * by their users. */
static uint32_t client_holds(const struct tcp *t, const struct tcp_conn *c)
{
	return c->list < TCP_CLIENTS ? t->list[c->list].packets : 0;
}

bool tcp_is_scarce(const struct gw *gw, const struct tcp_conn *c)
{
	return gw->tcp->n_packets + client_holds(gw->tcp, c) >= packets_max(gw);
}

bool tcp_keep(struct gw *gw, struct tcp_conn *c)
{
	struct tcp *t = gw->tcp;
	uint32_t all = packets_max(gw);
	bool room = t->n_packets + client_holds(t, c) / 2 < all && pool_keep(gw->pool);
	if (!room || t->n_packets >= all - all / AHEAD) {
		t->starved = true;
		wake_soon(gw);
	}
	if (!room)
		return false;
	t->n_packets++;
	c->held++;
	if (c->list != TCP_NO_INDEX)
		t->list[c->list].packets++;
	return true;
}

void tcp_unkeep(struct gw *gw, struct tcp_conn *c)
{
	struct tcp *t = gw->tcp;
	pool_unkeep(gw->pool);
	t->n_packets--;
	c->held--;
	if (c->list != TCP_NO_INDEX)
		t->list[c->list].packets--;
}

/* The connection to evict when packets run short: of the client that holds most, the one
 * with the highest product of packets held and time without progress. NULL when it holds
 * none. */
static struct tcp_conn *most_packets(const struct gw *gw)
{
	struct tcp *t = gw->tcp;
	const struct tcp_list *l = &t->list[0];
	for (const struct tcp_list *other = l + 1; other < &t->list[TCP_CLIENTS]; other++)
		if (other->packets > l->packets)
			l = other;
	struct tcp_conn *best = NULL;
	uint32_t cost = 0;
	for (uint16_t i = l->oldest; i != TCP_NO_INDEX; i = t->conn[i].younger) {
		struct tcp_conn *c = &t->conn[i];
		uint32_t stood = min_u32(gw->clock.ms - c->active_ms, 1u << 20);
		if ((stood + 100) * c->held > cost) {
			cost = (stood + 100) * c->held;
			best = c;
		}
	}
	return best;
}

/* --- eviction ---------------------------------------------------------------------- */

static void evict(struct gw *gw, struct tcp_conn *c)
{
	tcp_reset(gw, c);
	tcp_end(gw, c, TCP_CROWDED);
}

bool tcp_client_evict(struct gw *gw)
{
	struct tcp *t = gw->tcp;
	struct tcp_conn *c = t->starved ? most_packets(gw) : NULL;
	t->starved = false;
	if (c)
		evict(gw, c);
	for (uint32_t i = 0; t->crowded && i < EVICTED_A_TICK; i++) {
		const struct tcp_list *l = most_connections(t);
		t->crowded = l->n > TCP_CLIENT_MAX || t->n_clients > TCP_OPEN_MAX;
		if (t->crowded)
			evict(gw, &t->conn[l->oldest]);
	}
	return t->crowded;
}
