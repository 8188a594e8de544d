/* libFuzzer: TCP segments of several clients, with time, ICMP errors and a user that sends, reads,
 * closes and connects. The sequence numbers are near the ones that matter, so that most segments
 * are accepted; checksums are right.
 *
 * Checked: each frame that leaves is well formed; the tables are consistent; the bytes that the
 * user reads were sent by a client; in the end, after the user has closed all connections and some
 * time has passed, no connection is left and every packet is free. */
#include "kernel/seam/io.h"
#include "net/lib/csum.h"
#define PACKETS 512u
#include "tests/fuzz/gateway.h"
#include "tests/host/tcp_pair.h"

#define MAX_STEPS 300
#define PORTS     6u /* of clients */
#define FIRST     4000u
#define HELD      48u         /* more connections than one client may have */
#define USED      32u         /* the user does something with these */
#define MANY      60u         /* connections of floods in an input */
#define FAR_PORT  (FIRST + 4) /* of a client that is not a known neighbour yet */

static struct tcp_user user;
static uint32_t held[HELD]; /* the user's connections */
static uint32_t n_events;
static bool eager; /* the user reads all bytes at once */
static bool hasty; /* the user closes when there is room to send again … */
static bool harsh; /* … or when data arrived */
static uint8_t last[2048];
static uint32_t last_len;
static uint32_t many; /* connections of floods so far */

static void seen(struct rig *r, uint32_t iface, const uint8_t *frame, uint32_t len)
{
	(void)r;
	const char *bad = check(iface, frame, len);
	if (bad)
		fail(bad, frame, len);
	memcpy(last, frame, min_u32(len, sizeof last));
	last_len = min_u32(len, sizeof last);
}

static uint32_t *slot_of(uint32_t conn)
{
	for (uint32_t i = 0; i < HELD; i++)
		if (held[i] == conn)
			return &held[i];
	return NULL;
}

static void read_some(struct gw *gw, uint32_t conn, uint32_t most)
{
	static uint8_t data[4096];
	uint32_t len;
	while (most && (len = tcp_readable(gw, conn)) != 0) {
		uint32_t n = min_u32(min_u32(len, most), sizeof data);
		if (!tcp_copy(gw, conn, len - n, data, n) || !tcp_copy(gw, conn, 0, data, n))
			fail("readable bytes cannot be read", NULL, 0);
		tcp_take(gw, conn, n);
		most -= n;
	}
}

static void event(struct gw *gw, uint32_t conn, enum tcp_event what)
{
	uint32_t *slot = slot_of(conn);
	n_events++;
	if (what == TCP_OPENED && !slot) {
		slot = slot_of(TCP_NONE);
		if (slot)
			*slot = conn;
		else
			tcp_abort(gw, conn);
		return;
	}
	if (!slot)
		fail("an event of a connection that the user does not have", NULL, 0);
	if (what == TCP_ENDED && tcp_why(gw) > TCP_CROWDED)
		fail("a connection ended for no reason", NULL, 0);
	if (what == TCP_ENDED)
		*slot = TCP_NONE;
	else if (what == TCP_INPUT && harsh) {
		*slot = TCP_NONE;
		tcp_abort(gw, conn);
	} else if (what == TCP_INPUT && eager)
		read_some(gw, conn, UINT32_MAX);
	else if (what == TCP_ROOM && hasty) {
		*slot = TCP_NONE;
		tcp_close(gw, conn);
	} else if (what == TCP_IDLE) {
		*slot = TCP_NONE;
		tcp_close(gw, conn);
	}
}

static enum drop accept(struct gw *gw, const struct udp_ends *ends)
{
	(void)gw;
	return ends->remote_port == FIRST + PORTS - 1 ? DROP_DNS_CLIENT : DROP_NONE;
}

/* Time passes in large steps: these are faster, and the connections behave the same. */
static void pass(uint32_t us)
{
	rig_leap(&rig, us, min_u32(us / 500000 + 1, 12));
}

static void start(uint8_t choice)
{
	static const char text[] =
	        "lan.address 10.0.0.2/24\nlan.address 2001:db8::2/64\n"
	        "neighbour 10.0.0.1 02:00:00:00:00:01\nneighbour 2001:db8::1 02:00:00:00:00:01\n";
	rig.forwarder = &tcp_pair_forwarder;
	configure(text, sizeof text - 1);
	start_app("tcp", choice & 8 ? 40 : 512);
	pass(3000000);
	if (!tcp_listen(&rig.gw, PAIR_PORT, &user))
		fail("listening fails", NULL, 0);
}

