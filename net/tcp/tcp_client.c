/* Who has how many connections of ours and packets, and who gives way. See tcp_conn.h.
 *
 * A client is a host on the link, known by the MAC address that its segments are sent to: it has
 * as many IPv6 addresses as it likes. Who is behind a router has the router's, and is known by his
 * IPv4 address or his IPv6 prefix of 64 bits. Each is hashed to a counter under a secret key; two
 * that share one share its limits.
 *
 * What one client does costs others nothing. A new connection is always taken in, and with the next
 * tick the longest-standing one ends of a client that has too many, or, when all have too many, of
 * the one that has most: who only comes, asks and goes lives on. Of the packets a client may hold
 * twice as many as are then left to others; where they run short, the client that holds most loses
 * the connection that holds most of them for longest. To do a little all the time does not save
 * one. */
#include "net/tcp/tcp_conn.h"

#include "net/ip4/ip4.h"
#include "net/ip6/ip6.h"

#define A_SHARE 4u  /* of what all may keep, a quarter is left to others */
#define AHEAD   8u  /* of what we may keep, an eighth is made free before somebody needs it */
#define A_TURN  16u /* connections that end in one turn */
#define TURN_US 1000u

/* What a counter's number is made from, so that no two kinds are alike. */
enum { BY_IP4 = 4, BY_IP6 = 6, BY_MAC = 0x100 };

/* --- who it is -------------------------------------------------------------------------------- */

/* The neighbour that a client's packets go to, where the client is that itself; NULL: it is beyond
 * the link, or not known. */
static const struct neigh *neighbour(struct gw *gw, const struct udp_ends *e)
{
	const ip6 *a6 = &e->remote.v6;
	if (!e->remote.is6) {
		const struct gw_route *r = ip4_route_for(gw, e->remote.v4);
		bool near = r && r->via == 0 && r->port < GW_PORTS;
		return near ? neigh_find4(&gw->neigh, r->port, ip4_raw(e->remote.v4)) : NULL;
	}
	if (ip6_is_link_local(a6))
		return neigh_find6(&gw->neigh, e->link, a6);
	const struct gw_route6 *r = gw_route6_for(gw, a6);
	bool near = r && r->hop == 0 && r->port < GW_PORTS;
	return near ? neigh_find6(&gw->neigh, r->port, a6) : NULL;
}

/* The number of a client's counter. */
static uint32_t client_of(struct gw *gw, const struct udp_ends *e)
{
	const struct hash_key *key = &gw->tcp->client_key;
	const struct neigh *n = neighbour(gw, e);
	uint32_t h;
	if (n && neigh_usable(n))
		h = hash_three(key, load32(n->eth.to.b), load16(n->eth.to.b + 4), BY_MAC + n->port);
	else if (e->remote.is6)
		h = hash_three(key, ip6_word(&e->remote.v6, 0), ip6_word(&e->remote.v6, 1), BY_IP6);
	else
		h = hash_three(key, ip4_raw(e->remote.v4), 0, BY_IP4);
	return h % TCP_CLIENTS;
}

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
	uint64_t at = gw->now_us + TURN_US;
	if (gw->wake_us == 0 || at < gw->wake_us)
		gw->wake_us = at;
}

/* --- connections ------------------------------------------------------------------------------ */

bool tcp_count_client(struct gw *gw, struct tcp_conn *c)
{
	struct tcp *t = gw->tcp;
	if (c->active)
		return true;
	uint32_t list = client_of(gw, &c->ends);
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
