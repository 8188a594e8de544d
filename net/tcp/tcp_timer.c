/* The timers of TCP: retransmission (RFC 6298), zero-window probes (RFC 9293 section
 * 3.8.6.1), delayed acknowledgments, idle time. See tcp_conn.h.
 *
 * A connection has one node in the wheel, set to the earliest of its times or before that.
 * It is moved only to an earlier time, so that traffic costs no list operations. When the
 * wheel visits it too early, it is set again. */
#include "kernel/lib/when.h"
#include "net/tcp/tcp_conn.h"

#define ACK_US        40000u /* RFC 9293 section 3.8.6.3: less than half a second */
#define TIMERS_A_TICK 64u
#define SYN_AGAIN     2u /* repetitions of a SYN-ACK: a forged SYN must not cause many */
#define BLACK_HOLE    2u /* timeouts in a row after which smaller segments are tried */

void tcp_rtt(struct tcp_conn *c, uint32_t us)
{
	if (c->srtt_us == 0) {
		c->srtt_us = max_u32(us, 1);
		c->var_us = us / 2;
	} else {
		uint32_t off = us > c->srtt_us ? us - c->srtt_us : c->srtt_us - us;
		c->var_us = c->var_us - c->var_us / 4 + off / 4;
		c->srtt_us = max_u32(c->srtt_us - c->srtt_us / 8 + us / 8, 1);
	}
	/* The clock granularity G is negligible here. */
	c->rto_us = min_u32(max_u32(c->srtt_us + 4 * c->var_us, TCP_LEAST_RTO_US), TCP_MOST_RTO_US);
}

/* --- setting ------------------------------------------------------------------------------------
 */

static uint32_t node_of(const struct gw *gw, const struct tcp_conn *c)
{
	return (uint32_t)(c - gw->tcp->conn);
}

static void arm_at(struct gw *gw, struct tcp_conn *c, uint32_t due_us)
{
	uint32_t now = tcp_now(gw), left = when_left(now, due_us, WHEEL_MOST_US);
	if (c->armed && when_left(now, c->armed_us, WHEEL_MOST_US) <= left)
		return;
	c->armed = true;
	c->armed_us = now + left;
	wheel_set(&gw->tcp->wheel, node_of(gw, c), c->armed_us);
}

/* Arms the wheel for the time `ms` after `since_ms`. */
static void arm_ms(struct gw *gw, struct tcp_conn *c, uint32_t since_ms, uint32_t ms)
{
	uint32_t gone = gw->clock.ms - since_ms, left = ms > gone ? ms - gone : 0;
	/* now_ms may be up to 100 ms late. */
	arm_at(gw, c, tcp_now(gw) + min_u32(left + 100, WHEEL_MOST_US / 1000) * 1000);
}

void tcp_timer_arm(struct gw *gw, struct tcp_conn *c)
{
	if (c->timer != TCP_T_NONE)
		arm_at(gw, c, c->due_us);
	if (c->ack_later)
		arm_at(gw, c, c->ack_us);
	if (c->more)
		arm_at(gw, c, tcp_now(gw));
	if (c->idle_ms && c->state >= TCP_ESTABLISHED)
		arm_ms(gw, c, c->active_ms, c->idle_ms);
}

void tcp_timer_set(struct gw *gw, struct tcp_conn *c, enum tcp_timer what, uint32_t after_us)
{
	if (c->timer == TCP_T_GONE && what != TCP_T_GONE)
		return;
	/* Not after the time when the connection counts as stalled. */
	uint32_t stuck = gw->clock.ms - c->stuck_ms;
	uint32_t left = c->stall_ms > stuck ? c->stall_ms - stuck : 0;
	if (what != TCP_T_GONE)
		after_us = min_u32(after_us, (left + 100) * 1000);
	c->timer = (uint8_t)what;
	c->due_us = tcp_now(gw) + after_us;
	arm_at(gw, c, c->due_us);
}

void tcp_timer_stop(struct tcp_conn *c)
{
	if (c->timer != TCP_T_GONE)
		c->timer = TCP_T_NONE;
}

void tcp_timer_ack(struct gw *gw, struct tcp_conn *c)
{
	c->ack_later = true;
	c->ack_us = tcp_now(gw) + ACK_US;
	arm_at(gw, c, c->ack_us);
}

/* --- timers that are due ----------------------------------------------------------- */

/* Reduces the segment size when large segments seem to be lost without an ICMP error (RFC
 * 2923 section 2.1): every path carries the smaller size. */
static void suspect_black_hole(struct tcp_conn *c)
{
	uint32_t small = c->ends.remote.is6 ? TCP_MSS6 : TCP_MSS4;
	if (c->retries != BLACK_HOLE || c->mss <= small || c->out.len <= small)
		return;
	c->mss = small;
	c->may_fragment = true;
}

