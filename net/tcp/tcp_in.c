/* Received TCP segments (RFC 9293 section 3.10.7, RFC 5961). See tcp_conn.h. */
#include "net/tcp/tcp_conn.h"

#include "net/lib/csum.h"
#include "net/ip4/ip4.h"
#include "net/ip6/ip6.h"
#include "net/local.h"

enum { OPT_END = 0, OPT_NOP = 1, OPT_MSS = 2 };

/* --- reading ---------------------------------------------------------------------------------- */

/* The segment size in the options of a SYN; 0 when there is none. Malformed options end the
 * search. */
static uint32_t read_mss(const uint8_t *at, const uint8_t *end)
{
	while (at < end && *at != OPT_END) {
		if (*at == OPT_NOP) {
			at++;
			continue;
		}
		if (end - at < 2 || at[1] < 2 || at[1] > end - at)
			return 0;
		if (at[0] == OPT_MSS && at[1] == 4)
			return (uint32_t)at[2] << 8 | at[3];
		at += at[1];
	}
	return 0;
}

static void read_ends(const struct pkt *p, bool is6, const struct tcp_hdr *t, struct udp_ends *e)
{
	memset(e, 0, sizeof *e);
	e->local.is6 = e->remote.is6 = is6;
	if (is6) {
		e->remote.v6 = ip6_header(p)->from;
		e->local.v6 = ip6_header(p)->to;
	} else {
		e->remote.v4 = ip4_header(p)->from;
		e->local.v4 = ip4_header(p)->to;
	}
	e->remote_port = be16_get(t->from);
	e->local_port = be16_get(t->to);
	e->iface = p->iface;
}

static uint16_t sum(const struct pkt *p, bool is6, const struct tcp_hdr *t)
{
	uint16_t pseudo =
	        is6 ? csum_pseudo6(&ip6_header(p)->from, &ip6_header(p)->to, PROTO_TCP, p->l4_len)
	            : csum_pseudo4(ip4_header(p)->from, ip4_header(p)->to, PROTO_TCP, p->l4_len);
	return csum_plus(csum_sum(t, p->l4_len), pseudo);
}

static enum drop read_segment(const struct pkt *p, struct tcp_seg *s)
{
	const struct tcp_hdr *t = (const struct tcp_hdr *)pkt_at(p, p->l4, p->l4_len);
	bool is6 = p->data[0] >> 4 == 6;
	if (!t || p->l4_len < sizeof *t)
		return DROP_L4_HEADER;
	s->hlen = (uint32_t)(t->offset >> 4) * 4;
	if (s->hlen < sizeof *t || s->hlen > p->l4_len)
		return DROP_L4_HEADER;
	if (sum(p, is6, t) != 0xffff)
		return DROP_TCP_CHECKSUM;
	read_ends(p, is6, t, &s->ends);
	s->seq = be32_get(t->seq);
	s->ack = be32_get(t->ack);
	s->wnd = be16_get(t->window);
	s->flags = t->flags & (TCP_FIN | TCP_SYN | TCP_RST | TCP_ACK);
	s->len = p->l4_len - s->hlen;
	s->mss = s->flags & TCP_SYN
	                 ? read_mss((const uint8_t *)(t + 1), (const uint8_t *)t + s->hlen)
	                 : 0;
	return DROP_NONE;
}

enum verdict tcp_input(struct gw *gw, struct pkt *p)
{
	struct tcp_seg s;
	enum drop wrong = read_segment(p, &s);
	if (wrong != DROP_NONE)
		return gw_drop(gw, p, wrong);
	struct tcp_conn *c = tcp_find(gw, &s.ends);
	if (!c && (!tcp_service(gw, s.ends.local_port) || !local_serves(gw, p)))
		return V_LOCAL;
	if (s.ends.remote_port == 0) /* port 0 cannot be answered */
		return gw_drop(gw, p, DROP_L4_HEADER);
	gw->tcp->count.in++;
	if (!pkt_pull(p, p->l4 + s.hlen))
		return gw_drop(gw, p, DROP_L4_HEADER); /* not possible: read_segment saw it */
	pkt_trim(p, s.len);
	if (!c)
		return tcp_unmatched(gw, p, &s);
	return c->state == TCP_SYN_SENT ? tcp_opening(gw, p, c, &s) : tcp_segment(gw, p, c, &s);
}

/* --- checks of a segment ----------------------------------------------------------- */

/* Handles a reset. Only the exact sequence number resets a connection; another one may be a
 * guess (RFC 5961 section 3). Nothing ends TIME-WAIT (RFC 1337). */
static enum drop receive_reset(struct gw *gw, struct tcp_conn *c, const struct tcp_seg *s)
{
	if (c->state == TCP_TIME_WAIT)
		return DROP_TCP_BLIND;
	if (s->seq != c->rcv) {
		if (seq_lt(c->rcv, s->seq) && seq_lt(s->seq, c->edge))
			tcp_challenge(gw, c);
		return DROP_TCP_BLIND;
	}
	tcp_end(gw, c, TCP_RESET);
	return DROP_NONE;
}

