/* net/tcp*.c: unusual behaviour of a peer, and what a malicious peer can do. */
#include "tests/unit/net/tcp/tcp_kit.h"
#include "net/gw_address.h"

/* An open connection of side 0; side 1 sends nothing more. */
static struct tcp_conn *open_alone(uint32_t *n, uint32_t bytes)
{
	pair_start(1, false, 512);
	*n = pair_connect(0, 0, 0);
	flow(0, *n)->shut_when_all = flow(1, *n)->shut_when_all = false;
	fine(pair_run(SECOND));
	pair.wire.dead = true;
	flow(0, *n)->to_send = bytes;
	fine(pair_run(20000));
	return pair_conn(0, *n);
}

/* --- simultaneous open ------------------------------------------------------------- */

/* RFC 9293 section 3.5, figure 7: the other side's SYN-ACK acknowledges our SYN. If each
 * side answered it with another one, that would never end. */
static void simultaneous_open(void)
{
	pair_start(1, false, 512);
	pair.wire.dead = true;
	uint32_t n = pair_connect(0, 10, 10);
	struct tcp_conn *c = pair_conn(0, n);
	flow(0, n)->shut_when_all = false;
	inject(c, 5000, 0, TCP_SYN, 1000, NULL, 0);
	CHECK_EQ(c->state, TCP_SYN_RECEIVED);
	uint32_t before = pair.n_frames;
	inject(c, 5000, c->iss + 2, TCP_SYN | TCP_ACK, 1000, NULL,
	       0); /* acknowledges another number */
	CHECK_EQ(c->state, TCP_SYN_RECEIVED);
	CHECK_EQ(pair.n_frames - before, 1);
	inject(c, 5000, c->iss + 1, TCP_SYN | TCP_ACK, 1000, NULL, 0);
	CHECK_EQ(c->state, TCP_ESTABLISHED);
	CHECK(flow(0, n)->opened);
	CHECK_EQ(c->rcv, 5001);
	CHECK_EQ(c->wnd, 1000);
	fine(tcp_check(&pair.side[0].rig.gw));
}

/* There is no connection to the gateway itself: each segment would come in while it is
 * still being sent. */
static void to_ourselves(void)
{
	pair_start(1, false, 512);
	struct gw *gw = &pair.side[0].rig.gw;
	struct udp_ends e = {.remote = {.v4 = ip4_of(0x0a000001)}, .remote_port = PAIR_PORT};
	CHECK(gw_is_own(gw, e.remote.v4));
	CHECK_EQ(tcp_connect(gw, &e, &pair.side[0].user), TCP_NONE);
	for (uint32_t i = 0; i < gw->iface[IF_LAN].n_addr6; i++) {
		struct udp_ends six = {
		        .remote = {.is6 = true, .v6 = gw->iface[IF_LAN].addr6[i].addr},
		        .remote_port = PAIR_PORT,
		        .iface = IF_LAN};
		CHECK_EQ(tcp_connect(gw, &six, &pair.side[0].user), TCP_NONE);
	}
	CHECK_EQ(gw->iface[IF_LAN].n_addr6, 2);
	CHECK_EQ(gw->tcp->n, 0);
}

/* --- windows ---------------------------------------------------------------------------------- */

/* A peer may close its window over data in flight (RFC 9293 section 3.8.6: a sender must be
 * robust against that), and the segment that opens it may be lost: the window is probed. */
static void window_closed_over_data(void)
{
	uint32_t n;
	struct tcp_conn *c = open_alone(&n, 5000);
	CHECK_EQ(c->max - c->una, 5000);
	uint32_t rcv = c->rcv, una = c->una;
	inject(c, rcv, una + 1460, TCP_ACK, 0, NULL, 0);
	fine(pair_run(20 * SECOND));
	CHECK(!flow(0, n)->ended);
	CHECK(tcp(0)->count.probes >= 2);
	pair.n_frames = 0;
	inject(c, rcv, una + 1460, TCP_ACK, 8000, NULL, 0);
	fine(pair_run(10000));
	CHECK(pair.n_frames >= 1);
	inject(c, rcv, una + 5000, TCP_ACK, 8000, NULL, 0);
	CHECK_EQ(c->una, una + 5000);
	CHECK_EQ(c->out.len, 0);
	CHECK_EQ(c->timer, TCP_T_NONE);
}

