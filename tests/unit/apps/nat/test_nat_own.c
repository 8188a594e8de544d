/* Ports of the gateway's own sockets beside a NAT: they are taken from each other, never shared,
 * and given back. */
#include "apps/nat/nat.h"
#include "net/tcp/tcp_conn.h"
#include "net/udp/udp.h"
#include "tests/host/nat_check.h"
#include "tests/host/rig.h"

#include "tests/tap.h"

enum { LOW = 1023, ALL = 65535, KEPT = 512, HOST = 0x0a000001, REMOTE = 0x076433c6 };

static struct rig rig;

static struct nat_table *table(void)
{
	return &((struct nat *)rig.gw.state)->table;
}

static void check(void)
{
	const char *bad = nat_check(table(), &rig.gw);
	CHECK_STR(bad ? bad : "fine", "fine");
}

static void start(const char *more)
{
	static const char config[] = "lan.address 10.0.0.1/8\n"
	                             "wan.address 203.0.113.2/24\n"
	                             "wan.address 203.0.113.3/24\n"
	                             "gateway 203.0.113.1\n"
	                             "neighbour 203.0.113.1 52:54:00:00:02:01\n"
	                             "nat.sessions 70000\n"
	                             "serve dns64\n"
	                             "dns64.cache 0\n"
	                             "nameserver 198.51.100.53\n";
	rig_reset(&rig, 7, 64u << 20, 1000000);
	CHECK(rig_config(&rig, config, sizeof config - 1) && rig_config(&rig, more, strlen(more)));
	const char *wrong = rig_start(&rig, "nat", 512);
	CHECK_STR(wrong ? wrong : "fine", "fine");
}

static enum verdict datagram(struct gw *gw, struct pkt *p, const struct udp_ends *ends,
                             uint32_t arg)
{
	(void)ends;
	(void)arg;
	return gw_drop(gw, p, DROP_NO_SERVICE);
}

/* Makes mappings with answered sessions, which nobody evicts, for new inside endpoints of many
 * hosts until there is no port. Gives their number. */
static uint32_t fill(uint8_t proto, enum nat_state state)
{
	static uint32_t calls;
	uint32_t n = 0, first = HOST + 64 * ++calls;
	for (uint32_t i = 0; i < ALL; i++) {
		enum nat_lack lack;
		uint32_t in_ip = swap32(first + i % 64);
		struct nat_mapping *m = nat_mapping_new(table(), proto, in_ip,
		                                        swap16((uint16_t)(1024 + i / 64)), &lack);
		if (!m) {
			CHECK_EQ(lack, NAT_LACKS_PORT);
			return n;
		}
		struct nat_session *s =
		        nat_session_new(table(), m, REMOTE, swap16(53), state, rig.gw.clock.s + 9);
		CHECK(s != NULL);
		s->flags |= NAT_ANSWERED;
		n++;
	}
	return n;
}

/* All ports from 1024 on but those that are kept belong to hosts, and still there are ports for
 * datagrams of the gateway itself: one of hundreds of draws may fail. No port belongs to both. */
static void full_of_datagrams(void)
{
	enum { OURS = 100 };
	uint16_t port[OURS];
	uint32_t failed = 0;
	start("");
	uint8_t handler = udp_register(&rig.gw, datagram);
	CHECK_EQ(fill(NAT_UDP, NAT_OPEN), ALL - LOW - KEPT);
	for (uint32_t i = 0; i < OURS; i++) {
		port[i] = udp_bind_any(&rig.gw, handler, 0);
		CHECK(port[i] == 0 || port[i] >= UDP_FIRST_FREE);
		failed += port[i] == 0;
		CHECK(nat_mapping_of_port(table(), 0, NAT_UDP, swap16(port[i])) == NULL);
	}
	CHECK(failed <= 2);
	check();
	CHECK_EQ(fill(NAT_UDP, NAT_OPEN), 0);
	for (uint32_t i = 0; i < OURS; i++)
		if (port[i])
			udp_unbind(&rig.gw, port[i]);
	CHECK_EQ(fill(NAT_UDP, NAT_OPEN), 0);
	check();
}

static void nothing(struct gw *gw, uint32_t conn, enum tcp_event what)
{
	(void)gw;
	(void)conn;
	(void)what;
}

