/* A gateway that serves a port, and hosts of the link and beyond it that open connections to it,
 * with frames that a test puts one by one. */
#ifndef TESTS_UNIT_TCP_GUESTS_H
#define TESTS_UNIT_TCP_GUESTS_H

#include "net/lib/csum.h"
#include "net/ip4/ip4.h"
#include "net/ip6/ip6.h"
#include "net/neigh/neigh.h"
#include "tests/unit/net/tcp/tcp_kit.h"

#define PORT0 2000u

/* A client: one address of a host, which is one MAC address. */
struct guest {
	bool is6;
	uint8_t station; /* the last byte of the MAC address */
	ip6 a;           /* or, in the last four bytes, IPv4 */
};

/* What the gateway said last. */
static struct {
	uint32_t n, resets, seq, ack;
	uint8_t flags;
} heard;

static struct rig rig;
static struct tcp_user user;
static uint32_t n_ended;
static uint32_t send_on_open; /* bytes, to each who opens */

static struct tcp *table(void)
{
	return rig.gw.tcp;
}

static void see(struct rig *r, uint32_t iface, const uint8_t *frame, uint32_t len)
{
	(void)r;
	bool is6 = frame[12] == 0x86;
	uint32_t l4 = is6 ? 54 : 34, proto = is6 ? 20 : 23;
	if (iface != IF_LAN || len < l4 + 20 || frame[13] == 6 || frame[proto] != PROTO_TCP)
		return;
	const struct tcp_hdr *t = (const struct tcp_hdr *)(frame + l4);
	heard.n++;
	heard.resets += (t->flags & TCP_RST) != 0;
	heard.flags = t->flags;
	heard.seq = be32_get(t->seq);
	heard.ack = be32_get(t->ack);
}

static void event(struct gw *gw, uint32_t conn, enum tcp_event what)
{
	static const uint8_t data[65536];
	n_ended += what == TCP_ENDED;
	if (what != TCP_OPENED || send_on_open == 0)
		return;
	if (!tcp_send(gw, conn, data, send_on_open)) /* as much as there is room for */
		for (uint32_t n = 2048; tcp_send(gw, conn, data, n);)
			continue;
}

static void start(uint32_t packets)
{
	static const char text[] = "lan.address 10.0.0.2/16\nlan.address 2001:db8::2/64\n"
	                           "gateway 10.0.255.254\ngateway 2001:db8::fffe\n"
	                           "neighbour 10.0.255.254 02:00:00:00:00:ee\n"
	                           "neighbour 2001:db8::fffe 02:00:00:00:00:ee\n";
	rig.sink = see;
	rig.forwarder = &tcp_pair_forwarder;
	rig_reset(&rig, 1, 64u << 20, 1000000);
	CHECK(rig_config(&rig, text, sizeof text - 1));
	const char *wrong = rig_start(&rig, "tcp", packets);
	CHECK_STR(wrong ? wrong : "fine", "fine");
	for (uint32_t i = 0; i < 30; i++) /* IPv6 addresses become valid */
		rig_advance(&rig, 100000);
	user = (struct tcp_user){.event = event, .window = 16384, .send_most = 65536};
	CHECK(tcp_listen(&rig.gw, PAIR_PORT, &user));
	memset(&heard, 0, sizeof heard);
	n_ended = send_on_open = 0;
}

/* Connections end with the next tick. */
static void turn(void)
{
	rig_advance(&rig, 2000);
	fine(tcp_check(&rig.gw));
}

/* --- guests ----------------------------------------------------------------------------------- */

/* Of station s on the link, its n-th IPv4 address, IPv6 address and link-local address. */
static struct guest near4(uint32_t s, uint32_t n)
{
	return (struct guest){false, (uint8_t)s, {{[12] = 10, 0, (uint8_t)(1 + n), (uint8_t)s}}};
}

static struct guest near6(uint32_t s, uint32_t n)
{
	struct guest g = {true, (uint8_t)s, {{0x20, 1, 0xd, 0xb8}}};
	g.a.b[13] = (uint8_t)s;
	g.a.b[14] = (uint8_t)(1 + (n >> 8));
	g.a.b[15] = (uint8_t)n;
	return g;
}

static struct guest local6(uint32_t s, uint32_t n)
{
	struct guest g = near6(s, n);
	memset(g.a.b, 0, 8);
	g.a.b[0] = 0xfe;
	g.a.b[1] = 0x80;
	return g;
}

/* The n-th address of network `net` behind the router. */
static struct guest far6(uint32_t net, uint32_t n)
{
	struct guest g = near6(0xee, n);
	g.a.b[5] = 1;
	g.a.b[7] = (uint8_t)net;
	return g;
}

static struct guest far4(uint32_t n)
{
	return (struct guest){false, 0xee, {{[12] = 192, 0, 2, (uint8_t)n}}};
}

