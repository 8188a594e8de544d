/* TCP: the table of connections, and the functions for users. See tcp.h and tcp_conn.h. */
#include "net/tcp/tcp_conn.h"

#include "kernel/lib/alloc.h"
#include "net/gw_address.h"
#include "net/ip6/ip6.h"

#define WAIT_US 60000000u

/* The number of ports to draw from, and the step from one to the next: far apart, since others may
 * hold many in a row, and without a common divisor, so that each port has its turn. */
#define PORTS     (65536u - UDP_FIRST_FREE)
#define PORT_STEP 39871u

/* --- start ------------------------------------------------------------------------------- */

bool tcp_init(struct gw *gw)
{
	if (gw->tcp)
		return true;
	struct tcp *t = alloc(sizeof *t, 64);
	struct tcp_conn *conn = alloc(TCP_CONNECTIONS * sizeof *conn, 64);
	if (!t || !conn || !wheel_init(&t->wheel, TCP_CONNECTIONS, tcp_now(gw)))
		return false;
	t->conn = conn;
	memset(t->head, 0xff, sizeof t->head);
	for (uint32_t i = 0; i < TCP_CONNECTIONS; i++) {
		conn[i].next = (uint16_t)(i + 1 < TCP_CONNECTIONS ? i + 1 : TCP_NO_INDEX);
		conn[i].generation = 1;
	}
	tcp_lists_init(t);
	struct hash_key *key[] = {&t->key, &t->iss_key, &t->cookie_key, &t->port_key};
	for (unsigned i = 0; i < ARRAY_SIZE(key); i++) {
		key[i]->k[0] = rng_u32(gw->rng);
		key[i]->k[1] = rng_u32(gw->rng);
	}
	gw->tcp = t;
	return true;
}

bool tcp_listen(struct gw *gw, uint16_t port, const struct tcp_user *user)
{
	struct tcp *t = gw->tcp;
	if (t->n_services == TCP_USERS || tcp_service(gw, port))
		return false;
	(void)gw_port_take(gw, PROTO_TCP, port); /* as udp_bind */
	t->service[t->n_services].port = port;
	t->service[t->n_services++].user = user;
	return true;
}

const struct tcp_user *tcp_service(const struct gw *gw, uint16_t port)
{
	for (uint32_t i = 0; i < gw->tcp->n_services; i++)
		if (gw->tcp->service[i].port == port)
			return gw->tcp->service[i].user;
	return NULL;
}

/* --- lookup ------------------------------------------------------------------------ */

uint32_t tcp_hash(const struct hash_key *key, const struct udp_ends *e)
{
	uint32_t ports = (uint32_t)e->local_port << 16 | e->remote_port;
	if (!e->remote.is6)
		return hash_three(key, ip4_raw(e->remote.v4), ip4_raw(e->local.v4), ports);
	uint32_t w[9] = {ports};
	for (unsigned i = 0; i < 4; i++) {
		w[1 + i] = ip6_word(&e->remote.v6, i);
		w[5 + i] = ip6_word(&e->local.v6, i);
	}
	return hash_words(key, w, ARRAY_SIZE(w));
}

static bool same_ends(const struct udp_ends *a, const struct udp_ends *b)
{
	return a->remote_port == b->remote_port && a->local_port == b->local_port &&
	       addr_eq(&a->remote, &b->remote) && addr_eq(&a->local, &b->local) &&
	       (a->iface == b->iface || !a->remote.is6 || !ip6_is_link_local(&a->remote.v6));
}

/* The hash chain for a pair of ends. Our own address is not part of the hash, because we
 * have few. */
static uint16_t slot_of(const struct tcp *t, const struct udp_ends *e)
{
	uint32_t w[5] = {(uint32_t)e->local_port << 16 | e->remote_port};
	if (!e->remote.is6)
		return hash_three(&t->key, ip4_raw(e->remote.v4), w[0], 0) % TCP_CONNECTIONS;
	for (unsigned i = 0; i < 4; i++)
		w[1 + i] = ip6_word(&e->remote.v6, i);
	return hash_words(&t->key, w, ARRAY_SIZE(w)) % TCP_CONNECTIONS;
}

struct tcp_conn *tcp_find(const struct gw *gw, const struct udp_ends *ends)
{
	struct tcp *t = gw->tcp;
	uint16_t i = t->head[slot_of(t, ends)];
	for (; i != TCP_NO_INDEX; i = t->conn[i].next)
		if (same_ends(&t->conn[i].ends, ends))
			return &t->conn[i];
	return NULL;
}

