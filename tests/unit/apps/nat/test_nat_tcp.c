/* How the NAT follows TCP, apps/nat/nat_tcp.c, against figure 1 of RFC 7857 and section 5
 * of RFC 5382. */
#include "apps/nat/nat_tcp.h"

#include "tests/tap.h"

#define SYN_ACK (TCP_SYN | TCP_ACK)
#define FIN_ACK (TCP_FIN | TCP_ACK)
#define RST_ACK (TCP_RST | TCP_ACK)

/* Sequence numbers of both sides; those of the inside wrap early. */
static struct nat_session s;
static uint32_t seq[2];
static uint16_t window;

static struct {
	struct tcp_hdr tcp;
	uint8_t options[40];
} seg;

static void begin(void)
{
	memset(&s, 0, sizeof s);
	memset(&seg, 0, sizeof seg);
	s.proto = NAT_TCP;
	s.state = NAT_INIT;
	seq[NAT_INSIDE] = 0xffffff00;
	seq[NAT_OUTSIDE] = 5000;
	window = 10000;
}

/* Follows a segment with `n` bytes of data, `skew` away from its place in sequence. */
static bool put(enum nat_side side, uint8_t flags, uint32_t n, int32_t skew)
{
	seg.tcp.seq = be32_of(seq[side] + (uint32_t)skew);
	seg.tcp.ack = be32_of(flags & TCP_ACK ? seq[!side] : 0);
	seg.tcp.flags = flags;
	seg.tcp.window = be16_of(window);
	uint32_t hlen = 20;
	while (hlen < 60 && seg.options[hlen - 20] != 0)
		hlen += 4;
	seg.tcp.offset = (uint8_t)(hlen / 4 << 4);
	if (skew == 0)
		seq[side] += n + ((flags & TCP_SYN) != 0) + ((flags & TCP_FIN) != 0);
	return nat_tcp_segment(&s, &seg.tcp, hlen + n, side);
}

#define IN(flags)     CHECK(put(NAT_INSIDE, flags, 0, 0))
#define OUT(flags)    CHECK(put(NAT_OUTSIDE, flags, 0, 0))
#define STATE(wanted) CHECK_EQ(s.state, wanted)
#define BLIND(f, skew)                                \
	do {                                          \
		uint8_t was = s.state;                \
		CHECK(!put(NAT_OUTSIDE, f, 0, skew)); \
		CHECK_EQ(s.state, was);               \
	} while (0)

static void establish(void)
{
	begin();
	IN(TCP_SYN);
	STATE(NAT_INIT);
	OUT(SYN_ACK);
	STATE(NAT_INIT); /* partly open until both sides have sent an ACK */
	IN(TCP_ACK);
	STATE(NAT_ESTABLISHED);
}

static void three_way(void)
{
	establish();
	CHECK(nat_tcp_is_open(s.state));
}

/* The two SYNs cross, then both acknowledge (RFC 9293 figure 7). */
static void simultaneous(void)
{
	begin();
	IN(TCP_SYN);
	OUT(TCP_SYN);
	STATE(NAT_INIT);
	seq[NAT_INSIDE]--;
	seq[NAT_OUTSIDE]--;
	seq[NAT_OUTSIDE]++; /* the SYN-ACK of the inside repeats its SYN */
	IN(SYN_ACK);
	STATE(NAT_INIT);
	OUT(TCP_ACK);
	STATE(NAT_ESTABLISHED);
}

/* RFC 5382 REQ-2a: SYN from outside, SYN-ACK from inside. */
static void opened_from_outside(void)
{
	begin();
	OUT(TCP_SYN);
	IN(SYN_ACK);
	OUT(TCP_ACK);
	STATE(NAT_ESTABLISHED);
}

