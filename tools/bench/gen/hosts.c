/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The hosts on both sides: their addresses, the packets that they send, and the check that a
 * received packet is the one that was sent.
 *
 * Flow number F of a phase with S servers: server F mod S, source F div S; source X is client
 * X mod hosts with UDP port 1024 + X, so no two sources share a port and every external port can
 * be kept by a NAT that preserves ports. A phase with `scatter` exchanges these ports for others
 * one to one, and gives every flow a port of its server. A request carries a mark, its flow, its
 * number within the flow and the time it left; an answer is the same packet as a reply, with
 * another mark.
 *
 * A connection of TCP begins with a SYN and is answered with a SYN of the server. All later
 * segments repeat the first bytes, as after a loss, so that each is within the windows that a
 * gateway knows, however few are answered.
 *
 * Of a request only its number is stored: a received packet must agree with the addresses that it
 * contains. The external port is learnt from the first packet that passed and must not change
 * afterwards.
 */
#include <stdio.h>
#include <string.h>

#include "hosts.h"

struct plan plan;
struct flow flows[FLOWS_MAX];

static const char *complaint = "";

static unsigned l4_head(const uint8_t *ip)
{
	return ip[9] == PROTO_TCP ? TCP : UDP;
}

/* The sum over pseudo-header, UDP or TCP header and data; only the first bytes of the data are not
 * 0. */
static uint32_t l4_sum(const uint8_t *ip, unsigned len)
{
	unsigned used = l4_head(ip) + (unsigned)sizeof(struct payload);
	uint32_t sum = ip[9] + len;

	sum = add_words(sum, ip + 12, 8);
	return add_words(sum, ip + IP, len < used ? len : used);
}

uint32_t hosts_client(unsigned index)
{
	return plan.first[LAN] + index;
}

void hosts_complain(const char *why)
{
	complaint = why;
}

const char *hosts_complaint(void)
{
	return complaint;
}

void hosts_forget(void)
{
	memset(flows, 0, sizeof(flows));
	complaint = "";
}

void hosts_in_order(const struct traffic *t)
{
	for (unsigned i = t->first; i < t->first + t->flows; i++)
		flows[i].seq_in = flows[i].seq_out;
}

/* Do the servers see all clients at one address? */
static bool is_nat(void)
{
	return plan.mode == MODE_NAT || plan.mode == MODE_NAT64;
}

/* Do the hosts of a side use IPv6? */
static bool is_six(int side)
{
	return plan.mode == MODE_6TO4 || (is_translated() && side == LAN);
}

/* Each step can be undone, so no two numbers below 2^16 give the same. */
static unsigned mixed(unsigned n)
{
	n = (n * 0x6255 + 0x3619) & 0xffff;
	n ^= n >> 7;
	n = (n * 0x9e35) & 0xffff;
	return n ^ (n >> 9);
}

/* A client's port from 1024 to 65535, another one for each. It mixes until the result is in the
 * range, which is still one to one. */
static unsigned scattered(unsigned port)
{
	do
		port = mixed(port);
	while (port < FIRST_PORT);
	return port;
}

static struct ends ends_of(const struct traffic *t, unsigned number)
{
	unsigned source = number / t->servers;
	struct ends e = {
	        .client = hosts_client(source % plan.hosts),
	        .server = plan.first[WAN] + number % t->servers,
	        .port = FIRST_PORT + source,
	        .server_port = SERVER_PORT,
	};

	if (t->scatter) {
		e.port = scattered(e.port);
		e.server_port = 1 + mixed(number ^ (number >> 16)) % SERVER_PORTS;
	}
	return e;
}

static unsigned proto_of(const struct traffic *t, unsigned number)
{
	return number % 10 < t->tcp ? PROTO_TCP : PROTO_UDP;
}

/* Computes the checksum behind an IPv4 header. */
static void put_l4_sum(uint8_t *ip)
{
	unsigned len = get16(ip + 2) - IP;
	uint8_t *sum = ip + IP + (ip[9] == PROTO_TCP ? 16 : 6);

	put16(sum, 0);
	put16(sum, ~fold(l4_sum(ip, len)) & 0xffff);
	if (ip[9] == PROTO_UDP && get16(sum) == 0)
		put16(sum, 0xffff);
}

