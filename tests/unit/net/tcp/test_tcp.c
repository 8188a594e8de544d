/* net/tcp*.c: two gateways on a link that delays, loses, duplicates, reorders and
 * truncates. */
#include "tests/unit/net/tcp/tcp_kit.h"

/* The other side reads nothing of what it is sent, for this time. */
static uint32_t unread(uint32_t bytes_out, uint32_t bytes_back, uint64_t us)
{
	pair_start(1, false, 512);
	uint32_t n = pair_connect(0, bytes_out, bytes_back);
	flow(1, n)->reads = false;
	fine(pair_run(us));
	return n;
}

/* All data arrives, and both sides close, within this number of seconds. */
static void complete(uint32_t n, uint32_t seconds)
{
	fine(pair_finish((uint64_t)seconds * SECOND));
	all_arrived(n);
}

/* --- without faults ---------------------------------------------------------------- */

static void hello(bool is6)
{
	pair_start(1, is6, 512);
	uint32_t n = pair_connect(0, 100, 300);
	CHECK(n);
	fine(pair_run(SECOND));
	CHECK(flow(0, n)->opened && flow(1, n)->opened);
	all_arrived(n);
	/* SYN, SYN-ACK, ACK, data in both directions with FINs and their acknowledgments:
	 * only a few frames. */
	CHECK(pair.n_frames <= 10);
	CHECK_EQ(tcp(0)->count.retransmitted, 0);
	fine(pair_finish(70ull * SECOND));
}

static void hello4(void)
{
	hello(false);
}

static void hello6(void)
{
	hello(true);
}

static void megabyte(void)
{
	pair_start(2, false, 512);
	uint32_t n = pair_connect(0, 1000000, 700000);
	complete(n, 300);
	CHECK_EQ(tcp(0)->count.retransmitted, 0);
	CHECK_EQ(tcp(1)->count.retransmitted, 0);
}

static void nobody_listens(void)
{
	pair_start(1, false, 512);
	tcp(1)->n_services = 0;
	tcp(1)->service[0].port = 54;
	tcp(1)->n_services = 1;
	uint32_t n = pair_connect(0, 1, 1);
	fine(pair_run(50 * SECOND));
	CHECK_EQ(pair_drops(1, DROP_NO_SERVICE), 6); /* no answer: 0, 1, 3, 7, 15, 31 s */
	fine(pair_finish(200ull * SECOND));
	CHECK_EQ(flow(0, n)->why, TCP_TIMEOUT);
}

static enum drop refuse_all(struct gw *gw, const struct udp_ends *ends)
{
	(void)gw;
	(void)ends;
	return DROP_DNS_CLIENT;
}

static void refused(void)
{
	pair_start(1, true, 512);
	pair.side[1].user.accept = refuse_all;
	uint32_t n = pair_connect(0, 1, 1);
	fine(pair_run(SECOND));
	CHECK(flow(0, n)->ended);
	CHECK_EQ(flow(0, n)->why, TCP_RESET);
	CHECK_EQ(pair_drops(1, DROP_DNS_CLIENT), 1);
	fine(pair_finish(SECOND));
}

/* Simultaneous open, with the same ports (RFC 9293 section 3.5, figure 7). */
static void simultaneous_open(void)
{
	uint8_t frame[100];
	pair_start(1, false, 512);
	pair.wire.dead = true;
	uint32_t n = pair_connect(0, 10, 10);
	struct tcp_conn *c = pair_conn(0, n);
	uint16_t port = c->ends.local_port;
	uint32_t len = pair_segment(frame, 1, PAIR_PORT, port, 5000, 0, TCP_SYN, 1000, NULL, 0);
	pair_put(0, frame, len);
	CHECK_EQ(c->state, TCP_SYN_RECEIVED);
	len = pair_segment(frame, 1, PAIR_PORT, port, 5001, c->iss + 1, TCP_ACK, 1000, NULL, 0);
	pair_put(0, frame, len);
	CHECK(flow(0, n)->opened);
	CHECK_EQ(tcp(0)->n_half, 0);
	tcp_abort(&pair.side[0].rig.gw, flow(0, n)->conn);
	flow(0, n)->conn = TCP_NONE;
	rig_flush(&pair.side[0].rig);
	fine(pair_finish(SECOND));
}

/* --- half-close, closing, TIME-WAIT ----------------------------------------------------------- */

static void half_close(void)
{
	pair_start(1, false, 512);
	uint32_t n = pair_connect(0, 500, 60000);
	flow(1, n)->to_send = 0; /* it sends nothing until it has received everything */
	flow(1, n)->shut_when_all = flow(1, n)->close_at_end = false;
	fine(pair_run(SECOND));
	CHECK(flow(1, n)->at_end);
	CHECK_EQ(pair_conn(0, n)->state, TCP_FIN_WAIT_2);
	CHECK_EQ(pair_conn(1, n)->state, TCP_CLOSE_WAIT);
	flow(1, n)->to_send = 60000;
	flow(1, n)->shut_when_all = true;
	complete(n, 100);
}