static void one_fin_is_established(void)
{
	for (int side = 0; side < 2; side++) {
		establish();
		CHECK(put((enum nat_side)side, FIN_ACK, 0, 0));
		STATE(side == NAT_INSIDE ? NAT_IN_FIN : NAT_OUT_FIN);
		CHECK(nat_tcp_is_open(s.state));
		/* The other side still sends data. */
		CHECK(put((enum nat_side) !side, TCP_ACK, 100, 0));
		CHECK(nat_tcp_is_open(s.state));
		/* A repetition of the same FIN is not the other side's FIN. */
		seq[side]--;
		CHECK(put((enum nat_side)side, FIN_ACK, 0, 0));
		CHECK(nat_tcp_is_open(s.state));
		CHECK(put((enum nat_side) !side, FIN_ACK, 0, 0));
		STATE(NAT_BOTH_FIN);
		CHECK(!nat_tcp_is_open(s.state));
		/* The last ACK does not reopen it. */
		CHECK(put((enum nat_side)side, TCP_ACK, 0, 0));
		STATE(NAT_BOTH_FIN);
	}
}

static void reset_and_data(void)
{
	static const uint8_t kind[] = {TCP_RST, RST_ACK};
	for (unsigned i = 0; i < 4; i++) {
		establish();
		CHECK(put((enum nat_side)(i & 1), kind[i / 2], 0, 0));
		STATE(NAT_TRANS);
		CHECK(!nat_tcp_is_open(s.state));
		/* A repeated reset changes nothing; data does. */
		CHECK(put((enum nat_side)(i & 1), kind[i / 2], 0, 0));
		STATE(NAT_TRANS);
		OUT(TCP_ACK);
		STATE(NAT_ESTABLISHED);
	}
}

static void reset_of_one_fin(void)
{
	establish();
	IN(FIN_ACK);
	OUT(TCP_RST);
	STATE(NAT_TRANS);
}

/* A reset after both FINs, of either side: a late segment does not reopen the connection. */
static void reset_of_both_fins(void)
{
	for (int side = 0; side < 2; side++) {
		establish();
		IN(FIN_ACK);
		OUT(FIN_ACK);
		STATE(NAT_BOTH_FIN);
		CHECK(put((enum nat_side)side, TCP_RST, 0, 0));
		STATE(NAT_BOTH_FIN);
		CHECK(put((enum nat_side)side, TCP_ACK, 0, 0));
		CHECK(put((enum nat_side) !side, TCP_ACK, 0, 0));
		STATE(NAT_BOTH_FIN);
		CHECK(!nat_tcp_is_open(s.state));
	}
}

static void refused_connection(void)
{
	begin();
	IN(TCP_SYN);
	BLIND(TCP_RST, 0);
	seq[NAT_INSIDE] -= 5;
	BLIND(RST_ACK, 0); /* acknowledges another number */
	seq[NAT_INSIDE] += 5;
	OUT(RST_ACK);
	STATE(NAT_INIT); /* the state is transitory already */
}

/* RFC 5961: what an off-path attacker sends changes nothing. */
static void off_path_segments(void)
{
	static const int32_t far[] = {20000, -20000, 0x7fffffff, -0x7fffffff};
	establish();
	for (unsigned i = 0; i < 4; i++) {
		BLIND(TCP_RST, far[i]);
		BLIND(TCP_SYN, far[i]);
		BLIND(FIN_ACK, far[i]);
		BLIND(TCP_ACK, far[i]);
	}
	/* For a reset it is not enough to lie in the window. */
	BLIND(TCP_RST, 1);
	BLIND(TCP_RST, -1);
	BLIND(RST_ACK, 100);
	OUT(TCP_RST);
	STATE(NAT_TRANS);
	/* Nor does any of these segments revive it. */
	for (unsigned i = 0; i < 4; i++) {
		BLIND(TCP_ACK, far[i]);
		BLIND(FIN_ACK, far[i]);
	}
}

