/* net/tcp/tcp_client.c: many hosts, some of which take all they can get; what that costs
 * the others. */
#include "tests/unit/tcp_guests.h"

/* --- one client ------------------------------------------------------------------------------- */

/* When a client has too many connections, its newest one is accepted, and its oldest one is
 * evicted with a reset. Other clients are not affected: neither in the same network, nor
 * with a link-local address, nor with IPv4. */
static void a_client_evicts_its_oldest_connection(void)
{
	static struct guest (*const kind[])(uint32_t, uint32_t) = {near4, near6, local6};
	for (uint32_t k = 0; k < ARRAY_SIZE(kind); k++) {
		start(512);
		struct guest a = kind[k](1, 0), b = kind[k](2, 0);
		CHECK(open(&b, 1000));
		CHECK_EQ(open_many(&a, TCP_CLIENT_MAX + 10), TCP_CLIENT_MAX + 10);
		CHECK_EQ(count(&a, TCP_CLIENT_MAX + 10), TCP_CLIENT_MAX);
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
		CHECK_EQ(count(&a, TCP_CLIENT_MAX + 10), TCP_CLIENT_MAX);
		CHECK_EQ(rig.gw.counts.drops[DROP_TCP_CLIENT], 0);
	}
}

/* A host may have any number of addresses, and is one client. */
static void all_addresses_of_a_host(void)
{
	start(512);
	struct guest b = near6(2, 0);
	CHECK(open(&b, 1000));
	for (uint32_t i = 0; i < TCP_CLIENT_MAX + 30; i++) {
		struct guest g = i % 3 == 0   ? near4(1, i / 3)
		                 : i % 3 == 1 ? near6(1, i)
		                              : local6(1, i);
		CHECK(open(&g, PORT0));
		turn();
	}
	CHECK_EQ(table()->n_clients, TCP_CLIENT_MAX + 1);
	CHECK_EQ(table()->count.ended[TCP_CROWDED], 30);
	CHECK(conn_of(&b, 1000));
}

/* Beyond the link all hosts have the router's MAC address. There an IPv6 prefix of 64 bits
 * is a client, and an IPv4 address is one, whatever address a station on the link claims. */
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
	for (uint32_t i = 0; i < TCP_CLIENT_MAX + 5; i++) {
		struct guest g = far6(1, i);
		claim(1, &g);
		CHECK(open(&g, PORT0));
		turn();
	}
	CHECK_EQ(table()->n_clients, TCP_CLIENT_MAX + 3);
	CHECK_EQ(table()->count.ended[TCP_CROWDED], 5);
	struct guest a4 = far4(1);
	claim(1, &a4);
	CHECK_EQ(open_many(&a4, TCP_CLIENT_MAX + 5), TCP_CLIENT_MAX + 5);
	CHECK_EQ(table()->count.ended[TCP_CROWDED], 10);
	CHECK(conn_of(&b6, 1000) && conn_of(&router, 1000) && conn_of(&b4, 1000));
}

/* Between two ticks nothing is evicted; so a client has some more connections in that time,
 * and further ones are refused. Other clients are accepted. */
static void faster_than_eviction(void)
{
	start(512);
	struct guest a = near6(1, 0), b = near6(2, 0);
	CHECK_EQ(open_many(&a, TCP_CLIENT_MAX), TCP_CLIENT_MAX);
	for (uint32_t i = 0; i < TCP_SLACK + 9; i++)
		CHECK_EQ(open(&a, (uint16_t)(10000 + i)) != NULL, i < TCP_SLACK);
	CHECK_EQ(rig.gw.counts.drops[DROP_TCP_CLIENT], 9);
	CHECK(open(&b, 1000));
	turn();
	CHECK_EQ(table()->n_clients, TCP_CLIENT_MAX + 1);
	CHECK_EQ(count(&a, TCP_CLIENT_MAX), TCP_CLIENT_MAX - TCP_SLACK);
	CHECK(open(&a, 9999));
}

/* --- all connections --------------------------------------------------------------- */

/* When all clients together have too many connections, those with most of them lose some,
 * down to what the others have. A client with few keeps them, however old they are. */