static uint32_t index_of(const struct gw *gw, const struct tcp_conn *c)
{
	return (uint32_t)(c - gw->tcp->conn);
}

uint32_t tcp_number(const struct gw *gw, const struct tcp_conn *c)
{
	return (uint32_t)c->generation << 16 | index_of(gw, c);
}

/* The connection of a number, even while its user gets TCP_ENDED. */
static struct tcp_conn *any_of(const struct gw *gw, uint32_t number)
{
	struct tcp_conn *c = &gw->tcp->conn[number % TCP_CONNECTIONS];
	bool here = c->state != TCP_FREE && tcp_number(gw, c) == number;
	return here ? c : NULL;
}

struct tcp_conn *tcp_of(const struct gw *gw, uint32_t number)
{
	struct tcp_conn *c = any_of(gw, number);
	return c && c->state < TCP_TIME_WAIT ? c : NULL;
}

/* --- life of a connection ---------------------------------------------------------- */

/* Sends TCP_ENDED and detaches the user. The user of a connection that a client opens knows
 * it only once it is open. */
static void detach_user(struct gw *gw, struct tcp_conn *c, enum tcp_end why)
{
	const struct tcp_user *user = c->known ? c->user : NULL;
	gw->tcp->count.ended[why]++;
	gw->tcp->why = why;
	tcp_list_leave(gw, c);
	c->state = TCP_ENDING;
	c->user = NULL;
	c->idle_ms = 0;
	if (user)
		user->event(gw, tcp_number(gw, c), TCP_ENDED);
}

static void free_queues(struct gw *gw, struct tcp_conn *c)
{
	tcp_queue_free(gw, c, &c->out);
	tcp_queue_free(gw, c, &c->in);
	tcp_queue_free(gw, c, &c->ooo);
}

void tcp_wait(struct gw *gw, struct tcp_conn *c)
{
	const struct tcp_list *waiting = &gw->tcp->list[TCP_LIST_WAITING];
	if (c->state != TCP_TIME_WAIT) {
		detach_user(gw, c, TCP_CLOSED);
		free_queues(gw, c);
		if (waiting->n == TCP_WAITING)
			tcp_free(gw, &gw->tcp->conn[waiting->oldest]);
	}
	c->state = TCP_TIME_WAIT;
	tcp_list_join(gw, c, TCP_LIST_WAITING);
	tcp_timer_set(gw, c, TCP_T_GONE, WAIT_US);
}

void tcp_orphan(struct gw *gw, struct tcp_conn *c)
{
	tcp_list_join(gw, c, TCP_LIST_ORPHANS);
	tcp_timer_set(gw, c, TCP_T_GONE, TCP_FIN_WAIT_2_US);
}

/* Evicts a connection without a user: first one in FIN-WAIT-2, then one in TIME-WAIT. */
static void evict_userless(struct gw *gw)
{
	struct tcp *t = gw->tcp;
	uint16_t orphan = t->list[TCP_LIST_ORPHANS].oldest;
	uint16_t waiting = t->list[TCP_LIST_WAITING].oldest;
	if (orphan != TCP_NO_INDEX)
		tcp_end(gw, &t->conn[orphan], TCP_CROWDED);
	else if (waiting != TCP_NO_INDEX)
		tcp_free(gw, &t->conn[waiting]);
}

struct tcp_conn *tcp_new(struct gw *gw, const struct udp_ends *ends, const struct tcp_user *user)
{
	struct tcp *t = gw->tcp;
	if (t->free == TCP_NO_INDEX)
		evict_userless(gw);
	if (t->free == TCP_NO_INDEX)
		return NULL;
	struct tcp_conn *c = &t->conn[t->free];
	uint16_t generation = c->generation, *head;
	t->free = c->next;
	t->n++;
	memset(c, 0, sizeof *c);
	c->generation = generation;
	c->list = TCP_NO_INDEX;
	c->ends = *ends;
	c->user = user;
	c->rto_us = TCP_FIRST_RTO_US;
	c->window = user->window;
	c->idle_ms = user->idle_ms;
	c->stall_ms = user->stall_ms ? min_u32(user->stall_ms, TCP_R2_MS) : TCP_R2_MS;
	c->active_ms = c->stuck_ms = gw->clock.ms;
	c->slot = slot_of(t, ends);
	head = &t->head[c->slot];
	c->next = *head;
	*head = (uint16_t)index_of(gw, c);
	return c;
}

