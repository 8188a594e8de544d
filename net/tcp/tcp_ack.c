/* Processing of acknowledgments: the data that waited for them, the congestion window (RFC
 * 5681, fast recovery by RFC 6582), the timer (RFC 6298) and the other side's window. See
 * tcp_conn.h. */
#include "net/tcp/tcp_conn.h"

#define CWND_MOST (1u << 20)

static uint32_t in_flight(const struct tcp_conn *c)
{
	return c->nxt - c->una;
}

/* Sends the first segment that is not acknowledged again. */
static void resend_first(struct gw *gw, struct tcp_conn *c)
{
	uint32_t n = min_u32(c->out.len, c->mss);
	bool fin = c->shut && !c->fin_acked && n == c->out.len;
	gw->tcp->count.retransmitted++;
	c->timing = false;
	tcp_emit(gw, c, 0, n, (uint8_t)(TCP_ACK | (fin ? TCP_FIN : 0)));
	tcp_timer_set(gw, c, TCP_T_RETRANSMIT, c->rto_us);
}

/* Halves the window (RFC 5681, equation 4). What limited transmit sent beyond the window
 * does not count (section 3.2 step 2). */
static void reduce(struct tcp_conn *c)
{
	c->ssthresh = max_u32(min_u32(in_flight(c), c->cwnd) / 2, 2 * c->mss);
	c->grown = 0;
}

void tcp_lost(struct tcp_conn *c)
{
	if (c->retries == 0) /* once for each loss */
		reduce(c);
	c->cwnd = c->mss;
	c->recover = c->max;
	c->recovery = false;
	c->dup_acks = 0;
	c->nxt = c->una;
	c->timing = false;
}

/* Slow start or congestion avoidance (RFC 5681 section 3.1, counting bytes as RFC 3465).
 * The window grows only when it was used. */
static void grow(struct tcp_conn *c, uint32_t acked, uint32_t was_in_flight)
{
	if (2 * was_in_flight < c->cwnd || c->cwnd >= CWND_MOST)
		return;
	if (c->cwnd < c->ssthresh) {
		c->cwnd += min_u32(acked, c->mss);
		return;
	}
	c->grown += acked;
	if (c->grown >= c->cwnd) {
		c->grown -= c->cwnd;
		c->cwnd += c->mss;
	}
}

/* Processes a new acknowledgment in fast recovery (RFC 6582 section 3.2): everything that
 * was in flight when it began is acknowledged, or only a part. */
static void recover(struct gw *gw, struct tcp_conn *c, uint32_t acked)
{
	if (seq_le(c->recover, c->una)) {
		c->recovery = false;
		c->dup_acks = 0;
		c->cwnd = min_u32(c->ssthresh, max_u32(in_flight(c), c->mss) + c->mss);
		return;
	}
	c->cwnd -= min_u32(acked, c->cwnd - c->mss);
	if (acked >= c->mss)
		c->cwnd += c->mss;
	resend_first(gw, c);
}

static void new_ack(struct gw *gw, struct tcp_conn *c, uint32_t ack)
{
	uint32_t acked = ack - c->una, was = in_flight(c);
	if (acked > c->out.len)
		c->fin_acked = true;
	tcp_queue_take(gw, c, &c->out, min_u32(acked, c->out.len));
	if (c->timing && seq_lt(c->timed_seq, ack)) {
		c->timing = false;
		tcp_rtt(c, tcp_now(gw) - c->timed_us);
	}
	c->una = ack;
	if (seq_lt(c->nxt, ack))
		c->nxt = ack;
	c->active_ms = gw->clock.ms;
	/* Single bytes are no progress: with them a client could keep its connection, and
	 * all others, waiting for ever. */
	c->arrived += acked;
	if (c->arrived >= c->mss || c->out.len == 0) {
		c->stuck_ms = gw->clock.ms;
		c->arrived = 0;
	}
	c->retries = 0;
	if (c->nxt == c->una)
		tcp_timer_stop(c);
	else
		tcp_timer_set(gw, c, TCP_T_RETRANSMIT, c->rto_us);
	if (c->recovery) {
		recover(gw, c, acked);
	} else {
		if (seq_lt(c->recover, ack)) /* stays close to una, or it would wrap */
			c->recover = ack - 1;
		c->dup_acks = 0;
		grow(c, acked, was);
	}
}

/* Processes a duplicate acknowledgment, the sign that a later segment was received (RFC
 * 5681 section 2). */
static void duplicate(struct gw *gw, struct tcp_conn *c)
{
	c->dup_acks = (uint8_t)min_u32(c->dup_acks + 1u, UINT8_MAX);
	if (c->recovery) {
		c->cwnd = min_u32(c->cwnd + c->mss, CWND_MOST);
		return;
	}
	if (c->dup_acks != 3 || !seq_lt(c->recover, c->una))
		return;
	reduce(c);
	c->recover = c->max;
	c->recovery = true;
	c->cwnd = c->ssthresh + 3 * c->mss;
	gw->tcp->count.fast++;
	resend_first(gw, c);
}

void tcp_acked(struct gw *gw, struct tcp_conn *c, const struct tcp_seg *s)
{
	if (seq_lt(c->una, s->ack))
		new_ack(gw, c, s->ack);
	else if (s->ack == c->una && in_flight(c) && tcp_span(s) == 0 && s->wnd == c->wnd)
		duplicate(gw, c);
	/* A segment with an older sequence or acknowledgment number than the one that set
	 * the window last does not set it (RFC 9293 section 3.10.7.4). SND.WL2 is never
	 * beyond una. */
	if (seq_lt(s->ack, c->una) || seq_lt(s->seq, c->wl1))
		return;
	c->wnd = s->wnd;
	c->wl1 = s->seq;
	c->wnd_most = max_u32(c->wnd_most, c->wnd);
	if (c->timer == TCP_T_PERSIST && c->wnd)
		tcp_timer_stop(c);
}
