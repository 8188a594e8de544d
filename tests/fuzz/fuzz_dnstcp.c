/* Fuzzer: DNS over TCP, with clients and an upstream server that send anything. The input is a list
 * of operations: connections that are opened, closed and reset; client queries that are well formed
 * or not, in several segments; delayed acknowledgments; answers of upstream to its queries over
 * TCP, corrupted, or random bytes; time. TCP itself is correct: fuzz_tcp tests that.
 *
 * Checked: a client reads whole messages, each well formed; each answers and repeats a query of
 * this connection that was not answered yet. Upstream gets whole, well-formed queries. In the end,
 * after a time without traffic, no connection is left, nothing waits, every packet is free. */
#include "apps/dns64/dns64.h"
#include "kernel/lib/fmt.h"
#include "net/tcp/tcp_conn.h"
#define PACKETS 1024u
#include "tests/fuzz/gateway.h"

#define CLIENT    0xc0a8010au
#define OWN_LAN   0xc0a80101u
#define OWN_WAN   0xcb007102u
#define SERVER    0xc6336435u
#define MAX_STEPS 60
#define CLIENTS   4u /* connections of clients */
#define ENDS      12u
#define BYTES     (1u << 17)
#define QUEUE     256u
#define SIGNED    2u /* first byte of the IDs of signed queries */
/* Beyond this, one query at a time, and only short answers: each costs as much as the rest of an
 * input. */
#define ASKED_MAX  24u
#define ANSWER_MAX 40000u

static const uint8_t client6[16] = {0x20, 1, 0x0d, 0xb8, 0, 1, [15] = 16},
                     own_lan6[16] = {0x20, 1, 0x0d, 0xb8, 0, 1, [15] = 1},
                     own_wan6[16] = {0x20, 1, 0x0d, 0xb8, 0, 2, [15] = 2},
                     server6[16] = {0x20, 1, 0x0d, 0xb8, 0, 9, [15] = 0x53};

static const char config[] = "lan.address 192.168.1.1/24\n"
                             "wan.address 203.0.113.2/24\n"
                             "gateway 203.0.113.1\n"
                             "lan.address 2001:db8:1::1/64\n"
                             "wan.address 2001:db8:2::2/64\n"
                             "gateway 2001:db8:2::1\n"
                             "dns64-prefix 2001:db8:64::/96\n"
                             "dns64.cache 100\n"
                             "timeout-time 0.5\n";

/* The fuzzer's end of a connection: the first are those of clients, the others the server's. */
static struct end {
	bool open, quiet, shut, is6;
	bool garbled;   /* the queries are unknown: only frames are checked */
	uint32_t iface; /* of the gateway, IF_… */
	uint16_t sport, dport;
	uint32_t seq, ack;
	uint32_t n;               /* received bytes that are not a whole message yet */
	uint8_t asked[0x400 / 8]; /* a bit for each ID of an unanswered client query */
} end[ENDS];
static uint32_t next_server; /* the server's end that is used next */
static uint16_t sport;       /* of the last connection of a client */
static uint8_t bytes[ENDS][BYTES];

/* Frames for the gateway, queued because it must not be called while it sends. */
static struct {
	uint32_t iface, len;
	uint8_t bytes[FRAME_MAX];
} queue[QUEUE];
static uint32_t n_queue;

/* The last queries that the server got over TCP. */
static uint8_t question[600];
static uint32_t question_len, question_end;
static uint32_t n_asked, n_answered; /* client queries, octets of answers so far */
static bool refuses;
static bool clients6; /* they use IPv6 */

/* --- frames that come in ------------------------------------------------------------- */

static uint8_t *take_frame(uint32_t iface, uint32_t **len)
{
	uint32_t i = n_queue < QUEUE ? n_queue++ : QUEUE - 1;
	queue[i].iface = iface;
	*len = &queue[i].len;
	memset(queue[i].bytes, 0, 128); /* all headers and a short message */
	return queue[i].bytes;
}

/* The offset of the transport header of a frame. */
static uint8_t *l4_of(uint8_t *f, bool is6)
{
	return f + (is6 ? 54 : 34);
}

/* Writes the headers before n bytes, from a client or the server to the gateway, and corrects the
 * checksums; gives the frame's length. */
