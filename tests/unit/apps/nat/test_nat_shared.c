/* An inside endpoint that talks to several remote ones shares its external port among their
 * sessions: which of them the port names, and the way that their packets take. */
#include "apps/nat/nat.h"
#include "tests/host/nat_check.h"
#include "tests/host/rig.h"

#include "tests/tap.h"

#include <string.h>

enum { HOST = 0xc0a8010a, SERVER = 0xc6336407, OWN = 0xcb007102, PORT = 4000, FRAME = 14 + 28 };

static struct rig rig;
static uint32_t arrived; /* packets that left for the inside host */

static void sink(struct rig *r, uint32_t iface, const uint8_t *frame, uint32_t len)
{
	(void)r;
	arrived += iface == IF_LAN && len >= FRAME && frame[12] == 8 && frame[13] == 0;
}

static void start(void)
{
	static const char config[] = "lan.address 192.168.1.1/24\n"
	                             "wan.address 203.0.113.2/24\n"
	                             "gateway 203.0.113.1\n"
	                             "neighbour 203.0.113.1 52:54:00:00:02:01\n"
	                             "neighbour 192.168.1.10 52:54:00:00:01:01\n"
	                             "nat.filtering address-and-port-dependent\n"
	                             "nat.sessions 100\n";
	rig.sink = sink;
	rig_reset(&rig, 7, 4 << 20, 1000000);
	CHECK(rig_config(&rig, config, sizeof config - 1));
	const char *wrong = rig_start(&rig, "nat", 64);
	CHECK_STR(wrong ? wrong : "fine", "fine");
	rig_flush(&rig);
	arrived = 0;
}

/* One UDP packet without data; true when it took the slow path. */
static bool send(uint32_t iface, uint32_t from, uint16_t from_port, uint32_t to, uint16_t to_port)
{
	uint8_t f[60] = {[12] = 8, [14] = 0x45};
	memcpy(f, &rig.gw.iface[iface].address, 6);
	memset(f + 6, 0x52, 6);
	struct ip4_hdr *h = (struct ip4_hdr *)(f + 14);
	h->len = be16_of(28);
	h->ttl = 64;
	h->proto = PROTO_UDP;
	h->from = ip4_of(from);
	h->to = ip4_of(to);
	h->sum = be16_from_raw((uint16_t)~csum_ip4_header(h));
	*(struct udp_hdr *)(f + 34) = (struct udp_hdr){
	        .from = be16_of(from_port), .to = be16_of(to_port), .len = be16_of(8)};
	rig.gw.timing.slow = false;
	CHECK(rig_input(&rig, iface, f, sizeof f));
	rig_flush(&rig);
	return rig.gw.timing.slow;
}

static struct nat_table *table(void)
{
	return &((struct nat *)rig.gw.state)->table;
}

/* The session that the port names; NULL: none. */
static const struct nat_session *named(void)
{
	uint32_t i = table()->external[0].ports[NAT_UDP]->owner[swap16(PORT)];
	return i < NAT_BARE ? &table()->session[i] : NULL;
}

static struct nat_session *session(uint32_t remote, uint16_t port)
{
	return nat_session_find(table(), NAT_UDP, swap32(HOST), swap32(remote),
	                        swap16(PORT) | (uint32_t)swap16(port) << 16);
}

static void consistent(void)
{
	const char *bad = nat_check(table(), NULL);
	CHECK_STR(bad ? bad : "consistent", "consistent");
}

static void open_three(void)
{
	for (uint16_t port = 50; port < 53; port++)
		CHECK(send(IF_LAN, HOST, PORT, SERVER, port)); /* a new flow */
	CHECK_EQ(table()->n_sessions, 3);
	CHECK_EQ(table()->n_mappings, 1);
}

static void answers_of_all_take_the_fast_path(void)
{
	start();
	open_three();
	for (uint32_t i = 0; i < 9; i++) {
		uint16_t port = (uint16_t)(50 + i % 3);
		CHECK(!send(IF_WAN, SERVER, port, OWN, PORT));
		CHECK(named() == session(SERVER, port));
		CHECK_EQ(arrived, i + 1);
	}
	CHECK(send(IF_WAN, SERVER, 53, OWN, PORT)); /* a stranger */
	CHECK_EQ(arrived, 9);
	consistent();
}

static void when_the_named_one_has_ended(void)
{
	start();
	open_three();
	nat_session_drop(table(), session(SERVER, 52));
	CHECK(named() == NULL);
	CHECK(!send(IF_WAN, SERVER, 50, OWN, PORT));
	CHECK(named() == session(SERVER, 50));
	CHECK(send(IF_WAN, SERVER, 52, OWN, PORT));
	CHECK_EQ(arrived, 1);
	CHECK_EQ(table()->n_sessions, 2);
	consistent();
}

/* A hairpinned session has an external address as its remote one. No packet from the WAN may come
 * from there, so none decides what the port names. */
static void a_forged_source_decides_nothing(void)
{
	start();
	CHECK(send(IF_LAN, HOST, PORT + 1, SERVER, 50)); /* so that our port 4001 leads inside */
	CHECK(send(IF_LAN, HOST, PORT, OWN, PORT + 1));
	CHECK(session(OWN, PORT + 1) != NULL);
	CHECK(send(IF_LAN, HOST, PORT, SERVER, 50));
	uint32_t before = arrived;
	CHECK(named() == session(SERVER, 50));
	CHECK(send(IF_WAN, OWN, PORT + 1, OWN, PORT));
	CHECK_EQ(arrived, before);
	CHECK(named() == session(SERVER, 50));
	consistent();
}

int main(void)
{
	TEST(answers_of_all_take_the_fast_path);
	TEST(when_the_named_one_has_ended);
	TEST(a_forged_source_decides_nothing);
	return tap_done();
}
