/* net/tcp*.c: what a peer may do that is rare, and what one does who wants to harm. */
#include "tests/host/tcp_pair.h"

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

static struct tcp *tcp(uint32_t side)
{
	return pair.side[side].rig.gw.tcp;
}

/* A segment from side 1 to the connection of side 0. */
static void inject(const struct tcp_conn *c, uint32_t seq, uint32_t ack, uint8_t flags,
                   uint16_t window, const void *data, uint32_t len)
{
	uint8_t frame[1600];
	pair_put(0, frame,
	         pair_segment(frame, 1, PAIR_PORT, c->ends.local_port, seq, ack, flags, window,
	                      data, len));
}

/* An open connection of side 0; of side 1 nothing more is seen. */
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

/* --- those who hold what others need
 * ------------------------------------------------------------- */

/* One byte now and then is no progress. */
static void a_byte_at_a_time(void)
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
	/* Nor is it with a window of one byte, all of which is acknowledged. */
	c = open_alone(&n, 30000);
	rcv = c->rcv;
	c->stall_ms = 10000;
	for (uint32_t i = 1; i < 40 && !flow(0, n)->ended; i++) {
		inject(c, rcv, c->max, TCP_ACK, 1, NULL, 0);
		fine(pair_run(SECOND));
	}
	CHECK(flow(0, n)->ended);
	/* A segment now and then is. */
	c = open_alone(&n, 30000);
	rcv = c->rcv, una = c->una;
	c->stall_ms = 10000;
	for (uint32_t i = 1; i < 8; i++) {
		inject(c, rcv, una + i * 1460, TCP_ACK, 3000, NULL, 0);
		fine(pair_run(5 * SECOND));
	}
	CHECK(!flow(0, n)->ended);
}

/* A client of side 1 that is nothing but what is put here; it is sent so many bytes. */
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

/* Some clients take a byte all the time, so they never stand still, and hold all that may be
 * held: who holds most gives way, and a new client is served. */
static void busy_hoarders(void)
{
	uint8_t frame[100];
	pair_start(1, false, 400); /* 75 packets may be held */
	for (uint16_t i = 0; i < 6; i++) {
		CHECK(open_raw((uint16_t)(4000 + i), 60000));
		fine(pair_run(100000));
	}
	CHECK(tcp(1)->n_packets >= 50);
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

/* Data out of order can come again; so they hold no more than half of what may be held. */
static void holes_leave_room(void)
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

int main(void)
{
	TEST(a_byte_at_a_time);
	TEST(busy_hoarders);
	TEST(holes_leave_room);
	return tap_done();
}