static uint32_t address_frame(uint8_t *f, uint32_t iface, bool is6, uint8_t proto, uint32_t n)
{
	bool lan = iface == IF_LAN;
	uint32_t len = is6 ? frame6_ip(f, mac_of(iface), lan ? client6 : server6,
	                               lan ? own_lan6 : own_wan6, proto, 64, n)
	                   : frame_ip4(f, mac_of(iface), lan ? CLIENT : SERVER,
	                               lan ? OWN_LAN : OWN_WAN, proto, n);
	if (is6)
		frame6_repair(f + ETH, len - ETH);
	else
		frame_repair(f, len);
	return len;
}

static void send_segment(struct end *e, uint8_t flags, const uint8_t *data, uint32_t n)
{
	uint32_t *len;
	uint8_t *f = take_frame(e->iface, &len), *l4 = l4_of(f, e->is6);
	dns_put16(l4, e->sport);
	dns_put16(l4 + 2, e->dport);
	dns_put32(l4 + 4, e->seq);
	dns_put32(l4 + 8, flags & TCP_ACK ? e->ack : 0);
	l4[12] = 5 << 4;
	l4[13] = flags;
	dns_put16(l4 + 14, 65535);
	if (n)
		memcpy(l4 + 20, data, n);
	*len = address_frame(f, e->iface, e->is6, PROTO_TCP, 20 + n);
	e->seq += n + ((flags & TCP_SYN) != 0) + ((flags & TCP_FIN) != 0);
}

static void send_data(struct end *e, const uint8_t *data, uint32_t n)
{
	for (uint32_t here; n && !e->shut; data += here, n -= here) {
		here = min_u32(n, 1400);
		send_segment(e, TCP_ACK | TCP_PSH, data, here);
	}
}

/* Over UDP the server's answers are always truncated. */
static void answer_datagram(const uint8_t *udp, uint32_t n, bool is6)
{
	uint32_t *len;
	uint8_t *f = take_frame(IF_WAN, &len), *to = l4_of(f, is6);
	struct dns_layout l;
	if (!dns_parse_question((struct dns_view){udp + 8, n - 8}, &l))
		fail("a malformed question", udp, n);
	memcpy(to + 8, udp + 8, l.question_end);
	to[8 + 2] |= 0x82;
	memset(to + 8 + 6, 0, 6);
	dns_put16(to, 53);
	dns_put16(to + 2, dns_get16(udp));
	dns_put16(to + 4, l.question_end + 8);
	*len = address_frame(f, IF_WAN, is6, PROTO_UDP, l.question_end + 8);
}

static void deliver(void)
{
	for (uint32_t i = 0; i < n_queue; i++) /* the queue grows in the loop */
		(void)rig_input(&rig, queue[i].iface, queue[i].bytes, queue[i].len);
	n_queue = 0;
}

/* --- frames that leave --------------------------------------------------------------- */

static void flip(struct end *e, const uint8_t *id, bool to, const char *wrong, uint32_t len)
{
	uint32_t n = dns_get16(id) & 0x3ff;
	if (to == (e->asked[n / 8] >> n % 8 & 1))
		fail(wrong, id, len);
	e->asked[n / 8] ^= (uint8_t)(1u << n % 8);
}

static void check_message(struct end *e, const uint8_t *at, uint32_t len)
{
	struct dns_view m = {at, len};
	struct dns_layout l;
	if (e->garbled)
		return;
	if (!dns_parse(m, &l))
		fail("a malformed message", at, len);
	if (e < end + CLIENTS) {
		if (!(at[2] & 0x80))
			fail("a client gets a query", at, len);
		flip(e, at, false, "an answer that nobody waits for", len);
		if (l.count[DNS_QD] && at[DNS_HEADER + 1] != at[1])
			fail("an answer to another question", at, len);
		return;
	}
	if (at[2] & 0x80 || l.count[DNS_QD] != 1 || len > sizeof question)
		fail("the server gets an answer", at, len);
	memcpy(question, at, len);
	question_len = len;
	question_end = l.question_end;
}

static void read_messages(struct end *e)
{
	while (e->n >= 2 && e->n >= 2 + (uint32_t)dns_get16(bytes[e - end])) {
		uint32_t len = dns_get16(bytes[e - end]);
		check_message(e, bytes[e - end] + 2, len);
		e->n -= 2 + len;
		memmove(bytes[e - end], bytes[e - end] + 2 + len, e->n);
	}
}

/* The server accepts a connection, which replaces the oldest one. */
static void accept(const uint8_t *l4, bool is6)
{
	struct end *e = &end[CLIENTS + next_server++ % (ENDS - CLIENTS)];
	memset(e, 0, sizeof *e);
	e->iface = IF_WAN;
	e->is6 = is6;
	e->sport = 53;
	e->dport = dns_get16(l4);
	e->seq = 1000;
	e->ack = dns_get32(l4 + 4) + 1;
	e->open = !refuses;
	send_segment(e, refuses ? TCP_RST | TCP_ACK : TCP_SYN | TCP_ACK, NULL, 0);
}

