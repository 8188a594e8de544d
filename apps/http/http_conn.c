/* See http_conn.h. */
#include "apps/http/http_conn.h"

#include "apps/http/http_answer.h"
#include "apps/http/http_keys.h"
#include "net/client.h"

#define WINDOW     4096u
#define UNREAD     8192u /* bytes that wait for the client; then no more is written */
#define SEND_MOST  (UNREAD + 2 * HTTP_PIECE)
#define SEGMENT    1400u /* bytes that are worth a segment before the answer is complete */
#define READ_PIECE 256u
#define STALL_MS   10000u
#define COST_TICK  16u /* work of a tick, in lines of a listing (http_out.h) */
#define CHECK_US   100000u

/* How long a connection may be in a state. */
static const uint64_t time_us[] = {
        [HTTP_READING] = 10000000, [HTTP_ANSWERING] = 60000000, [HTTP_LINGERING] = 60000000};

#define LINGER_US 2000000u /* after the client has acknowledged all */

static struct http_conn *conn_of(const struct gw *gw, uint32_t conn)
{
	uint32_t tag = tcp_tag(gw, conn);
	struct http_conn *c = &http_of(gw)->conn[(tag - 1) % HTTP_CONNECTIONS];
	return tag > 0 && tag <= HTTP_CONNECTIONS && c->state && c->conn == conn ? c : NULL;
}

static void enter(const struct gw *gw, struct http_conn *c, enum http_state state)
{
	c->state = (uint8_t)state;
	c->deadline_us = gw->clock.us + time_us[state];
	if (state == HTTP_READING)
		c->request = (struct http_request){.state = 0};
}

static void forget(struct http *h, struct http_conn *c)
{
	c->state = HTTP_FREE;
	c->ready = false;
	h->n--;
}

/* Ends a connection at once and counts why, if there is a reason. */
static void abort_conn(struct gw *gw, struct http *h, struct http_conn *c, enum drop why)
{
	if (why != DROP_NONE)
		gw->counts.drops[why]++;
	tcp_abort(gw, c->conn);
	forget(h, c);
}

static void close_conn(struct gw *gw, struct http *h, struct http_conn *c)
{
	tcp_take(gw, c->conn, tcp_readable(gw, c->conn));
	tcp_close(gw, c->conn);
	forget(h, c);
}

/* --- new connections ------------------------------------------------------------------------ */

/* The connection that can go best: of those that read a request the one that has waited longest; of
 * one client alone, where `client` is given. NULL when there is none. */
static struct http_conn *oldest(struct http *h, const uint32_t *client)
{
	struct http_conn *best = NULL;
	for (uint32_t i = 0; i < HTTP_CONNECTIONS; i++) {
		struct http_conn *c = &h->conn[i];
		if (c->state != HTTP_READING || (client && c->client != *client))
			continue;
		if (!best || c->deadline_us < best->deadline_us)
			best = c;
	}
	return best;
}

/* Finds a place for a connection of a client; NULL: all are in use for answers. */
static struct http_conn *place(struct gw *gw, struct http *h, uint32_t client)
{
	struct http_conn *unused = NULL;
	uint32_t own = 0;
	for (uint32_t i = 0; i < HTTP_CONNECTIONS; i++) {
		struct http_conn *c = &h->conn[i];
		own += c->state && c->client == client;
		if (!c->state)
			unused = c;
	}
	if (own < HTTP_OF_CLIENT && unused)
		return unused;
	struct http_conn *c = oldest(h, own < HTTP_OF_CLIENT ? NULL : &client);
	if (c)
		abort_conn(gw, h, c, DROP_HTTP_FULL);
	return c;
}

static void begin(struct gw *gw, uint32_t conn)
{
	struct http *h = http_of(gw);
	const struct udp_ends *ends = tcp_ends(gw, conn);
	uint32_t client = ends ? client_of(gw, ends->iface, &ends->remote) : 0;
	struct http_conn *c = place(gw, h, client);
	if (!c) {
		gw->counts.drops[DROP_HTTP_FULL]++;
		tcp_abort(gw, conn);
		return;
	}
	*c = (struct http_conn){.conn = conn, .client = client};
	h->n++;
	enter(gw, c, HTTP_READING);
	tcp_set_tag(gw, conn, (uint32_t)(c - h->conn) + 1);
}

static void event(struct gw *gw, uint32_t conn, enum tcp_event what)
{
	if (what == TCP_OPENED) {
		begin(gw, conn);
		return;
	}
	struct http_conn *c = conn_of(gw, conn);
	if (!c)
		return;
	if (what == TCP_ENDED) {
		forget(http_of(gw), c);
		return;
	}
	c->ready = true;
	gw_wake_at(gw, gw->clock.us);
}

/* A client that may not look gets no connection. */
static enum drop may_connect(struct gw *gw, const struct udp_ends *ends)
{
	const struct http_config *k = http_config(gw->config);
	bool may = k->n_client ? addr_in_prefixes(&ends->remote, k->client, k->n_client)
	                       : client_is_own(gw, &ends->remote);
	return may ? DROP_NONE : DROP_HTTP_CLIENT;
}

/* --- turns ------------------------------------------------------------------------------------ */

