/* What the tests of TCP share: short names for the parts of `pair`. */
#ifndef TESTS_UNIT_TCP_KIT_H
#define TESTS_UNIT_TCP_KIT_H

#include "tests/host/tcp_pair.h"
#include "tests/tap.h"

#define SECOND 1000000u

static inline struct flow *flow(uint32_t side, uint32_t n)
{
	return &pair.side[side].flow[n - 1];
}

static inline struct tcp *tcp(uint32_t side)
{
	return pair.side[side].rig.gw.tcp;
}

static inline void fine(const char *bad)
{
	CHECK_STR(bad ? bad : "fine", "fine");
}

/* Both sides of a flow closed normally, with all data of the other side received. */
static inline void all_arrived(uint32_t n)
{
	for (uint32_t side = 0; side < 2; side++) {
		CHECK(flow(side, n)->ended);
		CHECK_EQ(flow(side, n)->why, TCP_CLOSED);
		CHECK_EQ(flow(side, n)->got, flow(side, n)->peer_sends);
	}
}

/* A segment from side 1 for the connection of side 0. */
static inline void inject(const struct tcp_conn *c, uint32_t seq, uint32_t ack, uint8_t flags,
                          uint16_t window, const void *data, uint32_t len)
{
	uint8_t frame[1600];
	pair_put(0, frame,
	         pair_segment(frame, 1, PAIR_PORT, c->ends.local_port, seq, ack, flags, window,
	                      data, len));
}

/* An application that ignores all events. */
static inline void keep_quiet(struct gw *gw, uint32_t conn, enum tcp_event what)
{
	(void)gw;
	(void)conn;
	(void)what;
}

#endif
