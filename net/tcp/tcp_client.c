/* Who has how many connections of ours and packets, and who gives way. See tcp_conn.h.
 *
 * A client (net/client.h) has the counter of its number; two that share one share its limits.
 *
 * What one client does costs others nothing. A new connection is always taken in, and with the next
 * tick the longest-standing one ends of a client that has too many, or, when all have too many, of
 * the one that has most: who only comes, asks and goes lives on. Of the packets a client may hold
 * twice as many as are then left to others; where they run short, the client that holds most loses
 * the connection that holds most of them for longest. To do a little all the time does not save
 * one. */
#include "net/tcp/tcp_conn.h"

#include "net/client.h"

#define A_SHARE 4u  /* of what all may keep, a quarter is left to others */
#define AHEAD   8u  /* of what we may keep, an eighth is made free before somebody needs it */
#define A_TURN  16u /* connections that end in one turn */
#define TURN_US 1000u

/* --- lists ------------------------------------------------------------------------------------ */

void tcp_lists_init(struct tcp *t)
{
	for (uint32_t i = 0; i < TCP_LISTS; i++)
		t->list[i].oldest = t->list[i].youngest = TCP_NOBODY;
}

void tcp_list_leave(struct gw *gw, struct tcp_conn *c)
{
	struct tcp *t = gw->tcp;
	if (c->list == TCP_NOBODY)
		return;
	struct tcp_list *l = &t->list[c->list];
	*(c->older == TCP_NOBODY ? &l->oldest : &t->conn[c->older].younger) = c->younger;
	*(c->younger == TCP_NOBODY ? &l->youngest : &t->conn[c->younger].older) = c->older;
	l->n--;
	l->packets = (uint16_t)(l->packets - c->held);
	if (l->n)
		l->since = t->conn[l->oldest].order;
	t->n_clients -= c->list < TCP_CLIENTS;
	c->list = TCP_NOBODY;
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
	c->younger = TCP_NOBODY;
	*(l->youngest == TCP_NOBODY ? &l->oldest : &t->conn[l->youngest].younger) = me;
	l->youngest = me;
	if (l->n++ == 0)
		l->since = c->order;
	l->packets = (uint16_t)(l->packets + c->held);
	t->n_clients += list < TCP_CLIENTS;
}

/* The tick that ends those that give way comes with MAIN's next turn. */
static void wake_soon(struct gw *gw)
{
	gw_wake_at(gw, gw->now_us + TURN_US);
}

/* --- connections ------------------------------------------------------------------------------ */

bool tcp_count_client(struct gw *gw, struct tcp_conn *c)
{
	struct tcp *t = gw->tcp;
	if (c->active)
		return true;
	uint32_t list = client_of(gw, c->ends.link, &c->ends.remote) % TCP_CLIENTS;
	if (t->list[list].n >= TCP_A_CLIENT + TCP_SLACK)
		return false;
	tcp_list_join(gw, c, list);
	if (t->list[list].n > TCP_A_CLIENT || t->n_clients > TCP_OPEN) {
		t->crowded = true;
		wake_soon(gw);
	}
	return true;
}

/* The client that has most connections; among equals the one whose oldest is older. */
static struct tcp_list *most_connections(struct tcp *t)
{
	struct tcp_list *best = &t->list[0];
	for (struct tcp_list *l = best + 1; l < &t->list[TCP_CLIENTS]; l++)
		if (l->n > best->n || (l->n == best->n && l->n && seq_lt(l->since, best->since)))
			best = l;
	return best;
}

/* --- packets ---------------------------------------------------------------------------------- */

/* Packets that all may hold together. */
static uint32_t most(const struct gw *gw)
{
	return gw->pool->kept_max - gw->pool->kept_max / A_SHARE;
}

/* Of a client; connections that we opened hold what their users let them. */
static uint32_t client_holds(const struct tcp *t, const struct tcp_conn *c)
{
	return c->list < TCP_CLIENTS ? t->list[c->list].packets : 0;
}

bool tcp_is_scarce(const struct gw *gw, const struct tcp_conn *c)
{
	return gw->tcp->n_packets + client_holds(gw->tcp, c) >= most(gw);
}

bool tcp_keep(struct gw *gw, struct tcp_conn *c)
{
	struct tcp *t = gw->tcp;
	uint32_t all = most(gw);
	bool room = t->n_packets + client_holds(t, c) / 2 < all && pool_keep(gw->pool);
	if (!room || t->n_packets >= all - all / AHEAD) {
		t->starved = true;
		wake_soon(gw);
	}
	if (!room)
		return false;
	t->n_packets++;
	c->held++;
	if (c->list != TCP_NOBODY)
		t->list[c->list].packets++;
	return true;
}

void tcp_unkeep(struct gw *gw, struct tcp_conn *c)
{
	struct tcp *t = gw->tcp;
	pool_unkeep(gw->pool);
	t->n_packets--;
	c->held--;
	if (c->list != TCP_NOBODY)
		t->list[c->list].packets--;
}

/* Of the client that holds most packets, the connection that holds most for longest; NULL: none
 * holds any. */
static struct tcp_conn *most_packets(const struct gw *gw)
{
	struct tcp *t = gw->tcp;
	const struct tcp_list *l = &t->list[0];
	for (const struct tcp_list *other = l + 1; other < &t->list[TCP_CLIENTS]; other++)
		if (other->packets > l->packets)
			l = other;
	struct tcp_conn *best = NULL;
	uint32_t cost = 0;
	for (uint16_t i = l->oldest; i != TCP_NOBODY; i = t->conn[i].younger) {
		struct tcp_conn *c = &t->conn[i];
		uint32_t stood = min_u32(gw->now_ms - c->active_ms, 1u << 20);
		if ((stood + 100) * c->held > cost) {
			cost = (stood + 100) * c->held;
			best = c;
		}
	}
	return best;
}

/* --- giving way ------------------------------------------------------------------------------- */

static void end(struct gw *gw, struct tcp_conn *c)
{
	tcp_reset(gw, c);
	tcp_end(gw, c, TCP_CROWDED);
}

bool tcp_make_room(struct gw *gw)
{
	struct tcp *t = gw->tcp;
	struct tcp_conn *c = t->starved ? most_packets(gw) : NULL;
	t->starved = false;
	if (c)
		end(gw, c);
	for (uint32_t i = 0; t->crowded && i < A_TURN; i++) {
		const struct tcp_list *l = most_connections(t);
		t->crowded = l->n > TCP_A_CLIENT || t->n_clients > TCP_OPEN;
		if (t->crowded)
			end(gw, &t->conn[l->oldest]);
	}
	return t->crowded;
}