/* Handles a segment with `all` bytes of header and data. */
static void take_segment(struct end *e, const uint8_t *l4, uint32_t all)
{
	uint32_t hlen = (uint32_t)(l4[12] >> 4) * 4, n = all - hlen;
	uint32_t seq = dns_get32(l4 + 4);
	if (l4[13] & TCP_RST) {
		e->open = false;
		return;
	}
	if (l4[13] & TCP_SYN)
		e->ack = seq++ + 1;
	else if (n == 0 && !(l4[13] & TCP_FIN))
		return;
	if (e->quiet)
		return;
	if (seq == e->ack) {
		if (n > BYTES - e->n)
			fail("too much", l4, hlen);
		memcpy(bytes[e - end] + e->n, l4 + hlen, n);
		e->n += n;
		e->ack += n + ((l4[13] & TCP_FIN) != 0);
		read_messages(e);
	}
	bool last = l4[13] & TCP_FIN && seq + n + 1 == e->ack;
	send_segment(e, last && !e->shut ? TCP_FIN | TCP_ACK : TCP_ACK, NULL, 0);
	e->shut |= last;
}

/* A host that solicits its own address has none yet, or announces it. */
static bool asks_neighbour(const uint8_t *f, uint32_t len)
{
	if (f[12] == 8 && f[13] == 6)
		return memcmp(f + 28, f + 38, 4) != 0;
	return f[12] == 0x86 && len >= 54 + 24 && f[20] == PROTO_ICMP6 && f[54] == ICMP6_NS &&
	       f[22];
}

static void answer_neighbour(uint32_t iface, const uint8_t *f, uint32_t len)
{
	uint32_t *n;
	uint8_t *to = take_frame(iface, &n);
	memcpy(to, f, len);
	if (f[12] == 0x86) {
		frame6_answer(to, len);
		frame6_repair(to + ETH, len - ETH);
	} else {
		frame_answer(to, len);
	}
	memcpy(to, mac_of(iface), 6);
	*n = len;
}

static void seen(struct rig *r, uint32_t iface, const uint8_t *f, uint32_t len)
{
	const char *bad = check(iface, f, len);
	bool is6 = f[12] == 0x86;
	(void)r;
	if (bad)
		fail(bad, f, len);
	if (asks_neighbour(f, len))
		answer_neighbour(iface, f, len);
	if (!is6 && (f[12] != 8 || f[13] != 0))
		return;
	const uint8_t *l4 = f + (is6 ? 54 : 34);
	uint8_t proto = is6 ? f[20] : f[23];
	uint32_t n = is6 ? dns_get16(f + 18) : dns_get16(f + 16) - 20u;
	if (proto == PROTO_UDP && iface == IF_WAN)
		answer_datagram(l4, n, is6);
	if (proto != PROTO_TCP)
		return;
	uint16_t from = dns_get16(l4), to = dns_get16(l4 + 2);
	for (struct end *e = end; e < end + ENDS; e++)
		if (e->open && e->iface == iface && e->is6 == is6 && e->sport == to &&
		    e->dport == from) {
			take_segment(e, l4, n);
			return;
		}
	if (iface == IF_WAN && to == 53 && (l4[13] & (TCP_SYN | TCP_ACK)) == TCP_SYN)
		accept(l4, is6);
}

/* --- operations ---------------------------------------------------------------------- */

static void open_one(struct input *in)
{
	struct end *e = &end[input_u8(in) % CLIENTS];
	if (e->open)
		send_segment(e, TCP_RST, NULL, 0);
	memset(e, 0, sizeof *e);
	e->open = true;
	e->iface = IF_LAN;
	e->is6 = clients6;
	e->sport = sport = (uint16_t)(sport < 60000 ? sport + 1 : 2000);
	e->dport = 53;
	e->seq = 0xffffff00u;
	send_segment(e, TCP_SYN, NULL, 0);
}