/* False while the client has not taken enough of what is written: it is sent, and the connection
 * waits. The piece that is written next has room otherwise. */
static bool has_room(struct gw *gw, struct http_conn *c)
{
	if (tcp_unsent(gw, c->conn) <= (tcp_scarce(gw, c->conn) ? 0 : UNREAD))
		return true;
	tcp_push(gw, c->conn);
	c->ready = false;
	return false;
}

/* Reads a piece of a request, and begins its answer when it is complete. */
static void read_request(struct gw *gw, struct http *h, struct http_conn *c)
{
	char bytes[READ_PIECE];
	if (!has_room(gw, c)) /* for the answer, which may be one of many */
		return;
	uint32_t n = min_u32(tcp_readable(gw, c->conn), READ_PIECE), used = 0;
	if (n == 0 || !tcp_copy(gw, c->conn, 0, bytes, n)) {
		c->ready = false;
		if (tcp_at_end(gw, c->conn))
			close_conn(gw, h, c);
		return;
	}
	uint32_t status = http_request_read(&c->request, bytes, n, &used);
	tcp_take(gw, c->conn, used);
	if (status == 0)
		return;
	if (status != 200)
		gw->counts.drops[DROP_HTTP_BAD]++;
	if (!http_answer_begin(gw, h, c, status))
		abort_conn(gw, h, c, DROP_TCP_MEMORY);
	else
		enter(gw, c, HTTP_ANSWERING);
}

/* The answer is written. */
static void end_answer(struct gw *gw, struct http_conn *c)
{
	if (c->close) {
		tcp_shut(gw, c->conn);
		enter(gw, c, HTTP_LINGERING);
	} else {
		enter(gw, c, HTTP_READING);
	}
	tcp_push(gw, c->conn);
	c->unpushed = 0;
}

static void write_answer(struct gw *gw, struct http *h, struct http_conn *c)
{
	if (!c->page) {
		end_answer(gw, c);
	} else if (!has_room(gw, c)) {
		return;
	} else if (!http_answer_more(gw, h, c)) {
		abort_conn(gw, h, c, DROP_TCP_MEMORY);
	} else if (c->unpushed >= SEGMENT) {
		tcp_push(gw, c->conn);
		c->unpushed = 0;
	}
}

/* Takes what the client still sends, so that no reset takes the answer away from it (RFC 9112
 * section 9.6). */
static void linger(struct gw *gw, struct http *h, struct http_conn *c)
{
	tcp_take(gw, c->conn, tcp_readable(gw, c->conn));
	c->ready = false;
	if (tcp_at_end(gw, c->conn))
		close_conn(gw, h, c);
}

/* One turn of a connection; gives what it cost. */
static uint32_t turn(struct gw *gw, struct http *h, struct http_conn *c)
{
	h->out.cost = 0;
	switch ((enum http_state)c->state) {
	case HTTP_READING:
		read_request(gw, h, c);
		return 2 + h->out.cost;
	case HTTP_ANSWERING:
		write_answer(gw, h, c);
		return 1 + h->out.cost;
	case HTTP_LINGERING:
		linger(gw, h, c);
		return 1;
	case HTTP_FREE:
		c->ready = false;
	}
	return 0;
}

/* Ends the connections whose time is over. */
static void check_deadlines(struct gw *gw, struct http *h)
{
	h->checked_us = gw->clock.us;
	for (uint32_t i = 0; i < HTTP_CONNECTIONS; i++) {
		struct http_conn *c = &h->conn[i];
		bool has_all = c->state == HTTP_LINGERING && tcp_unsent(gw, c->conn) == 0;
		if (has_all && c->deadline_us - gw->clock.us > LINGER_US)
			c->deadline_us = gw->clock.us + LINGER_US;
		if (c->state == HTTP_FREE || gw->clock.us < c->deadline_us)
			continue;
		bool idle = c->state == HTTP_READING && http_request_is_empty(&c->request);
		if (idle)
			close_conn(gw, h, c);
		else
			abort_conn(gw, h, c, has_all ? DROP_NONE : DROP_HTTP_SLOW);
	}
}

bool http_conn_tick(struct gw *gw)
{
	struct http *h = http_of(gw);
	uint32_t cost = 0;
	if (h->n == 0)
		return false;
	if (gw->clock.us - h->checked_us >= CHECK_US)
		check_deadlines(gw, h);
	for (uint32_t seen = 0; seen < HTTP_CONNECTIONS;
	     h->next = (h->next + 1) % HTTP_CONNECTIONS) {
		struct http_conn *c = &h->conn[h->next];
		if (!c->ready) {
			seen++;
			continue;
		}
		if (cost >= COST_TICK)
			return true;
		seen = 0;
		cost += turn(gw, h, c);
	}
	return false;
}

/* --- start ------------------------------------------------------------------------------------ */

const char *http_conn_init(struct gw *gw)
{
	static const struct tcp_user clients = {
	        .accept = may_connect,
	        .event = event,
	        .window = WINDOW,
	        .send_most = SEND_MOST,
	        .stall_ms = STALL_MS,
	};
	if (!tcp_init(gw))
		return "not enough memory";
	if (!tcp_listen(gw, HTTP_PORT, &clients))
		return "serve: port 80 is in use by another service";
	return NULL;
}
