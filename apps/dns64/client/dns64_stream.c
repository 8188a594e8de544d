/* See dns64_stream.h.
 *
 * Queries stand one after the other in the stream, each after its length, and are answered in the
 * order in which the answers come.
 *
 * What a connection may hold is bounded: a number of queries without an answer, and a number of
 * bytes of answers that the client has not read. At the bound nothing more is read from it, and new
 * answers are held back in the table of pending queries until the client has read. Its window
 * closes, and a connection on which nothing moves for a while ends. A connection on which no whole
 * query comes for some time is closed, even if single bytes keep coming (RFC 7828 tells the client
 * the time). */
#include "apps/dns64/client/dns64_stream.h"

#include "apps/dns64/client/dns64_client.h"
#include "apps/dns64/client/dns64_limit.h"
#include "apps/dns64/client/dns64_pending.h"

#include "kernel/lib/alloc.h"

#define WINDOW    16384u /* longer queries are refused */
#define LONGEST   (WINDOW - 2)
#define WAITING   64u    /* queries of a connection without an answer */
#define UNREAD    32768u /* bytes of answers that a client has not taken */
#define STALL_MS  10000u
#define SHORTEST  512u /* bytes of a SERVFAIL, sent when an answer cannot be held back */
#define SEND_MOST (UNREAD + DNS64_STREAM_MAX + 2 + WAITING * SHORTEST)

/* The state of a connection; NULL: it is gone. */
static struct dns64_stream *stream_of(const struct gw *gw, uint32_t conn)
{
	struct dns64_stream *s = &dns64_streams_of(gw)->stream[conn % TCP_CONNECTIONS];
	return conn != TCP_NONE && s->conn == conn ? s : NULL;
}

static void begin(struct gw *gw, uint32_t conn)
{
	dns64_streams_of(gw)->stream[conn % TCP_CONNECTIONS] = (struct dns64_stream){
	        .conn = conn,
	        .query_s = gw->clock.s,
	        .first = DNS64_NONE,
	        .last = DNS64_NONE,
	};
}

/* Takes the first pending query that is held back. */
static uint32_t take_held(const struct gw *gw, struct dns64_stream *s)
{
	uint32_t pending = s->first;
	s->first = dns64_pendings_of(gw)->pending[pending].after;
	return pending;
}

/* The connection is gone: drops what was held back for it. */
static void forget(struct gw *gw, struct dns64_stream *s)
{
	s->conn = TCP_NONE;
	while (s->first != DNS64_NONE)
		dns64_pending_drop(gw, take_held(gw, s));
}

/* Aborts the connection and counts the reason; gives false. */
static bool refuse(struct gw *gw, struct dns64_stream *s, enum drop why)
{
	gw->counts.drops[why]++;
	tcp_abort(gw, s->conn);
	forget(gw, s);
	return false;
}

/* Sends a message of `len` bytes that stands after two free bytes. False: there is no memory, and
 * the connection is gone. */
static bool send_message(struct gw *gw, struct dns64_stream *s, uint8_t *at, uint32_t len)
{
	dns_put16(at, len);
	if (tcp_send(gw, s->conn, at, len + 2)) {
		dns64_clients_of(gw)->answers++;
		return true;
	}
	return refuse(gw, s, DROP_TCP_MEMORY);
}

/* True when the client can take one more answer. Where memory is short it gets one at a time. */
static bool takes_more(const struct gw *gw, const struct dns64_stream *s)
{
	return tcp_unsent(gw, s->conn) <= (tcp_scarce(gw, s->conn) ? 0 : UNREAD);
}

/* --- answers that come later ---------------------------------------------------------------------
 */

static bool takes(const struct gw *gw, const struct dns64_client *to)
{
	const struct dns64_stream *s = stream_of(gw, to->conn);
	return !s || takes_more(gw, s);
}

static void hold(struct gw *gw, const struct dns64_client *to, uint32_t pending)
{
	struct dns64_pending *all = dns64_pendings_of(gw)->pending;
	struct dns64_stream *s = stream_of(gw, to->conn);
	all[pending].after = DNS64_NONE;
	*(s->first == DNS64_NONE ? &s->first : &all[s->last].after) = (uint16_t)pending;
	s->last = (uint16_t)pending;
}

static bool begin_reply(struct gw *gw, const struct dns64_client *to, struct dns64_reply *r)
{
	(void)to;
	*r = (struct dns64_reply){NULL, dns64_streams_of(gw)->reply + 2, DNS64_STREAM_MAX};
	return true;
}

/* The next queries of this client are read, and a connection that it has closed ends, when the
 * acknowledgment of this answer comes (TCP_ROOM). */
static void send_reply(struct gw *gw, const struct dns64_client *to, const struct dns64_reply *r,
                       uint32_t len)
{
	struct dns64_stream *s = stream_of(gw, to->conn);
	(void)r;
	if (!s)
		return;
	s->n_waiting--;
	if (send_message(gw, s, dns64_streams_of(gw)->reply, len))
		tcp_push(gw, s->conn);
}

static const struct dns64_transport transport = {
        .begin = begin_reply,
        .send = send_reply,
        .takes = takes,
        .hold = hold,
};

