/* net/tcp*.c: two of ours on a wire that delays, loses, doubles, reorders and cuts up; attacks
 * by a third that sees or does not see the numbers. */
#include "tests/host/tcp_pair.h"

#include "net/csum.h"

#include "tests/tap.h"

#define SECOND 1000000u

static struct flow *flow(uint32_t side, uint32_t n)
{
	return &pair.side[side].flow[n - 1];
}

static void fine(const char *bad)
{
	CHECK_STR(bad ? bad : "fine", "fine");
}

static void all_arrived(uint32_t n)
{
	for (uint32_t side = 0; side < 2; side++) {
		CHECK(flow(side, n)->ended);
		CHECK_EQ(flow(side, n)->why, TCP_CLOSED);
		CHECK_EQ(flow(side, n)->got, flow(side, n)->peer_sends);
	}
}

/* --- the plain way
 * ---------------------------------------------------------------------------------- */

static void hello(bool is6)
{
	pair_start(1, is6, 512);
	uint32_t n = pair_connect(0, 100, 300);
	CHECK(n);
	fine(pair_run(SECOND));
	CHECK(flow(0, n)->opened && flow(1, n)->opened);
	all_arrived(n);
	/* SYN, SYN-ACK, ACK, data there and back with FINs and their acknowledgments: no more
	 * than a handful. */
	CHECK(pair.n_frames <= 10);
	CHECK_EQ(pair.side[0].rig.gw.tcp->count.retransmitted, 0);
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
	fine(pair_finish(300ull * SECOND));
	all_arrived(n);
	CHECK_EQ(pair.side[0].rig.gw.tcp->count.retransmitted, 0);
	CHECK_EQ(pair.side[1].rig.gw.tcp->count.retransmitted, 0);
}

static void nobody_listens(void)
{
	pair_start(1, false, 512);
	pair.side[1].rig.gw.tcp->n_services = 0;
	pair.side[1].rig.gw.tcp->service[0].port = 54;
	pair.side[1].rig.gw.tcp->n_services = 1;
	uint32_t n = pair_connect(0, 1, 1);
	fine(pair_run(50 * SECOND));
	CHECK_EQ(pair_drops(1, DROP_NO_SERVICE), 6); /* silence: 0, 1, 3, 7, 15, 31 s */
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

/* Both begin at the same time, with the same ports (RFC 9293 section 3.5, figure 7). */
static void both_begin(void)
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
	CHECK_EQ(pair.side[0].rig.gw.tcp->n_half, 0);
	tcp_abort(&pair.side[0].rig.gw, flow(0, n)->conn);
	flow(0, n)->conn = TCP_NONE;
	rig_flush(&pair.side[0].rig);
	fine(pair_finish(SECOND));
}

/* --- half-close, closing, TIME-WAIT
 * --------------------------------------------------------------------- */

static void half_close(void)
{
	pair_start(1, false, 512);
	uint32_t n = pair_connect(0, 500, 60000);
	flow(1, n)->to_send = 0; /* it waits until all has come */
	flow(1, n)->shut_when_all = flow(1, n)->close_at_end = false;
	fine(pair_run(SECOND));
	CHECK(flow(1, n)->at_end);
	CHECK_EQ(pair_conn(0, n)->state, TCP_FIN_WAIT_2);
	CHECK_EQ(pair_conn(1, n)->state, TCP_CLOSE_WAIT);
	flow(1, n)->to_send = 60000;
	flow(1, n)->shut_when_all = true;
	fine(pair_finish(100ull * SECOND));
	all_arrived(n);
}

static void time_wait(void)
{
	pair_start(1, false, 512);
	uint32_t n = pair_connect(0, 10, 10);
	flow(1, n)->shut_when_all = false; /* the other side closes first */
	fine(pair_run(SECOND));
	all_arrived(n);
	struct tcp *t = pair.side[0].rig.gw.tcp;
	CHECK_EQ(t->n_waiting, 1);
	CHECK_EQ(pair.side[1].rig.gw.tcp->n, 0);
	/* A reset does not end it (RFC 1337). */
	struct tcp_conn *c = &t->conn[t->oldest];
	uint8_t frame[100];
	uint32_t rcv = c->rcv, len;
	uint16_t port = c->ends.local_port;
	len = pair_segment(frame, 1, PAIR_PORT, port, rcv, 0, TCP_RST, 0, NULL, 0);
	pair_put(0, frame, len);
	CHECK_EQ(t->n_waiting, 1);
	CHECK_EQ(pair_drops(0, DROP_TCP_BLIND), 1);
	fine(pair_run(58 * SECOND));
	CHECK_EQ(t->n_waiting, 1);
	fine(pair_run(4 * SECOND));
	CHECK_EQ(t->n, 0);
}

