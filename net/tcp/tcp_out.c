/* Sending TCP segments: what is sent when (RFC 9293 section 3.8.6, RFC 5681), and the
 * header. See tcp_conn.h. */
#include "net/tcp/tcp_conn.h"

#include "net/lib/csum.h"
#include "net/ip4/ip4.h"

enum { OPT_MSS = 2, OPT_MSS_LEN = 4 };

/* --- one segment ------------------------------------------------------------------------------ */

/* The fields of a header, in host order. */
struct header {
	uint32_t seq, ack, wnd;
	uint32_t mss; /* of the option; 0: none */
	uint8_t flags;
};

static struct pkt *begin_segment(struct gw *gw, const struct udp_ends *e, const struct header *h,
                                 uint32_t n, uint8_t **data)
{
	uint32_t hlen = (uint32_t)sizeof(struct tcp_hdr) + (h->mss ? OPT_MSS_LEN : 0);
	struct pkt *p = pkt_alloc(gw->pool);
	uint8_t *at = p ? pkt_put(p, hlen + n) : NULL;
	if (!at) {
		gw->counts.drops[DROP_NO_PACKET]++;
		if (p)
			pkt_free(p);
		return NULL;
	}
	struct tcp_hdr *t = (struct tcp_hdr *)at;
	t->from = be16_of(e->local_port);
	t->to = be16_of(e->remote_port);
	t->seq = be32_of(h->seq);
	t->ack = be32_of(h->flags & TCP_ACK ? h->ack : 0);
	t->offset = (uint8_t)(hlen / 4 << 4);
	t->flags = h->flags;
	t->window = be16_of((uint16_t)min_u32(h->wnd, UINT16_MAX));
	t->sum = t->urgent = be16_of(0);
	if (h->mss)
		store32(at + sizeof *t,
		        swap32((uint32_t)OPT_MSS << 24 | (uint32_t)OPT_MSS_LEN << 16 | h->mss));
	*data = at + hlen;
	return p;
}

static void send4(struct gw *gw, struct pkt *p, const struct udp_ends *e, bool may_fragment)
{
	struct tcp_hdr *t = (struct tcp_hdr *)p->data;
	uint16_t len = (uint16_t)p->len;
	t->sum = be16_from_raw((uint16_t)~csum_plus(
	        csum_sum(t, len), csum_pseudo4(e->local.v4, e->remote.v4, PROTO_TCP, len)));
	if (!pkt_push(p, IP4_MIN)) {
		gw_discard(gw, p, DROP_NO_PACKET);
		return;
	}
	ip4_build(gw, p, e->local.v4, e->remote.v4, PROTO_TCP, 0);
	if (!may_fragment) { /* for the path MTU (RFC 1191) */
		struct ip4_hdr *ip = ip4_header(p);
		ip->frag = be16_of(IP4_DF);
		ip->sum = csum_apply(ip->sum, csum_delta16(0, be16_raw(ip->frag)));
	}
	gw_send(gw, p);
}

static void send_segment(struct gw *gw, struct pkt *p, const struct udp_ends *e, bool may_fragment)
{
	p->iface = PKT_IF_SELF;
	p->flags = 0;
	gw->tcp->count.out++;
	if (e->remote.is6)
		udp_ends_send6(gw, p, e, PROTO_TCP, offsetof(struct tcp_hdr, sum));
	else
		send4(gw, p, e, may_fragment);
}

void tcp_emit_bare(struct gw *gw, const struct udp_ends *ends, uint32_t seq, uint32_t ack,
                   uint8_t flags, uint32_t mss, uint32_t wnd)
{
	struct header h = {.seq = seq, .ack = ack, .wnd = wnd, .mss = mss, .flags = flags};
	uint8_t *data;
	struct pkt *p = begin_segment(gw, ends, &h, 0, &data);
	if (p)
		send_segment(gw, p, ends, false);
}

void tcp_refuse(struct gw *gw, const struct tcp_seg *s)
{
	if (s->flags & TCP_RST)
		return;
	gw->tcp->count.resets++;
	if (s->flags & TCP_ACK)
		tcp_emit_bare(gw, &s->ends, s->ack, 0, TCP_RST, 0, 0);
	else
		tcp_emit_bare(gw, &s->ends, 0, s->seq + tcp_span(s), TCP_RST | TCP_ACK, 0, 0);
}

/* --- our window -------------------------------------------------------------------- */

/* By how much the end of the window could move. */
static uint32_t growth(const struct tcp_conn *c)
{
	uint32_t space = c->window > c->in.len ? c->window - c->in.len : 0;
	uint32_t by = c->rcv + min_u32(space, TCP_WINDOW) - c->edge;
	return c->user && !seq_lt(by, 0) ? by : 0;
}

/* The window that is offered. It does not grow in small steps, because these would make the
 * other side send small segments (RFC 9293 section 3.8.6.2.2). Its end never moves back. */
static uint32_t window(struct tcp_conn *c)
{
	uint32_t by = growth(c);
	if (by >= min_u32(c->window / 2, c->mss))
		c->edge += by;
	return c->edge - c->rcv;
}

/* True when the window opened so far that the other side should be informed. */
static bool window_opened(const struct tcp_conn *c)
{
	uint32_t by = growth(c);
	return by >= c->window / 2 || (c->edge == c->rcv && by >= min_u32(c->window / 2, c->mss));
}

/* --- segments of a connection --------------------------------------------------------------------
 */

