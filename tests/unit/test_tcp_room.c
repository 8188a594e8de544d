/* net/tcp_client.c: many hosts, of which some take all they can get; what they cost the others. */
#include "net/csum.h"
#include "net/ip4.h"
#include "net/ip6.h"
#include "tests/unit/tcp_kit.h"

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

static void see(struct rig *r, uint32_t port, const uint8_t *frame, uint32_t len)
{
	(void)r;
	bool is6 = frame[12] == 0x86;
	uint32_t l4 = is6 ? 54 : 34, proto = is6 ? 20 : 23;
	if (port != PORT_LAN || len < l4 + 20 || frame[13] == 6 || frame[proto] != PROTO_TCP)
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
	rig.app = &tcp_pair_app;
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

/* Connections end with the next turn of MAIN. */
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
	if (g->is6)
		neigh_heard6(&rig.gw, PORT_LAN, &g->a, &address);
	else
		neigh_learn4(&rig.gw, PORT_LAN, a4, &address, true, NEIGH_REACHABLE);
}

static ip6 our_address(const struct guest *g)
{
	if (ip6_is_link_local(&g->a))
		return rig.gw.port[PORT_LAN].addr6[0].addr;
	return (ip6){{0x20, 1, 0xd, 0xb8, [15] = 2}};
}

static void say(const struct guest *g, uint16_t port, uint32_t seq, uint32_t ack, uint8_t flags,
                const void *data, uint32_t len)
{
	uint8_t frame[1600] = {0};
	uint32_t head = g->is6 ? 40 : 20, n = 20 + len;
	memcpy(frame, rig.gw.port[PORT_LAN].address.b, 6);
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
	CHECK(rig_input(&rig, PORT_LAN, frame, 14 + head + n));
}