/* A reader that has read the first two bytes and waits for 65535 more before it reads any. */
static void longest_message(void)
{
	pair_start(1, false, 512);
	pair.side[1].user.window = 65535 + 2 + 1460;
	uint32_t n = pair_connect(0, 65537, 0);
	flow(0, n)->shut_when_all = false;
	flow(1, n)->reads = false;
	fine(pair_run(50000));
	tcp_take(&pair.side[1].rig.gw, flow(1, n)->conn, 2);
	flow(1, n)->got = 2;
	fine(pair_run(30 * SECOND));
	CHECK_EQ(tcp_readable(&pair.side[1].rig.gw, flow(1, n)->conn), 65535);
	CHECK(pair_conn(1, n)->edge - pair_conn(1, n)->rcv <= TCP_WINDOW);
	flow(1, n)->reads = true;
	fine(pair_run(SECOND));
	CHECK_EQ(flow(1, n)->got, 65537);
}

/* --- TIME-WAIT -------------------------------------------------------------------------------- */

/* Both sides may be in TIME-WAIT (simultaneous close). So a correct acknowledgment gets no
 * answer: otherwise a single duplicate would be answered by both sides for a minute. */
static void time_wait_is_silent(void)
{
	pair_start(1, false, 512);
	uint32_t n = pair_connect(0, 10, 10);
	flow(1, n)->shut_when_all = false;
	fine(pair_run(SECOND));
	CHECK_EQ(tcp(0)->list[TCP_LIST_WAITING].n, 1);
	const struct tcp_conn *c = &tcp(0)->conn[tcp(0)->list[TCP_LIST_WAITING].oldest];
	pair.n_frames = 0;
	inject(c, c->rcv, c->max, TCP_ACK, 1000, NULL, 0);
	CHECK_EQ(pair.n_frames, 0);
	inject(c, c->rcv - 1, c->max, TCP_ACK | TCP_FIN, 1000, NULL, 0); /* it comes again */
	CHECK_EQ(pair.n_frames, 1);
	inject(c, c->rcv - 1, c->max, TCP_ACK, 1000, NULL, 0); /* keep-alive */
	CHECK_EQ(pair.n_frames, 2);
}

/* --- clients that hold what others need -------------------------------------------- */

/* Single bytes are no progress. */
static void single_bytes_are_no_progress(void)
{
	uint32_t n;
	struct tcp_conn *c = open_alone(&n, 30000);
	uint32_t rcv = c->rcv, una = c->una;
	c->stall_ms = 10000;
	for (uint32_t i = 1; i < 8 && !flow(0, n)->ended; i++) {
		inject(c, rcv, una + i, TCP_ACK, 1000, NULL, 0);
		fine(pair_run(5 * SECOND));
	}
	CHECK(flow(0, n)->ended);
	CHECK_EQ(flow(0, n)->why, TCP_TIMEOUT);
	/* With a window of one byte, all of which is acknowledged, there is none either. */
	c = open_alone(&n, 30000);
	rcv = c->rcv;
	c->stall_ms = 10000;
	for (uint32_t i = 1; i < 40 && !flow(0, n)->ended; i++) {
		inject(c, rcv, c->max, TCP_ACK, 1, NULL, 0);
		fine(pair_run(SECOND));
	}
	CHECK(flow(0, n)->ended);
	/* Single segments are progress. */
	c = open_alone(&n, 30000);
	rcv = c->rcv, una = c->una;
	c->stall_ms = 10000;
	for (uint32_t i = 1; i < 8; i++) {
		inject(c, rcv, una + i * 1460, TCP_ACK, 3000, NULL, 0);
		fine(pair_run(5 * SECOND));
	}
	CHECK(!flow(0, n)->ended);
}

