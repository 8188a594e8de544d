/* Clients over TCP (RFC 7766): questions one behind the other in a stream, each behind its
 * length, answered as the answers come. See dns64.h.
 *
 * What a client may hold is bounded: a connection has so many questions without an answer, and so
 * many bytes of answers that it has not read; then no more is read from it, and answers that come
 * wait where their questions waited (dns64_wait.c) until it has read. Its window closes, and if
 * nothing moves for a while it is gone. A connection on which no whole question comes for some
 * time is closed, however busily its bytes drip (RFC 7828 tells the client how long). */
#include "apps/dns64/dns64.h"

#include "kernel/lib/alloc.h"

#define WINDOW    16384u /* a longer question nobody has */
#define LONGEST   (WINDOW - 2)
#define WAITING   64u    /* questions of a connection without an answer */
#define UNREAD    32768u /* bytes of answers that a client has not taken */
#define STALL_MS  10000u
#define SHORTEST  512u /* bytes of a SERVFAIL in place of an answer for which there is no room */
#define SEND_MOST (UNREAD + DNS64_STREAM_MAX + 2 + WAITING * SHORTEST)

/* What is kept of a connection; NULL: it is gone. */
static struct dns64_stream *stream_of(const struct gw *gw, uint32_t conn)
{
	struct dns64_stream *s = &dns64_of(gw)->stream[conn % TCP_CONNECTIONS];
	return conn != TCP_NONE && s->conn == conn ? s : NULL;
}

static void begin(struct gw *gw, uint32_t conn)
{
	dns64_of(gw)->stream[conn % TCP_CONNECTIONS] = (struct dns64_stream){
	        .conn = conn,
	        .asked_s = gw->now_s,
	        .first = DNS64_NONE,
	        .last = DNS64_NONE,
	};
}

/* The first of the waiters that are held back. */
static uint32_t take_held(const struct gw *gw, struct dns64_stream *s)
{
	uint32_t waiter = s->first;
	s->first = dns64_of(gw)->waiter[waiter].behind;
	return waiter;
}

/* The connection is gone; answers under way find nobody. */
static void forget(struct gw *gw, struct dns64_stream *s)
{
	s->conn = TCP_NONE;
	while (s->first != DNS64_NONE)
		dns64_wait_drop(gw, take_held(gw, s));
}

/* Ends the connection, for a reason that counts; false. */
static bool refuse(struct gw *gw, struct dns64_stream *s, enum drop why)
{
	gw->drops[why]++;
	tcp_abort(gw, s->conn);
	forget(gw, s);
	return false;
}

/* Puts a message of `len` bytes that stands behind two free ones into the stream. False: there is
 * no memory, and the connection is gone. */
static bool put(struct gw *gw, struct dns64_stream *s, uint8_t *at, uint32_t len)
{
	dns_put16(at, len);
	if (tcp_send(gw, s->conn, at, len + 2)) {
		dns64_of(gw)->count.answers++;
		return true;
	}
	return refuse(gw, s, DROP_TCP_MEMORY);
}

/* Where memory is short a client gets one answer at a time. */
static bool takes_more(const struct gw *gw, const struct dns64_stream *s)
{
	return tcp_unsent(gw, s->conn) <= (tcp_scarce(gw, s->conn) ? 0 : UNREAD);
}

/* --- questions -------------------------------------------------------------------------------- */

/* Answers one question of `len` bytes, which stands in d->question behind two bytes. False when
 * the connection is gone. */
static bool answer(struct gw *gw, struct dns64_stream *s, uint32_t len)
{
	struct dns64 *d = dns64_of(gw);
	struct dns64_from from = {.ends = *tcp_ends(gw, s->conn), .conn = s->conn};
	enum drop why;
	uint32_t n = dns64_question(gw, &from, d->question + 2, len, DNS64_STREAM_MAX, &why);
	d->count.streamed++;
	s->asked_s = gw->now_s;
	if (why == DROP_DNS_RATE) { /* no answer, as over UDP; it may ask again */
		gw->drops[why]++;
		return true;
	}
	if (why != DROP_NONE)
		return refuse(gw, s, why);
	if (n)
		return put(gw, s, d->question, n);
	s->n_waiting++;
	return true;
}