static void the_client_with_most_is_evicted(void)
{
	start(512);
	struct guest small = near4(9, 0);
	CHECK(open(&small, 1000));
	for (uint32_t s = 1; s <= 5; s++) {
		struct guest g = near6(s, 0);
		CHECK_EQ(open_many(&g, TCP_CLIENT_MAX), TCP_CLIENT_MAX);
	}
	CHECK_EQ(table()->n_clients, TCP_OPEN_MAX);
	for (uint32_t s = 1; s <= 5; s++) {
		struct guest g = near6(s, 0);
		uint32_t n = count(&g, TCP_CLIENT_MAX), share = (TCP_OPEN_MAX - 1) / 5;
		CHECK(n >= share && n <= share + 1);
	}
	CHECK(conn_of(&small, 1000));
	CHECK_EQ(rig.gw.counts.drops[DROP_TCP_FULL] + rig.gw.counts.drops[DROP_TCP_CLIENT], 0);
}

/* The n-th of an endless number of stations. */
static struct guest any_station(uint32_t n)
{
	struct guest g = far6(n & 255, 0);
	g.a.b[6] = (uint8_t)(n >> 8);
	return g;
}

/* Of several clients with the same number, the one with the oldest connection loses it. So
 * an attacker who forges clients without end takes all places; but a new client has its
 * connection for as long as it takes to open hundreds of others, unless it shares its
 * counter by chance with so many of these that the counter is among the fullest. */
static void clients_without_end(void)
{
	start(512);
	uint32_t n = 0;
	struct guest first = any_station(n++);
	CHECK(open(&first, 1000));
	for (; n < 3 * TCP_OPEN_MAX; n++) {
		struct guest g = any_station(n);
		CHECK(open(&g, 1000));
		turn();
	}
	CHECK_EQ(table()->n_clients, TCP_OPEN_MAX);
	CHECK(!conn_of(&first, 1000));
	uint32_t kept = 0;
	for (uint32_t i = 0; i < 20; i++) {
		struct guest last = near6(1 + i, 0);
		CHECK(open(&last, 1000));
		for (uint32_t end = n + 300; n < end; n++) {
			struct guest g = any_station(n);
			CHECK(open(&g, 1000));
			turn();
		}
		kept += conn_of(&last, 1000) != NULL;
	}
	CHECK(kept >= 8);
	CHECK_EQ(rig.gw.counts.drops[DROP_TCP_FULL], 0);
}

/* A connection of the n-th station, on a counter of its own; false: there was none. */
static bool open_apart(uint32_t n)
{
	struct guest g = any_station(n);
	struct tcp_conn *c = open(&g, 1000);
	CHECK(c != NULL);
	if (c && table()->list[c->list].n > 1)
		tcp_abort(&rig.gw, tcp_number(&rig.gw, c));
	turn();
	return conn_of(&g, 1000) != NULL;
}

/* Each new connection evicts the oldest of all. */
static void of_equal_clients_the_oldest_is_evicted(void)
{
	enum { MORE = 60 };
	static uint32_t who[TCP_OPEN_MAX + MORE];
	uint32_t have = 0, wrong = 0;
	start(512);
	for (uint32_t n = 0; n < 20000 && have < ARRAY_SIZE(who); n++)
		if (open_apart(n))
			who[have++] = n;
	CHECK_EQ(have, ARRAY_SIZE(who));
	CHECK_EQ(table()->count.ended[TCP_CROWDED], MORE);
	for (uint32_t i = 0; i < have; i++) {
		struct guest g = any_station(who[i]);
		wrong += (conn_of(&g, 1000) != NULL) != (i >= MORE);
	}
	CHECK_EQ(wrong, 0);
}

/* Forged SYNs take the places for half-open connections, and end no open one; a SYN without
 * a place gets a cookie. */