static void time_wait(void)
{
	pair_start(1, false, 512);
	uint32_t n = pair_connect(0, 10, 10);
	flow(1, n)->shut_when_all = false; /* the other side closes first */
	fine(pair_run(SECOND));
	all_arrived(n);
	struct tcp *t = tcp(0);
	CHECK_EQ(t->list[TCP_LIST_WAITING].n, 1);
	CHECK_EQ(tcp(1)->n, 0);
	/* A reset does not end it (RFC 1337). */
	struct tcp_conn *c = &t->conn[t->list[TCP_LIST_WAITING].oldest];
	uint8_t frame[100];
	uint32_t rcv = c->rcv, len;
	uint16_t port = c->ends.local_port;
	len = pair_segment(frame, 1, PAIR_PORT, port, rcv, 0, TCP_RST, 0, NULL, 0);
	pair_put(0, frame, len);
	CHECK_EQ(t->list[TCP_LIST_WAITING].n, 1);
	CHECK_EQ(pair_drops(0, DROP_TCP_BLIND), 1);
	fine(pair_run(58 * SECOND));
	CHECK_EQ(t->list[TCP_LIST_WAITING].n, 1);
	fine(pair_run(4 * SECOND));
	CHECK_EQ(t->n, 0);
}

/* A client that uses its port again gets a new connection if its sequence number is beyond
 * the old ones. */
static void time_wait_again(void)
{
	uint8_t frame[100];
	pair_start(1, false, 512);
	pair.wire.dead = true;
	struct tcp *t = tcp(1);
	uint32_t n = pair.n++, len;
	flow(1, n + 1)->port = 4000;
	for (uint32_t round = 0; round < 2; round++) {
		uint32_t seq = 1000 + round * 100000;
		flow(1, n + 1)->opened = false;
		len = pair_segment(frame, 0, 4000, PAIR_PORT, seq, 0, TCP_SYN, 1000, NULL, 0);
		pair_put(1, frame, len);
		CHECK_EQ(t->n_half, 1);
		struct tcp_conn *c = &t->conn[t->head[0]];
		for (uint32_t i = 0; i < TCP_CONNECTIONS; i++)
			if (t->conn[i].state == TCP_SYN_RECEIVED)
				c = &t->conn[i];
		uint32_t iss = c->iss;
		len = pair_segment(frame, 0, 4000, PAIR_PORT, seq + 1, iss + 1, TCP_ACK, 1000, NULL,
		                   0);
		pair_put(1, frame, len);
		CHECK(flow(1, n + 1)->opened);
		tcp_shut(&pair.side[1].rig.gw, flow(1, n + 1)->conn);
		flow(1, n + 1)->close_at_end = false;
		len = pair_segment(frame, 0, 4000, PAIR_PORT, seq + 1, iss + 2, TCP_ACK | TCP_FIN,
		                   1000, NULL, 0);
		pair_put(1, frame, len);
		CHECK_EQ(t->list[TCP_LIST_WAITING].n, 1);
		flow(1, n + 1)->ended = false;
		/* An old SYN changes nothing. */
		len = pair_segment(frame, 0, 4000, PAIR_PORT, seq - 5, 0, TCP_SYN, 1000, NULL, 0);
		pair_put(1, frame, len);
		CHECK_EQ(t->list[TCP_LIST_WAITING].n, 1);
	}
	rig_flush(&pair.side[1].rig);
	fine(tcp_check(&pair.side[1].rig.gw));
}

/* --- time-outs -------------------------------------------------------------------------------- */

static void silence(void)
{
	pair_start(1, false, 512);
	uint32_t n = pair_connect(0, 1000, 1000);
	flow(0, n)->shut_when_all = flow(1, n)->shut_when_all = false;
	fine(pair_run(SECOND));
	pair.wire.dead = true;
	flow(0, n)->to_send += 500;
	flow(1, n)->close_at_end = false;
	uint32_t before = pair.n_frames;
	fine(pair_run(99ull * SECOND));
	CHECK(!flow(0, n)->ended);
	/* 0, 1, 3, 7, 15, 31, 63 s (RFC 6298 section 5.5). */
	CHECK_EQ(pair.n_frames - before, 7);
	fine(pair_run(2 * SECOND));
	CHECK_EQ(flow(0, n)->why, TCP_TIMEOUT);
	CHECK_EQ(tcp(0)->n, 0);
}

