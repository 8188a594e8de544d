/* TCP between two gateways when 32 bits of microseconds or milliseconds wrap: all data
 * arrives, TIME-WAIT ends, and a pause of any length counts as one. */
#include "tests/unit/net/tcp/tcp_kit.h"

static const uint64_t boundaries[] = {1ull << 31, 1ull << 32, 1000ull << 31, 1000ull << 32};

/* The clock is not read for this time. */
static void silence(uint64_t us)
{
	pair.now_us += us;
	for (uint32_t side = 0; side < 2; side++)
		pair.side[side].rig.gw.clock.us += us;
}

/* Both machines are `before_us` before a boundary. */
static void start(uint64_t boundary, uint64_t before_us)
{
	pair_start(1, false, 512);
	silence(boundary - before_us - pair.side[0].rig.gw.clock.us);
	fine(pair_run(SECOND));
}

static void losses(void)
{
	for (unsigned i = 0; i < ARRAY_SIZE(boundaries); i++) {
		start(boundaries[i], 5 * SECOND);
		pair.wire.lose = 50;
		uint32_t n = pair_connect(0, 300000, 100000);
		fine(pair_finish(600ull * SECOND));
		all_arrived(n);
		CHECK(tcp(0)->count.retransmitted > 0);
		CHECK(pair.side[0].rig.gw.clock.us > boundaries[i]);
	}
}

static void idle(void)
{
	for (unsigned i = 0; i < ARRAY_SIZE(boundaries); i++) {
		start(boundaries[i], 60 * SECOND);
		pair.side[0].user.idle_ms = 20000;
		uint32_t n = pair_connect(0, 10, 10);
		flow(0, n)->shut_when_all = flow(1, n)->shut_when_all = false;
		fine(pair_run(19 * SECOND));
		CHECK_EQ(flow(0, n)->idle_events, 0);
		fine(pair_run(82 * SECOND));
		CHECK_EQ(flow(0, n)->idle_events, 5);
		CHECK_EQ(flow(1, n)->idle_events, 0);
	}
}

/* RFC 5681 section 4.1, also when the pause is as long as 32 bits of microseconds. */
static void long_pause(void)
{
	static const uint64_t pauses[] = {60 * SECOND, 1ull << 31, 1ull << 32,
	                                  (1ull << 32) + 500000};
	for (unsigned i = 0; i < ARRAY_SIZE(pauses); i++) {
		pair_start(1, false, 512);
		uint32_t n = pair_connect(0, 400000, 10);
		flow(0, n)->shut_when_all = flow(1, n)->shut_when_all = false;
		fine(pair_run(30 * SECOND));
		struct tcp_conn *c = pair_conn(0, n);
		CHECK(c && c->cwnd > 14600);
		silence(pauses[i] - (c ? pair.side[0].rig.gw.clock.us - c->sent_us : 0));
		CHECK(tcp_send(&pair.side[0].rig.gw, flow(0, n)->conn, (const uint8_t *)"x", 1));
		tcp_push(&pair.side[0].rig.gw, flow(0, n)->conn);
		CHECK(c && c->cwnd <= 14600);
	}
}

int main(void)
{
	TEST(losses);
	TEST(idle);
	TEST(long_pause);
	return tap_done();
}