static void forged_syns_end_nothing(void)
{
	start(512);
	for (uint32_t s = 1; s <= 3; s++) {
		struct guest g = near6(s, 0);
		CHECK_EQ(open_many(&g, TCP_CLIENT_MAX), TCP_CLIENT_MAX);
	}
	for (uint32_t i = 0; i < 3000; i++) {
		struct guest g = far6(i & 255, i);
		say(&g, (uint16_t)(PORT0 + i), 1000, 0, TCP_SYN, NULL, 0);
		if (i % 50 == 0)
			turn();
	}
	CHECK_EQ(table()->n_half, TCP_HALF_OPEN);
	CHECK_EQ(table()->count.cookies, 3000 - TCP_HALF_OPEN);
	CHECK_EQ(table()->n_clients, TCP_OPEN_MAX);
	CHECK_EQ(n_ended, 0);
	struct guest b = near4(9, 0);
	CHECK(open(&b, 1000));
	CHECK_EQ(table()->count.cookies_good, 1);
}

/* When our own connections take all that clients leave, a SYN gets a cookie, and the client
 * that returns it is refused until there is a place. */
static void no_place_at_all(void)
{
	start(512);
	for (uint32_t s = 1; s <= 3; s++) {
		struct guest g = near6(s, 0);
		CHECK_EQ(open_many(&g, TCP_CLIENT_MAX), TCP_CLIENT_MAX);
	}
	struct udp_ends e = {.remote = {.v4 = ip4_of(0xc0000201)}, .remote_port = 53};
	uint32_t ours = 0, n = 0;
	for (uint32_t one; (one = tcp_connect(&rig.gw, &e, &user)) != TCP_NONE; n++) {
		ours = one;
		if (n % 50 == 0)
			rig_flush(&rig);
	}
	CHECK_EQ(n, TCP_CONNECTIONS - TCP_OPEN_MAX);
	struct guest b = near4(9, 0);
	CHECK(!open(&b, 1000));
	CHECK_EQ(table()->count.cookies, 1);
	CHECK_EQ(rig.gw.counts.drops[DROP_TCP_FULL], 1);
	tcp_abort(&rig.gw, ours);
	rig_flush(&rig);
	CHECK_EQ(table()->count.cookies_good, 0);
	CHECK(open(&b, 1000));
	CHECK_EQ(n_ended, 0);
	turn();
	CHECK_EQ(n_ended, 1);
}

/* --- ports ------------------------------------------------------------------------------------ */

static uint16_t port_towards(uint32_t remote)
{
	struct udp_ends e = {.remote = {.v4 = ip4_of(remote)}, .remote_port = 53};
	uint32_t conn = tcp_connect(&rig.gw, &e, &user);
	CHECK(conn != TCP_NONE);
	tcp_abort(&rig.gw, conn);
	rig_flush(&rig);
	return e.local_port;
}

/* No port comes again before all others came: the remote end may still be in TIME-WAIT. */
static void ports_take_turns(void)
{
	enum { ALL = 65536 - UDP_FIRST_FREE };
	static uint8_t seen[65536];
	start(512);
	uint32_t n = 0;
	for (uint32_t i = 0; i < ALL; i++) {
		uint16_t port = port_towards(0xc0000201);
		n += port >= UDP_FIRST_FREE && !seen[port] && !tcp_service(&rig.gw, port);
		seen[port] = 1;
	}
	CHECK_EQ(n, ALL);
	/* The ports towards one remote end say nothing of those towards another. */
	uint32_t a = port_towards(0xc0000201), b = port_towards(0xc0000202),
	         c = port_towards(0xc0000203);
	CHECK((b + ALL - a) % ALL != (c + ALL - b) % ALL);
}

/* --- orphans ---------------------------------------------------------------------------------- */

/* Our side closes, the other acknowledges that and never closes. */
static void orphan(const struct guest *g, uint16_t port)
{
	struct tcp_conn *c = open(g, port);
	CHECK(c);
	tcp_close(&rig.gw, tcp_number(&rig.gw, c));
	say(g, port, 1001, c->max, TCP_ACK, NULL, 0);
	CHECK_EQ(c->state, TCP_FIN_WAIT_2);
}

/* Four addresses of one host that leave all their connections half-closed take no place
 * from any client or from us: orphans are evicted first, before TIME-WAIT. */