/* The next question, moved to d->question; its length. 0: there is no whole one; *later says
 * whether there may be, but not now. */
static uint32_t next_question(struct gw *gw, struct dns64_stream *s, bool *later)
{
	struct dns64 *d = dns64_of(gw);
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
	if (!tcp_copy(gw, s->conn, 2, d->question + 2, len))
		return 0;
	tcp_take(gw, s->conn, len + 2);
	return len;
}

/* What is left of a question that never became whole is thrown away. */
static void close(struct gw *gw, struct dns64_stream *s)
{
	uint32_t conn = s->conn;
	s->conn = TCP_NONE;
	tcp_take(gw, conn, tcp_readable(gw, conn));
	tcp_close(gw, conn);
}

/* Answers that were held back go out, as many as there is room for. */
static void let_go(struct gw *gw, struct dns64_stream *s)
{
	while (s->conn != TCP_NONE && s->first != DNS64_NONE && takes_more(gw, s))
		dns64_wait_on(gw, take_held(gw, s));
}

/* Reads questions as long as there are any and the client may ask more. */
static void serve(struct gw *gw, struct dns64_stream *s)
{
	uint32_t len;
	bool later;
	while ((len = next_question(gw, s, &later)) != 0)
		if (!answer(gw, s, len))
			return;
	if (s->conn == TCP_NONE || later)
		return;
	if (tcp_at_end(gw, s->conn) && s->n_waiting == 0)
		close(gw, s);
	else if (tcp_readable(gw, s->conn) && gw->now_s - s->asked_s > 2 * DNS64_STREAM_IDLE_S)
		refuse(gw, s, DROP_DNS_SLOW); /* it drips */
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
		let_go(gw, s);
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

/* Who may not ask gets no connection. */
static enum drop may_connect(struct gw *gw, const struct udp_ends *ends)
{
	return dns64_may_ask(dns64_of(gw), &ends->remote) ? DROP_NONE : DROP_DNS_CLIENT;
}

/* --- answers that come later ---------------------------------------------------------------------
 */

bool dns64_stream_takes(const struct gw *gw, const struct dns64_from *from)
{
	const struct dns64_stream *s = stream_of(gw, from->conn);
	return !s || takes_more(gw, s);
}

void dns64_stream_hold(struct gw *gw, const struct dns64_from *from, uint32_t waiter)
{
	struct dns64 *d = dns64_of(gw);
	struct dns64_stream *s = stream_of(gw, from->conn);
	d->waiter[waiter].behind = DNS64_NONE;
	*(s->first == DNS64_NONE ? &s->first : &d->waiter[s->last].behind) = (uint16_t)waiter;
	s->last = (uint16_t)waiter;
}

/* The other questions of this client are read, and a connection that it has closed is ended, when
 * the acknowledgment of this answer comes (TCP_ROOM). */
void dns64_stream_reply(struct gw *gw, const struct dns64_from *from, uint32_t len)
{
	struct dns64_stream *s = stream_of(gw, from->conn);
	if (!s)
		return;
	s->n_waiting--;
	if (put(gw, s, dns64_of(gw)->reply, len))
		tcp_push(gw, s->conn);
}

const char *dns64_stream_init(struct gw *gw, struct dns64 *d)
{
	static const struct tcp_user clients = {
	        .accept = may_connect,
	        .event = event,
	        .window = WINDOW,
	        .send_most = SEND_MOST,
	        .idle_ms = DNS64_STREAM_IDLE_S * 1000,
	        .stall_ms = STALL_MS,
	};
	d->question = alloc_raw(DNS64_STREAM_MAX + 2, 64);
	d->reply = alloc_raw(DNS64_STREAM_MAX + 2, 64);
	d->fetched = alloc_raw(DNS64_STREAM_MAX, 64);
	d->stream = alloc(TCP_CONNECTIONS * sizeof *d->stream, 64);
	if (!d->question || !d->reply || !d->fetched || !d->stream || !tcp_init(gw))
		return "not enough memory";
	dns64_link_init(d);
	if (!tcp_listen(gw, (uint16_t)dns64_config(gw->config)->port, &clients))
		return "port: somebody else has it";
	return NULL;
}