/* Checks the sequence number: drops a segment without new bytes, or beyond the window. A
 * segment that probes our closed window is accepted without its bytes. */
static enum drop check_sequence(struct gw *gw, struct tcp_conn *c, struct tcp_seg *s, struct pkt *p)
{
	uint32_t span = tcp_span(s);
	if (span == 0 && seq_le(c->rcv, s->seq) && seq_le(s->seq, c->edge))
		return DROP_NONE;
	if (span && seq_lt(s->seq, c->edge) && seq_lt(c->rcv, s->seq + span))
		return DROP_NONE;
	if (span && c->edge == c->rcv && s->seq == c->rcv) {
		s->len = 0;
		s->flags &= (uint8_t)~TCP_FIN;
		pkt_trim(p, 0);
		c->ack_now = true;
		return DROP_NONE;
	}
	/* The data was received already: our acknowledgment was lost. */
	if (span && s->len && seq_le(s->seq + span, c->rcv))
		tcp_send_ack(gw, c);
	else
		tcp_challenge(gw, c);
	return DROP_TCP_WINDOW;
}

/* RFC 5961 section 5. */
static bool ack_is_plausible(const struct tcp_conn *c, const struct tcp_seg *s)
{
	return seq_le(s->ack, c->max) && seq_le(c->una - c->wnd_most, s->ack);
}

/* --- data -------------------------------------------------------------------------- */

/* Removes bytes that were received already, lie beyond the window, or lie behind the other
 * side's FIN. */
static void trim(struct tcp_conn *c, struct tcp_seg *s, struct pkt *p)
{
	if (seq_lt(s->seq, c->rcv)) {
		uint32_t known = min_u32(c->rcv - s->seq, s->len);
		p->data += known;
		p->len -= known;
		s->len -= known;
		s->seq = c->rcv;
	}
	uint32_t end = c->fin_seen ? c->fin_seq : c->edge;
	if (seq_lt(end, s->seq + s->len)) {
		s->len = seq_lt(s->seq, end) ? end - s->seq : 0;
		s->flags &= (uint8_t)~TCP_FIN;
		pkt_trim(p, s->len);
	}
}

/* Takes the data of a segment. *taken: the packet is no longer the caller's. */
static enum drop take_data(struct gw *gw, struct tcp_conn *c, struct tcp_seg *s, struct pkt *p,
                           bool *taken)
{
	uint32_t n = s->len;
	c->rcv_mss = max_u32(c->rcv_mss, n);
	if (s->seq != c->rcv) {
		enum drop why = tcp_ooo_add(gw, c, p, s->seq);
		c->ack_now = true; /* shows the gap to the other side (RFC 5681 section 4.2) */
		*taken = why == DROP_NONE;
		return why;
	}
	n = min_u32(n, tcp_ooo_missing(c));
	pkt_trim(p, n);
	if (!tcp_queue_add(gw, c, &c->in, p))
		return DROP_TCP_MEMORY;
	*taken = true;
	c->rcv += n;
	if (c->ooo.n) {
		tcp_ooo_close(gw, c);
		c->ack_now = true;
	}
	if (c->rcv - c->acked >= 2 * c->rcv_mss)
		c->ack_now = true;
	c->active_ms = gw->clock.ms;
	return DROP_NONE;
}

/* The other side has sent all its data, and all of it was received. */
static void take_fin(struct tcp_conn *c)
{
	c->fin_taken = true;
	c->rcv++;
	if (seq_lt(c->edge, c->rcv))
		c->edge = c->rcv;
	c->ack_now = true;
	if (c->state == TCP_ESTABLISHED)
		c->state = TCP_CLOSE_WAIT;
	else if (c->state == TCP_FIN_WAIT_1)
		c->state = TCP_CLOSING;
}

static enum drop receive(struct gw *gw, struct tcp_conn *c, struct tcp_seg *s, struct pkt *p,
                         bool *taken)
{
	enum drop why = DROP_NONE;
	trim(c, s, p);
	if (c->fin_taken)
		return s->len ? DROP_TCP_WINDOW : DROP_NONE;
	/* A second FIN is a repetition; a FIN in front of data that was received is
	 * invalid. */
	uint32_t end = s->seq + s->len;
	if (s->flags & TCP_FIN && !c->fin_seen && seq_le(tcp_ooo_end(c), end)) {
		c->fin_seen = true;
		c->fin_seq = end;
	}
	if (s->len)
		why = take_data(gw, c, s, p, taken);
	if (c->fin_seen && c->rcv == c->fin_seq)
		take_fin(c);
	return why;
}

/* --- the whole segment ------------------------------------------------------------- */

bool tcp_advance(struct gw *gw, struct tcp_conn *c)
{
	if (!c->fin_acked)
		return true;
	if (c->fin_taken && (c->in.len == 0 || !c->user)) {
		if (c->state == TCP_LAST_ACK) {
			tcp_end(gw, c, TCP_CLOSED);
			return false;
		}
		tcp_wait(gw, c);
		tcp_output(gw, c);
		return false;
	}
	if (c->state == TCP_FIN_WAIT_1) {
		c->state = TCP_FIN_WAIT_2;
		if (!c->user)
			tcp_orphan(gw, c);
	}
	return true;
}