/* The TCP header behind the ports, for a segment that opens a connection or a later one. */
static void put_tcp(uint8_t *tcp, bool server, bool opens)
{
	uint32_t seq = server ? SERVER_SEQ : CLIENT_SEQ, ack = server ? CLIENT_SEQ : SERVER_SEQ;
	bool first = opens && !server;

	put32(tcp + 4, seq + !opens);
	put32(tcp + 8, first ? 0 : ack + 1);
	tcp[12] = TCP / 4 << 4;
	tcp[13] = first ? SYN : opens ? SYN | ACK : PSH | ACK;
	put16(tcp + 14, 0xffff);
	put32(tcp + 16, 0);
}

struct head {
	struct mac to, from;
	uint32_t source, target;
	unsigned source_port, target_port;
	unsigned proto;
	bool server, opens; /* TCP */
};

static void build(struct frame *f, const struct head *h, const struct payload *p, unsigned size)
{
	uint8_t *d = f->data, *ip = d + ETH, *l4 = ip + IP;

	f->len = size;
	memcpy(d, h->to.b, 6);
	memcpy(d + 6, h->from.b, 6);
	put16(d + 12, 0x0800);
	put16(ip, 0x4500);
	put16(ip + 2, size - ETH);
	put32(ip + 4, 0x00004000); /* no ID, do not fragment */
	put32(ip + 8, TTL << 24 | h->proto << 16);
	put32(ip + 12, h->source);
	put32(ip + 16, h->target);
	put16(ip + 10, ~fold(add_words(0, ip, IP)) & 0xffff);
	put16(l4, h->source_port);
	put16(l4 + 2, h->target_port);
	if (h->proto == PROTO_TCP)
		put_tcp(l4, h->server, h->opens);
	else
		put16(l4 + 4, size - ETH - IP);
	memcpy(l4 + l4_head(ip), p, sizeof(*p));
	/* A longer header in the same place may have left something behind the payload. */
	memset(l4 + l4_head(ip) + sizeof(*p), 0, TCP - UDP);
	put_l4_sum(ip);
}

void hosts_build(struct frame *f, const struct traffic *t, unsigned number, uint64_t now)
{
	struct payload p = {MARK_REQUEST, number, ++flows[number].seq_out, now};
	struct ends e = ends_of(t, number);

	if (plan.mode == MODE_DNS) {
		dns_build(f, t, number, now);
		return;
	}
	if (is_six(LAN)) {
		six_build(f, LAN, &e, &p, t->size);
		return;
	}
	struct head h = {
	        .to = plan.mode == MODE_WIRE ? mac_of(WAN, e.server) : plan.gateway_mac[LAN],
	        .from = mac_of(LAN, e.client),
	        .source = e.client,
	        .target = e.server,
	        .source_port = e.port,
	        .target_port = e.server_port,
	        .proto = proto_of(t, number),
	        .opens = p.seq == 1,
	};

	build(f, &h, &p, t->size);
}

void hosts_build_back(struct frame *f, const struct traffic *t, unsigned number, uint64_t now)
{
	struct payload p = {MARK_ANSWER, number, 0, now};
	struct ends e = ends_of(t, number);
	bool nat = is_nat();

	if (is_six(WAN)) {
		six_build(f, WAN, &e, &p, t->size);
		return;
	}
	struct head h = {
	        .to = plan.mode == MODE_WIRE ? mac_of(LAN, e.client) : plan.gateway_mac[WAN],
	        .from = mac_of(WAN, e.server),
	        .source = e.server,
	        .target = nat ? plan.external : e.client,
	        .source_port = e.server_port,
	        .target_port = nat ? flows[number].external_port : e.port,
	        .proto = proto_of(t, number),
	        .server = true,
	};

	build(f, &h, &p, t->size);
}