/* The same for connections. */
static void full_of_connections(void)
{
	enum { OURS = 100 };
	uint32_t failed = 0;
	static const struct tcp_user user = {.event = nothing, .window = 4096, .send_most = 4096};
	uint32_t conn[OURS];
	start("");
	CHECK_EQ(fill(NAT_TCP, NAT_ESTABLISHED), ALL - LOW - KEPT);
	for (uint32_t i = 0; i < OURS; i++) {
		struct udp_ends ends = {.remote = {.v4 = ip4_from_raw(REMOTE)}, .remote_port = 53};
		conn[i] = tcp_connect(&rig.gw, &ends, &user);
		failed += conn[i] == TCP_NONE;
		CHECK(conn[i] == TCP_NONE ||
		      !nat_mapping_of_port(table(), 0, NAT_TCP, swap16(ends.local_port)));
		rig_flush(&rig);
	}
	CHECK(failed <= 2);
	check();
	for (uint32_t i = 0; i < OURS; i++)
		if (conn[i] != TCP_NONE)
			tcp_abort(&rig.gw, conn[i]);
	rig_flush(&rig);
	check();
	CHECK_EQ(table()->external[0].n_free[NAT_TCP][2] + table()->external[0].n_free[NAT_TCP][3],
	         KEPT);
}

/* Our sockets hold most ports: what is free is shared out until nothing is, and the NAT refuses. */
static void full_of_ours(void)
{
	static uint16_t port[ALL];
	uint32_t n = 0;
	start("");
	uint8_t handler = udp_register(&rig.gw, datagram);
	while (n < 60000 && (port[n] = udp_bind_any(&rig.gw, handler, 0)) != 0)
		n++;
	CHECK_EQ(n, 60000);
	check();
	CHECK_EQ(fill(NAT_UDP, NAT_OPEN), ALL - LOW - KEPT - n);
	while (n > 0)
		udp_unbind(&rig.gw, port[--n]);
	check();
	CHECK_EQ(fill(NAT_UDP, NAT_OPEN), 60000);
	check();
}

/* The pool holds both addresses of the WAN and others: a port of ours is taken on these two. One
 * that a host has on one of them is not ours, and stays free on the other. */
static void on_each_own_address(void)
{
	enum nat_lack lack;
	start("nat.pool 203.0.113.2-203.0.113.5\n");
	CHECK(gw_port_take(&rig.gw, PROTO_UDP, 5000));
	for (uint32_t e = 0; e < 4; e++)
		CHECK_EQ(nat_port_is_taken(table(), e, NAT_UDP, swap16(5000)), e < 2);
	CHECK(!gw_port_take(&rig.gw, PROTO_UDP, 5000));
	gw_port_give(&rig.gw, PROTO_UDP, 5000);
	check();
	struct nat_mapping *m;
	for (uint32_t in_ip = swap32(HOST + 1);; in_ip += swap32(1)) {
		m = nat_mapping_new(table(), NAT_UDP, in_ip, swap16(6000), &lack);
		if (!m || m->external == 1)
			break;
		nat_mapping_drop(table(), m);
	}
	CHECK(m && m->ext_port == swap16(6000));
	CHECK(!gw_port_take(&rig.gw, PROTO_UDP, 6000));
	for (uint32_t e = 0; e < 4; e++)
		CHECK(!nat_port_is_taken(table(), e, NAT_UDP, swap16(6000)));
}

/* ICMP identifiers are taken too; a protocol without ports has nothing to take. */
static void other_protocols(void)
{
	start("");
	CHECK(gw_port_take(&rig.gw, PROTO_ICMP, 77));
	CHECK(nat_port_is_taken(table(), 0, NAT_ICMP, swap16(77)));
	CHECK(!gw_port_take(&rig.gw, PROTO_ICMP, 77));
	gw_port_give(&rig.gw, PROTO_ICMP, 77);
	CHECK(!nat_port_is_taken(table(), 0, NAT_ICMP, swap16(77)));
	CHECK(gw_port_take(&rig.gw, 47, 77) && gw_port_take(&rig.gw, 47, 77));
	gw_port_give(&rig.gw, 47, 77);
	check();
}

int main(void)
{
	TEST(full_of_datagrams);
	TEST(full_of_connections);
	TEST(full_of_ours);
	TEST(on_each_own_address);
	TEST(other_protocols);
	return tap_done();
}