/* A client on side 1 of which only the injected segments exist; it is sent this many bytes. */
static struct tcp_conn *open_raw(uint16_t port, uint32_t bytes)
{
	uint8_t frame[100];
	struct flow *f = &pair.side[1].flow[pair.n++];
	*f = (struct flow){.port = port, .to_send = bytes, .chunk = 3000};
	pair_put(1, frame, pair_segment(frame, 0, port, PAIR_PORT, 1000, 0, TCP_SYN, 0, NULL, 0));
	struct udp_ends e = {.local_port = PAIR_PORT, .remote_port = port};
	e.local.v4 = ip4_of(0x0a000002);
	e.remote.v4 = ip4_of(0x0a000001);
	struct tcp_conn *c = tcp_find(&pair.side[1].rig.gw, &e);
	pair_put(
	        1, frame,
	        pair_segment(frame, 0, port, PAIR_PORT, 1001, c->iss + 1, TCP_ACK, 60000, NULL, 0));
	return pair_conn(1, pair.n);
}

/* Some clients take single bytes all the time, so that they never stall, and hold all
 * packets that may be held: those that hold most are evicted, and a new client is served. */
static void clients_that_hold_packets_and_take_bytes(void)
{
	uint8_t frame[100];
	pair_start(1, false, 400); /* 75 packets may be held */
	for (uint16_t i = 0; i < 6; i++) {
		CHECK(open_raw((uint16_t)(4000 + i), 60000));
		fine(pair_run(100000));
	}
	CHECK(tcp(1)->n_packets >= 30); /* one client gets at most two thirds */
	uint32_t n = pair_connect(0, 100, 20000);
	for (uint32_t round = 0; round < 200 && flow(0, n)->got < 20000; round++) {
		for (uint16_t i = 0; i < 6; i++) {
			const struct tcp_conn *c = pair_conn(1, i + 1u);
			if (c)
				pair_put(1, frame,
				         pair_segment(frame, 0, (uint16_t)(4000 + i), PAIR_PORT,
				                      c->rcv, c->una + 1, TCP_ACK, 60000, NULL, 0));
		}
		fine(pair_run(100000));
	}
	CHECK_EQ(flow(0, n)->got, 20000);
	CHECK(tcp(1)->count.ended[TCP_CROWDED] > 0);
}

/* Out-of-order data will be sent again; so it uses at most half of the packets that may be
 * held. */
static void out_of_order_data_leaves_room(void)
{
	uint8_t frame[1600], data[1000] = {0};
	pair_start(1, false, 400);
	for (uint32_t i = 0; i < 4; i++) {
		uint32_t n = pair_connect(0, 0, 0);
		flow(0, n)->shut_when_all = flow(1, n)->shut_when_all = false;
		fine(pair_run(100000));
		const struct tcp_conn *c = pair_conn(1, n);
		for (uint32_t k = 0; k < 15; k++)
			pair_put(1, frame,
			         pair_segment(frame, 0, flow(0, n)->port, PAIR_PORT,
			                      c->rcv + 1 + k * 1000, c->una, TCP_ACK, 1000, data,
			                      1000));
	}
	CHECK(tcp(1)->n_packets <= 38);
	CHECK(pair_drops(1, DROP_TCP_ORDER) >= 20);
	fine(tcp_check(&pair.side[1].rig.gw));
	uint32_t n = pair_connect(0, 10000, 10000);
	fine(pair_run(5 * SECOND));
	CHECK_EQ(flow(1, n)->got, 10000);
	CHECK_EQ(tcp(1)->count.ended[TCP_CROWDED], 0);
}

/* --- every combination of flags in every state ------------------------------------- */

/* Brings a connection into a state, by injected segments; gives the connection of side 0,
 * or NULL. */