/* The server's answer: source and destination are exchanged. */
void hosts_answer(const struct frame *in, struct frame *out)
{
	const uint8_t *d = in->data;
	uint8_t *o = out->data, *ip = o + ETH;
	uint16_t mark = MARK_ANSWER;

	if (is_six(WAN)) {
		six_answer(in, out, mark);
		return;
	}
	out->len = in->len;
	memcpy(o, d, in->len);
	memcpy(o, d + 6, 6);
	memcpy(o + 6, d, 6);
	memcpy(ip + 12, d + ETH + 16, 4);
	memcpy(ip + 16, d + ETH + 12, 4);
	ip[8] = TTL;
	put16(ip + 10, 0);
	put16(ip + 10, ~fold(add_words(0, ip, IP)) & 0xffff);
	memcpy(ip + IP, d + ETH + IP + 2, 2);
	memcpy(ip + IP + 2, d + ETH + IP, 2);
	if (ip[9] == PROTO_TCP)
		put_tcp(ip + IP, true, ip[IP + 13] & SYN);
	memcpy(ip + IP + l4_head(ip), &mark, sizeof(mark));
	put_l4_sum(ip);
}

/* ---- ARP ---- */

static void arp_build(struct frame *f, struct mac eth, int side, unsigned op, uint32_t sender,
                      struct mac target_mac, uint32_t target)
{
	struct mac own = mac_of(side, sender);
	uint8_t *d = f->data, *arp = d + ETH;

	memset(d, 0, FRAME_MIN);
	f->len = FRAME_MIN;
	memcpy(d, eth.b, 6);
	memcpy(d + 6, own.b, 6);
	put16(d + 12, 0x0806);
	put32(arp, 0x00010800);
	put16(arp + 4, 0x0604);
	put16(arp + 6, op);
	memcpy(arp + 8, own.b, 6);
	put32(arp + 14, sender);
	memcpy(arp + 18, target_mac.b, 6);
	put32(arp + 24, target);
}

/* One host sends a request for the gateway, which also learns the host's address from it. */
void hosts_request(struct frame *f, int side, uint32_t address)
{
	static const struct mac all = {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}}, none;

	if (is_translated() && side == LAN)
		six_request(f, address);
	else
		arp_build(f, all, side, 1, address, none, plan.gateway[side]);
}

static bool arp_is(const struct frame *f, unsigned op)
{
	return f->len >= ETH + ARP_LEN && get16(f->data + 12) == 0x0806 &&
	       get16(f->data + ETH + 6) == op;
}

bool hosts_learn(int side, const struct frame *f)
{
	const uint8_t *found = NULL;

	if (is_translated() && side == LAN)
		found = six_learn(f);
	else if (arp_is(f, 2) && get32(f->data + ETH + 14) == plan.gateway[side])
		found = f->data + ETH + 8;
	if (found == NULL)
		return false;
	memcpy(plan.gateway_mac[side].b, found, 6);
	plan.known[side] = true;
	return true;
}

/* Every address of the side's /24 but the gateway's own is a host that answers. */
static bool arp_reply(int side, const struct frame *f, struct frame *reply)
{
	const uint8_t *arp = f->data + ETH;
	uint32_t sender = get32(arp + 14), target = get32(arp + 24);
	struct mac asker;

	if (!arp_is(f, 1) || sender == 0 || target == sender || target == plan.gateway[side] ||
	    target >> 8 != plan.first[side] >> 8)
		return false;
	memcpy(asker.b, arp + 8, 6);
	arp_build(reply, asker, side, 2, target, asker, sender);
	return true;
}

/* ---- received frames ---- */

static struct arrival bad(const char *why)
{
	complaint = why;
	return (struct arrival){.verdict = V_BAD};
}

static const uint8_t *payload_of(const struct frame *f)
{
	const uint8_t *ip = f->data + ETH;

	if (f->len < FRAME_MIN || get16(f->data + 12) != 0x0800 || ip[0] != 0x45 ||
	    (ip[9] != PROTO_UDP && ip[9] != PROTO_TCP) ||
	    f->len < ETH + IP + l4_head(ip) + sizeof(struct payload))
		return NULL;
	return ip + IP + l4_head(ip);
}

static struct arrival check_request(const struct frame *f, const struct ends *e, struct flow *flow)
{
	const uint8_t *ip = f->data + ETH;
	unsigned port = get16(ip + IP);
	uint32_t source = is_nat() ? plan.external : e->client;