static void orphans_are_evicted_first(void)
{
	start(512);
	struct guest last = near4(9, 0), w = near4(8, 0);
	struct tcp_conn *c = open(&w, 999);
	tcp_close(&rig.gw, tcp_number(&rig.gw, c));
	say(&w, 999, 1001, c->max, TCP_ACK | TCP_FIN, NULL, 0);
	CHECK_EQ(table()->list[TCP_LIST_WAITING].n, 1);
	for (uint32_t i = 0; i < TCP_CONNECTIONS; i++) {
		struct guest g = near4(1, i / TCP_CLIENT_MAX);
		orphan(&g, (uint16_t)(PORT0 + i % TCP_CLIENT_MAX));
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
	CHECK_EQ(rig.gw.counts.drops[DROP_TCP_FULL], 0);
	fine(tcp_check(&rig.gw));
	for (uint32_t i = 0; i < 700; i++)
		rig_advance(&rig, 100000);
	fine(tcp_check(&rig.gw));
	CHECK_EQ(table()->list[TCP_LIST_ORPHANS].n, 0);
	CHECK_EQ(table()->count.ended[TCP_CLOSED], TCP_CONNECTIONS - 21);
}

/* An orphan that gets its FIN in the end goes to TIME-WAIT. */
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

/* Takes one byte of what the guest was sent, so that it does not stall. */
static void sip(const struct guest *g, uint16_t port)
{
	const struct tcp_conn *c = conn_of(g, port);
	if (c)
		say(g, port, c->rcv, c->una + 1, TCP_ACK, NULL, 0);
}

/* 14 connections of as many stations hold all packets, and take single bytes. A new client
 * is served at the second attempt at the latest. */
static void clients_that_hold_all_packets(void)
{
	start(4096);
	send_on_open = 60000;
	for (uint32_t i = 0; i < 14; i++) {
		struct guest g = near6(1 + i, 0);
		CHECK(open(&g, (uint16_t)(PORT0 + i)));
		static const uint8_t data[1000];
		const struct tcp_conn *c = conn_of(&g, (uint16_t)(PORT0 + i));
		for (uint32_t k = 0; k < 40; k++) /* and out-of-order data */
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
				struct guest g = near6(1 + k, 0);
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

/* Connections that hold few packets keep them, while others use up memory repeatedly. */
static void clients_that_hold_few_packets(void)
{
	start(4096);
	for (uint32_t s = 10; s < 50; s++) {
		struct guest g = near4(s, 0);
		say(&g, 1000, 1001, open(&g, 1000)->iss + 1, TCP_ACK, "part of a question", 18);
	}
	send_on_open = 60000;
	for (uint32_t i = 0; i < 200; i++) {
		struct guest g = near6(1 + i % 8, 0);
		CHECK(open(&g, (uint16_t)(PORT0 + i)));
		turn();
	}
	CHECK(table()->count.ended[TCP_CROWDED] > 100);
	for (uint32_t s = 10; s < 50; s++) {
		struct guest g = near4(s, 0);
		CHECK(conn_of(&g, 1000));
	}
}

/* However fast its connections use up memory, also between two ticks, one station gets at
 * most two thirds of it. */
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
	CHECK(rig.gw.counts.drops[DROP_TCP_MEMORY] > 0);
	fine(tcp_check(&rig.gw));
}

int main(void)
{
	TEST(a_client_evicts_its_oldest_connection);
	TEST(all_addresses_of_a_host);
	TEST(beyond_the_link);
	TEST(faster_than_eviction);
	TEST(the_client_with_most_is_evicted);
	TEST(clients_without_end);
	TEST(of_equal_clients_the_oldest_is_evicted);
	TEST(forged_syns_end_nothing);
	TEST(no_place_at_all);
	TEST(ports_take_turns);
	TEST(orphans_are_evicted_first);
	TEST(an_orphan_that_closes);
	TEST(clients_that_hold_all_packets);
	TEST(clients_that_hold_few_packets);
	TEST(a_third_is_left);
	return tap_done();
}