/* A client that uses its port again gets a new connection when its number is beyond. */
static void time_wait_again(void)
{
	uint8_t frame[100];
	pair_start(1, false, 512);
	pair.wire.dead = true;
	struct tcp *t = pair.side[1].rig.gw.tcp;
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
		CHECK_EQ(t->n_waiting, 1);
		flow(1, n + 1)->ended = false;
		/* An old SYN changes nothing. */
		len = pair_segment(frame, 0, 4000, PAIR_PORT, seq - 5, 0, TCP_SYN, 1000, NULL, 0);
		pair_put(1, frame, len);
		CHECK_EQ(t->n_waiting, 1);
	}
	rig_flush(&pair.side[1].rig);
	fine(tcp_check(&pair.side[1].rig.gw));
}

/* --- time-outs
 * ---------------------------------------------------------------------------------------------- */

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
	CHECK_EQ(pair.side[0].rig.gw.tcp->n, 0);
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

static void keep_alive(void)
{
	pair_start(1, false, 512);
	uint32_t n = pair_connect(0, 10, 10);
	flow(0, n)->shut_when_all = flow(1, n)->shut_when_all = false;
	fine(pair_run(SECOND));
	tcp_keep_alive(&pair.side[0].rig.gw, flow(0, n)->conn, 20000);
	fine(pair_run(100 * SECOND));
	CHECK(!flow(0, n)->ended);
	CHECK(pair.side[0].rig.gw.tcp->count.probes >= 4);
	CHECK_EQ(pair.side[0].rig.gw.tcp->count.probes, pair.side[1].rig.gw.tcp->count.challenges);
	pair.wire.dead = true;
	fine(pair_run(95 * SECOND));
	CHECK(flow(0, n)->ended);
	CHECK_EQ(flow(0, n)->why, TCP_TIMEOUT);
}

/* --- windows
 * --------------------------------------------------------------------------------------------------
 */

static void zero_window(void)
{
	pair_start(1, false, 512);
	uint32_t n = pair_connect(0, 100000, 10);
	flow(1, n)->reads = false;
	fine(pair_run(40 * SECOND));
	CHECK_EQ(tcp_readable(&pair.side[1].rig.gw, flow(1, n)->conn), 16384);
	CHECK_EQ(pair_conn(0, n)->wnd, 0);
	CHECK(pair.side[0].rig.gw.tcp->count.probes >= 4);
	CHECK(pair.side[0].rig.gw.tcp->count.probes <= 7);
	CHECK_EQ(flow(1, n)->got, 0);
	flow(1, n)->reads = true;
	fine(pair_finish(200ull * SECOND));
	all_arrived(n);
}

/* The window opens, but the segment that says so is lost. */
static void window_update_lost(void)
{
	pair_start(1, false, 512);
	uint32_t n = pair_connect(0, 100000, 10);
	flow(1, n)->reads = false;
	fine(pair_run(10 * SECOND));
	pair.wire.dead = true;
	flow(1, n)->reads = true;
	fine(pair_run(100000));
	pair.wire.dead = false;
	fine(pair_finish(200ull * SECOND));
	all_arrived(n);
}

/* No segment smaller than what is sensible because the reader takes byte by byte. */
static void silly_window(void)
{
	pair_start(1, false, 512);
	uint32_t n = pair_connect(0, 60000, 0);
	flow(1, n)->reads = false;
	fine(pair_run(3 * SECOND));
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
	fine(pair_finish(200ull * SECOND));
	all_arrived(n);
}

static void one_byte_segments(void)
{
	for (uint32_t seed = 1; seed < 4; seed++) {
		pair_start(seed, seed & 1, 512);
		pair.wire.cut = 1;
		pair.wire.jitter_us = seed * 2000;
		uint32_t n = pair_connect(0, 3000, 3000);
		fine(pair_finish(300ull * SECOND));
		all_arrived(n);
	}
}

static void small_mtu(void)
{
	static const uint32_t mtu[] = {1400, 1000, 576};
	for (uint32_t i = 0; i < ARRAY_SIZE(mtu); i++) {
		pair_start(1, false, 512);
		pair.wire.mtu = mtu[i];
		uint32_t n = pair_connect(0, 50000, 50000);
		fine(pair_finish(100ull * SECOND));
		all_arrived(n);
	}
	pair_start(1, true, 512);
	pair.wire.mtu = 1280;
	uint32_t n = pair_connect(0, 50000, 50000);
	fine(pair_finish(100ull * SECOND));
	all_arrived(n);
}