/* Handles a segment in TIME-WAIT (RFC 9293 section 3.10.7.4). A repeated FIN is
 * acknowledged again. A SYN with a number that was not used yet opens a new connection. A
 * correct acknowledgment gets no answer: when both sides are in TIME-WAIT, a single
 * duplicate would be answered for ever. */
static enum verdict time_wait(struct gw *gw, struct pkt *p, struct tcp_conn *c, struct tcp_seg *s)
{
	if (s->flags & TCP_RST)
		return gw_drop(gw, p, receive_reset(gw, c, s));
	if ((s->flags & (TCP_SYN | TCP_ACK)) == TCP_SYN && seq_lt(c->rcv, s->seq)) {
		tcp_free(gw, c);
		return tcp_unmatched(gw, p, s);
	}
	if (s->flags & TCP_FIN && s->seq + s->len + 1 == c->rcv)
		tcp_wait(gw, c);
	if (tcp_span(s) || s->seq != c->rcv || s->ack != c->max)
		tcp_challenge(gw, c);
	return gw_drop(gw, p, DROP_TCP_WINDOW);
}

/* Checks flags, sequence number and acknowledgment in this order. DROP_NONE: the segment is
 * acceptable. *gone: the connection is gone. */
static enum drop check_segment(struct gw *gw, struct tcp_conn *c, struct tcp_seg *s, struct pkt *p,
                               bool *gone)
{
	if (s->flags & TCP_RST) {
		enum drop why = receive_reset(gw, c, s);
		*gone = why == DROP_NONE;
		return why;
	}
	/* Simultaneous open: our SYN is acknowledged by the other side's SYN-ACK, whose SYN
	 * was received before (RFC 9293 section 3.5, figure 7). */
	if (s->flags & TCP_SYN && s->flags & TCP_ACK && c->active && s->seq == c->irs &&
	    c->state == TCP_SYN_RECEIVED && s->ack == c->max) {
		s->flags &= (uint8_t)~TCP_SYN;
		s->seq++;
	}
	if (s->flags & TCP_SYN) { /* RFC 5961 section 4; our SYN-ACK may have been lost */
		if (c->state == TCP_SYN_RECEIVED && s->seq == c->irs && !(s->flags & TCP_ACK)) {
			c->timing = false; /* RFC 6298 section 3: sent twice */
			tcp_emit(gw, c, 0, 0, TCP_SYN | TCP_ACK);
		} else {
			tcp_challenge(gw, c);
		}
		return DROP_TCP_BLIND;
	}
	if (!(s->flags & TCP_ACK))
		return DROP_TCP_FLAGS;
	if (c->state == TCP_SYN_RECEIVED && s->ack != c->max) {
		tcp_refuse(gw, s);
		return DROP_TCP_ACK;
	}
	enum drop why = check_sequence(gw, c, s, p);
	if (why != DROP_NONE)
		return why;
	if (c->state != TCP_SYN_RECEIVED && !ack_is_plausible(c, s)) {
		tcp_challenge(gw, c);
		return DROP_TCP_ACK;
	}
	return DROP_NONE;
}

/* Sends the user its events: first room to write, then data to read. */
static bool notify(struct gw *gw, struct tcp_conn *c, bool room, bool news)
{
	if (room && !tcp_notify(gw, c, TCP_ROOM))
		return false;
	return !news || tcp_notify(gw, c, TCP_INPUT);
}

enum verdict tcp_segment(struct gw *gw, struct pkt *p, struct tcp_conn *c, struct tcp_seg *s)
{
	bool gone = false, taken = false;
	if (c->state == TCP_TIME_WAIT)
		return time_wait(gw, p, c, s);
	enum drop why = check_segment(gw, c, s, p, &gone);
	if (why != DROP_NONE)
		return gw_drop(gw, p, why);
	if (gone) {
		pkt_free(p);
		return V_KEPT;
	}
	if (c->state == TCP_SYN_RECEIVED && !tcp_opened(gw, c, s))
		return gw_drop(gw, p, DROP_TCP_CLIENT);
	uint32_t una = c->una, rcv = c->rcv;
	tcp_acked(gw, c, s);
	bool room = c->una != una;
	if (!c->user && s->len && !c->fin_taken) { /* no user reads it (RFC 2525 section 2.17) */
		tcp_reset(gw, c);
		tcp_end(gw, c, TCP_CLOSED);
		return gw_drop(gw, p, DROP_TCP_LATE);
	}
	why = receive(gw, c, s, p, &taken);
	bool alive = notify(gw, c, room, c->rcv != rcv) && tcp_advance(gw, c);
	if (alive)
		tcp_output(gw, c);
	if (why != DROP_NONE)
		return gw_drop(gw, p, why);
	if (!taken)
		pkt_free(p);
	return V_KEPT;
}