/* Which user runs, and what it does. */
static void set_user(uint8_t choice)
{
	memset(held, 0, sizeof held);
	last_len = many = 0;
	eager = choice & 4;
	hasty = choice & 128;
	harsh = choice & 2;
	pair.is6 = choice & 1;
	user = (struct tcp_user){.accept = accept,
	                         .event = event,
	                         .window = choice & 16 ? 2000 : 60000,
	                         .send_most = 20000,
	                         .idle_ms = choice & 32 ? 5000 : 0,
	                         .stall_ms = choice & 64 ? 3000 : 0};
}

/* The connection with a client's port, if there is one. */
static struct tcp_conn *conn_of(uint16_t port)
{
	for (uint32_t i = 0; i < TCP_CONNECTIONS; i++) {
		struct tcp_conn *c = &rig.gw.tcp->conn[i];
		if (c->state != TCP_FREE &&
		    (c->ends.remote_port == port || (c->active && port == FIRST)))
			return c;
	}
	return NULL;
}

static uint32_t near(const uint32_t *value, uint8_t n)
{
	return value[n & 3] + (uint32_t)(int32_t)(int8_t)((n & 0xfc) << 1) / 8;
}

static void repair(uint8_t *frame, uint32_t len)
{
	if (pair.is6)
		frame6_repair(frame + ETH, len - ETH);
	else
		frame_repair(frame, len);
}

static uint8_t *tcp_header(uint8_t *frame)
{
	return frame + ETH + (pair.is6 ? 40 : 20);
}

/* The data of a SYN are its options. */
static uint32_t put_options(uint8_t *frame, uint32_t len, uint8_t which)
{
	static const uint8_t options[4][8] = {{1, 1, 2, 4, 5, 0xa0},
	                                      {3, 3, 7, 2, 4, 1, 0},
	                                      {2, 9, 5, 0xa0},
	                                      {2, 3, 5, 1, 2, 4, 0, 10}};
	memcpy(frame + len, options[which & 3], sizeof options[0]);
	tcp_header(frame)[12] = 7 << 4;
	len += sizeof options[0];
	store16(frame + ETH + (pair.is6 ? 4 : 2),
	        swap16((uint16_t)(len - ETH - (pair.is6 ? 40 : 0))));
	return len;
}

/* From an address of no known neighbour; for IPv6, an on-link one. */
static void move_away(uint8_t *frame)
{
	static const uint8_t far[16] = {0xfe, 0x80, [15] = 9};
	if (pair.is6)
		memcpy(frame + ETH + 8, far, sizeof far);
	else
		frame[ETH + 15] = 9;
}

/* Answers the last segment that left with exactly the numbers that it expects. */
static void put_answer(uint8_t flags)
{
	uint8_t frame[1600], *t = tcp_header(last);
	uint32_t head = ETH + (pair.is6 ? 40u : 20u);
	if (last_len < head + 20 || last[ETH + (pair.is6 ? 6 : 9)] != PROTO_TCP)
		return;
	uint32_t seq = swap32(load32(t + 4)), ack = swap32(load32(t + 8));
	uint32_t n = last_len - head - (t[12] >> 4) * 4u;
	n += (t[13] & (TCP_SYN | TCP_FIN)) != 0;
	uint32_t len = pair_segment(frame, 0, swap16(load16(t + 2)), swap16(load16(t)), ack,
	                            seq + n, flags, 60000, NULL, 0);
	(void)rig_input(&rig, IF_LAN, frame, len);
}

/* Connections from one port after the other, completed or not. */
static void put_many(struct input *in)
{
	uint8_t how = input_u8(in), frame[1600];
	uint32_t n = min_u32(input_u8(in) / 8u, MANY - many);
	for (; n > 0; n--) {
		uint16_t port = (uint16_t)(10000 + many++);
		uint32_t len =
		        pair_segment(frame, 0, port, PAIR_PORT, 1000, 0, TCP_SYN, 60000, NULL, 0);
		(void)rig_input(&rig, IF_LAN, frame, len);
		if (how & 1)
			put_answer(TCP_ACK);
		if (how & 2)
			put_answer(TCP_ACK | TCP_FIN);
	}
}