void tcp_free(struct gw *gw, struct tcp_conn *c)
{
	struct tcp *t = gw->tcp;
	uint16_t me = (uint16_t)index_of(gw, c);
	uint16_t *at = &t->head[c->slot];
	while (*at != me)
		at = &t->conn[*at].next;
	*at = c->next;
	if (c->state == TCP_SYN_RECEIVED && !c->active)
		t->n_half--;
	tcp_list_leave(gw, c);
	free_queues(gw, c);
	wheel_clear(&t->wheel, me);
	if (c->active)
		gw_port_give(gw, PROTO_TCP, c->ends.local_port);
	c->state = TCP_FREE;
	/* With generation 0 the first connection would get the number 0. */
	c->generation = (uint16_t)(c->generation == UINT16_MAX ? 1 : c->generation + 1);
	c->next = t->free;
	t->free = me;
	t->n--;
}

void tcp_end(struct gw *gw, struct tcp_conn *c, enum tcp_end why)
{
	if (c->state == TCP_SYN_RECEIVED && !c->active)
		gw->tcp->n_half--;
	detach_user(gw, c, why);
	tcp_free(gw, c);
}

bool tcp_notify(struct gw *gw, struct tcp_conn *c, enum tcp_event what)
{
	uint32_t number = tcp_number(gw, c);
	bool was = c->busy;
	if (!c->user)
		return true;
	c->busy = true;
	c->user->event(gw, number, what);
	if (tcp_of(gw, number) != c)
		return false;
	c->busy = was;
	return true;
}

/* True while the local address of a connection is one of ours, tentative or not. */
static bool local_is_ours(const struct gw *gw, const struct udp_ends *e)
{
	return e->local.is6 ? gw_address6(gw, e->iface, &e->local.v6) != NULL
	                    : gw_is_own(gw, e->local.v4);
}

void tcp_changed(struct gw *gw)
{
	for (uint32_t i = 0; i < TCP_CONNECTIONS; i++) {
		struct tcp_conn *c = &gw->tcp->conn[i];
		if (c->state != TCP_FREE && !local_is_ours(gw, &c->ends))
			tcp_end(gw, c, TCP_UNREACHABLE);
	}
}

/* --- users -------------------------------------------------------------------------------------
 */

/* A port comes again after all others, because its last connection may be in TIME-WAIT at the
 * remote end. A host that knows those towards one remote end knows none towards another (RFC 6056
 * section 3.3.3). */
static bool draw_port(struct gw *gw, struct udp_ends *e)
{
	struct tcp *t = gw->tcp;
	e->local_port = 0;
	uint32_t offset = tcp_hash(&t->port_key, e) % PORTS;
	for (uint32_t i = 0; i < UDP_DRAWS; i++) {
		t->port_turn = (t->port_turn + PORT_STEP) % PORTS;
		e->local_port = (uint16_t)(UDP_FIRST_FREE + (offset + t->port_turn) % PORTS);
		if (!tcp_service(gw, e->local_port) && !tcp_find(gw, e) &&
		    gw_port_take(gw, PROTO_TCP, e->local_port))
			return true;
	}
	return false;
}

static bool is_own(const struct gw *gw, const struct udp_ends *e)
{
	const struct addr *a = &e->remote;
	return a->is6 ? gw_address6(gw, e->iface, &a->v6) != NULL : gw_is_own(gw, a->v4);
}

uint32_t tcp_connect(struct gw *gw, struct udp_ends *ends, const struct tcp_user *user)
{
	/* A segment to ourselves would come in while it is still being sent. */
	if (is_own(gw, ends) || !udp_source(gw, ends) || !draw_port(gw, ends))
		return TCP_NONE;
	struct tcp_conn *c = tcp_new(gw, ends, user);
	if (!c) {
		gw_port_give(gw, PROTO_TCP, ends->local_port);
		return TCP_NONE;
	}
	c->active = c->known = true;
	c->state = TCP_SYN_SENT;
	c->iss = tcp_iss(gw, ends);
	c->una = c->iss;
	c->nxt = c->max = c->iss + 1;
	c->timing = true;
	c->timed_us = tcp_now(gw);
	tcp_emit(gw, c, 0, 0, TCP_SYN);
	tcp_timer_set(gw, c, TCP_T_RETRANSMIT, c->rto_us);
	return tcp_number(gw, c);
}