static void stall_limit(void)
{
	pair_start(1, false, 512);
	pair.side[1].user.stall_ms = 10000;
	uint32_t n = pair_connect(0, 10, 200000);
	flow(0, n)->reads = false; /* it never reads */
	fine(pair_run(9 * SECOND));
	CHECK(!flow(1, n)->ended);
	fine(pair_run(4 * SECOND));
	CHECK(flow(1, n)->ended);
	CHECK_EQ(flow(1, n)->why, TCP_TIMEOUT);
	CHECK_EQ(flow(0, n)->why, TCP_RESET);
	fine(pair_finish(SECOND));
}

static void idle_event(void)
{
	pair_start(1, false, 512);
	pair.side[1].user.idle_ms = 5000;
	uint32_t n = pair_connect(0, 10, 10);
	flow(0, n)->shut_when_all = flow(1, n)->shut_when_all = false;
	fine(pair_run(4900000));
	CHECK_EQ(flow(1, n)->idle_events, 0);
	fine(pair_run(400000));
	CHECK_EQ(flow(1, n)->idle_events, 1);
	fine(pair_run(10500000));
	CHECK_EQ(flow(1, n)->idle_events, 3);
	CHECK_EQ(flow(0, n)->idle_events, 0);
}

/* --- windows ---------------------------------------------------------------------------------- */

static void zero_window(void)
{
	uint32_t n = unread(100000, 10, 40 * SECOND);
	CHECK_EQ(tcp_readable(&pair.side[1].rig.gw, flow(1, n)->conn), 16384);
	CHECK_EQ(pair_conn(0, n)->wnd, 0);
	CHECK(tcp(0)->count.probes >= 4);
	CHECK(tcp(0)->count.probes <= 7);
	CHECK_EQ(flow(1, n)->got, 0);
	flow(1, n)->reads = true;
	complete(n, 200);
}

/* The window opens, but the segment that offers it is lost. */
static void window_update_lost(void)
{
	uint32_t n = unread(100000, 10, 10 * SECOND);
	pair.wire.dead = true;
	flow(1, n)->reads = true;
	fine(pair_run(100000));
	pair.wire.dead = false;
	complete(n, 200);
}

/* No tiny segments although the reader reads single bytes. */
static void silly_window(void)
{
	uint32_t n = unread(60000, 0, 3 * SECOND);
	uint32_t before = pair.n_frames;
	struct gw *gw = &pair.side[1].rig.gw;
	for (uint32_t i = 0; i < 2000; i++) {
		tcp_take(gw, flow(1, n)->conn, 1);
		flow(1, n)->got++;
		rig_flush(&pair.side[1].rig);
		fine(pair_run(1000));
	}
	CHECK(pair.n_frames - before <= 6);
	flow(1, n)->reads = true;
	complete(n, 200);
}

static void one_byte_segments(void)
{
	for (uint32_t seed = 1; seed < 4; seed++) {
		pair_start(seed, seed & 1, 512);
		pair.wire.cut = 1;
		pair.wire.jitter_us = seed * 2000;
		uint32_t n = pair_connect(0, 3000, 3000);
		complete(n, 300);
	}
}

static void small_mtu(void)
{
	static const uint32_t mtu[] = {1400, 1000, 576};
	for (uint32_t i = 0; i < ARRAY_SIZE(mtu); i++) {
		pair_start(1, false, 512);
		pair.wire.mtu = mtu[i];
		uint32_t n = pair_connect(0, 50000, 50000);
		complete(n, 100);
	}
	pair_start(1, true, 512);
	pair.wire.mtu = 1280;
	uint32_t n = pair_connect(0, 50000, 50000);
	complete(n, 100);
}

static bool only_short(uint32_t from, uint8_t *frame, uint32_t len)
{
	(void)from;
	(void)frame;
	return len <= 14 + 1000;
}

/* Large packets are lost without an ICMP error. */
static void black_hole(void)
{
	pair_start(1, false, 512);
	pair.wire.see = only_short;
	uint32_t n = pair_connect(0, 20000, 20000);
	complete(n, 120);
}

/* --- loss ------------------------------------------------------------------------------------- */

static uint32_t nth, lost_nth;
static bool lose_one(uint32_t from, uint8_t *frame, uint32_t len)
{
	(void)frame;
	return from != 0 || len < 500 || ++nth != lost_nth;
}

/* One lost segment of a long flow: fast retransmit, no timeout, half the window. */
static void fast_retransmit(void)
{
	pair_start(1, false, 512);
	pair.side[1].user.window = 65535;
	nth = 0;
	lost_nth = 20;
	pair.wire.see = lose_one;
	uint32_t n = pair_connect(0, 100000, 0);
	complete(n, 100);
	const struct tcp_count *c = &tcp(0)->count;
	CHECK_EQ(c->fast, 1);
	CHECK_EQ(c->retransmitted, 1);
}

