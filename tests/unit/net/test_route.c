/* IPv4 routes: the sorted table that gw_init makes, compared with a model that looks at every
 * prefix, and configurations that are refused. */
#include "net/ip4/ip4.h"
#include "tests/host/rig.h"

#include <stdio.h>

#include "tests/tap.h"

static struct rig rig;
static struct rng rng;

static void add(const char *text)
{
	if (!rig_config(&rig, text, strlen(text)))
		CHECK_STR(rig.config.error[0].what, text);
}

static void begin(void)
{
	rig_reset(&rig, 1, 4 << 20, 0);
	add("lan.address 10.1.0.1/16\nwan.address 203.0.113.2/24\nnat.sessions 100\n");
}

static const char *started(void)
{
	const char *wrong = rig_start(&rig, "nat", 16);
	return wrong ? wrong : "fine";
}

/* Routes of the model, in the order of the configuration. */
static struct entry {
	uint32_t net, via;
	unsigned len;
} entry[NET_ROUTES];
static unsigned n_entries;

static unsigned common_bits(uint32_t a, uint32_t b)
{
	unsigned n = 0;
	while (n < 32 && ((a ^ b) >> (31 - n) & 1) == 0)
		n++;
	return n;
}

/* The next hop by definition: the longest prefix, and of equal ones the first. */
static uint32_t model_hop(uint32_t to)
{
	const struct entry *best = NULL;
	for (unsigned i = 0; i < n_entries; i++)
		if (common_bits(entry[i].net, to) >= entry[i].len &&
		    (!best || entry[i].len > best->len))
			best = &entry[i];
	return best ? best->via : 0;
}

static void model_add(uint32_t net, unsigned len, uint32_t via)
{
	entry[n_entries++] = (struct entry){net, via, len};
}

/* True when a route of the configuration has this prefix; the first four entries are ours. */
static bool has_router(uint32_t net, unsigned len)
{
	for (unsigned i = 4; i < n_entries; i++)
		if (entry[i].len == len && common_bits(entry[i].net, net) >= len)
			return true;
	return false;
}

static void longest_prefix(void)
{
	unsigned wrong = 0;
	for (int round = 0; round < 40; round++) {
		begin();
		n_entries = 0;
		model_add(0x0a010000, 16, 1); /* the connected networks */
		model_add(0xcb007100, 24, 1);
		model_add(0x0a010001, 32, 2); /* and ourselves */
		model_add(0xcb007102, 32, 2);
		unsigned n = 1 + rng_below(&rng, 50);
		for (unsigned i = 0; i < n; i++) {
			/* Prefixes inside each other, host bits not always zero. */
			uint32_t net = 0x0a000000 | rng_u32(&rng) >> rng_below(&rng, 25);
			unsigned len = rng_below(&rng, 33);
			uint32_t hop = 0x0a010100 + rng_below(&rng, 200);
			char text[80];
			if (has_router(net, len))
				continue;
			snprintf(text, sizeof text, "route %u.%u.%u.%u/%u via 10.1.1.%u\n",
			         net >> 24, net >> 16 & 255, net >> 8 & 255, net & 255, len,
			         hop & 255);
			add(text);
			model_add(net, len, hop);
		}
		CHECK_STR(started(), "fine");
		for (unsigned i = 0; i < 2000; i++) {
			uint32_t to = 0x0a000000 | rng_u32(&rng) >> rng_below(&rng, 30);
			struct pkt p = {0};
			bool found = ip4_route(&rig.gw, &p, ip4_of(to));
			uint32_t hop = model_hop(to);
			const struct route4 *r = route4_for(&rig.gw.routes4, ip4_of(to));
			wrong += found != (hop != 0) || found != (r != NULL);
			if (!found || !hop)
				continue;
			uint32_t got = p.out == PKT_IF_SELF ? 2 : !r->via ? 1 : swap32(p.hop);
			wrong += got != hop || !(p.flags & PKT_ROUTED) || p.out != r->iface;
			if (!r->via)
				wrong += swap32(p.hop) != to;
		}
	}
	CHECK_EQ(wrong, 0);
}