static void put_segment(struct input *in, uint8_t what)
{
	static const uint8_t usual[8] = {
	        TCP_ACK, TCP_SYN, TCP_ACK | TCP_PSH, TCP_ACK | TCP_FIN, TCP_RST, TCP_SYN | TCP_ACK,
	        0,       TCP_ACK};
	uint8_t frame[1600], data[1460], a = input_u8(in), f = input_u8(in), s = input_u8(in),
	                                 k = input_u8(in), n = input_u8(in);
	uint16_t port = (uint16_t)(FIRST + a % PORTS), to = PAIR_PORT;
	const struct tcp_conn *c = conn_of(port);
	uint32_t seq[4] = {1000, 2000, 0xffffff00, 1000}, ack[4] = {1, 2, 3, 4};
	if (c) {
		uint32_t theirs[4] = {c->rcv, c->edge, c->irs, c->rcv + 3000},
		         ours[4] = {c->nxt, c->una, c->max, c->iss + 1};
		memcpy(seq, theirs, sizeof seq);
		memcpy(ack, ours, sizeof ack);
		port = c->ends.remote_port;
		to = c->ends.local_port;
	}
	uint32_t len = n & 128 ? (n & 127) * 11u : n & 15;
	memset(data, n, sizeof data);
	uint8_t flags = f & 8 ? (uint8_t)(f >> 2) : usual[f & 7];
	uint16_t window = (uint16_t)(f & 16 ? 0 : f & 32 ? 60000 : (f & 0xc0) << 2);
	if (flags & TCP_SYN)
		len = 0;
	uint32_t all = pair_segment(frame, 0, port, to, near(seq, s), near(ack, k), flags, window,
	                            data, len);
	if (flags & TCP_SYN && n & 1)
		all = put_options(frame, all, n >> 1);
	if (port == FAR_PORT)
		move_away(frame);
	repair(frame, all);
	if (what >> 3 == 31) { /* almost valid */
		tcp_header(frame)[input_u8(in) % 20] = n;
		if (n & 2)
			repair(frame, all);
	}
	(void)rig_input(&rig, IF_LAN, frame, all); /* false: no packet is free, which may happen */
}

/* An ICMP error about the last frame that left. */
static void put_error(struct input *in)
{
	uint8_t a = input_u8(in), e[14 + 48 + 600];
	bool is6 = last_len > 14 && last[12] == 0x86;
	uint32_t head = is6 ? 40 : 20,
	         quote = min_u32(last_len - min_u32(14, last_len), a & 1 ? 28 : 80);
	if (quote < head + 8)
		return;
	memset(e, 0, sizeof e);
	memcpy(e, last + 6, 6);
	memcpy(e + 6, last, 6);
	memcpy(e + 12, last + 12, 2);
	uint8_t *ip = e + 14, *icmp = ip + head;
	memcpy(icmp + 8, last + 14, quote);
	if (a & 2)
		icmp[8 + head + 4 + (a >> 6)] ^= a; /* another sequence number */
	uint16_t n = (uint16_t)(8 + quote), mtu = (uint16_t)(input_u8(in) << 3);
	store16(icmp + 6, swap16(mtu));
	if (is6) {
		memcpy(ip, last + 14, 40);
		store16(ip + 4, swap16(n));
		ip[6] = PROTO_ICMP6;
		memcpy(ip + 8, last + 14 + 24, 16);
		memcpy(ip + 24, last + 14 + 8, 16);
		icmp[0] = a & 4 ? ICMP6_TOO_BIG : ICMP6_UNREACHABLE;
		store16(icmp + 2,
		        (uint16_t)~csum_plus(
		                csum_sum(icmp, n),
		                csum_pseudo6((ip6 *)(ip + 8), (ip6 *)(ip + 24), PROTO_ICMP6, n)));
	} else {
		memcpy(ip, last + 14, 20);
		store16(ip + 2, swap16((uint16_t)(20 + n)));
		ip[9] = PROTO_ICMP;
		memcpy(ip + 12, last + 14 + 16, 4);
		memcpy(ip + 16, last + 14 + 12, 4);
		store16(ip + 10, 0);
		store16(ip + 10, (uint16_t)~csum_sum(ip, 20));
		icmp[0] = ICMP_UNREACHABLE;
		icmp[1] = a & 4 ? ICMP_TOO_BIG : a >> 4;
		store16(icmp + 2, (uint16_t)~csum_sum(icmp, n));
	}
	(void)rig_input(&rig, IF_LAN, e, 14 + head + n);
}