static bool lose_some(uint32_t from, uint8_t *frame, uint32_t len)
{
	(void)frame;
	if (from != 0 || len < 500)
		return true;
	nth++;
	return nth != 20 && nth != 22 && nth != 25;
}

/* Three lost segments of one window: partial acknowledgments repair one in each round trip
 * (RFC 6582). */
static void new_reno(void)
{
	pair_start(1, false, 512);
	pair.side[1].user.window = 65535;
	nth = 0;
	pair.wire.see = lose_some;
	uint32_t n = pair_connect(0, 100000, 0);
	complete(n, 100);
	const struct tcp_count *c = &tcp(0)->count;
	CHECK_EQ(c->fast, 1);
	CHECK_EQ(c->retransmitted, 3);
}

/* Small segments that wait for a reader can use up all packets: then some are dropped, and
 * connections end. */
static bool crowded(void)
{
	uint64_t n = 0;
	for (uint32_t side = 0; side < 2; side++)
		n += pair_drops(side, DROP_TCP_MEMORY) + tcp(side)->count.ended[TCP_CROWDED];
	return n > 0;
}

/* Whatever the link does: all that is sent is received, or the connection ends with a
 * reason. */
static void property(uint32_t seed)
{
	struct rng r;
	memset(&r, 0, sizeof r);
	rng_seed(&r, &seed, sizeof seed);
	pair_start(seed, rng_below(&r, 2), 512);
	/* Otherwise a side that lost the other side's reset would wait for ever. */
	pair.side[0].user.idle_ms = pair.side[1].user.idle_ms = 150000;
	pair.idle_ends = true;
	pair.wire.lose = rng_below(&r, 3) ? rng_below(&r, 200) : 0;
	pair.wire.twice = rng_below(&r, 100);
	pair.wire.corrupt = rng_below(&r, 2) ? rng_below(&r, 30) : 0;
	pair.wire.jitter_us = rng_below(&r, 2) ? rng_below(&r, 60000) : 0;
	pair.wire.cut = rng_below(&r, 4) == 0 ? 1 + rng_below(&r, 100) : 0;
	uint32_t most = pair.wire.cut && pair.wire.cut < 10 ? 2000 : 60000;
	uint32_t flows = 1 + rng_below(&r, 6);
	bool dies = rng_below(&r, 8) == 0;
	for (uint32_t i = 0; i < flows; i++) {
		uint32_t from = rng_below(&r, 2);
		uint32_t n = pair_connect(from, rng_below(&r, most), rng_below(&r, most));
		CHECK(n);
		flow(0, n)->chunk = 1 + rng_below(&r, 4000);
		flow(1, n)->chunk = 1 + rng_below(&r, 4000);
		fine(pair_run(rng_below(&r, 300000)));
	}
	for (uint32_t i = 0; i < 10; i++) { /* readers that pause */
		for (uint32_t k = 0; k < flows; k++)
			pair.side[i % 2].flow[k].reads = rng_below(&r, 3) != 0;
		fine(pair_run(rng_below(&r, 500000)));
	}
	for (uint32_t k = 0; k < flows; k++)
		pair.side[0].flow[k].reads = pair.side[1].flow[k].reads = true;
	pair.wire.dead = dies;
	fine(pair_finish(4000ull * SECOND));
	for (uint32_t k = 1; k <= flows; k++)
		for (uint32_t side = 0; side < 2; side++) {
			const struct flow *f = flow(side, k);
			if (!f->opened && !f->ended)
				continue; /* the SYN was lost for good */
			CHECK(f->ended);
			if (f->ended && f->why == TCP_CLOSED)
				CHECK_EQ(f->got, f->peer_sends);
			else
				CHECK(dies || pair.wire.lose || pair.wire.corrupt || crowded());
		}
}

static void properties(void)
{
	for (uint32_t seed = 1; seed <= 12 && tap_bad_here == 0; seed++) {
		property(seed);
		if (tap_bad_here)
			printf("# seed %u\n", seed);
	}
}

int main(void)
{
	TEST(hello4);
	TEST(hello6);
	TEST(megabyte);
	TEST(nobody_listens);
	TEST(refused);
	TEST(simultaneous_open);
	TEST(half_close);
	TEST(time_wait);
	TEST(time_wait_again);
	TEST(silence);
	TEST(stall_limit);
	TEST(idle_event);
	TEST(zero_window);
	TEST(window_update_lost);
	TEST(silly_window);
	TEST(one_byte_segments);
	TEST(small_mtu);
	TEST(black_hole);
	TEST(fast_retransmit);
	TEST(new_reno);
	TEST(properties);
	return tap_done();
}
