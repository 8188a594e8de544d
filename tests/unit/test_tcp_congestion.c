/* net/tcp_ack.c, tcp_out.c, tcp_timer.c: what flies after which acknowledgment, and when it is sent
 * again (RFC 5681, 6298, 6582, 6928, RFC 9293 section 3.10.7.4). The client is nothing but the
 * segments that the tests put here, so every number is exact. */
#include "tests/unit/tcp_kit.h"

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

static void forget(void)
{
	n_seen = 0;
}

static bool note(uint32_t from, uint8_t *frame, uint32_t len)
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

static void put(uint32_t seq, uint32_t ack, uint8_t flags, uint16_t wnd, const void *data,
                uint32_t len)
{
	uint8_t frame[1600];
	pair_put(1, frame,
	         pair_segment(frame, 0, CLIENT, PAIR_PORT, seq, ack, flags, wnd, data, len));
}

/* Acknowledges so many bytes in all. */
static void ack(uint32_t bytes)
{
	put(next, c->iss + 1 + bytes, TCP_ACK, window, NULL, 0);
}

static void acks(uint32_t n, uint32_t bytes)
{
	for (uint32_t i = 0; i < n; i++)
		ack(bytes);
}

static void wait_us(uint64_t us)
{
	fine(pair_run(us));
}

static void on_event(struct gw *of, uint32_t conn, enum tcp_event what)
{
	(void)of;
	if (what == TCP_OPENED)
		number = conn;
	if (what == TCP_ENDED)
		number = TCP_NONE;
}

/* The client's SYN comes. */
static void knock(void)
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

static void answer(void)
{
	put(next, c->iss + 1, TCP_ACK, window, NULL, 0);
	CHECK_EQ(c->state, TCP_ESTABLISHED);
	mss = c->mss;
	forget();
}

/* An open connection whose first round trip took so long. The segment size without an option is
 * 536 bytes, so a window of 64 KB holds 122 of them. */
static void open_after(uint64_t us)
{
	knock();
	wait_us(us);
	answer();
	CHECK_EQ(mss, 536);
}

/* The server has so many segments to send. */
static void give(uint32_t segments)
{
	static uint8_t data[TCP_SEND_MOST];
	CHECK(tcp_send(gw, number, data, segments * mss));
	tcp_push(gw, number);
	rig_flush(&pair.side[1].rig);
}

/* Since `forget` these went out, whole and in order, and nothing else. */
static void flew(uint32_t first, uint32_t n)
{
	CHECK_EQ(n_seen, n);
	for (uint32_t i = 0; i < n && i < n_seen; i++) {
		CHECK_EQ(seen[i].len, mss);
		CHECK_EQ(seen[i].seq, (first + i) * mss);
	}
	forget();
}

/* A segment is sent in vain: gives after how many microseconds it comes again, rounded down to the
 * turn of the wheel. */
static uint64_t again_after(uint32_t first, uint64_t most_us)
{
	forget();
	uint64_t sent = pair.now_us;
	for (uint64_t us = 0; us < most_us && n_seen == 0; us += 1000)
		wait_us(1000);
	CHECK(n_seen >= 1);
	CHECK_EQ(seen[0].seq, first * mss);
	return seen[0].us - sent;
}

static void about(uint64_t got, uint64_t want)
{
	CHECK(got >= want);
	CHECK(got <= want + 2 * SLOT);
	if (got < want || got > want + 2 * SLOT)
		printf("# after %llu us, not %llu\n", (unsigned long long)got,
		       (unsigned long long)want);
}

/* --- slow start (RFC 5681 section 3.1) -------------------------------------------------------- */

/* RFC 6928 section 2: ten segments. */
static void initial_window(void)
{
	open_after(10 * MS);
	give(40);
	flew(0, 10);
	wait_us(500 * MS);
	flew(0, 0);
}