static void connect_out(uint8_t whom)
{
	struct udp_ends ends;
	uint32_t *slot = slot_of(TCP_NONE);
	memset(&ends, 0, sizeof ends);
	ends.remote.is6 = pair.is6;
	ends.remote.v4 = ip4_of(0x0a000001);
	ends.remote.v6 = (ip6){{0x20, 1, 0xd, 0xb8, [15] = 1}};
	ends.remote_port = whom & 4 ? PAIR_PORT : 7777;
	ends.iface = IF_LAN;
	if ((whom & 3) == 1) { /* the gateway itself */
		ends.remote.v4.b[3] = 2;
		ends.remote.v6.b[15] = 2;
	} else if ((whom & 3) == 2) { /* an address without a route */
		ends.remote.v4.b[0] = 11;
		ends.remote.v6.b[0] = 0x30;
	}
	if (slot)
		*slot = tcp_connect(&rig.gw, &ends, &user);
}

static void use(struct input *in)
{
	static uint8_t data[20000];
	uint8_t a = input_u8(in), b = input_u8(in);
	uint32_t *slot = &held[a % USED], conn = *slot;
	struct gw *gw = &rig.gw;
	switch (a >> 5) {
	case 0:
	case 1:
		if (tcp_send(gw, conn, data, b * 60u + 1))
			tcp_push(gw, conn);
		break;
	case 2:
	case 6:
		read_some(gw, conn, b * 16u);
		tcp_take(gw, conn, 0);
		break;
	case 3:
		tcp_shut(gw, conn);
		break;
	case 4:
		*slot = TCP_NONE;
		if (b & 1)
			tcp_close(gw, conn);
		else
			tcp_abort(gw, conn);
		break;
	case 5:
		connect_out(b);
		break;
	case 7:
		tcp_push(gw, conn);
		break;
	}
	rig_flush(&rig);
}

/* The cable, the card, listings, floods, exact answers. */
static void disturb(struct input *in, uint8_t what)
{
	static const uint8_t answers[] = {TCP_ACK, TCP_ACK | TCP_FIN, TCP_RST, TCP_ACK};
	switch (what >> 5) {
	case 0:
		list_one((uint32_t)in->left + run.listed);
		break;
	case 1:
	case 2:
		rig_link(&rig, IF_LAN, what >> 5 == 1);
		break;
	case 3:
	case 4:
		rig.stalled[IF_LAN] = what >> 5 == 3;
		break;
	case 5:
		put_many(in);
		break;
	default:
		put_answer(answers[input_u8(in) & 3]);
	}
	rig_flush(&rig);
}

static void step(struct input *in)
{
	static const uint32_t times_us[8] = {1,       1000,    50000,    200000,
	                                     1000000, 3000000, 12000000, 70000000};
	uint8_t what = input_u8(in);
	switch (what & 7) {
	case 5:
		if (what & 8)
			disturb(in, what);
		else
			pass(times_us[what >> 5]);
		break;
	case 6:
		use(in);
		break;
	case 7:
		put_error(in);
		break;
	default:
		put_segment(in, what);
	}
	const char *bad = in->left % 16 == 0 ? tcp_check(&rig.gw) : NULL;
	if (bad)
		fail(bad, NULL, 0);
}

static void finish(void)
{
	rig.stalled[IF_LAN] = false;
	rig_link(&rig, IF_LAN, true);
	rig_flush(&rig);
	for (uint32_t i = 0; i < HELD; i++) {
		uint32_t conn = held[i];
		held[i] = TCP_NONE;
		tcp_close(&rig.gw, conn);
	}
	rig_flush(&rig);
	/* 4 minutes in growing steps. */
	for (uint32_t i = 0; i < 46 && (rig.gw.tcp->n || rig.gw.neigh.n_parked); i++)
		rig_leap(&rig, i < 16 ? 500000 : i < 36 ? 2000000 : 20000000, 1);
	const char *bad = tcp_check(&rig.gw);
	if (bad)
		fail(bad, NULL, 0);
	if (rig.gw.tcp->n)
		fail("a connection is left", NULL, 0);
	if (rig.pool.n_free != rig.free_at_start || rig.pool.kept)
		fail("packets are lost", NULL, 0);
}

static void one_input(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	uint8_t choice = input_u8(&in);
	set_user(choice);
	begin(choice & 15, 8u << 20, start, seen);
	for (uint32_t i = 0; in.left && i < MAX_STEPS; i++)
		step(&in);
	finish();
}