static bool only_short(uint32_t from, uint8_t *frame, uint32_t len)
{
	(void)from;
	(void)frame;
	return len <= 14 + 1000;
}

/* Large packets vanish and nobody says why. */
static void black_hole(void)
{
	pair_start(1, false, 512);
	pair.wire.see = only_short;
	uint32_t n = pair_connect(0, 20000, 20000);
	fine(pair_finish(120ull * SECOND));
	all_arrived(n);
}

/* --- loss
 * -------------------------------------------------------------------------------------------------------
 */

static uint32_t nth, lost_nth;
static bool lose_one(uint32_t from, uint8_t *frame, uint32_t len)
{
	(void)frame;
	return from != 0 || len < 500 || ++nth != lost_nth;
}

/* One lost segment of a long flow: fast retransmit, no timeout, window halved. */
static void fast_retransmit(void)
{
	pair_start(1, false, 512);
	pair.side[1].user.window = 65535;
	nth = 0;
	lost_nth = 20;
	pair.wire.see = lose_one;
	uint32_t n = pair_connect(0, 100000, 0);
	fine(pair_finish(100ull * SECOND));
	all_arrived(n);
	const struct tcp_count *c = &pair.side[0].rig.gw.tcp->count;
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

/* Three of one window: partial acknowledgments repair one a round trip (RFC 6582). */
static void new_reno(void)
{
	pair_start(1, false, 512);
	pair.side[1].user.window = 65535;
	nth = 0;
	pair.wire.see = lose_some;
	uint32_t n = pair_connect(0, 100000, 0);
	fine(pair_finish(100ull * SECOND));
	all_arrived(n);
	const struct tcp_count *c = &pair.side[0].rig.gw.tcp->count;
	CHECK_EQ(c->fast, 1);
	CHECK_EQ(c->retransmitted, 3);
}

/* Whatever the wire does: what is sent is what arrives, or the connection ends with a reason. */
static void property(uint32_t seed)
{
	struct rng r;
	memset(&r, 0, sizeof r);
	rng_seed(&r, &seed, sizeof seed);
	pair_start(seed, rng_below(&r, 2), 512);
	pair.keep_ms = 30000; /* else one that lost the other side's reset waits for ever */
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
				continue; /* the SYN never came */
			CHECK(f->ended);
			if (f->ended && f->why == TCP_CLOSED)
				CHECK_EQ(f->got, f->peer_sends);
			else
				CHECK(dies || pair.wire.lose || pair.wire.corrupt);
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

/* --- strangers who guess (RFC 5961)
 * ------------------------------------------------------------------ */

/* An open connection from side 0, on which a third may put segments as if it were side 1. */
static struct tcp_conn *open_one(uint32_t *n)
{
	pair_start(1, false, 512);
	*n = pair_connect(0, 100, 100);
	flow(0, *n)->shut_when_all = flow(1, *n)->shut_when_all = false;
	fine(pair_run(SECOND));
	CHECK(flow(0, *n)->opened);
	pair.n_frames = 0;
	return pair_conn(0, *n);
}

static void inject(const struct tcp_conn *c, uint32_t seq, uint32_t ack, uint8_t flags,
                   const void *data, uint32_t len)
{
	uint8_t frame[1600];
	pair_put(0, frame,
	         pair_segment(frame, 1, PAIR_PORT, c->ends.local_port, seq, ack, flags, 1000, data,
	                      len));
}

static void blind_resets(void)
{
	uint32_t n;
	struct tcp_conn *c = open_one(&n);
	inject(c, c->rcv + 1, 0, TCP_RST, NULL, 0); /* in the window: only a challenge */
	CHECK_EQ(pair.n_frames, 1);
	inject(c, c->edge + 5000, 0, TCP_RST, NULL, 0); /* outside: nothing */
	inject(c, c->rcv - 1, 0, TCP_RST, NULL, 0);
	CHECK_EQ(pair.n_frames, 1);
	CHECK_EQ(pair_drops(0, DROP_TCP_BLIND), 3);
	inject(c, c->rcv, 0, TCP_SYN, NULL, 0);
	CHECK_EQ(pair.n_frames, 2);
	for (uint32_t i = 0; i < 50; i++) /* not without end */
		inject(c, c->rcv + 1 + i, 0, TCP_RST, NULL, 0);
	CHECK_EQ(pair.n_frames, 8);
	CHECK(!flow(0, n)->ended);
	inject(c, c->rcv, 0, TCP_RST, NULL, 0);
	CHECK(flow(0, n)->ended);
	CHECK_EQ(flow(0, n)->why, TCP_RESET);
}

static void blind_data(void)
{
	uint32_t n;
	struct tcp_conn *c = open_one(&n);
	uint32_t rcv = c->rcv;
	inject(c, rcv, c->max + 1, TCP_ACK, "x", 1); /* acknowledges what was never sent */
	inject(c, rcv, c->una - c->wnd_most - 1, TCP_ACK, "x", 1);
	CHECK_EQ(pair_drops(0, DROP_TCP_ACK), 2);
	inject(c, rcv, c->una, 0, "x", 1);
	CHECK_EQ(pair_drops(0, DROP_TCP_FLAGS), 1);
	inject(c, rcv - 1, c->una, TCP_ACK, "x", 1);
	inject(c, c->edge, c->una, TCP_ACK, "x", 1);
	CHECK_EQ(pair_drops(0, DROP_TCP_WINDOW), 2);
	CHECK_EQ(c->rcv, rcv);
	CHECK(!flow(0, n)->wrong && !flow(0, n)->ended);
}

/* Overlapping and contradictory segments: what came first stays, and nothing comes twice. */
static void overlaps(void)
{
	uint32_t n;
	struct tcp_conn *c = open_one(&n);
	struct gw *gw = &pair.side[0].rig.gw;
	uint8_t got[16];
	uint32_t rcv = c->rcv, una = c->una;
	flow(0, n)->reads = false;
	inject(c, rcv + 4, una, TCP_ACK, "EFGH", 4);
	inject(c, rcv + 2, una, TCP_ACK, "cdxxxxij", 8); /* spans: only its front is taken */
	inject(c, rcv + 5, una, TCP_ACK, "yyy", 3);      /* known */
	CHECK_EQ(c->gaps.len, 6);
	fine(tcp_check(gw));
	inject(c, rcv, una, TCP_ACK, "abzzz", 5);
	CHECK_EQ(tcp_readable(gw, flow(0, n)->conn), 8);
	CHECK(tcp_copy(gw, flow(0, n)->conn, 0, got, 8));
	CHECK(memcmp(got, "abcdEFGH", 8) == 0);
	fine(tcp_check(gw));
	/* A FIN in front of what is there already is a lie; one behind ends it once. */
	inject(c, rcv + 12, una, TCP_ACK, "MN", 2);
	inject(c, rcv + 8, una, TCP_ACK | TCP_FIN, "i", 1);
	CHECK(!c->fin_seen);
	inject(c, rcv + 9, una, TCP_ACK, "jkl", 3);
	CHECK_EQ(c->rcv, rcv + 14);
	inject(c, rcv + 15, una, TCP_ACK | TCP_FIN, NULL, 0);
	inject(c, rcv + 14, una, TCP_ACK, "oq", 2); /* the second byte would be the FIN's */
	CHECK_EQ(c->state, TCP_CLOSE_WAIT);
	CHECK_EQ(tcp_readable(gw, flow(0, n)->conn), 15);
}

/* More holes than are held: dropped, counted, and nothing is lost by it. */
static void many_gaps(void)
{
	uint32_t n;
	struct tcp_conn *c = open_one(&n);
	for (uint32_t i = 0; i < 100; i++)
		inject(c, c->rcv + 10 + 10 * i, c->una, TCP_ACK, "x", 1);
	CHECK_EQ(c->gaps.n, TCP_GAPS);
	CHECK_EQ(pair_drops(0, DROP_TCP_ORDER), 100 - TCP_GAPS);
	fine(tcp_check(&pair.side[0].rig.gw));
}

/* ICMP errors that quote a wrong number change nothing (RFC 5927); a hard
 * error ends only what is not open yet. */
static bool never(uint32_t from, uint8_t *frame, uint32_t len)
{
	(void)from;
	(void)frame;
	(void)len;
	return false;
}

static void tell(uint32_t type, uint32_t code, const struct tcp_conn *c, uint32_t seq, uint32_t mtu)
{
	uint8_t e[14 + 28 + 28] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 9, 8, 0};
	uint8_t *ip = e + 14, *icmp = ip + 20, *quote = icmp + 8;
	const uint8_t outer[20] = {0x45, 0, 0,  56, 0, 0, 0,  0, 64, 1,
	                           0,    0, 10, 0,  0, 2, 10, 0, 0,  1};
	const uint8_t inner[20] = {0x45, 0, 5,  0, 0, 0, 64, 0, 64, 6,
	                           0,    0, 10, 0, 0, 1, 10, 0, 0,  2};
	memcpy(ip, outer, 20);
	memcpy(quote, inner, 20);
	store16(ip + 10, (uint16_t)~csum_sum(ip, 20));
	store16(quote + 20, swap16(c->ends.local_port));
	store16(quote + 22, swap16(PAIR_PORT));
	store32(quote + 24, swap32(seq));
	icmp[0] = (uint8_t)type;
	icmp[1] = (uint8_t)code;
	store16(icmp + 6, swap16((uint16_t)mtu));
	store16(icmp + 2, (uint16_t)~csum_sum(icmp, 36));
	pair_put(0, e, sizeof e);
}

static void forged_icmp(void)
{
	uint32_t n;
	struct tcp_conn *c = open_one(&n);
	pair.wire.see = never;
	flow(0, n)->to_send += 5000;
	fine(pair_run(10000));
	CHECK(c->max != c->una);
	tell(3, 4, c, c->una - 1, 600);
	tell(3, 4, c, c->max, 600);
	CHECK_EQ(c->mss, 1460);
	tell(3, 3, c, c->una, 0);
	CHECK(!flow(0, n)->ended);
	tell(3, 4, c, c->una, 1000);
	CHECK_EQ(c->mss, 960);
	tell(3, 4, c, c->una, 100); /* not below what every path carries */
	CHECK_EQ(c->mss, 536);
	pair_start(1, false, 512);
	pair.wire.see = never;
	n = pair_connect(0, 1, 1);
	c = pair_conn(0, n);
	tell(3, 3, c, c->iss + 1, 0);
	CHECK(!flow(0, n)->ended);
	tell(3, 0, c, c->iss, 0); /* these may pass (RFC 9293 section 3.9.2.2) */
	tell(3, 1, c, c->iss, 0);
	tell(3, 5, c, c->iss, 0);
	tell(11, 0, c, c->iss, 0);
	CHECK(!flow(0, n)->ended);
	tell(3, 3, c, c->iss, 0);
	CHECK_EQ(flow(0, n)->why, TCP_UNREACHABLE);
}

/* --- limits
 * ---------------------------------------------------------------------------------------------- */

/* A third opens connections from port after port of side 0; gives how many got in. */
static uint32_t open_many(uint32_t count, bool answer)
{
	uint8_t frame[100];
	struct tcp *t = pair.side[1].rig.gw.tcp;
	uint32_t before = (uint32_t)t->count.accepted;
	for (uint32_t i = 0; i < count; i++) {
		uint16_t port = (uint16_t)(2000 + i);
		pair_put(1, frame,
		         pair_segment(frame, 0, port, PAIR_PORT, 1000, 0, TCP_SYN, 1000, NULL, 0));
		struct udp_ends e = {.local_port = PAIR_PORT, .remote_port = port};
		e.local.v4 = ip4_of(0x0a000002);
		e.remote.v4 = ip4_of(0x0a000001);
		const struct tcp_conn *c = tcp_find(&pair.side[1].rig.gw, &e);
		if (answer && c)
			pair_put(1, frame,
			         pair_segment(frame, 0, port, PAIR_PORT, 1001, c->iss + 1, TCP_ACK,
			                      1000, NULL, 0));
	}
	return (uint32_t)t->count.accepted - before;
}

static void keep_quiet(struct gw *gw, uint32_t conn, enum tcp_event what)
{
	(void)gw;
	(void)conn;
	(void)what;
}

static void limit_of_a_client(void)
{
	pair_start(1, false, 512);
	pair.wire.dead = true;
	pair.side[1].user.event = keep_quiet;
	CHECK_EQ(open_many(TCP_A_CLIENT + 10, true), TCP_A_CLIENT);
	CHECK_EQ(pair_drops(1, DROP_TCP_CLIENT), 10);
	fine(tcp_check(&pair.side[1].rig.gw));
	/* When they are gone, the client may open others. */
	struct gw *gw = &pair.side[1].rig.gw;
	for (uint32_t i = 0; i < TCP_CONNECTIONS; i++)
		tcp_abort(gw, tcp_number(gw, &gw->tcp->conn[i]));
	CHECK_EQ(gw->tcp->n, 0);
	CHECK_EQ(open_many(20, true), 20);
	rig_flush(&pair.side[1].rig);
}

static void limit_of_half_open(void)
{
	pair_start(1, false, 512);
	pair.wire.dead = true;
	open_many(TCP_HALF_OPEN + 50, false);
	struct tcp *t = pair.side[1].rig.gw.tcp;
	CHECK_EQ(t->n_half, TCP_HALF_OPEN);
	CHECK_EQ(t->count.cookies, 50);
	uint32_t frames = pair.n_frames;
	fine(pair_run(20 * SECOND));
	CHECK_EQ(t->n, 0);
	CHECK_EQ(pair.n_frames - frames, 2 * TCP_HALF_OPEN); /* each SYN-ACK twice more */
	CHECK_EQ(t->count.ended[TCP_TIMEOUT], TCP_HALF_OPEN);
}

static uint32_t cookie_seq;
static bool note_cookie(uint32_t from, uint8_t *frame, uint32_t len)
{
	(void)len;
	if (from == 1)
		cookie_seq = swap32(load32(frame + 34 + 4));
	return false;
}

/* A cookie is good for its client, for two minutes at most, and only to the letter. */
static void cookies(void)
{
	uint8_t frame[100];
	pair_start(1, false, 512);
	pair.side[1].user.event = keep_quiet;
	open_many(TCP_HALF_OPEN, false);
	struct tcp *t = pair.side[1].rig.gw.tcp;
	pair.wire.see = note_cookie;
	for (uint32_t round = 0; round < 4; round++) {
		uint16_t port = (uint16_t)(9000 + round);
		pair_put(1, frame,
		         pair_segment(frame, 0, port, PAIR_PORT, 70, 0, TCP_SYN, 1000, NULL, 0));
		uint32_t seq = cookie_seq;
		pair_put(1, frame,
		         pair_segment(frame, 0, port, PAIR_PORT, 71, seq + 2, TCP_ACK, 1000, NULL,
		                      0));
		pair_put(1, frame,
		         pair_segment(frame, 0, port, PAIR_PORT, 72, seq + 1, TCP_ACK, 1000, NULL,
		                      0));
		pair_put(1, frame,
		         pair_segment(frame, 0, 8999, PAIR_PORT, 71, seq + 1, TCP_ACK, 1000, NULL,
		                      0));
		CHECK_EQ(t->count.cookies_good, min_u32(round, 2));
		/* Time passes without the wheel's: the half-open ones stay. */
		pair.side[1].rig.gw.now_ms += round == 1 ? 60000 : round == 2 ? 128000 : 0;
		if (round == 2) /* cookies are still given out */
			pair_put(1, frame,
			         pair_segment(frame, 0, 9100, PAIR_PORT, 70, 0, TCP_SYN, 1000, NULL,
			                      0));
		pair_put(1, frame,
		         pair_segment(frame, 0, port, PAIR_PORT, 71, seq + 1, TCP_ACK, 1000, NULL,
		                      0));
		CHECK_EQ(t->count.cookies_good, min_u32(round + 1, round < 2    ? 2
		                                                   : round == 2 ? 2
		                                                                : 3));
	}
}

/* Readers that never read hold all that may be held; who stands still gives way, and a new
 * client is served. */
static void crowded(void)
{
	pair_start(1, false, 400); /* 75 packets may be held */
	for (uint32_t i = 0; i < 8; i++) {
		uint32_t n = pair_connect(0, 10, 60000);
		flow(0, n)->reads = false;
		fine(pair_run(200000));
	}
	CHECK(pair.side[1].rig.gw.tcp->n_packets <= 75);
	fine(pair_run(3 * SECOND));
	uint32_t n = pair_connect(0, 100, 20000);
	fine(pair_run(20 * SECOND));
	CHECK(pair.side[1].rig.gw.tcp->count.ended[TCP_CROWDED] > 0);
	all_arrived(n);
}

int main(void)
{
	TEST(blind_resets);
	TEST(blind_data);
	TEST(overlaps);
	TEST(many_gaps);
	TEST(forged_icmp);
	TEST(limit_of_a_client);
	TEST(limit_of_half_open);
	TEST(cookies);
	TEST(crowded);
	TEST(hello4);
	TEST(hello6);
	TEST(megabyte);
	TEST(nobody_listens);
	TEST(refused);
	TEST(both_begin);
	TEST(half_close);
	TEST(time_wait);
	TEST(time_wait_again);
	TEST(silence);
	TEST(stall_limit);
	TEST(idle_event);
	TEST(keep_alive);
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