void tcp_emit(struct gw *gw, struct tcp_conn *c, uint32_t off, uint32_t n, uint8_t flags)
{
	struct header h = {.seq = c->una + off, .flags = flags};
	uint8_t *data;
	if (flags & TCP_SYN) {
		h.mss = tcp_path_mss(gw, &c->ends, true);
		h.wnd = c->window;
	} else {
		h.wnd = window(c);
	}
	h.ack = c->rcv;
	struct pkt *p = begin_segment(gw, &c->ends, &h, n, &data);
	if (!p)
		return;
	if (n)
		tcp_queue_copy(&c->out, off, data, n);
	if (flags & TCP_ACK) {
		c->acked = c->rcv;
		c->ack_now = c->ack_later = false;
	}
	send_segment(gw, p, &c->ends, c->may_fragment);
}

/* The sequence number of a segment without data: behind everything that was sent, but not
 * behind the byte of a window probe, which the other side may not have accepted. */
static uint32_t bare_seq(const struct tcp_conn *c)
{
	return c->timer == TCP_T_PERSIST ? c->nxt : c->max;
}

void tcp_send_ack(struct gw *gw, struct tcp_conn *c)
{
	tcp_emit(gw, c, bare_seq(c) - c->una, 0, TCP_ACK);
}

void tcp_reset(struct gw *gw, struct tcp_conn *c)
{
	if (c->state == TCP_SYN_SENT || c->state >= TCP_TIME_WAIT)
		return;
	gw->tcp->count.resets++;
	tcp_emit_bare(gw, &c->ends, bare_seq(c), c->rcv, TCP_RST | TCP_ACK, 0, 0);
}

void tcp_challenge(struct gw *gw, struct tcp_conn *c)
{
	/* A limit for all connections would allow an off-path attacker to measure what
	 * others receive (CVE-2016-5696). So each connection has its own. */
	if (gw->clock.ms - c->challenge_ms >= 1000) {
		c->challenge_ms = gw->clock.ms;
		c->challenges = 0;
	}
	if (c->challenges >= 8)
		return;
	c->challenges++;
	gw->tcp->count.challenges++;
	tcp_send_ack(gw, c);
}

/* Finds what to send next, from nxt on: sets *n and *flags. False when nothing may be sent
 * now. */
static bool next_segment(const struct tcp_conn *c, uint32_t *n, uint8_t *flags)
{
	uint32_t off = c->nxt - c->una;
	if (off > c->out.len) /* the FIN is sent */
		return false;
	/* Limited transmit: the first two duplicates allow new data (RFC 3042). */
	uint32_t cwnd = c->cwnd + (c->recovery ? 0 : min_u32(c->dup_acks, 2) * c->mss);
	uint32_t wnd = min_u32(c->wnd, cwnd), usable = wnd > off ? wnd - off : 0;
	uint32_t avail = c->out.len - off;
	*n = min_u32(min_u32(avail, c->mss), usable);
	bool fin = c->shut && !c->fin_acked && *n == avail;
	/* RFC 9293 section 3.8.6.2.1; data of a user is always pushed */
	if (*n < avail && *n < c->mss && (*n == 0 || *n < c->wnd_most / 2))
		return false;
	if (*n == 0 && !fin)
		return false;
	*flags = (uint8_t)(TCP_ACK | (*n == avail && *n ? TCP_PSH : 0) | (fin ? TCP_FIN : 0));
	return true;
}

/* Updates the state after a segment was sent. */
static void note_sent(struct gw *gw, struct tcp_conn *c, uint32_t span)
{
	bool again = seq_lt(c->nxt, c->max);
	gw->tcp->count.retransmitted += again;
	if (!again && !c->timing) { /* Karn's algorithm: only new data is measured */
		c->timing = true;
		c->timed_seq = c->nxt;
		c->timed_us = tcp_now(gw);
	}
	c->nxt += span;
	if (seq_lt(c->max, c->nxt))
		c->max = c->nxt;
	c->sent_us = gw->clock.us;
	if (c->timer != TCP_T_RETRANSMIT) {
		c->retries = 0;
		tcp_timer_set(gw, c, TCP_T_RETRANSMIT, c->rto_us);
	}
}

static void send_data(struct gw *gw, struct tcp_conn *c)
{
	uint32_t n, i;
	uint8_t flags;
	/* After a pause the path may have changed (RFC 5681 section 4.1). */
	if (c->nxt == c->una && gw->clock.us - c->sent_us > c->rto_us)
		c->cwnd = min_u32(c->cwnd, tcp_first_cwnd(c));
	for (i = 0; i < TCP_BURST && next_segment(c, &n, &flags); i++) {
		tcp_emit(gw, c, c->nxt - c->una, n, flags);
		note_sent(gw, c, n + ((flags & TCP_FIN) != 0));
	}
	c->more = i == TCP_BURST && next_segment(c, &n, &flags);
	if (c->more)
		tcp_timer_arm(gw, c);
	/* Nothing is in flight that could cause an acknowledgment, but there is something
	 * to send: the window is closed or too small. */
	if (c->nxt == c->una && c->out.len && c->timer == TCP_T_NONE) {
		c->retries = 0;
		tcp_timer_set(gw, c, TCP_T_PERSIST, c->rto_us);
	}
}

void tcp_output(struct gw *gw, struct tcp_conn *c)
{
	if (c->state >= TCP_ESTABLISHED && c->state < TCP_TIME_WAIT &&
	    (c->out.len || (c->shut && !c->fin_acked)))
		send_data(gw, c);
	if (c->ack_now || (c->state >= TCP_ESTABLISHED && c->state < TCP_TIME_WAIT &&
	                   !c->fin_taken && window_opened(c)))
		tcp_send_ack(gw, c);
	else if (c->rcv != c->acked && !c->ack_later)
		tcp_timer_ack(gw, c);
}