static struct tcp_conn *conn_of(const struct guest *g, uint16_t port)
{
	struct udp_ends e = {.local_port = PAIR_PORT, .remote_port = port, .link = PORT_LAN};
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

/* --- one client ------------------------------------------------------------------------------- */

/* At its limit a client's newest connection is taken in and its longest-standing one ends, which
 * the other side is told. Nobody else notices: not in the same network, nor with a link-local
 * address, nor with IPv4. */
static void a_client_gives_way_to_itself(void)
{
	static struct guest (*const kind[])(uint32_t, uint32_t) = {near4, near6, local6};
	for (uint32_t k = 0; k < ARRAY_SIZE(kind); k++) {
		start(512);
		struct guest a = kind[k](1, 0), b = kind[k](2, 0);
		CHECK(open(&b, 1000));
		CHECK_EQ(open_many(&a, TCP_A_CLIENT + 10), TCP_A_CLIENT + 10);
		CHECK_EQ(count(&a, TCP_A_CLIENT + 10), TCP_A_CLIENT);
		CHECK(!conn_of(&a, PORT0 + 9) && conn_of(&a, PORT0 + 10));
		CHECK_EQ(heard.resets, 10);
		CHECK_EQ(n_ended, 10);
		CHECK_EQ(table()->count.ended[TCP_CROWDED], 10);
		CHECK(conn_of(&b, 1000));
		for (uint32_t i = 0; i < ARRAY_SIZE(kind); i++) {
			struct guest other = kind[i](3 + i, 0);
			CHECK(open(&other, 1000));
		}
		turn();
		CHECK_EQ(count(&a, TCP_A_CLIENT + 10), TCP_A_CLIENT);
		CHECK_EQ(rig.gw.drops[DROP_TCP_CLIENT], 0);
	}
}

/* A host has as many addresses as it likes, and is one client. */
static void all_addresses_of_a_host(void)
{
	start(512);
	struct guest b = near6(2, 0);
	CHECK(open(&b, 1000));
	for (uint32_t i = 0; i < TCP_A_CLIENT + 30; i++) {
		struct guest g = i % 3 == 0   ? near4(1, i / 3)
		                 : i % 3 == 1 ? near6(1, i)
		                              : local6(1, i);
		CHECK(open(&g, PORT0));
		turn();
	}
	CHECK_EQ(table()->n_clients, TCP_A_CLIENT + 1);
	CHECK_EQ(table()->count.ended[TCP_CROWDED], 30);
	CHECK(conn_of(&b, 1000));
}

/* Beyond the link all have the router's MAC address: an IPv6 prefix of 64 bits is a client, and an
 * IPv4 address, whatever a station of the link says that it has. */
static void beyond_the_link(void)
{
	start(512);
	struct guest b6 = far6(2, 0), router = near6(0xee, 0xfe), b4 = far4(2);
	router.a.b[13] = 0;
	router.a.b[14] = 0xff;
	claim(1, &b6);
	CHECK(open(&b6, 1000));
	CHECK(open(&router, 1000));
	claim(1, &b4);
	CHECK(open(&b4, 1000));
	for (uint32_t i = 0; i < TCP_A_CLIENT + 5; i++) {
		struct guest g = far6(1, i);
		claim(1, &g);
		CHECK(open(&g, PORT0));
		turn();
	}
	CHECK_EQ(table()->n_clients, TCP_A_CLIENT + 3);
	CHECK_EQ(table()->count.ended[TCP_CROWDED], 5);
	struct guest a4 = far4(1);
	claim(1, &a4);
	CHECK_EQ(open_many(&a4, TCP_A_CLIENT + 5), TCP_A_CLIENT + 5);
	CHECK_EQ(table()->count.ended[TCP_CROWDED], 10);
	CHECK(conn_of(&b6, 1000) && conn_of(&router, 1000) && conn_of(&b4, 1000));
}

/* Between two turns of MAIN nothing ends; so a client has some more then, and the next are refused.
 * Others come in. */
static void faster_than_they_end(void)
{
	start(512);
	struct guest a = near6(1, 0), b = near6(2, 0);
	CHECK_EQ(open_many(&a, TCP_A_CLIENT), TCP_A_CLIENT);
	for (uint32_t i = 0; i < TCP_SLACK + 9; i++)
		CHECK_EQ(open(&a, (uint16_t)(10000 + i)) != NULL, i < TCP_SLACK);
	CHECK_EQ(rig.gw.drops[DROP_TCP_CLIENT], 9);
	CHECK(open(&b, 1000));
	turn();
	CHECK_EQ(table()->n_clients, TCP_A_CLIENT + 1);
	CHECK_EQ(count(&a, TCP_A_CLIENT), TCP_A_CLIENT - TCP_SLACK);
	CHECK(open(&a, 9999));
}

/* --- all places ------------------------------------------------------------------------------- */

/* Where all together have too many, who has most gives way, down to what the others have; who has
 * few stays, however long. */
static void who_has_most_gives_way(void)
{
	start(512);
	struct guest small = near4(9, 0);
	CHECK(open(&small, 1000));
	for (uint32_t s = 1; s <= 5; s++) {
		struct guest g = near6(s, 0);
		CHECK_EQ(open_many(&g, TCP_A_CLIENT), TCP_A_CLIENT);
	}
	CHECK_EQ(table()->n_clients, TCP_OPEN);
	for (uint32_t s = 1; s <= 5; s++) {
		struct guest g = near6(s, 0);
		uint32_t n = count(&g, TCP_A_CLIENT), share = (TCP_OPEN - 1) / 5;
		CHECK(n >= share && n <= share + 1);
	}
	CHECK(conn_of(&small, 1000));
	CHECK_EQ(rig.gw.drops[DROP_TCP_FULL] + rig.gw.drops[DROP_TCP_CLIENT], 0);
}

/* The n-th of stations without end. */
static struct guest any_station(uint32_t n)
{
	struct guest g = far6(n & 255, 0);
	g.a.b[6] = (uint8_t)(n >> 8);
	return g;
}

/* Among those that have as many as each other the longest-standing goes. So somebody who makes up
 * clients without end takes all places, but whoever comes has one for as long as it takes to open
 * hundreds of others. */
static void clients_without_end(void)
{
	start(512);
	uint32_t n = 0;
	struct guest first = any_station(n++);
	CHECK(open(&first, 1000));
	for (; n < 3 * TCP_OPEN; n++) {
		struct guest g = any_station(n);
		CHECK(open(&g, 1000));
		turn();
	}
	CHECK_EQ(table()->n_clients, TCP_OPEN);
	CHECK(!conn_of(&first, 1000));
	for (uint32_t i = 0; i < 8; i++) {
		struct guest last = near6(1 + i, 0);
		CHECK(open(&last, 1000));
		for (uint32_t end = n + 300; n < end; n++) {
			struct guest g = any_station(n);
			CHECK(open(&g, 1000));
			turn();
		}
		CHECK(conn_of(&last, 1000));
	}
	CHECK_EQ(rig.gw.drops[DROP_TCP_FULL], 0);
}

/* Forged SYNs take what is left for half-open connections, and nothing of those that are open; who
 * finds no place gets a cookie. */
static void forged_syns_end_nothing(void)
{
	start(512);
	for (uint32_t s = 1; s <= 3; s++) {
		struct guest g = near6(s, 0);
		CHECK_EQ(open_many(&g, TCP_A_CLIENT), TCP_A_CLIENT);
	}
	for (uint32_t i = 0; i < 3000; i++) {
		struct guest g = far6(i & 255, i);
		say(&g, (uint16_t)(PORT0 + i), 1000, 0, TCP_SYN, NULL, 0);
		if (i % 50 == 0)
			turn();
	}
	CHECK_EQ(table()->n_half, TCP_HALF_OPEN);
	CHECK_EQ(table()->count.cookies, 3000 - TCP_HALF_OPEN);
	CHECK_EQ(table()->n_clients, TCP_OPEN);
	CHECK_EQ(n_ended, 0);
	struct guest b = near4(9, 0);
	CHECK(open(&b, 1000));
	CHECK_EQ(table()->count.cookies_good, 1);
}

/* Where ours take all that clients leave, a SYN gets a cookie, and who comes with that is refused
 * until there is a place. */
static void no_place_at_all(void)
{
	start(512);
	for (uint32_t s = 1; s <= 3; s++) {
		struct guest g = near6(s, 0);
		CHECK_EQ(open_many(&g, TCP_A_CLIENT), TCP_A_CLIENT);
	}
	struct udp_ends e = {.remote = {.v4 = ip4_of(0xc0000201)}, .remote_port = 53};
	uint32_t ours = 0, n = 0;
	for (uint32_t one; (one = tcp_connect(&rig.gw, &e, &user)) != TCP_NONE; n++) {
		ours = one;
		if (n % 50 == 0)
			rig_flush(&rig);
	}
	CHECK_EQ(n, TCP_CONNECTIONS - TCP_OPEN);
	struct guest b = near4(9, 0);
	CHECK(!open(&b, 1000));
	CHECK_EQ(table()->count.cookies, 1);
	CHECK_EQ(rig.gw.drops[DROP_TCP_FULL], 1);
	tcp_abort(&rig.gw, ours);
	rig_flush(&rig);
	CHECK_EQ(table()->count.cookies_good, 0);
	CHECK(open(&b, 1000));
	CHECK_EQ(n_ended, 0);
	turn();
	CHECK_EQ(n_ended, 1);
}

/* --- orphans ---------------------------------------------------------------------------------- */

/* Our side closes, the other acknowledges that and never closes itself. */
static void orphan(const struct guest *g, uint16_t port)
{
	struct tcp_conn *c = open(g, port);
	CHECK(c);
	tcp_close(&rig.gw, tcp_number(&rig.gw, c));
	say(g, port, 1001, c->max, TCP_ACK, NULL, 0);
	CHECK_EQ(c->state, TCP_FIN_WAIT_2);
}

/* Four addresses of one host that leave all their connections half closed take no place from
 * anybody, neither from a client nor from us: they are the first to go, before TIME-WAIT. */
static void orphans_go_first(void)
{
	start(512);
	struct guest last = near4(9, 0), w = near4(8, 0);
	struct tcp_conn *c = open(&w, 999);
	tcp_close(&rig.gw, tcp_number(&rig.gw, c));
	say(&w, 999, 1001, c->max, TCP_ACK | TCP_FIN, NULL, 0);
	CHECK_EQ(table()->list[TCP_LIST_WAITING].n, 1);
	for (uint32_t i = 0; i < TCP_CONNECTIONS; i++) {
		struct guest g = near4(1, i / TCP_A_CLIENT);
		orphan(&g, (uint16_t)(PORT0 + i % TCP_A_CLIENT));
	}
	turn();
	CHECK_EQ(table()->n, TCP_CONNECTIONS);
	CHECK_EQ(table()->n_clients, 0);
	CHECK_EQ(table()->list[TCP_LIST_ORPHANS].n, TCP_CONNECTIONS - 1);
	for (uint32_t i = 0; i < 20; i++)
		CHECK(open(&last, (uint16_t)(PORT0 + i)));
	struct udp_ends e = {.remote = {.v4 = ip4_of(0x0a000109)}, .remote_port = 53};
	CHECK(tcp_connect(&rig.gw, &e, &user) != TCP_NONE);
	CHECK_EQ(table()->count.ended[TCP_CROWDED], 22);
	CHECK_EQ(table()->list[TCP_LIST_WAITING].n, 1);
	CHECK_EQ(rig.gw.drops[DROP_TCP_FULL], 0);
	fine(tcp_check(&rig.gw));
	for (uint32_t i = 0; i < 700; i++)
		rig_advance(&rig, 100000);
	fine(tcp_check(&rig.gw));
	CHECK_EQ(table()->list[TCP_LIST_ORPHANS].n, 0);
	CHECK_EQ(table()->count.ended[TCP_CLOSED], TCP_CONNECTIONS - 21);
}

/* One that gets its FIN after all goes on to TIME-WAIT. */
static void an_orphan_that_closes(void)
{
	start(512);
	struct guest g = near4(1, 0);
	orphan(&g, PORT0);
	const struct tcp_conn *c = conn_of(&g, PORT0);
	say(&g, PORT0, 1001, c->max, TCP_ACK | TCP_FIN, NULL, 0);
	CHECK_EQ(c->state, TCP_TIME_WAIT);
	CHECK_EQ(table()->list[TCP_LIST_ORPHANS].n, 0);
	CHECK_EQ(table()->list[TCP_LIST_WAITING].n, 1);
	fine(tcp_check(&rig.gw));
}

/* --- packets ---------------------------------------------------------------------------------- */

/* Takes a byte of what it was sent, so that it does not stand still. */
static void sip(const struct guest *g, uint16_t port)
{
	const struct tcp_conn *c = conn_of(g, port);
	if (c)
		say(g, port, c->rcv, c->una + 1, TCP_ACK, NULL, 0);
}

/* 14 connections of as many stations hold all packets, and sip. Whoever comes then is heard at the
 * second try at the latest, and can be answered. */
static void hoarders(uint32_t stations)
{
	start(4096);
	send_on_open = 60000;
	for (uint32_t i = 0; i < 14; i++) {
		struct guest g = near6(1 + i % stations, 0);
		CHECK(open(&g, (uint16_t)(PORT0 + i)));
		static const uint8_t data[1000];
		const struct tcp_conn *c = conn_of(&g, (uint16_t)(PORT0 + i));
		for (uint32_t k = 0; k < 40; k++) /* and what is out of order */
			say(&g, (uint16_t)(PORT0 + i), 1002 + k * 400, c->iss + 1, TCP_ACK, data,
			    1000 - 600 * (k % 2));
		turn();
	}
	send_on_open = 0;
	for (uint32_t i = 0; i < 30; i++) {
		struct guest b = near6(100 + i, 0);
		struct tcp_conn *c = open(&b, 1000);
		CHECK(c);
		for (uint32_t tries = 0; c && c->in.len == 0 && tries < 2; tries++) {
			say(&b, 1000, 1001, c->iss + 1, TCP_ACK, "a question", 10);
			for (uint32_t k = 0; k < 14; k++) {
				struct guest g = near6(1 + k % stations, 0);
				sip(&g, (uint16_t)(PORT0 + k));
			}
			turn();
		}
		CHECK(c && c->in.len == 10);
		static const uint8_t answer[3000];
		CHECK(tcp_send(&rig.gw, tcp_number(&rig.gw, c), answer, sizeof answer));
		fine(tcp_check(&rig.gw));
	}
}

static void hoarders_of_one_station(void)
{
	hoarders(1);
}

static void hoarders_of_many_stations(void)
{
	hoarders(14);
}

/* However fast its connections fill memory, between two turns of MAIN too, a station gets two
 * thirds of it. */
static void a_third_is_left(void)
{
	start(4096);
	static const uint8_t data[600];
	struct guest a = near6(1, 0), b = near4(2, 0);
	CHECK_EQ(open_many(&a, 40), 40);
	struct tcp_conn *c = open(&b, 1000);
	for (uint32_t i = 0; i < 40; i++) {
		const struct tcp_conn *one = conn_of(&a, (uint16_t)(PORT0 + i));
		for (uint32_t k = 0; k < 27; k++)
			say(&a, (uint16_t)(PORT0 + i), one->rcv, one->iss + 1, TCP_ACK, data, 600);
	}
	CHECK_EQ(table()->n_packets, 512);
	CHECK(!tcp_scarce(&rig.gw, tcp_number(&rig.gw, c)));
	CHECK(tcp_scarce(&rig.gw, tcp_number(&rig.gw, conn_of(&a, PORT0 + 39))));
	for (uint32_t i = 0; i < 20; i++)
		say(&b, 1000, c->rcv, c->iss + 1, TCP_ACK, data, 600);
	CHECK_EQ(c->in.n, 20);
	CHECK(rig.gw.drops[DROP_TCP_MEMORY] > 0);
	fine(tcp_check(&rig.gw));
}

int main(void)
{
	TEST(a_client_gives_way_to_itself);
	TEST(all_addresses_of_a_host);
	TEST(beyond_the_link);
	TEST(faster_than_they_end);
	TEST(who_has_most_gives_way);
	TEST(clients_without_end);
	TEST(forged_syns_end_nothing);
	TEST(no_place_at_all);
	TEST(orphans_go_first);
	TEST(an_orphan_that_closes);
	TEST(hoarders_of_one_station);
	TEST(hoarders_of_many_stations);
	TEST(a_third_is_left);
	return tap_done();
}