/* An acknowledgment of one segment lets two fly, one of three lets four fly (equation 2). */
static void slow_start(void)
{
	open_after(10 * MS);
	give(60);
	flew(0, 10);
	ack(1 * mss);
	flew(10, 2);
	ack(4 * mss);
	flew(12, 4);
	ack(4 * mss + 100); /* the window grows by what has arrived, not by a segment */
	CHECK_EQ(c->cwnd, 12 * mss + 100);
	ack(5 * mss);
	ack(6 * mss);
	CHECK_EQ(c->cwnd, 14 * mss);
}

/* A window that is not used does not grow. */
static void unused_window(void)
{
	open_after(10 * MS);
	for (uint32_t i = 0; i < 20; i++) {
		give(1);
		ack((i + 1) * mss);
	}
	forget();
	give(40);
	flew(20, 10);
}

/* Silence for longer than the time-out takes the window back to the first (section 4.1). */
static void idle_restart(void)
{
	open_after(10 * MS);
	give(20);
	for (uint32_t i = 1; i <= 20; i++)
		ack(i * mss);
	CHECK_EQ(c->out.len, 0);
	forget();
	wait_us(900 * MS); /* less than the time-out */
	give(60);
	flew(20, 16); /* TCP_BURST in one go */
	wait_us(2 * SLOT);
	CHECK_EQ(n_seen, 5); /* 21 in all */
	for (uint32_t i = 21; i <= 80; i++)
		ack(i * mss);
	CHECK_EQ(c->out.len, 0);
	wait_us(1100 * MS);
	forget();
	give(60);
	flew(80, 10);
}

/* --- loss ------------------------------------------------------------------------------------- */

/* Ten segments are out, the first is lost. Two duplicates let a segment fly each (RFC 3042), the
 * third brings the lost one; the threshold is half of what was out without those two (RFC 5681
 * section 3.2), and three segments have left the network. */
static void enter_recovery(void)
{
	open_after(10 * MS);
	give(100);
	flew(0, 10);
	ack(0);
	flew(10, 1);
	ack(0);
	flew(11, 1);
	ack(0);
	flew(0, 1);
}

static void fast_retransmit(void)
{
	enter_recovery();
	CHECK_EQ(tcp(1)->count.fast, 1);
	/* 5 + 3 segments, and 12 are out: the fifth duplicate more lets a new one fly. */
	acks(4, 0);
	flew(0, 0);
	acks(1, 0);
	flew(12, 1);
	acks(3, 0);
	flew(13, 3);
	CHECK_EQ(tcp(1)->count.fast, 1);
}

/* What is no duplicate: with data, with another window, with nothing under way. */
static void no_duplicate(void)
{
	open_after(10 * MS);
	acks(5, 0);
	give(100);
	flew(0, 10);
	for (uint32_t i = 0; i < 5; i++) {
		put(next, c->iss + 1, TCP_ACK, window, "x", 1);
		next++;
	}
	for (uint32_t i = 0; i < 5; i++) {
		window--;
		ack(0);
	}
	flew(0, 0);
	acks(2, 0);
	flew(10, 2);
	ack(1 * mss); /* news between: the count begins anew */
	flew(0, 0);
	acks(2, 1 * mss);
	flew(12, 2);
	CHECK_EQ(tcp(1)->count.fast, 0);
}

/* All that was out has arrived: as many as the threshold says, one segment more each round trip
 * (RFC 6582 section 3.2 step 3, RFC 5681 section 3.1). */
static void avoidance(void)
{
	enter_recovery();
	ack(12 * mss); /* the window of one more than is out: 0 + 1 + 1 */
	flew(12, 2);
	CHECK_EQ(c->cwnd, 2 * mss);
	uint32_t done = 12, out = 14;
	for (uint32_t n = 2; n < 5; n++) { /* slow start up to the threshold */
		ack(++done * mss);
		flew(out, 2);
		out += 2;
	}
	for (uint32_t n = 5; n < 9; n++) {
		for (uint32_t i = 1; i < n; i++) {
			ack(++done * mss);
			flew(out++, 1);
		}
		ack(++done * mss);
		flew(out, 2);
		out += 2;
	}
}