static void off_path_syn_ack(void)
{
	begin();
	IN(TCP_SYN);
	seq[NAT_INSIDE] += 1000;
	BLIND(SYN_ACK, 0);
	seq[NAT_INSIDE] -= 1000;
	CHECK(!(s.flags & NAT_HEARD_OUTSIDE));
	BLIND(TCP_ACK, 0); /* only a SYN opens a connection */
	BLIND(FIN_ACK, 0);
	OUT(SYN_ACK);
	CHECK(s.flags & NAT_HEARD_OUTSIDE);
}

/* Data may arrive late, early and twice. */
static void any_order(void)
{
	establish();
	CHECK(put(NAT_OUTSIDE, TCP_ACK, 1000, 0));
	CHECK(put(NAT_OUTSIDE, TCP_ACK, 1000, -1000)); /* a repetition */
	CHECK(put(NAT_OUTSIDE, TCP_ACK, 1000, 3000));  /* ahead: the segment before it is lost */
	CHECK(put(NAT_OUTSIDE, TCP_ACK, 1000, 0));
	STATE(NAT_ESTABLISHED);
	CHECK(put(NAT_INSIDE, TCP_ACK, 0, -1)); /* keep-alive */
	STATE(NAT_ESTABLISHED);
}

/* RFC 7323: what is in flight may be as large as the scaled window. */
static void scaled_window(void)
{
	static const uint8_t scale7[] = {1, 3, 3, 7}, scale15[] = {3, 3, 15, 1};
	static const uint8_t bad[] = {3, 40, 7, 1}, zero[] = {2, 0, 3, 3}, other[] = {2, 4, 5, 180};
	static const struct {
		const uint8_t *option;
		int32_t reach; /* a segment that far ahead belongs to the connection */
	} row[] = {{scale7, 10000 * 128},
	           {scale15, 10000 << 14},
	           {bad, 10000},
	           {zero, 10000},
	           {other, 10000}};
	for (unsigned i = 0; i < ARRAY_SIZE(row); i++) {
		begin();
		memcpy(seg.options, row[i].option, 4);
		IN(TCP_SYN);
		OUT(SYN_ACK);
		memset(seg.options, 0, sizeof seg.options);
		IN(TCP_ACK);
		CHECK(put(NAT_OUTSIDE, TCP_ACK, 0, -row[i].reach));
		CHECK(!put(NAT_OUTSIDE, TCP_ACK, 0, row[i].reach + 1));
		CHECK(put(NAT_OUTSIDE, TCP_ACK, 0, row[i].reach));
		STATE(NAT_ESTABLISHED);
	}
}

/* Each side's window has that side's scale. */
static void two_scales(void)
{
	static const uint8_t two[] = {1, 3, 3, 2}, seven[] = {1, 3, 3, 7};
	begin();
	memcpy(seg.options, two, 4);
	IN(TCP_SYN);
	memcpy(seg.options, seven, 4);
	OUT(SYN_ACK);
	memset(seg.options, 0, sizeof seg.options);
	IN(TCP_ACK);
	OUT(TCP_ACK);
	CHECK(!put(NAT_OUTSIDE, TCP_ACK, 0, 10000 * 4 + 1));
	CHECK(put(NAT_OUTSIDE, TCP_ACK, 0, 10000 * 4));
	CHECK(!put(NAT_INSIDE, TCP_ACK, 0, 10000 * 128 + 1));
	CHECK(put(NAT_INSIDE, TCP_ACK, 0, 10000 * 128));
}

/* Data in flight still belongs to the connection when the window closes. */
static void closed_window(void)
{
	establish();
	window = 0;
	IN(TCP_ACK);
	CHECK(put(NAT_OUTSIDE, TCP_ACK, 1, 0));
	CHECK(put(NAT_OUTSIDE, TCP_ACK, 1, -1));
	OUT(FIN_ACK);
	STATE(NAT_OUT_FIN);
}

