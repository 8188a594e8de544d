/* net/tcp/tcp_ack.c, tcp_out.c: which segments are sent after which acknowledgment (RFC
 * 5681, 6582, 6928, RFC 9293 section 3.10.7.4). Every number is exact. */
#include "tests/unit/tcp_raw.h"

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

/* An acknowledgment of one segment allows two, one of three allows four (equation 2). */
static void slow_start(void)
{
	open_after(10 * MS);
	give(60);
	flew(0, 10);
	ack(1 * mss);
	flew(10, 2);
	ack(4 * mss);
	flew(12, 4);
	ack(4 * mss + 100); /* the window grows by the bytes acknowledged, not by a segment */
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

/* Silence for longer than the retransmission timeout resets the window to the initial one
 * (section 4.1). */
static void idle_restart(void)
{
	open_after(10 * MS);
	give(20);
	for (uint32_t i = 1; i <= 20; i++)
		ack(i * mss);
	CHECK_EQ(c->out.len, 0);
	forget();
	wait_us(900 * MS); /* less than the timeout */
	give(60);
	flew(20, 16); /* TCP_BURST without a break */
	wait_us(2 * SLOT);
	CHECK_EQ(n_seen, 5); /* 21 in total */
	for (uint32_t i = 21; i <= 80; i++)
		ack(i * mss);
	CHECK_EQ(c->out.len, 0);
	wait_us(1100 * MS);
	forget();
	give(60);
	flew(80, 10);
}

/* --- loss ------------------------------------------------------------------------------------- */

/* Ten segments are in flight, and the first is lost. Two duplicates allow one segment each
 * (RFC 3042); the third causes the lost one to be sent again. The threshold is half of what
 * was in flight without those two (RFC 5681 section 3.2), and three segments have left the
 * network. */
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
	/* 5 + 3 segments, and 12 are in flight: the fifth further duplicate allows a new
	 * one. */
	acks(4, 0);
	flew(0, 0);
	acks(1, 0);
	flew(12, 1);
	acks(3, 0);
	flew(13, 3);
	CHECK_EQ(tcp(1)->count.fast, 1);
}

/* Acknowledgments that are no duplicates: with data, with another window, with nothing in
 * flight. */
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
	ack(1 * mss); /* a new acknowledgment between them: the count restarts */
	flew(0, 0);
	acks(2, 1 * mss);
	flew(12, 2);
	CHECK_EQ(tcp(1)->count.fast, 0);
}

/* All data in flight was acknowledged: the window is the threshold, and grows by a segment
 * in each round trip (RFC 6582 section 3.2 step 3, RFC 5681 section 3.1). */
static void avoidance(void)
{
	enter_recovery();
	ack(12 * mss); /* the window for more than is in flight: 0 + 1 + 1 */
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

/* The bytes counted in congestion avoidance before a loss do not count for the window after
 * it. */
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
	acks(3, 40 * mss); /* 8 are in flight; the threshold is 4 */
	CHECK_EQ(tcp(1)->count.fast, 2);
	acks(2, 40 * mss); /* 10 are in flight, the window is 9 segments */
	acks(2, 40 * mss); /* 11 are in flight, the window is 11 segments */
	ack(50 * mss);     /* all of the above: the window is 2 segments, 1 is in flight */
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

/* A part of what was in flight is acknowledged: the next missing segment is sent at once,
 * and as many as have left the network (RFC 6582 section 3.2 step 3). */
static void partial(void)
{
	enter_recovery();
	acks(4, 0); /* the window is full: 12 segments */
	flew(0, 0);
	ack(3 * mss); /* 12 - 3 + 1 = 10, and 9 are in flight */
	CHECK_EQ(n_seen, 2);
	CHECK_EQ(seen[0].seq, 3 * mss);
	CHECK_EQ(seen[1].seq, 12 * mss);
	forget();
	ack(12 * mss);
	CHECK(!c->recovery);
	/* One is in flight now, and the window is 2. */
	flew(13, 1);
}

/* The third duplicate counts only when it is about data that was sent after the last loss. */
static void one_recovery_for_one_loss(void)
{
	enter_recovery();
	ack(12 * mss);
	flew(12, 2);
	acks(2, 12 * mss);
	forget();
	ack(12 *
	    mss); /* nothing new since: the duplicates may be of segments that were sent twice */
	flew(0, 0);
	CHECK_EQ(tcp(1)->count.fast, 1);
	ack(13 * mss);
	forget();
	acks(3, 13 * mss);
	CHECK_EQ(tcp(1)->count.fast, 2);
}

/* After two gigabytes without a loss the number of the last recovery does not compare as
 * one ahead. */
static void recovery_two_gigabytes_ago(void)
{
	open_after(10 * MS);
	give(100);
	c->recover = c->una - 0x7ffffff0u;
	ack(8);
	ack(1 * mss);
	acks(3, 1 * mss);
	CHECK_EQ(tcp(1)->count.fast, 1);
}

/* --- timeout ----------------------------------------------------------------------- */

/* One segment is sent, then slow start up to half of what was in flight, then one more in
 * each round trip (RFC 5681 section 3.1: loss window, equation 4). */
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

/* The second timeout of the same segment does not halve the threshold again, and comes
 * after twice the time. */
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

/* Two duplicates after a timeout are about data that was sent before it. */
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

/* --- the window of the other side (RFC 9293 section 3.10.7.4) --------------------------------- */

/* A segment that was sent before another one, but comes after it, does not set the window. */
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
	ack(4 * mss); /* older than the one before, with the same number */
	give(40);
	flew(5, 3);
	window = (uint16_t)(4 * mss); /* a newer segment counts, even without data */
	ack(5 * mss);
	flew(8, 1);
}

/* The data comes late, after an acknowledgment that was sent later with older data. The
 * window in the late segment counts from what it acknowledges, which is long past. */
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
	TEST(recovery_two_gigabytes_ago);
	TEST(time_out);
	TEST(two_time_outs);
	TEST(no_recovery_behind_time_out);
	TEST(old_number);
	TEST(old_acknowledgment);
	TEST(old_acknowledgment_beside_new_data);
	return tap_done();
}