/* What was counted in congestion avoidance before a loss says nothing about the window after it. */
static void loss_in_avoidance(void)
{
	enter_recovery();
	ack(12 * mss);
	for (uint32_t i = 13; i <= 15; i++) /* up to 5 segments */
		ack(i * mss);
	for (uint32_t i = 16; i <= 15 + 5 + 6 + 7 + 7; i++)
		ack(i * mss);
	CHECK_EQ(c->cwnd, 8 * mss);
	CHECK_EQ(c->grown, 7 * mss);
	acks(3, 40 * mss); /* 8 are out; the threshold is 4 */
	CHECK_EQ(tcp(1)->count.fast, 2);
	acks(2, 40 * mss); /* 10 are out, 9 segments of window */
	acks(2, 40 * mss); /* 11 are out, 11 segments of window */
	ack(50 * mss);     /* all before: 2 segments of window, 1 is out */
	CHECK_EQ(c->cwnd, 2 * mss);
	for (uint32_t i = 51; i <= 52; i++)
		ack(i * mss);
	CHECK_EQ(c->cwnd, 4 * mss);
	forget();
	for (uint32_t i = 53; i <= 55; i++)
		ack(i * mss);
	CHECK_EQ(n_seen, 3);
	ack(56 * mss);
	CHECK_EQ(n_seen, 5);
}

/* A part of what was out has arrived: the next that is missing comes at once, and as many as have
 * left the network (RFC 6582 section 3.2 step 3). */
static void partial(void)
{
	enter_recovery();
	acks(4, 0); /* the window is full: 12 segments */
	flew(0, 0);
	ack(3 * mss); /* 12 - 3 + 1 = 10, and 9 are out */
	CHECK_EQ(n_seen, 2);
	CHECK_EQ(seen[0].seq, 3 * mss);
	CHECK_EQ(seen[1].seq, 12 * mss);
	forget();
	ack(12 * mss);
	CHECK(!c->recovery);
	/* Now one is out: the window is 2. */
	flew(13, 1);
}

/* The third duplicate counts only when it is about what was sent after the last loss. */
static void one_recovery_for_one_loss(void)
{
	enter_recovery();
	ack(12 * mss);
	flew(12, 2);
	acks(2, 12 * mss);
	forget();
	ack(12 * mss); /* no news since: what is repeated may be of what was sent twice */
	flew(0, 0);
	CHECK_EQ(tcp(1)->count.fast, 1);
	ack(13 * mss);
	forget();
	acks(3, 13 * mss);
	CHECK_EQ(tcp(1)->count.fast, 2);
}

/* After two gigabytes without a loss the number that the last recovery left behind is not taken for
 * one in front. */
static void recovery_long_ago(void)
{
	open_after(10 * MS);
	give(100);
	c->recover = c->una - 0x7ffffff0u;
	ack(8);
	ack(1 * mss);
	acks(3, 1 * mss);
	CHECK_EQ(tcp(1)->count.fast, 1);
}

/* --- time-out --------------------------------------------------------------------------------- */

/* One segment flies, then slow start up to half of what was out, then one more each round trip
 * (RFC 5681 section 3.1: loss window, equation 4). */
static void time_out(void)
{
	open_after(10 * MS);
	give(100);
	flew(0, 10);
	about(again_after(0, 2 * SECOND), 1 * SECOND);
	flew(0, 1);
	ack(1 * mss);
	flew(1, 2);
	ack(2 * mss);
	ack(3 * mss);
	flew(3, 4);
	ack(4 * mss);
	flew(7, 2); /* 5 segments: the threshold */
	for (uint32_t i = 5; i < 9; i++)
		ack(i * mss);
	flew(9, 4);
	ack(9 * mss);
	flew(13, 2);
}