static void port_used_again(void)
{
	static const bool by_reset[] = {false, true};
	for (unsigned i = 0; i < 2; i++) {
		establish();
		if (by_reset[i]) {
			OUT(TCP_RST);
		} else {
			IN(FIN_ACK);
			OUT(FIN_ACK);
		}
		seq[NAT_INSIDE] = 0x40000000; /* a random place */
		seq[NAT_OUTSIDE] = 0x90000000;
		IN(TCP_SYN);
		STATE(by_reset[i] ? NAT_TRANS : NAT_BOTH_FIN); /* neither side has agreed yet */
		OUT(SYN_ACK);
		STATE(NAT_INIT);
		IN(TCP_ACK);
		STATE(NAT_ESTABLISHED);
	}
	/* But not in a connection that is alive. */
	establish();
	BLIND(TCP_SYN, 0x1000000);
	IN(FIN_ACK);
	BLIND(TCP_SYN, 0x1000000);
}

/* A client that got no answer or a RST, or that restarted, tries again from the same port
 * with another sequence number. */
static void another_attempt(void)
{
	begin();
	IN(TCP_SYN);
	seq[NAT_INSIDE] = 0x50000000;
	IN(TCP_SYN);
	OUT(SYN_ACK);
	IN(TCP_ACK);
	STATE(NAT_ESTABLISHED);
	establish();
	seq[NAT_INSIDE] = 0x70000000;
	IN(TCP_SYN);
	STATE(NAT_ESTABLISHED);
	seq[NAT_OUTSIDE] = 0x11110000;
	OUT(SYN_ACK);
	STATE(NAT_INIT);
	IN(TCP_ACK);
	STATE(NAT_ESTABLISHED);
}

/* A SYN from outside that no inside host expects does not end a connection that may still
 * be alive (RFC 7857 section 2.2). */
static void blind_syn_after_reset(void)
{
	establish();
	OUT(TCP_RST);
	STATE(NAT_TRANS);
	CHECK(!put(NAT_OUTSIDE, TCP_SYN, 0, 0x1000000));
	IN(TCP_ACK);
	STATE(NAT_ESTABLISHED);
}

/* RFC 7413: a server accepts all, some or none of the data of a SYN. Here the sequence
 * numbers of the data wrap. In a new connection, and in one that replaces another. */
static void syn_with_data(void)
{
	static const struct {
		int32_t acked; /* bytes of the data */
		bool real;
	} row[] = {{0, true}, {1, true}, {299, true}, {300, true}, {-1, false}, {1461, false}};
	for (unsigned i = 0; i < 2 * ARRAY_SIZE(row); i++) {
		uint8_t was = i & 1 ? NAT_ESTABLISHED : NAT_INIT;
		if (i & 1)
			establish();
		else
			begin();
		seq[NAT_INSIDE] = 0xffffff00 + (i & 1) * 0x40000000;
		seq[NAT_OUTSIDE] += 0x30000000;
		CHECK(put(NAT_INSIDE, TCP_SYN, 300, 0));
		seq[NAT_INSIDE] += (uint32_t)(row[i / 2].acked - 300);
		STATE(was);
		CHECK_EQ(put(NAT_OUTSIDE, SYN_ACK, 0, 0), row[i / 2].real);
		STATE(row[i / 2].real ? NAT_INIT : was);
		if (!row[i / 2].real)
			continue;
		CHECK(put(NAT_INSIDE, TCP_ACK, 300, 0));
		STATE(NAT_ESTABLISHED);
		OUT(RST_ACK);
		STATE(NAT_TRANS);
	}
	/* Without data the number must be exact. */
	begin();
	IN(TCP_SYN);
	seq[NAT_INSIDE]++;
	BLIND(SYN_ACK, 0);
}

/* The same for a SYN from outside; its answer comes from inside and is accepted. */
static void syn_with_data_from_outside(void)
{
	for (uint32_t acked = 0; acked <= 300; acked += 100) {
		begin();
		CHECK(put(NAT_OUTSIDE, TCP_SYN, 300, 0));
		seq[NAT_OUTSIDE] += acked - 300;
		IN(SYN_ACK);
		CHECK(put(NAT_OUTSIDE, TCP_ACK, 300, 0));
		STATE(NAT_ESTABLISHED);
	}
}