/* The gateway believes that a station has an address, as after a question of that. */
static void claim(uint8_t station, const struct guest *g)
{
	mac address = {{2, 0, 0, 0, 0, station}};
	ip4 a4 = {{g->a.b[12], g->a.b[13], g->a.b[14], g->a.b[15]}};
	if (!g->is6) {
		neigh_learn4(&rig.gw, IF_LAN, a4, &address, true, NEIGH_REACHABLE);
		return;
	}
	neigh_heard6(&rig.gw, IF_LAN, &g->a, &address);
	if (neigh_find6(&rig.gw.neigh, IF_LAN, &g->a))
		return;
	/* By chance its set is full of others in use, who have not said anything for long. */
	neigh_flush(&rig.gw, IF_LAN);
	neigh_heard6(&rig.gw, IF_LAN, &g->a, &address);
}

static ip6 our_address(const struct guest *g)
{
	if (ip6_is_link_local(&g->a))
		return rig.gw.iface[IF_LAN].addr6[0].addr;
	return (ip6){{0x20, 1, 0xd, 0xb8, [15] = 2}};
}

static void say(const struct guest *g, uint16_t port, uint32_t seq, uint32_t ack, uint8_t flags,
                const void *data, uint32_t len)
{
	uint8_t frame[1600] = {0};
	uint32_t head = g->is6 ? 40 : 20, n = 20 + len;
	memcpy(frame, rig.gw.iface[IF_LAN].address.b, 6);
	memcpy(frame + 6, (mac){{2, 0, 0, 0, 0, g->station}}.b, 6);
	frame[12] = g->is6 ? 0x86 : 8;
	frame[13] = g->is6 ? 0xdd : 0;
	struct tcp_hdr *t = (struct tcp_hdr *)(frame + 14 + head);
	t->from = be16_of(port);
	t->to = be16_of(PAIR_PORT);
	t->seq = be32_of(seq);
	t->ack = be32_of(ack);
	t->offset = 5 << 4;
	t->flags = flags;
	t->window = be16_of(60000);
	if (len)
		memcpy(t + 1, data, len);
	uint16_t pseudo;
	if (g->is6) {
		struct ip6_hdr *h = (struct ip6_hdr *)(frame + 14);
		h->first = be32_of(0x60000000u);
		h->len = be16_of((uint16_t)n);
		h->next = PROTO_TCP;
		h->hops = 64;
		h->from = g->a;
		h->to = our_address(g);
		pseudo = csum_pseudo6(&h->from, &h->to, PROTO_TCP, (uint16_t)n);
	} else {
		struct ip4_hdr *h = (struct ip4_hdr *)(frame + 14);
		h->version_ihl = 0x45;
		h->len = be16_of((uint16_t)(20 + n));
		h->ttl = 64;
		h->proto = PROTO_TCP;
		memcpy(&h->from, g->a.b + 12, 4);
		h->to = ip4_of(0x0a000002);
		h->sum = be16_from_raw((uint16_t)~csum_sum(h, 20));
		pseudo = csum_pseudo4(h->from, h->to, PROTO_TCP, (uint16_t)n);
	}
	t->sum = be16_from_raw((uint16_t)~csum_plus(csum_sum(t, n), pseudo));
	CHECK(rig_input(&rig, IF_LAN, frame, 14 + head + n));
}

static struct tcp_conn *conn_of(const struct guest *g, uint16_t port)
{
	struct udp_ends e = {.local_port = PAIR_PORT, .remote_port = port, .iface = IF_LAN};
	e.local.is6 = e.remote.is6 = g->is6;
	if (g->is6) {
		e.remote.v6 = g->a;
		e.local.v6 = our_address(g);
	} else {
		memcpy(&e.remote.v4, g->a.b + 12, 4);
		e.local.v4 = ip4_of(0x0a000002);
	}
	return tcp_find(&rig.gw, &e);
}

/* Its connection from a port, opened; NULL: refused. */
static struct tcp_conn *open(const struct guest *g, uint16_t port)
{
	if (g->station != 0xee)
		claim(g->station, g);
	heard.flags = 0;
	say(g, port, 1000, 0, TCP_SYN, NULL, 0);
	if (heard.flags != (TCP_SYN | TCP_ACK))
		return NULL;
	say(g, port, 1001, heard.seq + 1, TCP_ACK, NULL, 0);
	struct tcp_conn *c = conn_of(g, port);
	return c && c->state == TCP_ESTABLISHED ? c : NULL;
}

/* The same from so many ports; gives how many got in. */
static uint32_t open_many(const struct guest *g, uint32_t n)
{
	uint32_t in = 0;
	for (uint32_t i = 0; i < n; i++) {
		in += open(g, (uint16_t)(PORT0 + i)) != NULL;
		turn();
	}
	return in;
}

/* How many are open of a guest's first n ports. */
static uint32_t count(const struct guest *g, uint32_t n)
{
	uint32_t found = 0;
	for (uint32_t i = 0; i < n; i++) {
		const struct tcp_conn *c = conn_of(g, (uint16_t)(PORT0 + i));
		found += c && c->state == TCP_ESTABLISHED;
	}
	return found;
}

#endif