/* Queries; the name has the second byte of the ID, so that answers can be distinguished. */
static void ask(struct input *in)
{
	uint8_t m[40 * 64], how = input_u8(in), what = input_u8(in);
	struct end *e = &end[how % CLIENTS];
	uint32_t len = 0;
	static const uint8_t types[] = {28, 1, 16, 12};
	for (uint32_t i = 0; i <= (n_asked < ASKED_MAX ? how >> 2 & 31u : 0); i++, n_asked++) {
		bool sig = how & 0x80 && !(what & 1); /* signed queries are passed on unchanged */
		uint8_t *q = m + len + 2, id[2] = {sig ? SIGNED : what & 1, (uint8_t)(what + i)};
		if (e->asked[(id[0] & 3) * 32 + id[1] / 8] >> id[1] % 8 & 1)
			continue;
		memset(q, 0, 64);
		memcpy(q, id, 2);
		q[2] = 1;
		q[5] = 1;
		q[12] = 1;
		q[13] = id[1];
		q[16] = types[what >> 6];
		q[18] = 1;
		uint32_t n = 19;
		if (how & 0x80) { /* OPT, or a signature */
			q[11] = 1;
			q[n + 2] = sig ? 250 : 41;
			n += 11;
		}
		dns_put16(m + len, n);
		len += n + 2;
		if (e->open)
			flip(e, q, true, "cannot be", 2);
	}
	uint32_t cut = input_u8(in) % (len + 1);
	if (!e->open || len == 0)
		return;
	send_data(e, m, cut);
	deliver();
	if (e->open)
		send_data(e, m + cut, len - cut);
}

static void bytes_of(struct input *in, struct end *e)
{
	uint8_t m[64];
	uint32_t len = input_u8(in) % sizeof m;
	for (uint32_t i = 0; i < len; i++)
		m[i] = input_u8(in);
	if (!e->open)
		return;
	send_data(e, m, len);
	e->garbled = true;
}

/* A query over UDP, from a client or with a forged source, with an error or without. */
static void query_datagram(struct input *in)
{
	static const uint8_t rest[] = {1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 'u', 0, 0, 28, 0, 1};
	uint8_t how = input_u8(in), what = input_u8(in);
	uint32_t *len;
	uint8_t *f = take_frame(IF_LAN, &len), *udp = l4_of(f, clients6);
	uint32_t n = 8 + 2 + sizeof rest;
	dns_put16(udp, how & 1 ? 0 : 3000);
	dns_put16(udp + 2, how & 2 ? 54 : 53);
	memcpy(udp + 10, rest, sizeof rest);
	udp[8] = what;
	if (how & 4)
		n = what % 8;
	*len = address_frame(f, IF_LAN, clients6, PROTO_UDP, n);
	if (how & 8) /* from a host of the LAN; 0: without an address */
		memset(f + ETH + 8, 0, 16);
	if (how & 16) {
		f[ETH + 8] = 0xfe;
		f[ETH + 9] = 0x80;
	}
	if (clients6 && how & 24)
		frame6_repair(f + ETH, *len - ETH);
	if (how & 32)
		dns_put16(udp + 6, 0);
	if (how & 64)
		udp[what & 7] ^= 1;
}

/* An answer of upstream to the latest query: one record, repeated as often as it fits. */
static void answer(struct input *in)
{
	static uint8_t m[2 + 65536];
	uint8_t how = input_u8(in), bend = input_u8(in);
	uint32_t unit = !(how & 1) || n_answered > ANSWER_MAX ? 1
	                : how & 32                            ? 17
	                                                      : 257,
	         size = input_u8(in) * unit, at = question_end, n = 0;
	struct end *e = end + CLIENTS;
	for (struct end *i = e; i < end + ENDS; i++)
		if (i->open)
			e = i;
	if (!e->open || question_len == 0)
		return;
	uint8_t *q = m + 2;
	memcpy(q, question, question_end);
	q[2] = 0x81;
	q[3] = 0x80 | (how & 2 ? bend & 15 : 0);
	bool text = q[question_end - 3] == 16;
	uint32_t data = text ? 256 : q[question_end - 3] == 28 ? 16 : 4;
	for (; at + 12 + data <= size; at += 12 + data, n++) {
		memset(q + at, (uint8_t)n, 12 + data);
		dns_put16(q + at, 0xc000 | 12);
		dns_put16(q + at + 2, dns_get16(q + question_end - 4));
		dns_put16(q + at + 4, 1);
		dns_put32(q + at + 6, 5);
		dns_put16(q + at + 10, data);
		if (text)
			q[at + 12] = 255;
	}
	memset(q + 6, 0, 6);
	dns_put16(q + 6, n);
	if (how & 4)
		q[input_u16(in) % at] ^= bend;
	if (how & 8)
		at = min_u32(at, 12u + bend);
	dns_put16(m, how & 16 ? input_u16(in) : at);
	if (how & 16)
		e->quiet = true; /* the framing of the stream is lost */
	send_data(e, m, at + 2);
	n_answered += at + 2;
}