static void default_route_is_the_last(void)
{
	begin();
	add("gateway 203.0.113.1\nroute 0.0.0.0/1 via 203.0.113.9\n");
	CHECK_STR(started(), "fine");
	CHECK_EQ(swap32(route4_for(&rig.gw.routes4, ip4_of(0x08080808))->via), 0xcb007109);
	CHECK_EQ(swap32(route4_for(&rig.gw.routes4, ip4_of(0x88080808))->via), 0xcb007101);
}

static void no_route(void)
{
	begin();
	CHECK_STR(started(), "fine");
	struct pkt p = {0};
	CHECK(!ip4_route(&rig.gw, &p, ip4_of(0x08080808)));
	CHECK(!(p.flags & PKT_ROUTED));
	CHECK(route4_for(&rig.gw.routes4, ip4_of(0x08080808)) == NULL);
}

static void full_table(void)
{
	begin();
	for (unsigned i = 0; i < NET_ROUTES; i++) {
		char text[80];
		snprintf(text, sizeof text, "route 172.16.%u.0/24 via 10.1.1.1\n", i);
		add(text);
	}
	for (unsigned i = 1; i <= NET_GATEWAYS; i++) {
		char text[80];
		snprintf(text, sizeof text, "gateway 203.0.113.%u\n", 10 + i);
		add(text);
	}
	CHECK_STR(started(), "fine");
	CHECK_EQ(rig.gw.routes4.n, NET_ROUTES + NET_GATEWAYS + 2);
	CHECK_EQ(swap32(route4_for(&rig.gw.routes4, ip4_of(1))->via), 0xcb00710b);
}

/* The table has room for the largest configuration: each of our addresses in a network of its own,
 * and as many routes as there may be, whose networks all hold that address. */
static void fullest_table(void)
{
	rig_reset(&rig, 1, 4 << 20, 0);
	add("nat.sessions 100\n");
	_Static_assert(NET_ROUTES >= NET_ADDRESSES * INTERFACES, "a route for each address");
	for (unsigned i = 0; i < NET_ADDRESSES * INTERFACES; i++) {
		char text[80];
		const char *name = net_interface_name[i / NET_ADDRESSES];
		unsigned k = i % NET_ADDRESSES;
		if (i / NET_ADDRESSES >= NET_LAN2 && k == 0) {
			snprintf(text, sizeof text, "%s nic%u\n", name, i / NET_ADDRESSES);
			add(text);
		}
		snprintf(text, sizeof text, "%s.address %u.%u.0.1/16\n", name,
		         10 + i / NET_ADDRESSES, k);
		add(text);
		snprintf(text, sizeof text, "route %u.%u.0.0/17 via 10.0.1.1\n",
		         10 + i / NET_ADDRESSES, k);
		add(text);
	}
	for (unsigned i = 1; i <= NET_GATEWAYS; i++) {
		char text[80];
		snprintf(text, sizeof text, "gateway 11.0.2.%u\n", i);
		add(text);
	}
	CHECK_STR(started(), "fine");
	CHECK_EQ(rig.gw.routes4.n, ROUTES4 - ROUTES4_LATER);
	for (unsigned i = 0; i < INTERFACES * NET_ADDRESSES; i++) {
		uint32_t own = (10 + i / NET_ADDRESSES) << 24 | i % NET_ADDRESSES << 16 | 1;
		struct pkt p = {0};
		CHECK(ip4_route(&rig.gw, &p, ip4_of(own)));
		CHECK_EQ(p.out, PKT_IF_SELF);
	}
}

