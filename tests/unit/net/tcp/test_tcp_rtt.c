/* net/tcp/tcp_timer.c: round-trip times, and when data is sent again (RFC 6298). Every
 * number is exact. */
#include "tests/unit/tcp_raw.h"

/* One segment is sent, and acknowledged after this time. */
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

/* Section 2.3: the variation moves by a quarter of its distance to the difference from the
 * old estimate, the estimate by an eighth. */
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

/* Sections 2.4 and 5.3: at least one second, from the last new acknowledgment on. */
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

/* Section 3, Karn's algorithm: a segment that was sent twice is not measured, so the
 * doubled timeout stays until something new is acknowledged. */
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

/* The same for segments behind the first, which are sent again as the window opens. */
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
	acks(3, 0); /* the first one, which is being measured, again */
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

/* A SYN-ACK that was lost: three seconds (section 5.7). One loss may be chance; after two
 * the network is congested, and one segment is sent (RFC 5681 section 3.1, RFC 6928 section
 * 2). */
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

int main(void)
{
	TEST(first_round_trip);
	TEST(weights);
	TEST(least);
	TEST(karn_time_out);
	TEST(karn_behind_time_out);
	TEST(karn_fast_retransmit);
	TEST(karn_syn_ack);
	TEST(lost_syn_acks);
	return tap_done();
}