/* The initial sequence numbers of a 5-tuple follow a clock (RFC 6528 section 3). The SYN of
 * another attempt may lie in the window of the connection before, while its answer, after
 * more data, does not. */
static void another_attempt_in_window(void)
{
	for (unsigned i = 0; i < 4; i++) {
		enum nat_side side = i & 1 ? NAT_OUTSIDE : NAT_INSIDE;
		establish();
		if (i & 2)
			CHECK(put(side, FIN_ACK, 0, 0));
		seq[side] += 5000;
		CHECK_EQ(put(side, TCP_SYN, 0, 0), side == NAT_INSIDE);
		seq[!side] += 0x11110000;
		CHECK(put(!side, SYN_ACK, 0, 0));
		STATE(NAT_INIT);
		CHECK(put(side, TCP_ACK, 0, 0));
		STATE(NAT_ESTABLISHED);
	}
}

/* A SYN and a SYN-ACK that come twice open nothing. */
static void handshake_twice(void)
{
	establish();
	seq[NAT_INSIDE]--;
	IN(TCP_SYN);
	seq[NAT_OUTSIDE]--;
	OUT(SYN_ACK);
	STATE(NAT_ESTABLISHED);
}

/* A client that restarted after one FIN: the close of the old connection is forgotten,
 * although both numbers lie in the old windows. */
static void another_attempt_after_fin(void)
{
	establish();
	OUT(FIN_ACK);
	STATE(NAT_OUT_FIN);
	seq[NAT_INSIDE] += 1000;
	IN(TCP_SYN);
	seq[NAT_OUTSIDE] += 1000;
	OUT(SYN_ACK);
	STATE(NAT_INIT);
	IN(FIN_ACK);
	STATE(NAT_IN_FIN);
}

/* A forged SYN from outside looks like a simultaneous open, and a second one like another
 * attempt; the real SYN-ACK still counts. */
static void blind_syn_while_opening(void)
{
	for (int32_t n = 0; n <= 2; n++) {
		begin();
		IN(TCP_SYN);
		for (int32_t i = 1; i <= n; i++)
			put(NAT_OUTSIDE, TCP_SYN, 0, i * 0x1000000);
		OUT(SYN_ACK);
		IN(TCP_ACK);
		STATE(NAT_ESTABLISHED);
		CHECK(put(NAT_OUTSIDE, TCP_ACK, 100, 0));
	}
	/* The same when a connection is to replace another one. */
	establish();
	seq[NAT_INSIDE] += 0x40000000;
	IN(TCP_SYN);
	BLIND(TCP_SYN, 0x2000000);
	seq[NAT_OUTSIDE] += 0x50000000;
	OUT(SYN_ACK);
	STATE(NAT_INIT);
	/* The same when the client is outside. */
	begin();
	OUT(TCP_SYN);
	CHECK(put(NAT_OUTSIDE, TCP_SYN, 0, 0x1000000));
	IN(SYN_ACK);
	OUT(TCP_ACK);
	STATE(NAT_ESTABLISHED);
	CHECK(put(NAT_OUTSIDE, TCP_ACK, 100, 0));
}

/* Both sides open again at the same time; only the inside's SYN-ACK arrives. */
static void simultaneous_again(void)
{
	establish();
	seq[NAT_INSIDE] += 0x20000000;
	seq[NAT_OUTSIDE] += 0x30000000;
	IN(TCP_SYN);
	CHECK(!put(NAT_OUTSIDE, TCP_SYN, 0, 0));
	seq[NAT_INSIDE]--;
	IN(SYN_ACK);
	STATE(NAT_INIT);
	OUT(TCP_ACK);
	STATE(NAT_ESTABLISHED);
}