static void back_off(struct gw *gw, struct tcp_conn *c, enum tcp_timer what)
{
	uint32_t after = c->rto_us;
	c->retries = (uint8_t)min_u32(c->retries + 1u, UINT8_MAX);
	if (what == TCP_T_RETRANSMIT)
		after = c->rto_us = min_u32(2 * c->rto_us, TCP_MOST_RTO_US);
	else
		for (uint32_t i = 0; i < c->retries && after < TCP_MOST_RTO_US; i++)
			after *= 2;
	tcp_timer_set(gw, c, what, min_u32(after, TCP_MOST_RTO_US));
}

static void retransmit(struct gw *gw, struct tcp_conn *c)
{
	c->timer = TCP_T_NONE;
	if (c->state == TCP_SYN_SENT || c->state == TCP_SYN_RECEIVED) {
		c->timing = false;
		gw->tcp->count.retransmitted++;
		tcp_emit(gw, c, 0, 0, c->state == TCP_SYN_SENT ? TCP_SYN : TCP_SYN | TCP_ACK);
		back_off(gw, c, TCP_T_RETRANSMIT);
		return;
	}
	tcp_lost(c);
	back_off(gw, c, TCP_T_RETRANSMIT);
	suspect_black_hole(c);
	c->cwnd = c->mss;
	tcp_output(gw, c);
	/* The window was closed over data that is to be sent again, so nothing could be
	 * sent: probe the window (RFC 9293 section 3.8.6). */
	if (c->nxt == c->una && c->out.len) {
		c->retries = 0;
		tcp_timer_set(gw, c, TCP_T_PERSIST, c->rto_us);
	}
}

/* Sends one byte, or what a small window accepts, to find out whether the window opened. */
static void probe(struct gw *gw, struct tcp_conn *c)
{
	uint32_t n = min_u32(min_u32(c->out.len, c->mss), max_u32(c->wnd, 1));
	c->timer = TCP_T_NONE;
	gw->tcp->count.probes++;
	tcp_emit(gw, c, 0, n, TCP_ACK);
	if (seq_lt(c->max, c->una + n))
		c->max = c->una + n;
	back_off(gw, c, TCP_T_PERSIST);
}

/* Handles `timer` when it is due. False when the connection is gone. */
static bool timer_due(struct gw *gw, struct tcp_conn *c)
{
	if (c->timer == TCP_T_GONE) {
		if (c->state == TCP_TIME_WAIT)
			tcp_free(gw, c);
		else
			tcp_end(gw, c, TCP_CLOSED);
		return false;
	}
	bool syn_over = c->state == TCP_SYN_RECEIVED && c->retries >= SYN_AGAIN;
	if (syn_over || gw->clock.ms - c->stuck_ms >= c->stall_ms) {
		if (!syn_over)
			tcp_reset(gw, c);
		tcp_end(gw, c, TCP_TIMEOUT);
		return false;
	}
	if (c->timer == TCP_T_PERSIST)
		probe(gw, c);
	else
		retransmit(gw, c);
	return true;
}

static void node_due(struct gw *gw, struct tcp_conn *c)
{
	uint32_t now = tcp_now(gw);
	c->armed = false;
	if (c->timer != TCP_T_NONE && when_come(now, c->due_us, WHEEL_MOST_US) && !timer_due(gw, c))
		return;
	if (c->more) {
		c->more = false;
		if (!tcp_advance(gw, c))
			return;
		tcp_output(gw, c);
	}
	if (c->ack_later && when_come(now, c->ack_us, ACK_US))
		tcp_send_ack(gw, c);
	if (c->idle_ms && c->state >= TCP_ESTABLISHED &&
	    gw->clock.ms - c->active_ms >= c->idle_ms) {
		c->active_ms = gw->clock.ms;
		if (!tcp_notify(gw, c, TCP_IDLE))
			return;
		tcp_output(gw, c);
	}
	tcp_timer_arm(gw, c);
}

bool tcp_tick(struct gw *gw)
{
	struct tcp *t = gw->tcp;
	bool more = tcp_client_evict(gw);
	for (uint32_t i = 0; i < TIMERS_A_TICK; i++) {
		uint32_t node = wheel_take(&t->wheel, tcp_now(gw));
		if (node == WHEEL_NONE) {
			uint64_t slot = 1u << WHEEL_SHIFT;
			uint64_t wake = (gw->clock.us & ~(slot - 1)) + slot;
			if (t->wheel.n_set)
				gw_wake_at(gw, wake);
			return more;
		}
		node_due(gw, &t->conn[node]);
	}
	return true;
}