/* The second time-out for the same segment halves nothing, and comes after twice the time. */
static void two_time_outs(void)
{
	open_after(10 * MS);
	give(100);
	flew(0, 10);
	about(again_after(0, 2 * SECOND), 1 * SECOND);
	about(again_after(0, 4 * SECOND), 2 * SECOND);
	flew(0, 1);
	for (uint32_t i = 1; i <= 4; i++)
		ack(i * mss);
	flew(1, 8);
	ack(5 * mss);
	flew(9, 1);
}

/* Two duplicates behind a time-out are about what was sent before it. */
static void no_recovery_behind_time_out(void)
{
	open_after(10 * MS);
	give(100);
	acks(2, 0);
	about(again_after(0, 2 * SECOND), 1 * SECOND);
	forget();
	acks(6, 0);
	CHECK_EQ(tcp(1)->count.fast, 0);
	for (uint32_t i = 0; i < n_seen; i++)
		CHECK(seen[i].seq != 0);
}

/* --- round trips (RFC 6298) ------------------------------------------------------------------- */

/* One segment is sent and acknowledged after so long. */
static void round_trip(uint32_t segment, uint64_t us)
{
	give(1);
	wait_us(us);
	ack((segment + 1) * mss);
}

/* Section 2.2: R + 4 * R / 2. */
static void first_round_trip(void)
{
	open_after(800 * MS);
	give(1);
	about(again_after(0, 5 * SECOND), 2400 * MS);
}

/* Section 2.3: the variation moves a quarter of the way to the difference from the old estimate,
 * the estimate an eighth. */
static void weights(void)
{
	open_after(800 * MS);
	round_trip(0, 1600 * MS);
	give(1); /* 900 ms, 500 ms */
	about(again_after(1, 5 * SECOND), 2900 * MS);
	open_after(800 * MS);
	round_trip(0, 400 * MS);
	give(1); /* 750 ms, 400 ms */
	about(again_after(1, 5 * SECOND), 2350 * MS);
}

/* Sections 2.4 and 5.3: one second at least, from the last news on. */
static void least(void)
{
	open_after(10 * MS);
	give(2);
	wait_us(500 * MS);
	ack(1 * mss);
	about(again_after(1, 2 * SECOND), 1000 * MS);
	open_after(10 * MS);
	for (uint32_t i = 0; i < 20; i++)
		round_trip(i, 1 * MS);
	give(1);
	about(again_after(20, 2 * SECOND), 1000 * MS);
}

/* Section 3, Karn: what was sent twice says nothing, so the doubled time-out stays until something
 * new has arrived. */
static void karn_time_out(void)
{
	open_after(800 * MS);
	give(1);
	about(again_after(0, 5 * SECOND), 2400 * MS);
	wait_us(50 * MS);
	ack(1 * mss);
	give(1);
	about(again_after(1, 8 * SECOND), 4800 * MS);
	wait_us(50 * MS);
	ack(2 * mss);
	CHECK_EQ(c->srtt_us, 800 * MS);
	round_trip(2, 800 * MS);
	give(1); /* 800 ms, 300 ms */
	about(again_after(3, 5 * SECOND), 2000 * MS);
}

/* The same of segments behind the first, which are sent again as the window opens. */
static void karn_behind_time_out(void)
{
	open_after(800 * MS);
	give(4);
	about(again_after(0, 5 * SECOND), 2400 * MS);
	ack(1 * mss); /* the second and the third again */
	wait_us(100 * MS);
	ack(3 * mss);
	wait_us(100 * MS);
	ack(4 * mss);
	CHECK_EQ(c->srtt_us, 800 * MS);
	give(1);
	about(again_after(4, 8 * SECOND), 4800 * MS);
}