void tcp_set_tag(struct gw *gw, uint32_t conn, uint32_t tag)
{
	struct tcp_conn *c = tcp_of(gw, conn);
	if (c)
		c->tag = tag;
}

uint32_t tcp_tag(const struct gw *gw, uint32_t conn)
{
	const struct tcp_conn *c = any_of(gw, conn);
	return c ? c->tag : 0;
}

const struct udp_ends *tcp_ends(const struct gw *gw, uint32_t conn)
{
	const struct tcp_conn *c = any_of(gw, conn);
	return c ? &c->ends : NULL;
}

enum tcp_end tcp_why(const struct gw *gw)
{
	return gw->tcp->why;
}

uint32_t tcp_readable(const struct gw *gw, uint32_t conn)
{
	const struct tcp_conn *c = tcp_of(gw, conn);
	return c ? c->in.len : 0;
}

bool tcp_copy(const struct gw *gw, uint32_t conn, uint32_t skip, void *to, uint32_t n)
{
	const struct tcp_conn *c = tcp_of(gw, conn);
	if (!c || skip > c->in.len || n > c->in.len - skip)
		return false;
	tcp_queue_copy(&c->in, skip, to, n);
	return true;
}

void tcp_take(struct gw *gw, uint32_t conn, uint32_t n)
{
	struct tcp_conn *c = tcp_of(gw, conn);
	if (!c)
		return;
	tcp_queue_take(gw, c, &c->in, min_u32(n, c->in.len));
	if (c->busy)
		return;
	tcp_output(gw, c);
	if (c->fin_taken && c->fin_acked && c->in.len == 0) { /* it ends, but after this call */
		c->more = true;
		tcp_timer_arm(gw, c);
	}
}

bool tcp_at_end(const struct gw *gw, uint32_t conn)
{
	const struct tcp_conn *c = tcp_of(gw, conn);
	return !c || c->fin_taken;
}

uint32_t tcp_unsent(const struct gw *gw, uint32_t conn)
{
	const struct tcp_conn *c = tcp_of(gw, conn);
	return c ? c->out.len : 0;
}

bool tcp_scarce(const struct gw *gw, uint32_t conn)
{
	const struct tcp_conn *c = tcp_of(gw, conn);
	return c && tcp_is_scarce(gw, c);
}

bool tcp_send(struct gw *gw, uint32_t conn, const void *data, uint32_t len)
{
	struct tcp_conn *c = tcp_of(gw, conn);
	if (!c || c->shut || !c->user || len > c->user->send_most ||
	    c->out.len > c->user->send_most - len)
		return false;
	if (c->out.len == 0)
		c->stuck_ms = gw->clock.ms;
	return tcp_queue_write(gw, c, &c->out, data, len);
}

void tcp_push(struct gw *gw, uint32_t conn)
{
	struct tcp_conn *c = tcp_of(gw, conn);
	if (c && !c->busy)
		tcp_output(gw, c);
}

void tcp_shut(struct gw *gw, uint32_t conn)
{
	struct tcp_conn *c = tcp_of(gw, conn);
	if (!c || c->shut)
		return;
	c->shut = true;
	if (c->out.len == 0)
		c->stuck_ms = gw->clock.ms;
	if (c->state == TCP_ESTABLISHED)
		c->state = TCP_FIN_WAIT_1;
	else if (c->state == TCP_CLOSE_WAIT)
		c->state = TCP_LAST_ACK;
	if (!c->busy)
		tcp_output(gw, c);
}

void tcp_close(struct gw *gw, uint32_t conn)
{
	struct tcp_conn *c = tcp_of(gw, conn);
	if (!c)
		return;
	if (c->in.len || c->ooo.n || c->state < TCP_ESTABLISHED) {
		tcp_abort(gw, conn);
		return;
	}
	c->user = NULL;
	c->idle_ms = 0;
	if (c->state == TCP_FIN_WAIT_2) /* otherwise it happens when FIN-WAIT-2 is reached */
		tcp_orphan(gw, c);
	tcp_shut(gw, conn);
}

void tcp_abort(struct gw *gw, uint32_t conn)
{
	struct tcp_conn *c = tcp_of(gw, conn);
	if (!c)
		return;
	tcp_reset(gw, c);
	tcp_free(gw, c);
}