/* --- queries ---------------------------------------------------------------------------------- */

/* Handles the query of `len` bytes that stands in all->query after two bytes. False: the connection
 * is gone. */
static bool answer(struct gw *gw, struct dns64_stream *s, uint32_t len)
{
	struct dns64_streams *all = dns64_streams_of(gw);
	struct dns64_client from = {
	        .ends = *tcp_ends(gw, s->conn), .transport = &transport, .conn = s->conn};
	enum drop why;
	uint32_t n = dns64_client_query(gw, &from, all->query + 2, len, DNS64_STREAM_MAX, &why);
	all->queries++;
	s->query_s = gw->clock.s;
	if (why == DROP_DNS_RATE) { /* no answer, as over UDP; the client may retry */
		gw->counts.drops[why]++;
		return true;
	}
	if (why != DROP_NONE)
		return refuse(gw, s, why);
	if (n)
		return send_message(gw, s, all->query, n);
	s->n_waiting++;
	return true;
}

/* Moves the next query to all->query; gives its length. 0: no whole query is there, or (*later is
 * set) none is taken now. */
static uint32_t next_query(struct gw *gw, struct dns64_stream *s, bool *later)
{
	struct dns64_streams *all = dns64_streams_of(gw);
	uint8_t prefix[2];
	*later = s->first != DNS64_NONE || s->n_waiting >= WAITING || !takes_more(gw, s);
	if (*later || !tcp_copy(gw, s->conn, 0, prefix, sizeof prefix))
		return 0;
	uint32_t len = dns_get16(prefix);
	enum drop why = len < DNS_HEADER ? DROP_DNS_SHORT
	                : len > LONGEST  ? DROP_DNS_LONG
	                                 : DROP_NONE;
	if (why != DROP_NONE)
		return refuse(gw, s, why);
	if (!tcp_copy(gw, s->conn, 2, all->query + 2, len))
		return 0;
	tcp_take(gw, s->conn, len + 2);
	return len;
}

/* Closes the connection; what has come of an incomplete query is discarded. */
static void close(struct gw *gw, struct dns64_stream *s)
{
	uint32_t conn = s->conn;
	s->conn = TCP_NONE;
	tcp_take(gw, conn, tcp_readable(gw, conn));
	tcp_close(gw, conn);
}

/* Sends answers that were held back, as many as there is room for. */
static void release_held(struct gw *gw, struct dns64_stream *s)
{
	while (s->conn != TCP_NONE && s->first != DNS64_NONE && takes_more(gw, s))
		dns64_pending_resume(gw, take_held(gw, s));
}

/* Handles queries while whole ones are there and the client may have more. */
static void serve(struct gw *gw, struct dns64_stream *s)
{
	uint32_t len;
	bool later;
	while ((len = next_query(gw, s, &later)) != 0)
		if (!answer(gw, s, len))
			return;
	if (s->conn == TCP_NONE || later)
		return;
	if (tcp_at_end(gw, s->conn) && s->n_waiting == 0)
		close(gw, s);
	else if (tcp_readable(gw, s->conn) && gw->clock.s - s->query_s > 2 * DNS64_KEEP_ALIVE_S)
		refuse(gw, s, DROP_DNS_SLOW); /* single bytes keep coming */
}

static void event(struct gw *gw, uint32_t conn, enum tcp_event what)
{
	if (what == TCP_OPENED)
		begin(gw, conn);
	struct dns64_stream *s = stream_of(gw, conn);
	if (!s)
		return;
	switch (what) {
	case TCP_OPENED:
		break;
	case TCP_ROOM:
		release_held(gw, s);
		if (s->conn != TCP_NONE)
			serve(gw, s);
		break;
	case TCP_INPUT:
		serve(gw, s);
		break;
	case TCP_IDLE:
		if (s->n_waiting == 0)
			close(gw, s);
		break;
	case TCP_ENDED:
		forget(gw, s);
		break;
	}
}

/* A client that may not query gets no connection. */
static enum drop may_connect(struct gw *gw, const struct udp_ends *ends)
{
	return dns64_limit_allows(gw, &ends->remote) ? DROP_NONE : DROP_DNS_CLIENT;
}

/* --- start ------------------------------------------------------------------------------------ */

const char *dns64_stream_init(struct gw *gw, struct dns64_streams *all, uint16_t port)
{
	static const struct tcp_user clients = {
	        .accept = may_connect,
	        .event = event,
	        .window = WINDOW,
	        .send_most = SEND_MOST,
	        .idle_ms = DNS64_KEEP_ALIVE_S * 1000,
	        .stall_ms = STALL_MS,
	};
	all->query = alloc_raw(DNS64_STREAM_MAX + 2, 64);
	all->reply = alloc_raw(DNS64_STREAM_MAX + 2, 64);
	all->stream = alloc(TCP_CONNECTIONS * sizeof *all->stream, 64);
	if (!all->query || !all->reply || !all->stream || !tcp_init(gw))
		return "not enough memory";
	if (!tcp_listen(gw, port, &clients))
		return "port: another service has it";
	return NULL;
}
