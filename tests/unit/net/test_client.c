/* net/client: which addresses count as one client. */
#include "net/client.h"
#include "net/ip6/ip6.h"
#include "net/neigh/neigh.h"
#include "tests/unit/net/tcp/tcp_kit.h"

static struct rig rig;

static void start(uint32_t seed)
{
	static const char text[] = "lan.address 10.0.0.2/16\nlan.address 2001:db8::2/64\n"
	                           "wan.address 10.1.0.2/16\n"
	                           "gateway 10.0.255.254\ngateway 2001:db8::fffe\n";
	rig.forwarder = &tcp_pair_forwarder;
	rig_reset(&rig, seed, 64u << 20, 1000000);
	CHECK(rig_config(&rig, text, sizeof text - 1));
	const char *wrong = rig_start(&rig, "tcp", 512);
	CHECK_STR(wrong ? wrong : "fine", "fine");
}

static struct addr address(const char *text)
{
	struct addr a;
	CHECK(addr_any(text, strlen(text), &a));
	return a;
}

static uint32_t client(const char *text, uint32_t link)
{
	struct addr a = address(text);
	return client_of(&rig.gw, link, &a);
}

/* Whether the client is one of its own. */
static bool known(const char *text)
{
	struct addr a = address(text);
	bool is;
	CHECK_EQ(client_find(&rig.gw, IF_LAN, &a, &is), client(text, IF_LAN));
	return is;
}

/* Station s on an interface has this address. */
static void learn(uint32_t iface, const char *text, uint8_t s)
{
	struct addr a = address(text);
	mac m = {{2, 0, 0, 0, 0, s}};
	if (a.is6)
		neigh_heard6(&rig.gw, iface, &a.v6, &m);
	else
		neigh_learn4(&rig.gw, iface, a.v4, &m, true, NEIGH_REACHABLE);
	rig_flush(&rig);
}

static void stations(void)
{
	static const char *const mine[] = {"10.0.0.7",      "10.0.1.7", "2001:db8::7",
	                                   "2001:db8::1:7", "fe80::7",  "fe80::1:7"};
	start(1);
	for (unsigned i = 0; i < ARRAY_SIZE(mine); i++)
		learn(IF_LAN, mine[i], 7);
	learn(IF_LAN, "2001:db8::8", 8);
	learn(IF_LAN, "10.0.0.8", 8);
	learn(IF_WAN, "10.1.0.7", 7);
	const mac m = {{2, 0, 0, 0, 0, 7}};
	uint32_t me = client_station(&rig.gw, IF_LAN, &m);
	for (unsigned i = 0; i < ARRAY_SIZE(mine); i++)
		CHECK_EQ(client(mine[i], IF_LAN), me);
	CHECK(client("2001:db8::8", IF_LAN) != me);
	CHECK_EQ(client("2001:db8::8", IF_LAN), client("10.0.0.8", IF_LAN));
	/* The same MAC address on another interface is another client. */
	CHECK(client("10.1.0.7", IF_WAN) != me);
	CHECK(client("fe80::7", IF_WAN) != me);
}

/* Addresses for which no station has answered yet, or answers no longer. */
static void not_known(void)
{
	start(1);
	uint32_t nobody = client("10.0.0.7", IF_LAN);
	CHECK_EQ(client("10.0.0.8", IF_LAN), nobody);
	CHECK_EQ(client("2001:db8::7", IF_LAN), nobody);
	CHECK_EQ(client("fe80::7", IF_LAN), nobody);
	CHECK(client("10.1.0.7", IF_WAN) != nobody);
	CHECK_EQ(client("10.1.0.7", IF_WAN), client("fe80::7", IF_WAN));
	CHECK(!known("10.0.0.7") && !known("2001:db8::7"));
	learn(IF_LAN, "10.0.0.7", 7);
	CHECK(client("10.0.0.7", IF_LAN) != nobody);
	CHECK(known("10.0.0.7") && !known("10.0.0.8"));
	CHECK(known("192.0.2.1") && known("2001:db8:1::1")); /* behind a router */
	neigh_flush(&rig.gw, IF_LAN);
	CHECK_EQ(client("10.0.0.7", IF_LAN), nobody);
	/* A request was sent, but no answer has arrived. */
	struct addr a = address("10.0.0.9");
	struct pkt *p = pkt_alloc(&rig.pool);
	CHECK(p && pkt_put(p, 28));
	memset(p->data, 0, 28);
	p->data[0] = 0x45;
	p->iface = PKT_IF_SELF;
	p->out = IF_LAN;
	p->hop = ip4_raw(a.v4);
	p->flags = PKT_ROUTED;
	gw_send(&rig.gw, p);
	CHECK(neigh_find4(&rig.gw.neigh, IF_LAN, ip4_raw(a.v4)));
	CHECK_EQ(client("10.0.0.9", IF_LAN), nobody);
}

/* Addresses beyond our networks, also when a station claims to have them. */
static void beyond(void)
{
	static const char *const far[] = {"192.0.2.1", "192.0.2.2", "2001:db8:1::1",
	                                  "2001:db8:1:1::1"};
	uint32_t c[ARRAY_SIZE(far)];
	start(1);
	for (unsigned i = 0; i < ARRAY_SIZE(far); i++) {
		struct addr a = address(far[i]);
		c[i] = client(far[i], IF_LAN);
		CHECK_EQ(c[i], client_beyond(&rig.gw, &a));
		for (unsigned k = 0; k < i; k++)
			CHECK(c[i] != c[k]);
	}
	for (unsigned i = 0; i < ARRAY_SIZE(far); i++) {
		learn(IF_LAN, far[i], 7);
		CHECK_EQ(client(far[i], IF_LAN), c[i]);
		CHECK_EQ(client(far[i], IF_WAN), c[i]);
	}
	CHECK_EQ(client("2001:db8:1::ffff:1", IF_LAN), c[2]);
}

/* The numbers depend on a key that no outsider knows. */
static void secret(void)
{
	uint32_t same = 0;
	start(1);
	uint32_t one = client("192.0.2.1", IF_LAN), six = client("2001:db8:1::1", IF_LAN);
	for (uint32_t seed = 2; seed < 10; seed++) {
		start(seed);
		same += client("192.0.2.1", IF_LAN) == one;
		same += client("2001:db8:1::1", IF_LAN) == six;
	}
	CHECK_EQ(same, 0);
}

int main(void)
{
	TEST(stations);
	TEST(not_known);
	TEST(beyond);
	TEST(secret);
	return tap_done();
}
