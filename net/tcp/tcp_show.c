/* The counters of TCP, and the check of its invariants for tests. See tcp.h and tcp_conn.h. */
#include "net/stats/count.h"
#include "net/tcp/tcp_conn.h"

#include "kernel/lib/fmt.h"

static uint64_t connections(const void *of)
{
	const struct tcp *t = of;
	return t->n - t->list[TCP_LIST_WAITING].n;
}

static uint64_t connections_most(const void *of)
{
	(void)of;
	return TCP_CONNECTIONS;
}

static const struct count count[] = {
        COUNT_FILL_OF("tcp_connections", connections, connections_most),
        COUNT(struct tcp, "tcp_half_open", n_half),
        COUNT(struct tcp, "tcp_orphans", list[TCP_LIST_ORPHANS].n),
        COUNT(struct tcp, "tcp_time_wait", list[TCP_LIST_WAITING].n),
        COUNT(struct tcp, "tcp_packets_held", n_packets),
        COUNT(struct tcp, "tcp_segments_in", count.in),
        COUNT(struct tcp, "tcp_segments_out", count.out),
        COUNT(struct tcp, "tcp_accepted", count.accepted),
        COUNT(struct tcp, "tcp_connected", count.connected),
        COUNT(struct tcp, "tcp_closed", count.ended[TCP_CLOSED]),
        COUNT(struct tcp, "tcp_reset", count.ended[TCP_RESET]),
        COUNT(struct tcp, "tcp_timeout", count.ended[TCP_TIMEOUT]),
        COUNT(struct tcp, "tcp_unreachable", count.ended[TCP_UNREACHABLE]),
        COUNT(struct tcp, "tcp_crowded_out", count.ended[TCP_CROWDED]),
        COUNT(struct tcp, "tcp_retransmitted", count.retransmitted),
        COUNT(struct tcp, "tcp_fast_retransmits", count.fast),
        COUNT(struct tcp, "tcp_probes", count.probes),
        COUNT(struct tcp, "tcp_cookies_sent", count.cookies),
        COUNT(struct tcp, "tcp_cookies_good", count.cookies_good),
        COUNT(struct tcp, "tcp_resets_sent", count.resets),
        COUNT(struct tcp, "tcp_challenges", count.challenges),
};

static const void *state(const struct gw *gw)
{
	return gw->tcp;
}

const struct count_table tcp_counts = COUNT_TABLE(count, state);

static const char *check_queue(const struct tcp_queue *q)
{
	uint32_t n = 0, len = 0;
	const struct pkt *last = NULL;
	for (const struct pkt *p = q->first; p; last = p, p = p->next) {
		n++;
		len += p->len;
		if (p->owned != PKT_OWNED || p->len == 0)
			return "a queue holds a packet that is free or empty";
	}
	return n == q->n && len == q->len && last == q->last ? NULL : "a queue does not add up";
}

static const char *check_one(const struct gw *gw, const struct tcp_conn *c)
{
	const struct tcp_queue *queue[] = {&c->out, &c->in, &c->ooo};
	for (unsigned i = 0; i < ARRAY_SIZE(queue); i++) {
		const char *bad = check_queue(queue[i]);
		if (bad)
			return bad;
	}
	if (tcp_find(gw, &c->ends) != c)
		return "a connection is not found";
	if (seq_lt(c->nxt, c->una) || seq_lt(c->max, c->nxt))
		return "una <= nxt <= max does not hold";
	if (c->state >= TCP_ESTABLISHED && c->state < TCP_TIME_WAIT) {
		uint32_t fin = c->shut && !c->fin_acked;
		if (c->max - c->una > c->out.len + fin)
			return "more is under way than there is";
		if (c->in.len > c->window || seq_lt(c->edge, c->rcv))
			return "more has come than the window let in";
		bool waits = c->nxt != c->una || (c->out.len && c->wnd == 0);
		if (waits && c->timer == TCP_T_NONE)
			return "no timer for what is under way";
	}
	if (c->timer != TCP_T_NONE && !c->armed)
		return "a timer that never comes";
	for (const struct pkt *p = c->ooo.first; p; p = p->next)
		if (p->next && seq_lt(p->next->hop, p->hop + p->len))
			return "data out of order overlap";
	return c->ooo.n > TCP_OOO_PACKETS ? "too many gaps" : NULL;
}

/* Checks that a connection is in the list that its state requires and that its neighbours
 * point to it. */
static const char *check_membership(const struct tcp *t, const struct tcp_conn *c)
{
	uint32_t me = (uint32_t)(c - t->conn);
	bool waiting = c->state == TCP_TIME_WAIT;
	bool orphan = c->state == TCP_FIN_WAIT_2 && !c->user;
	if (waiting != (c->list == TCP_LIST_WAITING) || orphan != (c->list == TCP_LIST_ORPHANS))
		return "a connection is in a wrong list";
	bool client = c->known && !c->active && !waiting && !orphan;
	if (client != (c->list < TCP_CLIENTS))
		return "a client's connection is not counted, or another is";
	if (c->list == TCP_NO_INDEX)
		return NULL;
	const struct tcp_list *l = &t->list[c->list];
	uint32_t before = c->older == TCP_NO_INDEX ? l->oldest : t->conn[c->older].younger;
	uint32_t behind = c->younger == TCP_NO_INDEX ? l->youngest : t->conn[c->younger].older;
	return before != me || behind != me ? "a list is torn" : NULL;
}

/* Checks each list against its connections; adds those of clients to *open. */
static const char *check_lists(const struct tcp *t, uint32_t *open)
{
	for (uint32_t i = 0; i < TCP_LISTS; i++) {
		const struct tcp_list *l = &t->list[i];
		uint32_t n = 0, packets = 0, order = l->since;
		for (uint16_t k = l->oldest; k != TCP_NO_INDEX; k = t->conn[k].younger) {
			const struct tcp_conn *c = &t->conn[k];
			if (c->list != i || seq_lt(c->order, order))
				return "a list is not in order";
			order = c->order;
			packets += c->held;
			n++;
		}
		if (n != l->n || packets != l->packets)
			return "a list does not add up";
		*open += i < TCP_CLIENTS ? n : 0;
	}
	return NULL;
}

const char *tcp_check(const struct gw *gw)
{
	const struct tcp *t = gw->tcp;
	uint32_t n = 0, half = 0, packets = 0, open = 0;
	for (uint32_t i = 0; i < TCP_CONNECTIONS; i++) {
		const struct tcp_conn *c = &t->conn[i];
		if (c->state == TCP_FREE)
			continue;
		n++;
		half += c->state == TCP_SYN_RECEIVED && !c->active;
		packets += c->held;
		if (c->held != c->out.n + c->in.n + c->ooo.n)
			return "packets are booked for the wrong one";
		const char *bad = check_membership(t, c);
		if (!bad)
			bad = check_one(gw, c);
		if (bad)
			return bad;
	}
	const char *bad = check_lists(t, &open);
	if (bad)
		return bad;
	if (n != t->n || half != t->n_half || packets != t->n_packets || open != t->n_clients)
		return "connections do not add up";
	return half > TCP_HALF_OPEN + 1 ? "too many half-open connections" : NULL;
}
