/* Clients over TCP (RFC 7766): questions one behind the other in a stream, each behind its
 * length, answered as the answers come. See dns64.h.
 *
 * What a client may hold is bounded: a connection has so many questions without an answer, and so
 * many bytes of answers that it has not read; then no more is read from it, its window closes, and
 * if nothing moves for a while it is gone. A connection on which no whole question comes for some
 * time is closed, however busily its bytes drip (RFC 7828 tells the client how long). */
#include "apps/dns64.h"

#include "kernel/alloc.h"

#define WINDOW    16384u /* a longer question nobody has */
#define LONGEST   (WINDOW - 2)
#define WAITING   64u    /* questions of a connection without an answer */
#define UNREAD    32768u /* bytes of answers that a client has not taken */
#define STALL_MS  10000u
#define SEND_MOST (UNREAD + DNS64_STREAM_MAX + 2)

/* The tag of a connection: when the last question came (seconds), and how many wait. */
static uint32_t waiting(uint32_t tag)
{
	return tag & 0xffff;
}

static uint32_t tag_of(const struct gw *gw, uint32_t n)
{
	return gw->now_s << 16 | n;
}

static uint32_t silent_s(const struct gw *gw, uint32_t tag)
{
	return (gw->now_s - (tag >> 16)) & 0xffff;
}

/* Puts a message of `len` bytes that stands behind two free ones into the stream. */
static bool put(struct gw *gw, uint32_t conn, uint8_t *at, uint32_t len)
{
	dns_put16(at, len);
	return tcp_send(gw, conn, at, len + 2);
}

/* --- questions -------------------------------------------------------------------------------- */

/* Answers one question of `len` bytes, which stands in d->question behind two bytes. False when
 * the connection is gone. */
static bool answer(struct gw *gw, uint32_t conn, uint32_t len)
{
	struct dns64 *d = dns64_of(gw);
	struct dns64_from from = {.ends = *tcp_ends(gw, conn), .conn = conn};
	enum drop why;
	uint32_t n = dns64_question(gw, &from, d->question + 2, len, DNS64_STREAM_MAX, &why);
	d->count.streamed++;
	if (why != DROP_NONE)
		gw->drops[why]++;
	if (why != DROP_NONE || (n && !put(gw, conn, d->question, n))) {
		tcp_abort(gw, conn);
		return false;
	}
	d->count.answers += n != 0;
	tcp_set_tag(gw, conn, tag_of(gw, waiting(tcp_tag(gw, conn)) + (n == 0)));
	return true;
}

/* The next question, moved to d->question; its length. 0: there is no whole one; *more says
 * whether there is, but not now. */
static uint32_t next_question(struct gw *gw, uint32_t conn, bool *later)
{
	struct dns64 *d = dns64_of(gw);
	uint8_t prefix[2];
	*later = tcp_unsent(gw, conn) > UNREAD || waiting(tcp_tag(gw, conn)) >= WAITING;
	if (*later || !tcp_copy(gw, conn, 0, prefix, sizeof prefix))
		return 0;
	uint32_t len = dns_get16(prefix);
	enum drop why = len < DNS_HEADER ? DROP_DNS_SHORT
	                : len > LONGEST  ? DROP_DNS_LONG
	                                 : DROP_NONE;
	if (why != DROP_NONE) {
		gw->drops[why]++;
		tcp_abort(gw, conn);
		return 0;
	}
	if (!tcp_copy(gw, conn, 2, d->question + 2, len))
		return 0;
	tcp_take(gw, conn, len + 2);
	return len;
}

/* What is left of a question that never became whole is thrown away. */
static void close(struct gw *gw, uint32_t conn)
{
	tcp_take(gw, conn, tcp_readable(gw, conn));
	tcp_close(gw, conn);
}

/* Reads questions as long as there are any and the client may ask more. */
static void serve(struct gw *gw, uint32_t conn)
{
	uint32_t len;
	bool later;
	while ((len = next_question(gw, conn, &later)) != 0)
		if (!answer(gw, conn, len))
			return;
	if (!tcp_ends(gw, conn) || later)
		return;
	uint32_t tag = tcp_tag(gw, conn);
	if (tcp_at_end(gw, conn) && waiting(tag) == 0)
		close(gw, conn);
	else if (tcp_readable(gw, conn) && silent_s(gw, tag) > 2 * DNS64_STREAM_IDLE_S)
		tcp_abort(gw, conn); /* it drips */
}

static void event(struct gw *gw, uint32_t conn, enum tcp_event what)
{
	switch (what) {
	case TCP_OPENED:
		tcp_set_tag(gw, conn, tag_of(gw, 0));
		break;
	case TCP_INPUT:
	case TCP_ROOM:
		serve(gw, conn);
		break;
	case TCP_IDLE:
		if (waiting(tcp_tag(gw, conn)) == 0)
			close(gw, conn);
		break;
	case TCP_ENDED: /* answers under way find nobody */
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

void dns64_stream_lost(struct gw *gw, const struct dns64_from *from)
{
	uint32_t tag = tcp_tag(gw, from->conn);
	if (from->conn != TCP_NONE && waiting(tag))
		tcp_set_tag(gw, from->conn, tag - 1);
}

/* The other questions of this client are read, and a connection that it has closed is ended, when
 * the acknowledgment of this answer comes (TCP_ROOM). */
void dns64_stream_reply(struct gw *gw, const struct dns64_from *from, uint32_t len)
{
	dns64_stream_lost(gw, from);
	if (put(gw, from->conn, dns64_of(gw)->reply, len))
		tcp_push(gw, from->conn);
	else
		tcp_abort(gw, from->conn);
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
	if (!d->question || !d->reply || !d->fetched || !tcp_init(gw))
		return "not enough memory";
	dns64_link_init(d);
	if (!tcp_listen(gw, (uint16_t)gw->config->dns64.port, &clients))
		return "port: somebody else has it";
	return NULL;
}
