/* A server, and a client that is nothing but the segments that the tests put here: what flies after
 * which of them, and when. */
#ifndef TESTS_UNIT_TCP_RAW_H
#define TESTS_UNIT_TCP_RAW_H

#include "tests/unit/net/tcp/tcp_kit.h"

#define MS     1000u
#define CLIENT 4000u
#define SLOT   (1u << WHEEL_SHIFT) /* a timer is at most so late */
#define MOST   1000u

/* What the server sent since `forget`. */
static struct {
	uint32_t seq; /* of the first byte, from 0 on */
	uint32_t len;
	uint64_t us;
} seen[MOST];
static uint32_t n_seen;

static struct gw *gw; /* of the server */
static struct tcp_conn *c;
static uint32_t number;
static uint32_t mss;    /* of the server's segments */
static uint32_t next;   /* number of the client's next byte */
static uint16_t window; /* of the client */

static inline void forget(void)
{
	n_seen = 0;
}

static inline bool note(uint32_t from, uint8_t *frame, uint32_t len)
{
	const struct tcp_hdr *t = (const struct tcp_hdr *)(frame + 34);
	uint32_t data = len - 34 - (uint32_t)(t->offset >> 4) * 4;
	if (from == 1 && data && c && n_seen < MOST) {
		seen[n_seen].seq = be32_get(t->seq) - c->iss - 1;
		seen[n_seen].len = data;
		seen[n_seen++].us = pair.now_us;
	}
	return false; /* nobody is there */
}

static inline void put(uint32_t seq, uint32_t ack, uint8_t flags, uint16_t wnd, const void *data,
                       uint32_t len)
{
	uint8_t frame[1600];
	pair_put(1, frame,
	         pair_segment(frame, 0, CLIENT, PAIR_PORT, seq, ack, flags, wnd, data, len));
}

/* Acknowledges so many bytes in all. */
static inline void ack(uint32_t bytes)
{
	put(next, c->iss + 1 + bytes, TCP_ACK, window, NULL, 0);
}

static inline void acks(uint32_t n, uint32_t bytes)
{
	for (uint32_t i = 0; i < n; i++)
		ack(bytes);
}

static inline void wait_us(uint64_t us)
{
	fine(pair_run(us));
}

static inline void on_event(struct gw *of, uint32_t conn, enum tcp_event what)
{
	(void)of;
	if (what == TCP_OPENED)
		number = conn;
	if (what == TCP_ENDED)
		number = TCP_NONE;
}

/* The client's SYN comes. */
static inline void knock(void)
{
	pair_start(1, false, 1024);
	c = NULL;
	number = TCP_NONE;
	window = 65535;
	next = 1001;
	pair.wire.see = note;
	pair.side[1].user.event = on_event;
	pair.side[1].user.send_most = TCP_SEND_MOST;
	gw = &pair.side[1].rig.gw;
	put(1000, 0, TCP_SYN, window, NULL, 0);
	struct udp_ends e = {.local_port = PAIR_PORT, .remote_port = CLIENT};
	e.local.v4 = ip4_of(0x0a000002);
	e.remote.v4 = ip4_of(0x0a000001);
	c = tcp_find(gw, &e);
	CHECK(c);
}

static inline void answer(void)
{
	put(next, c->iss + 1, TCP_ACK, window, NULL, 0);
	CHECK_EQ(c->state, TCP_ESTABLISHED);
	mss = c->mss;
	forget();
}

/* An open connection whose first round trip took so long. The segment size without an option is
 * 536 bytes, so a window of 64 KB holds 122 of them. */
static inline void open_after(uint64_t us)
{
	knock();
	wait_us(us);
	answer();
	CHECK_EQ(mss, 536);
}

/* The server has so many segments to send. */
static inline void give(uint32_t segments)
{
	static uint8_t data[TCP_SEND_MOST];
	CHECK(tcp_send(gw, number, data, segments * mss));
	tcp_push(gw, number);
	rig_flush(&pair.side[1].rig);
}

/* Since `forget` these went out, whole and in order, and nothing else. */
static inline void flew(uint32_t first, uint32_t n)
{
	CHECK_EQ(n_seen, n);
	for (uint32_t i = 0; i < n && i < n_seen; i++) {
		CHECK_EQ(seen[i].len, mss);
		CHECK_EQ(seen[i].seq, (first + i) * mss);
	}
	forget();
}

/* A segment is sent and gets no answer: gives after how many microseconds it comes again, rounded
 * down to the turn of the wheel. */
static inline uint64_t again_after(uint32_t first, uint64_t most_us)
{
	forget();
	uint64_t sent = pair.now_us;
	for (uint64_t us = 0; us < most_us && n_seen == 0; us += 1000)
		wait_us(1000);
	CHECK(n_seen >= 1);
	CHECK_EQ(seen[0].seq, first * mss);
	return seen[0].us - sent;
}

static inline void about(uint64_t got, uint64_t want)
{
	CHECK(got >= want);
	CHECK(got <= want + 2 * SLOT);
	if (got < want || got > want + 2 * SLOT)
		printf("# after %llu us, not %llu\n", (unsigned long long)got,
		       (unsigned long long)want);
}

#endif
