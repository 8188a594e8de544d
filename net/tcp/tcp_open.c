/* Opening connections (RFC 9293 sections 3.5 and 3.10.7): segments without a connection,
 * SYN-SENT, and the initial values of an open connection. See tcp_conn.h. */
#include "net/tcp/tcp_conn.h"

#include "net/ip4/ip4.h"
#include "net/ip6/ip6.h"

/* --- segment sizes ---------------------------------------------------------------------------- */

static uint32_t link_mtu6(const struct gw *gw, uint32_t iface)
{
	return iface < INTERFACES ? gw->iface[iface].mtu6 : IP6_MTU_MIN;
}

uint32_t tcp_path_mss(const struct gw *gw, const struct udp_ends *ends, bool to_us)
{
	const uint32_t head4 = IP4_MIN + sizeof(struct tcp_hdr);
	const uint32_t head6 = IP6_MIN + sizeof(struct tcp_hdr);
	if (!ends->remote.is6) {
		const struct route4 *r = route4_for(&gw->routes4, ends->remote.v4);
		return gw->iface[r && r->iface < INTERFACES ? r->iface : IF_LAN].mtu - head4;
	}
	if (ip6_is_link_local(&ends->remote.v6))
		return link_mtu6(gw, ends->iface) - head6;
	const struct route6 *r = route6_for(&gw->routes6, &ends->remote.v6);
	/* Beyond the link the gateway sends nothing longer than every path carries (RFC
	 * 8201 section 4). */
	if (!r || (!to_us && (r->hop != 0 || r->iface >= INTERFACES)))
		return IP6_MTU_MIN - head6;
	return link_mtu6(gw, r->iface) - head6;
}

void tcp_set_mss(const struct gw *gw, struct tcp_conn *c, uint32_t peer_mss)
{
	if (peer_mss == 0)
		peer_mss = c->ends.remote.is6 ? TCP_MSS6 : TCP_MSS4;
	c->peer_mss = max_u32(peer_mss, TCP_MSS_MIN);
	c->mss = min_u32(c->peer_mss, tcp_path_mss(gw, &c->ends, false));
	c->rcv_mss = TCP_MSS4;
	c->cwnd = tcp_first_cwnd(c);
	c->ssthresh = UINT32_MAX;
}

/* --- segments without a connection ------------------------------------------------- */

static enum verdict refuse(struct gw *gw, struct pkt *p, const struct tcp_seg *s, enum drop why)
{
	tcp_refuse(gw, s);
	return gw_drop(gw, p, why);
}

/* Stores what the other side's SYN says. */
static void note_syn(struct tcp_conn *c, const struct tcp_seg *s)
{
	c->irs = s->seq;
	c->rcv = c->acked = s->seq + 1;
	c->edge = c->rcv + min_u32(c->window, TCP_WINDOW);
	c->peer_mss = s->mss;
}

static enum verdict open_by_syn(struct gw *gw, struct pkt *p, const struct tcp_seg *s,
                                const struct tcp_user *user)
{
	struct tcp *t = gw->tcp;
	struct tcp_conn *c = t->n_half < TCP_HALF_OPEN ? tcp_new(gw, &s->ends, user) : NULL;
	if (!c) {
		tcp_emit_bare(gw, &s->ends, tcp_cookie(gw, s), s->seq + 1, TCP_SYN | TCP_ACK,
		              tcp_path_mss(gw, &s->ends, true), user->window);
		pkt_free(p);
		return V_KEPT;
	}
	c->state = TCP_SYN_RECEIVED;
	t->n_half++;
	note_syn(c, s);
	c->iss = c->una = tcp_iss(gw, &c->ends);
	c->nxt = c->max = c->iss + 1;
	c->timing = true;
	c->timed_us = tcp_now(gw);
	tcp_emit(gw, c, 0, 0, TCP_SYN | TCP_ACK);
	tcp_timer_set(gw, c, TCP_T_RETRANSMIT, c->rto_us);
	pkt_free(p);
	return V_KEPT;
}

/* Makes the connection that a cookie describes, and passes it the segment that brought the
 * cookie. */