	if (get32(ip + 12) != source)
		return bad("request: source address");
	if (get32(ip + 16) != e->server || get16(ip + IP + 2) != e->server_port)
		return bad("request: destination");
	if (!is_nat() && port != e->port)
		return bad("request: source port");
	if (flow->external_port == 0)
		flow->external_port = (uint16_t)port;
	if (flow->external_port != port)
		return bad("request: external port changed");
	return (struct arrival){.verdict = V_FORWARDED};
}

static struct arrival check_answer(const struct frame *f, const struct ends *e)
{
	const uint8_t *ip = f->data + ETH;

	if (get32(ip + 12) != e->server || get16(ip + IP) != e->server_port)
		return bad("answer: source");
	if (get32(ip + 16) != e->client || get16(ip + IP + 2) != e->port)
		return bad("answer: destination");
	return (struct arrival){.verdict = V_ANSWER};
}

/* What is wrong with a plain packet, whatever its flow; NULL if nothing. */
static const char *wrong(int side, const struct frame *f, const struct traffic *t)
{
	const uint8_t *ip = f->data + ETH;
	struct mac own = mac_of(side, get32(ip + 16));

	if (f->len != t->size || get16(ip + 2) != t->size - ETH)
		return "length";
	if (fold(add_words(0, ip, IP)) != 0xffff)
		return "IPv4 checksum";
	if (fold(l4_sum(ip, t->size - ETH - IP)) != 0xffff)
		return "checksum behind the IPv4 header";
	if (ip[8] != TTL - plan.hops)
		return "TTL";
	if ((get16(ip + 6) & 0x3fff) != 0)
		return "a fragment";
	return memcmp(f->data, own.b, 6) != 0 ? "destination MAC" : NULL;
}

static struct arrival check_plain(int side, const struct frame *f, const struct traffic *t,
                                  const struct ends *e, struct flow *flow)
{
	const char *why = wrong(side, f, t);

	if (why != NULL)
		return bad(why);
	if (f->data[ETH + 9] != proto_of(t, (unsigned)(flow - flows)))
		return bad("protocol");
	return side == WAN ? check_request(f, e, flow) : check_answer(f, e);
}

static struct arrival check_six(int side, const struct frame *f, const struct traffic *t,
                                const struct ends *e)
{
	const char *why = six_wrong(side, f, e, t->size);

	if (why != NULL)
		return bad(why);
	return (struct arrival){.verdict = side == WAN ? V_FORWARDED : V_ANSWER};
}

static struct arrival check(int side, const struct frame *f, const struct traffic *t,
                            const uint8_t *data)
{
	struct arrival a;
	struct payload p;
	struct ends e;

	memcpy(&p, data, sizeof(p));
	if (p.flow < t->first || p.flow - t->first >= t->flows)
		return bad("flow number");
	if (p.mark != (side == WAN ? MARK_REQUEST : MARK_ANSWER))
		return bad("mark");
	e = ends_of(t, p.flow);
	if (is_six(side))
		a = check_six(side, f, t, &e);
	else
		a = check_plain(side, f, t, &e, &flows[p.flow]);
	a.flow = p.flow;
	a.sent_ns = p.sent_ns;
	if (a.verdict == V_FORWARDED) { /* order is checked at the first exit */
		a.late = p.seq <= flows[p.flow].seq_in;
		a.gap = p.seq > flows[p.flow].seq_in + 1;
		if (!a.late)
			flows[p.flow].seq_in = p.seq;
	}
	return a;
}

struct arrival hosts_accept(int side, const struct frame *f, const struct traffic *t,
                            struct frame *reply)
{
	const uint8_t *data;

	if (arp_reply(side, f, reply) || six_neighbour(side, f, reply))
		return (struct arrival){.verdict = V_ARP};
	/* Upstream answers between phases as well; otherwise the gateway would count it as down. */
	if (plan.mode == MODE_DNS)
		return t != NULL || side == WAN ? dns_accept(side, f, reply)
		                                : (struct arrival){.verdict = V_OTHER};
	data = is_six(side) ? six_payload(side, f) : payload_of(f);
	if (t == NULL || data == NULL)
		return (struct arrival){.verdict = V_OTHER};
	return check(side, f, t, data);
}