/* The server does not know the connection, and refuses the new one. */
static void refused_after_restart(void)
{
	establish();
	seq[NAT_INSIDE] += 0x40000000;
	IN(TCP_SYN);
	seq[NAT_INSIDE] += 1461;
	BLIND(RST_ACK, 0x1000);
	seq[NAT_INSIDE] -= 1461;
	CHECK(put(NAT_OUTSIDE, RST_ACK, 0, 0x1000));
	STATE(NAT_TRANS);
}

/* A segment in fragments: later ones move the end too, so that a reset still has its number
 * and data in flight still belongs to the connection when the window closes. */
static void fragments(void)
{
	for (unsigned i = 0; i < 2; i++) {
		enum nat_side side = i ? NAT_OUTSIDE : NAT_INSIDE;
		establish();
		uint32_t from = seq[side];
		CHECK(put(side, FIN_ACK, 1460, 0));
		uint32_t base = nat_tcp_base(&seg.tcp);
		CHECK_EQ(base, from - 20 + 1);
		nat_tcp_fragment(&s, base, 40000, side); /* in any order, and twice */
		nat_tcp_fragment(&s, base, 20000, side);
		nat_tcp_fragment(&s, base, 40000, side);
		CHECK_EQ(s.end[side], from + 39980 + 1);
		window = 0;
		CHECK(put(!side, TCP_ACK, 0, 0));
		seq[side] = from + 39980 + 1;
		CHECK(put(side, TCP_ACK, 0, 0));
		CHECK(put(side, TCP_RST, 0, 0));
		STATE(NAT_TRANS);
	}
	/* Fragments of a forged segment, or of a side whose numbers are not known, change
	 * nothing. */
	static const int32_t far[] = {20000, -20000, 0x7fffffff, -0x7fffffff};
	for (unsigned i = 0; i < ARRAY_SIZE(far); i++) {
		establish();
		uint32_t end = s.end[NAT_OUTSIDE];
		BLIND(TCP_ACK, far[i]);
		nat_tcp_fragment(&s, nat_tcp_base(&seg.tcp), 1480, NAT_OUTSIDE);
		CHECK_EQ(s.end[NAT_OUTSIDE], end);
	}
	begin();
	IN(TCP_SYN);
	nat_tcp_fragment(&s, 0xffffffff, 1480, NAT_OUTSIDE);
	CHECK_EQ(s.end[NAT_OUTSIDE], 0);
}

/* A FIN or data in the last ACK of the handshake. */
static void fin_at_once(void)
{
	begin();
	IN(TCP_SYN);
	OUT(SYN_ACK);
	IN(FIN_ACK);
	STATE(NAT_IN_FIN);
	OUT(FIN_ACK);
	STATE(NAT_BOTH_FIN);
}

static void opening_segments(void)
{
	for (unsigned flags = 0; flags < 256; flags++) {
		begin();
		seg.tcp.flags = (uint8_t)flags;
		bool syn_alone = (flags & (TCP_SYN | TCP_ACK | TCP_RST | TCP_FIN)) == TCP_SYN;
		CHECK_EQ(nat_tcp_opens(&seg.tcp), syn_alone);
	}
}

int main(void)
{
	TEST(three_way);
	TEST(simultaneous);
	TEST(opened_from_outside);
	TEST(one_fin_is_established);
	TEST(reset_and_data);
	TEST(reset_of_one_fin);
	TEST(reset_of_both_fins);
	TEST(refused_connection);
	TEST(off_path_segments);
	TEST(off_path_syn_ack);
	TEST(any_order);
	TEST(scaled_window);
	TEST(two_scales);
	TEST(closed_window);
	TEST(port_used_again);
	TEST(another_attempt);
	TEST(blind_syn_after_reset);
	TEST(syn_with_data);
	TEST(syn_with_data_from_outside);
	TEST(another_attempt_in_window);
	TEST(handshake_twice);
	TEST(another_attempt_after_fin);
	TEST(blind_syn_while_opening);
	TEST(simultaneous_again);
	TEST(refused_after_restart);
	TEST(fragments);
	TEST(fin_at_once);
	TEST(opening_segments);
	return tap_done();
}