static void step(struct input *in)
{
	uint8_t what = input_u8(in);
	struct end *e = &end[what / 16 % ENDS];
	switch (what % 16) {
	case 0:
	case 1:
		open_one(in);
		break;
	case 2:
	case 3:
	case 4:
	case 5:
		ask(in);
		break;
	case 6:
	case 7:
	case 8:
	case 9:
		answer(in);
		break;
	case 10:
		bytes_of(in, e);
		break;
	case 11:
		e->quiet = !e->quiet;
		break;
	case 12:
		if (e->open && !e->shut)
			send_segment(e, what & 16 ? TCP_FIN | TCP_ACK : TCP_RST | TCP_ACK, NULL, 0);
		e->shut = true;
		break;
	case 13:
		if (what & 128)
			query_datagram(in);
		else if (what & 64)
			rig_link(&rig, what >> 4 & 1, what & 32);
		else
			refuses = !refuses;
		break;
	case 14: /* up to 650 ms … */
		rig_advance(&rig, (uint64_t)input_u16(in) * 10);
		break;
	default: /* … or some seconds */
		rig_leap(&rig, (uint64_t)input_u8(in) * 50000, 4);
		break;
	}
	deliver();
}

/* --- start, end and operations ------------------------------------------------------- */

static void start(uint8_t choice)
{
	static const char by4[] = "nameserver 198.51.100.53\n",
	                  by6[] = "nameserver 2001:db8:9::53\n";
	static const char known[] = "neighbour 203.0.113.1 52:52:52:52:52:52\n"
	                            "neighbour 192.168.1.10 52:52:52:52:52:52\n"
	                            "neighbour 2001:db8:2::1 52:52:52:52:52:52\n"
	                            "neighbour 2001:db8:1::10 52:52:52:52:52:52\n";
	configure(config, sizeof config - 1);
	if (!(choice & 8))
		configure(known, sizeof known - 1);
	if (choice & 4)
		configure(by6, sizeof by6 - 1);
	else
		configure(by4, sizeof by4 - 1);
	start_app("dns64", choice & 1 ? 1024 : 128);
	rig_advance(&rig, 4000000); /* the IPv6 addresses are in use */
}

/* A connection whose FIN was beyond our window stays for a minute longer. */
static bool connection_left(void)
{
	for (uint32_t i = 0; i < TCP_CONNECTIONS; i++) {
		uint8_t state = rig.gw.tcp->conn[i].state;
		if (state != TCP_FREE && state != TCP_TIME_WAIT && state != TCP_FIN_WAIT_2)
			return true;
	}
	return false;
}

static bool something_waits(void)
{
	const struct dns64 *d = dns64_of(&rig.gw);
	return d->fetches.n || d->pendings.n || d->pendings.n_held || d->part.wheel.n_set;
}

static void finish(void)
{
	const struct dns64 *d = dns64_of(&rig.gw);
	for (struct end *e = end; e < end + ENDS; e++)
		e->quiet = true;
	for (uint32_t i = 0; i < INTERFACES; i++)
		rig_link(&rig, i, true);
	/* 26 s; once nothing waits any more, the rest passes in one step. */
	uint32_t steps = 13;
	for (; steps > 1 && (connection_left() || something_waits() || !all_back()); steps--) {
		rig_leap(&rig, 2000000, 1);
		deliver();
	}
	rig_leap(&rig, steps * 2000000ull, 1);
	deliver();
	const char *bad = tcp_check(&rig.gw);
	if (bad)
		fail(bad, NULL, 0);
	if (connection_left())
		fail("a connection is left", NULL, 0);
	if (something_waits())
		fail("a query waits for ever", NULL, 0);
	for (uint32_t i = 0; i < DNS64_PASSTHROUGHS; i++)
		if (d->passthroughs.entry[i].len)
			fail("a signed query waits for ever", NULL, 0);
	if (d->conns.to[0].n)
		fail("a slot stays in use", NULL, 0);
	bad = dns64_cache_check(&d->cache);
	if (bad)
		fail(bad, NULL, 0);
	if (!all_back())
		fail("packets are lost", NULL, 0);
}

static void one_input(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	memset(end, 0, sizeof end);
	n_queue = question_len = n_asked = n_answered = 0;
	next_server = 0;
	sport = 2000;
	refuses = false;
	uint8_t choice = input_u8(&in);
	clients6 = choice & 2;
	begin(choice & 15, 24u << 20, start, seen);
	for (int i = 0; i < MAX_STEPS && in.left; i++)
		step(&in);
	finish();
}