/* A route to exactly one of our addresses leaves it our address. */
static void route_to_our_address(void)
{
	static const uint32_t own[] = {0x0a010001, 0x0a010002, 0xcb007102};
	begin();
	add("lan.address 10.1.0.2/16\nroute 10.1.0.1/32 via 10.1.1.1\n"
	    "route 10.1.0.2/32 via 10.1.1.1\nroute 203.0.113.2/32 via 10.1.1.1\n");
	CHECK_STR(started(), "fine");
	for (unsigned i = 0; i < ARRAY_SIZE(own); i++) {
		struct pkt p = {0};
		CHECK(ip4_route(&rig.gw, &p, ip4_of(own[i])));
		CHECK_EQ(p.out, PKT_IF_SELF);
	}
}

/* The claims of the application, from the first address to the last. */
static void owned_ranges(void)
{
	rig_reset(&rig, 1, 16 << 20, 0);
	add("lan.address 10.1.0.1/16\nwan.address 203.0.113.2/24\nnat.sessions 100\n"
	    "nat.pool 203.0.113.16-203.0.113.23\nnat.pool 203.0.113.40\n");
	CHECK_STR(started(), "fine");
	for (uint32_t i = 0; i < 64; i++) {
		bool ours = (i >= 16 && i <= 23) || i == 40;
		CHECK_EQ(route4_claimed(&rig.gw.routes4, ip4_of(0xcb007100 + i)) != NULL, ours);
	}
}

static void what_may_not_be(void)
{
	static const struct {
		const char *text, *wrong;
	} table[] = {
	        {"gateway 192.0.2.1\n",
	         "gateway 192.0.2.1 lies in no network of lan.address or wan.address"},
	        {"gateway 203.0.113.2\n", "gateway 203.0.113.2 is the gateway's own address"},
	        {"route 8.0.0.0/8 via 10.2.0.1\n",
	         "route via 10.2.0.1 lies in no network of lan.address or wan.address"},
	        {"route 8.0.0.0/8 via 10.1.0.1\n",
	         "route via 10.1.0.1 is the gateway's own address"},
	        {"lan.address 10.1.0.1/24\n", "lan.address 10.1.0.1 is given twice"},
	        {"wan.address 10.1.9.9/24\n",
	         "wan.address 10.1.9.9 lies in the network of lan.address"},
	        {"neighbour 192.0.2.1 02:00:00:00:00:09\n",
	         "neighbour 192.0.2.1 lies in no network of lan.address or wan.address"},
	};
	for (unsigned i = 0; i < ARRAY_SIZE(table); i++) {
		begin();
		add(table[i].text);
		CHECK_STR(started(), table[i].wrong);
	}
}

/* An address that is missing is the mistake, not the router that lies in its network. */
static void missing_address(void)
{
	static const struct {
		const char *text, *wrong;
	} table[] = {
	        {"lan.address 10.1.0.1/16\ngateway 203.0.113.1\n",
	         "wan.address is missing, an IPv4 one: gateway 203.0.113.1 lies in no other "
	         "network"},
	        {"wan.address 203.0.113.2/24\nroute 8.0.0.0/8 via 10.1.0.9\n",
	         "lan.address is missing, an IPv4 one: route via 10.1.0.9 lies in no other "
	         "network"},
	        {"lan.address 10.1.0.1/16\ngateway 10.1.0.9\n",
	         "wan.address: an IPv4 address is required by the NAT"},
	};
	for (unsigned i = 0; i < ARRAY_SIZE(table); i++) {
		rig_reset(&rig, 1, 16 << 20, 0);
		add(table[i].text);
		CHECK_STR(started(), table[i].wrong);
	}
}

int main(void)
{
	static const uint32_t seed = 7;
	rng_seed(&rng, &seed, sizeof seed);
	TEST(longest_prefix);
	TEST(default_route_is_the_last);
	TEST(no_route);
	TEST(full_table);
	TEST(fullest_table);
	TEST(route_to_our_address);
	TEST(owned_ranges);
	TEST(what_may_not_be);
	TEST(missing_address);
	return tap_done();
}
