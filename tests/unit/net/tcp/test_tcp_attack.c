/* net/tcp*.c: attacks by a third party that sees the sequence numbers or does not see them,
 * and limits. */
#include "tests/unit/net/tcp/tcp_kit.h"

#include "net/lib/csum.h"

/* --- blind attacks (RFC 5961) ------------------------------------------------------ */

/* An open connection of side 0, into which a third party can inject segments as if they
 * came from side 1. */
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

static void blind_resets(void)
{
	uint32_t n;
	struct tcp_conn *c = open_one(&n);
	inject(c, c->rcv + 1, 0, TCP_RST, 1000, NULL, 0); /* in the window: only a challenge */
	CHECK_EQ(pair.n_frames, 1);
	inject(c, c->edge + 5000, 0, TCP_RST, 1000, NULL, 0); /* outside: nothing */
	inject(c, c->rcv - 1, 0, TCP_RST, 1000, NULL, 0);
	CHECK_EQ(pair.n_frames, 1);
	CHECK_EQ(pair_drops(0, DROP_TCP_BLIND), 3);
	inject(c, c->rcv, 0, TCP_SYN, 1000, NULL, 0);
	CHECK_EQ(pair.n_frames, 2);
	for (uint32_t i = 0; i < 50; i++) /* the number of challenges is limited */
		inject(c, c->rcv + 1 + i, 0, TCP_RST, 1000, NULL, 0);
	CHECK_EQ(pair.n_frames, 8);
	CHECK(!flow(0, n)->ended);
	inject(c, c->rcv, 0, TCP_RST, 1000, NULL, 0);
	CHECK(flow(0, n)->ended);
	CHECK_EQ(flow(0, n)->why, TCP_RESET);
}

static void blind_data(void)
{
	uint32_t n;
	struct tcp_conn *c = open_one(&n);
	uint32_t rcv = c->rcv;
	inject(c, rcv, c->max + 1, TCP_ACK, 1000, "x",
	       1); /* acknowledges data that was never sent */
	inject(c, rcv, c->una - c->wnd_most - 1, TCP_ACK, 1000, "x", 1);
	CHECK_EQ(pair_drops(0, DROP_TCP_ACK), 2);
	inject(c, rcv, c->una, 0, 1000, "x", 1);
	CHECK_EQ(pair_drops(0, DROP_TCP_FLAGS), 1);
	inject(c, rcv - 1, c->una, TCP_ACK, 1000, "x", 1);
	inject(c, c->edge, c->una, TCP_ACK, 1000, "x", 1);
	CHECK_EQ(pair_drops(0, DROP_TCP_WINDOW), 2);
	CHECK_EQ(c->rcv, rcv);
	CHECK(!flow(0, n)->wrong && !flow(0, n)->ended);
}

/* Overlapping and contradictory segments: the bytes received first stay, and none is
 * delivered twice. */
static void overlaps(void)
{
	uint32_t n;
	struct tcp_conn *c = open_one(&n);
	struct gw *gw = &pair.side[0].rig.gw;
	uint8_t got[16];
	uint32_t rcv = c->rcv, una = c->una;
	flow(0, n)->reads = false;
	inject(c, rcv + 4, una, TCP_ACK, 1000, "EFGH", 4);
	inject(c, rcv + 2, una, TCP_ACK, 1000, "cdxxxxij",
	       8); /* spans a gap and more: only its front is used */
	inject(c, rcv + 5, una, TCP_ACK, 1000, "yyy", 3); /* received before */
	CHECK_EQ(c->ooo.len, 6);
	fine(tcp_check(gw));
	inject(c, rcv, una, TCP_ACK, 1000, "abzzz", 5);
	CHECK_EQ(tcp_readable(gw, flow(0, n)->conn), 8);
	CHECK(tcp_copy(gw, flow(0, n)->conn, 0, got, 8));
	CHECK(memcmp(got, "abcdEFGH", 8) == 0);
	fine(tcp_check(gw));
	/* A FIN in front of received data is invalid; one behind all data ends it once. */
	inject(c, rcv + 12, una, TCP_ACK, 1000, "MN", 2);
	inject(c, rcv + 8, una, TCP_ACK | TCP_FIN, 1000, "i", 1);
	CHECK(!c->fin_seen);
	inject(c, rcv + 9, una, TCP_ACK, 1000, "jkl", 3);
	CHECK_EQ(c->rcv, rcv + 14);
	inject(c, rcv + 15, una, TCP_ACK | TCP_FIN, 1000, NULL, 0);
	inject(c, rcv + 14, una, TCP_ACK, 1000, "oq",
	       2); /* the second byte would be behind the FIN */
	CHECK_EQ(c->state, TCP_CLOSE_WAIT);
	CHECK_EQ(tcp_readable(gw, flow(0, n)->conn), 15);
}