static enum verdict open_by_cookie(struct gw *gw, struct pkt *p, struct tcp_seg *s, uint32_t mss,
                                   const struct tcp_user *user)
{
	struct tcp_conn *c = tcp_new(gw, &s->ends, user);
	if (!c)
		return gw_drop(gw, p, DROP_TCP_FULL);
	struct tcp_seg theirs = {.seq = s->seq - 1, .mss = mss};
	c->state = TCP_SYN_RECEIVED;
	gw->tcp->n_half++;
	gw->tcp->count.cookies_good++;
	note_syn(c, &theirs);
	c->iss = c->una = s->ack - 1;
	c->nxt = c->max = s->ack;
	return tcp_segment(gw, p, c, s);
}

enum verdict tcp_unmatched(struct gw *gw, struct pkt *p, struct tcp_seg *s)
{
	const struct tcp_user *user = tcp_service(gw, s->ends.local_port);
	if (s->flags & TCP_RST)
		return gw_drop(gw, p, DROP_TCP_CLOSED);
	if (s->flags & TCP_ACK) {
		uint32_t mss = s->flags & TCP_SYN || !user ? 0 : tcp_cookie_mss(gw, s);
		return mss ? open_by_cookie(gw, p, s, mss, user)
		           : refuse(gw, p, s, DROP_TCP_CLOSED);
	}
	if ((s->flags & (TCP_SYN | TCP_FIN)) != TCP_SYN)
		return gw_drop(gw, p, DROP_TCP_FLAGS);
	enum drop why = !user ? DROP_TCP_CLOSED : user->accept ? user->accept(gw, &s->ends) : 0;
	return why != DROP_NONE ? refuse(gw, p, s, why) : open_by_syn(gw, p, s, user);
}

/* --- end of the handshake ---------------------------------------------------------- */

bool tcp_opened(struct gw *gw, struct tcp_conn *c, const struct tcp_seg *s)
{
	struct tcp *t = gw->tcp;
	if (c->state == TCP_SYN_RECEIVED && !c->active)
		t->n_half--;
	c->state = c->shut ? TCP_FIN_WAIT_1 : TCP_ESTABLISHED;
	c->una = c->nxt = c->max = c->iss + 1;
	c->recover = c->iss;
	c->wnd = c->wnd_most = s->wnd;
	c->wl1 = s->seq;
	tcp_set_mss(gw, c, c->peer_mss);
	if (c->timing)
		tcp_rtt(c, tcp_now(gw) - c->timed_us);
	else if (c->retries) /* RFC 6298 section 5.7 */
		c->rto_us = 3 * TCP_FIRST_RTO_US;
	if (c->retries > 1) /* RFC 5681 section 3.1 and RFC 6928 section 2 */
		c->cwnd = c->mss;
	c->timing = false;
	c->retries = 0;
	c->stuck_ms = c->active_ms = gw->clock.ms;
	tcp_timer_stop(c);
	if (!tcp_count_client(gw, c)) {
		tcp_reset(gw, c);
		tcp_free(gw, c);
		return false;
	}
	c->known = true;
	if (c->active)
		t->count.connected++;
	else
		t->count.accepted++;
	tcp_timer_arm(gw, c);
	return tcp_notify(gw, c, TCP_OPENED);
}

/* RFC 9293 section 3.10.7.3. Data in a SYN is ignored: it will be sent again. */
enum verdict tcp_opening(struct gw *gw, struct pkt *p, struct tcp_conn *c, const struct tcp_seg *s)
{
	bool ack = s->flags & TCP_ACK;
	if (ack && s->ack != c->max)
		return refuse(gw, p, s, DROP_TCP_ACK);
	if (s->flags & TCP_RST) {
		if (!ack)
			return gw_drop(gw, p, DROP_TCP_BLIND);
		tcp_end(gw, c, TCP_RESET);
		pkt_free(p);
		return V_KEPT;
	}
	if ((s->flags & (TCP_SYN | TCP_FIN)) != TCP_SYN)
		return gw_drop(gw, p, DROP_TCP_FLAGS);
	pkt_free(p);
	note_syn(c, s);
	if (!ack) { /* simultaneous open (section 3.5, figure 7) */
		c->state = TCP_SYN_RECEIVED;
		c->timing = false;
		tcp_emit(gw, c, 0, 0, TCP_SYN | TCP_ACK);
		return V_KEPT;
	}
	if (tcp_opened(gw, c, s)) {
		c->ack_now = true;
		tcp_output(gw, c);
	}
	return V_KEPT;
}