static void karn_fast_retransmit(void)
{
	open_after(800 * MS);
	give(10);
	wait_us(700 * MS);
	acks(3, 0); /* the first, which is being timed, again */
	CHECK_EQ(tcp(1)->count.fast, 1);
	wait_us(800 * MS);
	ack(10 * mss);
	give(1);
	about(again_after(10, 5 * SECOND), 2400 * MS);
}

/* A SYN-ACK that was sent again because the client's SYN came again. */
static void karn_syn_ack(void)
{
	knock();
	wait_us(900 * MS);
	put(1000, 0, TCP_SYN, window, NULL, 0);
	wait_us(50 * MS);
	answer();
	CHECK_EQ(c->srtt_us, 0);
	give(1);
	about(again_after(0, 5 * SECOND), 1000 * MS);
}

/* A SYN-ACK that was lost: three seconds (section 5.7). One may be bad luck; after two the network
 * is full, and one segment flies (RFC 5681 section 3.1, RFC 6928 section 2). */
static void lost_syn_acks(void)
{
	knock();
	wait_us(1500 * MS);
	answer();
	give(20);
	flew(0, 10);
	about(again_after(0, 5 * SECOND), 3000 * MS);
	knock();
	wait_us(3500 * MS);
	answer();
	give(20);
	flew(0, 1);
	ack(1 * mss);
	flew(1, 2);
}

/* --- the window of the other side (RFC 9293 section 3.10.7.4) --------------------------------- */

/* A segment that was sent before another does not say what the window is, though it comes after. */
static void old_number(void)
{
	open_after(10 * MS);
	uint32_t una = c->iss + 1;
	put(next + 10, una, TCP_ACK, (uint16_t)(3 * mss), "xxxxxxxxxx", 10);
	put(next, una, TCP_ACK, 60000, "xxxxxxxxxx", 10);
	CHECK_EQ(c->rcv, next + 20);
	give(40);
	flew(0, 3);
}

static void old_acknowledgment(void)
{
	open_after(10 * MS);
	give(5);
	forget();
	window = (uint16_t)(3 * mss);
	ack(5 * mss);
	window = 60000;
	ack(4 * mss); /* older than that before, with the same number */
	give(40);
	flew(5, 3);
	window = (uint16_t)(4 * mss); /* a newer one counts, though it brings nothing else */
	ack(5 * mss);
	flew(8, 1);
}

/* The data came late, behind an acknowledgment that was sent after them beside older data. What
 * they say of the window counts from what they acknowledge, which is long past. */
static void old_acknowledgment_beside_new_data(void)
{
	open_after(10 * MS);
	give(5);
	forget();
	put(next, c->iss + 1 + 5 * mss, TCP_ACK, (uint16_t)(3 * mss), "xxxxxxxxxx", 10);
	put(next + 10, c->iss + 1, TCP_ACK, (uint16_t)(8 * mss), "xxxxxxxxxx", 10);
	CHECK_EQ(c->rcv, next + 20);
	give(40);
	flew(5, 3);
}

int main(void)
{
	TEST(initial_window);
	TEST(slow_start);
	TEST(unused_window);
	TEST(idle_restart);
	TEST(fast_retransmit);
	TEST(no_duplicate);
	TEST(avoidance);
	TEST(loss_in_avoidance);
	TEST(partial);
	TEST(one_recovery_for_one_loss);
	TEST(recovery_long_ago);
	TEST(time_out);
	TEST(two_time_outs);
	TEST(no_recovery_behind_time_out);
	TEST(first_round_trip);
	TEST(weights);
	TEST(least);
	TEST(karn_time_out);
	TEST(karn_behind_time_out);
	TEST(karn_fast_retransmit);
	TEST(karn_syn_ack);
	TEST(lost_syn_acks);
	TEST(old_number);
	TEST(old_acknowledgment);
	TEST(old_acknowledgment_beside_new_data);
	return tap_done();
}