/* More gaps than the queue holds packets: the segments are dropped and counted, and no data
 * is lost in the end. */
static void many_out_of_order_segments(void)
{
	uint32_t n;
	struct tcp_conn *c = open_one(&n);
	for (uint32_t i = 0; i < 100; i++)
		inject(c, c->rcv + 10 + 10 * i, c->una, TCP_ACK, 1000, "x", 1);
	CHECK_EQ(c->ooo.n, TCP_OOO_PACKETS);
	CHECK_EQ(pair_drops(0, DROP_TCP_ORDER), 100 - TCP_OOO_PACKETS);
	fine(tcp_check(&pair.side[0].rig.gw));
}

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

/* ICMP errors that quote a wrong sequence number change nothing (RFC 5927); a hard error
 * ends only a connection that is not open yet. */
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
	tell(3, 0, c, c->iss, 0); /* these errors may be temporary (RFC 9293 section 3.9.2.2) */
	tell(3, 1, c, c->iss, 0);
	tell(3, 5, c, c->iss, 0);
	tell(11, 0, c, c->iss, 0);
	CHECK(!flow(0, n)->ended);
	tell(3, 3, c, c->iss, 0);
	CHECK_EQ(flow(0, n)->why, TCP_UNREACHABLE);
}

/* --- limits ----------------------------------------------------------------------------------- */

/* A third party opens connections from consecutive ports of side 0; gives how many were
 * accepted. */
static uint32_t open_many(uint32_t count, bool answer)
{
	uint8_t frame[100];
	struct tcp *t = tcp(1);
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

/* When connections of a client have ended, it may open others. */
static void ended_connections_are_not_counted(void)
{
	pair_start(1, false, 512);
	pair.wire.dead = true;
	pair.side[1].user.event = keep_quiet;
	struct gw *gw = &pair.side[1].rig.gw;
	CHECK_EQ(open_many(TCP_CLIENT_MAX, true), TCP_CLIENT_MAX);
	CHECK_EQ(gw->tcp->n_clients, TCP_CLIENT_MAX);
	for (uint32_t i = 0; i < TCP_CONNECTIONS; i++)
		tcp_abort(gw, tcp_number(gw, &gw->tcp->conn[i]));
	CHECK_EQ(gw->tcp->n, 0);
	CHECK_EQ(open_many(20, true), 20);
	CHECK_EQ(gw->tcp->n_clients, 20);
	fine(tcp_check(gw));
	rig_flush(&pair.side[1].rig);
}

static void limit_of_half_open(void)
{
	pair_start(1, false, 512);
	pair.wire.dead = true;
	open_many(TCP_HALF_OPEN + 50, false);
	struct tcp *t = tcp(1);
	CHECK_EQ(t->n_half, TCP_HALF_OPEN);
	CHECK_EQ(t->count.cookies, 50);
	uint32_t frames = pair.n_frames;
	fine(pair_run(20 * SECOND));
	CHECK_EQ(t->n, 0);
	CHECK_EQ(pair.n_frames - frames, 2 * TCP_HALF_OPEN); /* each SYN-ACK is sent twice more */
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

/* A cookie is valid for its client, for at most two units of 2^26 us, and only unchanged. */
static void cookies(void)
{
	uint8_t frame[100];
	pair_start(1, false, 512);
	pair.side[1].user.event = keep_quiet;
	open_many(TCP_HALF_OPEN, false);
	struct tcp *t = tcp(1);
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
		/* Time passes, but not for the wheel: the half-open connections stay. */
		pair.side[1].rig.gw.clock.us += round == 1 ? 60000000 : round == 2 ? 135000000 : 0;
		if (round == 2) /* cookies are still sent */
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

/* Readers that never read hold all packets that may be held; a stalled one is evicted, and
 * a new client is served. */
static void crowded(void)
{
	pair_start(1, false, 400); /* 75 packets may be held */
	for (uint32_t i = 0; i < 8; i++) {
		uint32_t n = pair_connect(0, 10, 60000);
		flow(0, n)->reads = false;
		fine(pair_run(200000));
	}
	CHECK(tcp(1)->n_packets <= 75);
	fine(pair_run(3 * SECOND));
	uint32_t n = pair_connect(0, 100, 20000);
	fine(pair_run(20 * SECOND));
	CHECK(tcp(1)->count.ended[TCP_CROWDED] > 0);
	all_arrived(n);
}

int main(void)
{
	TEST(blind_resets);
	TEST(blind_data);
	TEST(overlaps);
	TEST(many_out_of_order_segments);
	TEST(forged_icmp);
	TEST(ended_connections_are_not_counted);
	TEST(limit_of_half_open);
	TEST(cookies);
	TEST(crowded);
	return tap_done();
}