static struct tcp_conn *into(enum tcp_state state, uint32_t *n)
{
	pair_start(1, false, 512);
	pair.wire.dead = state < TCP_ESTABLISHED;
	*n = pair_connect(0, 0, 0);
	flow(0, *n)->shut_when_all = flow(1, *n)->shut_when_all = false;
	flow(0, *n)->close_at_end = flow(1, *n)->close_at_end = false;
	flow(0, *n)->reads = false; /* it would compare the data */
	struct gw *gw = &pair.side[0].rig.gw;
	uint32_t conn = flow(0, *n)->conn;
	struct tcp_conn *c = pair_conn(0, *n);
	fine(pair_run(100000));
	pair.wire.dead = true;
	if (state == TCP_SYN_RECEIVED)
		inject(c, 5000, 0, TCP_SYN, 1000, NULL, 0);
	if (state == TCP_CLOSE_WAIT || state == TCP_LAST_ACK)
		inject(c, c->rcv, c->max, TCP_ACK | TCP_FIN, 1000, NULL, 0);
	if (state >= TCP_FIN_WAIT_1)
		tcp_shut(gw, conn);
	if (state == TCP_FIN_WAIT_2 || state == TCP_TIME_WAIT)
		inject(c, c->rcv, c->max, TCP_ACK, 1000, NULL, 0);
	if (state == TCP_CLOSING)
		inject(c, c->rcv, c->max - 1, TCP_ACK | TCP_FIN, 1000, NULL, 0);
	if (state == TCP_TIME_WAIT)
		inject(c, c->rcv, c->max, TCP_ACK | TCP_FIN, 1000, NULL, 0);
	rig_flush(&pair.side[0].rig);
	CHECK_EQ(c->state, state);
	return c;
}

static uint64_t all_drops(void)
{
	uint64_t sum = 0;
	for (uint32_t i = 0; i < DROP_COUNT; i++)
		sum += pair.side[0].rig.gw.counts.drops[i];
	return sum;
}

/* In each state, every set of flags, with numbers and lengths that fit, just do not fit,
 * and do not fit at all. Only a reset with the right number (or, while opening, with the
 * right acknowledgment) ends a connection; no segment causes more than one answer except
 * for our data; everything is freed. */
static void every_flag(void)
{
	static const int32_t skew[] = {0, -1, 1, 70000};
	uint8_t data[40] = {0};
	for (uint32_t state = TCP_SYN_SENT; state <= TCP_TIME_WAIT; state++)
		for (uint32_t set = 0; set < 16; set++)
			for (uint32_t how = 0; how < 16; how++) {
				uint32_t n, flags = (set & 7) | (set & 8 ? TCP_ACK : 0) | 0x28;
				struct tcp_conn *c = into(state, &n);
				uint32_t seq = c->rcv + (uint32_t)skew[how % 4];
				uint32_t ack = c->max + (uint32_t)skew[how / 4 % 2 * 2];
				uint64_t drops = all_drops();
				pair.n_frames = 0;
				inject(c, seq, ack, (uint8_t)flags, 1000, data,
				       how / 8 ? sizeof data : 0);
				CHECK(pair.n_frames <= 1);
				CHECK(all_drops() - drops <= 1);
				fine(tcp_check(&pair.side[0].rig.gw));
				bool right = state == TCP_SYN_SENT
				                     ? flags & TCP_ACK && ack == c->max
				                     : seq == c->rcv;
				bool reset = flow(0, n)->ended && flow(0, n)->why == TCP_RESET;
				CHECK_EQ(reset,
				         (flags & TCP_RST) && right && state != TCP_TIME_WAIT);
				if (tap_bad_here) {
					printf("# state %u flags %#x how %u\n", state, flags, how);
					return;
				}
				if (how || set % 4)
					continue;
				for (uint32_t side = 0; side < 2; side++) {
					tcp_abort(&pair.side[side].rig.gw, flow(side, n)->conn);
					flow(side, n)->conn = TCP_NONE;
				}
				fine(pair_finish(130ull * SECOND));
			}
}

int main(void)
{
	TEST(simultaneous_open);
	TEST(to_ourselves);
	TEST(window_closed_over_data);
	TEST(longest_message);
	TEST(time_wait_is_silent);
	TEST(single_bytes_are_no_progress);
	TEST(clients_that_hold_packets_and_take_bytes);
	TEST(out_of_order_data_leaves_room);
	TEST(every_flag);
	return tap_done();
}
