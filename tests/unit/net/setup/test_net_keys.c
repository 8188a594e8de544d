/* net/setup/net_keys.c: cards, addresses, routes and neighbours, good and bad. */
#include "net/setup/net_keys.h"
#include "tests/unit/config_kit.h"

static void nics(void)
{
	GOOD("lan nic0\nwan 52-54-00-12-34-56");
	CHECK(prints("wan 52:54:00:12:34:56"));
	GOOD("lan nic255\n");
	CHECK_EQ(net_config(&c)->iface[NET_LAN].card.index, 255);
#define EXPECTED "lan: expected nic0, nic1, ... or a MAC address such as 52:54:00:12:34:56"
	WRONG_VALUE("lan nic256", EXPECTED);
	WRONG_VALUE("lan nic", EXPECTED);
	WRONG_VALUE("lan eth0", EXPECTED);
	WRONG_VALUE("lan 0", EXPECTED);
	WRONG_VALUE("lan nic-1", EXPECTED);
	WRONG_VALUE("lan nic0 nic1", EXPECTED);
	WRONG_VALUE("lan 01:00:5e:00:00:01", "lan: the MAC address is not that of one station");
	WRONG_VALUE("lan ff:ff:ff:ff:ff:ff", "lan: the MAC address is not that of one station");
	WRONG_VALUE("lan 00:00:00:00:00:00", "lan: the MAC address is not that of one station");
#undef EXPECTED
}

static void same_nic(void)
{
	GOOD("\nlan nic1\n");
	CHECK(!config_check(&c));
	CHECK_STR(error(0), "gateway.conf:2: lan and wan name the same NIC");
	GOOD("lan nic1\nwan nic0\n");
	CHECK(config_check(&c));
	GOOD("lan 52:54:00:12:34:56\nwan 52:54:00:12:34:56\n");
	CHECK(!config_check(&c));
	CHECK_STR(error(0), "gateway.conf:2: lan and wan name the same NIC");
	GOOD("lan 52:54:00:12:34:56\nwan 52:54:00:12:34:57\n");
	CHECK(config_check(&c));
	start();
	CHECK(config_cmdline(&c, "wan=nic3"));
	CHECK(text("wan nic1\nlan nic3\n"));
	CHECK(!config_check(&c));
	start();
	CHECK(config_cmdline(&c, "lan=nic1"));
	CHECK(text("\nwan nic0"));
	CHECK(config_check(&c));
	start();
	CHECK(config_cmdline(&c, "lan=nic1"));
	CHECK(!config_check(&c));
	CHECK_STR(error(0), "command line: lan and wan name the same NIC");
}

/* What config_check finds in a text whose lines are right each. */
#define REFUSED(t, want)                   \
	do {                               \
		CHECK(load(t));            \
		CHECK(!config_check(&c));  \
		CHECK_STR(error(0), want); \
		CHECK_STR(error(1), "");   \
	} while (0)

static void more_networks(void)
{
	GOOD("lan nic5\nlan2 nic2\nlan2.address 10.2.0.1/24\nlan2.mtu 1400\nlan3 "
	     "52:54:00:12:34:56\n"
	     "lan4 nic4\nlan5 nic3\nlan6 nic6\nlan7 nic7\nlan7.address 2001:db8::1/64\n");
	CHECK(config_check(&c));
	CHECK_EQ(net_interfaces(&c), 8);
	CHECK(prints("lan2 nic2"));
	CHECK(prints("lan2.address 10.2.0.1/24"));
	CHECK(prints("lan2.mtu 1400"));
	CHECK(prints("lan3 52:54:00:12:34:56"));
	CHECK(prints("lan7.address 2001:db8::1/64"));
	GOOD("lan2 nic2\n");
	CHECK(config_check(&c));
	CHECK_EQ(net_interfaces(&c), 3);
	GOOD("");
	CHECK(config_check(&c));
	CHECK_EQ(net_interfaces(&c), 2);
	WRONG("lan8 nic8\n", "gateway.conf:1: unknown key \"lan8\", nearest: lan");
	WRONG("lan1 nic2\n", "gateway.conf:1: unknown key \"lan1\", nearest: lan");
	WRONG("lan2 eth0\n",
	      "gateway.conf:1: lan2: expected nic0, nic1, ... or a MAC address such as "
	      "52:54:00:12:34:56");
	WRONG("lan2.mtu 1501\n", "gateway.conf:1: lan2.mtu: expected a number from 1280 to 1500");
}

static void networks_with_gaps(void)
{
	REFUSED("\nlan3 nic3\n", "gateway.conf:2: lan3: there is no lan2 before it");
	REFUSED("lan2 nic2\nlan7 nic3\n", "gateway.conf:2: lan7: there is no lan6 before it");
	REFUSED("lan2.address 10.2.0.1/24\n",
	        "gateway.conf:1: lan2.address: lan2 names no NIC, such as nic2");
	REFUSED("\nlan5.mtu 1400\n", "gateway.conf:2: lan5.mtu: lan5 names no NIC, such as nic5");
	REFUSED("lan2.ra off\n", "gateway.conf:1: lan2.ra: lan2 names no NIC, such as nic2");
	REFUSED("lan2 nic2\nlan3.rdnss 2001:db8::53\n",
	        "gateway.conf:2: lan3.rdnss: lan3 names no NIC, such as nic3");
	REFUSED("lan4.dnssl lab.test\n",
	        "gateway.conf:1: lan4.dnssl: lan4 names no NIC, such as nic4");
	REFUSED("lan7.pref64 64:ff9b::/96\n",
	        "gateway.conf:1: lan7.pref64: lan7 names no NIC, such as nic7");
}

static void same_nic_of_three(void)
{
	REFUSED("lan2 nic0\n", "gateway.conf:1: lan and lan2 name the same NIC");
	REFUSED("wan nic2\nlan2 nic2\n", "gateway.conf:2: wan and lan2 name the same NIC");
	REFUSED("lan2 nic3\n\nlan nic3\n", "gateway.conf:3: lan and lan2 name the same NIC");
	REFUSED("lan2 nic2\nlan3 nic4\nlan4 nic2\n",
	        "gateway.conf:3: lan2 and lan4 name the same NIC");
	REFUSED("lan2 52:54:00:12:34:56\nlan3 52:54:00:12:34:56\n",
	        "gateway.conf:2: lan2 and lan3 name the same NIC");
	/* Of an index and an address only the machine knows whether they are one card. */
	GOOD("lan2 nic2\nlan3 52:54:00:12:34:56\n");
	CHECK(config_check(&c));
}

static void vlans(void)
{
	GOOD("lan nic0.20\nwan nic0.7\nlan2 nic0\nlan3 52:54:00:12:34:56.1\nlan4 "
	     "52-54-00-12-34-56.4094\n");
	CHECK(config_check(&c));
	CHECK(prints("lan nic0.20"));
	CHECK(prints("wan nic0.7"));
	CHECK(prints("lan2 nic0"));
	CHECK(prints("lan3 52:54:00:12:34:56.1"));
	CHECK(prints("lan4 52:54:00:12:34:56.4094"));
#define EXPECTED "lan: expected a VLAN from 1 to 4094 behind the point"
	WRONG_VALUE("lan nic0.0", EXPECTED);
	WRONG_VALUE("lan nic0.4095", EXPECTED);
	WRONG_VALUE("lan nic0.99999999999", EXPECTED);
	WRONG_VALUE("lan nic0.", EXPECTED);
	WRONG_VALUE("lan nic0.-1", EXPECTED);
	WRONG_VALUE("lan nic0.7.8", EXPECTED);
	WRONG_VALUE("lan 52:54:00:12:34:56.x", EXPECTED);
#undef EXPECTED
	REFUSED("lan nic1.7\nwan nic1.7\n", "gateway.conf:2: lan and wan name the same VLAN");
	REFUSED("lan2 nic1.7\nlan3 nic1.7\n", "gateway.conf:2: lan2 and lan3 name the same VLAN");
	REFUSED("lan2 52:54:00:12:34:56.7\nlan3 52:54:00:12:34:56.7\n",
	        "gateway.conf:2: lan2 and lan3 name the same VLAN");
}

static void own_addresses(void)
{
	GOOD("lan.address 10.0.0.1/8\nlan.address 10.255.255.254/8\nlan.address 192.0.2.0/31\n"
	     "lan.address 192.0.2.1/31\nlan.address 192.0.2.1/32\nlan.address 2001:db8::/127\n"
	     "lan.address 2001:db8::/128\nlan.address fe80::1/64\n");
	CHECK_EQ(net_config(&c)->iface[NET_LAN].n_address, 8);
#define LONGEST "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff"
	GOOD("lan.address " LONGEST "/128\nroute " LONGEST "/128 via " LONGEST "\n");
	CHECK(prints("lan.address " LONGEST "/128"));
	CHECK(prints("route " LONGEST "/128 via " LONGEST));
#undef LONGEST
	GOOD("wan.address 223.255.255.254/24\nwan.address 2001:db8::ffff:ffff:ffff:ffff/64\n");
	/* Addresses of the blocks for documentation and benchmarks are accepted. */
	GOOD("wan.address 192.0.2.1/24\nwan.address 198.51.100.1/24\nwan.address 203.0.113.1/24\n"
	     "wan.address 198.18.0.1/15\nwan.address 2001:db8::1/32\n");
	GOOD("wan.address 192.0.2.1/24\nwan.address auto\n");
	CHECK(prints("wan.address auto"));
	CHECK(!net_is_auto(&net_config(&c)->iface[NET_WAN].address[0]));
	CHECK(net_is_auto(&net_config(&c)->iface[NET_WAN].address[1]));
	WRONG_VALUE("wan.address ::/0", "wan.address: :: is not a host's address");
#define EXPECTED "lan.address: expected ADDRESS/LENGTH, such as 192.168.1.1/24"
	WRONG_VALUE("lan.address auto", EXPECTED);
	WRONG_VALUE("lan.address 192.168.1.1", EXPECTED);
	WRONG("lan.address 192.168.1.1/", "gateway.conf:1: " EXPECTED);
	WRONG_VALUE("lan.address 192.168.1.1/33", EXPECTED);
	WRONG_VALUE("lan.address 2001:db8::1", EXPECTED);
	WRONG_VALUE("lan.address 2001:db8::1/129", EXPECTED);
	WRONG_VALUE("lan.address dhcp", EXPECTED);
	WRONG_VALUE("lan.address 192.168.1.1/24 192.168.2.1/24", EXPECTED);
	WRONG_VALUE("lan.address 192.168.1.1 /24", EXPECTED);
#undef EXPECTED
	WRONG_VALUE(
	        "lan.address 10.0.0.0/8",
	        "lan.address: 10.0.0.0/8: the host part is zero: the address names the network");
	WRONG_VALUE(
	        "lan.address 10.0.0.4/30",
	        "lan.address: 10.0.0.4/30: the host part is zero: the address names the network");
	WRONG_VALUE("lan.address 10.0.0.7/30",
	            "lan.address: 10.0.0.7/30: the host part is all ones: the broadcast address");
	WRONG_VALUE("lan.address 10.0.0.1/0",
	            "lan.address: 10.0.0.1/0: a prefix length of 0 leaves no network");
	WRONG_VALUE("lan.address 2001:db8::/64",
	            "lan.address: 2001:db8::/64: the host part is zero: the address of any router");
	WRONG_VALUE("lan.address 2001:db8:8000::/33", "lan.address: 2001:db8:8000::/33: the host "
	                                              "part is zero: the address of any router");
	GOOD("lan.address 2001:db8:8000::/32\nlan.address 2001:db8::2/126\n");
	WRONG_VALUE("wan.address 127.0.0.1/8", "wan.address: 127.0.0.1 is a loopback address");
	WRONG_VALUE("wan.address 224.0.0.5/24", "wan.address: 224.0.0.5 is a multicast address");
	WRONG_VALUE("wan.address 240.0.0.5/24", "wan.address: 240.0.0.5 is a reserved address");
	WRONG_VALUE("wan.address 255.255.255.255/32",
	            "wan.address: 255.255.255.255 is the broadcast address");
	WRONG_VALUE("wan.address 0.0.0.0/32", "wan.address: 0.0.0.0 is not a host's address");
	WRONG_VALUE("wan.address 0.1.2.3/8", "wan.address: 0.1.2.3 is not a host's address");
	WRONG_VALUE("wan.address ::/128", "wan.address: :: is not a host's address");
	WRONG_VALUE("wan.address ::1/128", "wan.address: ::1 is the loopback address");
	WRONG_VALUE("wan.address ff02::1/64", "wan.address: ff02::1 is a multicast address");
	WRONG_VALUE("wan.address ::ffff:1.2.3.4/96",
	            "wan.address: ::ffff:1.2.3.4 is an IPv4 address in IPv6 form");
}

static void gateways_routes_neighbours(void)
{
	WRONG_VALUE("gateway 192.0.2.1/24",
	            "gateway: expected an address, such as 192.0.2.1 or 2001:db8::1");
	WRONG_VALUE("gateway ff02::2", "gateway: ff02::2 is a multicast address");
	WRONG_VALUE("gateway 0.0.0.0", "gateway: 0.0.0.0 is not a host's address");
#define EXPECTED "route: expected PREFIX via ADDRESS, such as 10.0.0.0/8 via 192.0.2.1"
	WRONG_VALUE("route 10.0.0.0/8", EXPECTED);
	WRONG_VALUE("route 10.0.0.0/8 via", EXPECTED);
	WRONG_VALUE("route 10.0.0.0/8 192.0.2.1", EXPECTED);
	WRONG_VALUE("route 10.0.0.0/8 by 192.0.2.1", EXPECTED);
	WRONG_VALUE("route 10.0.0.0 via 192.0.2.1", EXPECTED);
	WRONG_VALUE("route 10.0.0.0/8 via 192.0.2.1 dev", EXPECTED);
#undef EXPECTED
	WRONG_VALUE("route 10.0.0.0/8 via router",
	            "route: expected an address, such as 192.0.2.1 or 2001:db8::1");
	WRONG_VALUE("route 10.0.0.0/8 via 224.0.0.1", "route: 224.0.0.1 is a multicast address");
	WRONG_VALUE("route 10.0.0.0/8 via 2001:db8::1",
	            "route: prefix and router are of different address families");
	GOOD("route 0.0.0.0/0 via 192.0.2.1\nroute 10.0.0.0/8 via 192.0.2.1\n"
	     "route 2001:db8::/32 via 2001:db8::1\n");
	CHECK(!logged("route"));
	/* The bits of a host mean nothing in a route. */
	GOOD("\nroute 10.1.2.3/8 via 192.0.2.1\nroute 2001:db8:1:2::3/33 via 2001:db8::1\n");
	CHECK(prints("route 10.0.0.0/8 via 192.0.2.1"));
	CHECK(prints("route 2001:db8::/33 via 2001:db8::1"));
	CHECK(logged("gateway.conf:2: route: 10.1.2.3/8 means 10.0.0.0/8"));
	CHECK(logged("gateway.conf:3: route: 2001:db8:1:2::3/33 means 2001:db8::/33"));
	WRONG("route 10.0.0.0/8 via 192.0.2.1\nroute 10.0.0.0/9 via 192.0.2.2\n"
	      "route 10.1.2.3/8 via 192.0.2.3\nroute 10.0.0.0/7 via 192.0.2.4\n",
	      "gateway.conf:3: route: 10.0.0.0/8 has a router already, 192.0.2.1");
	WRONG("route 2001:db8::/32 via 2001:db8:1::1\nroute 2001:db8::/32 via 2001:db8:1::1\n",
	      "gateway.conf:2: route: 2001:db8::/32 has a router already, 2001:db8:1::1");
#define EXPECTED "neighbour: expected ADDRESS MAC, such as 192.0.2.1 52:54:00:12:34:56"
	WRONG_VALUE("neighbour 192.0.2.1", EXPECTED);
	WRONG_VALUE("neighbour 192.0.2.1 52:54:00:12:34:56 x", EXPECTED);
#undef EXPECTED
	WRONG_VALUE("neighbour 192.0.2.1 52:54",
	            "neighbour: expected a MAC address, such as 52:54:00:12:34:56");
	WRONG_VALUE("neighbour 192.0.2.1 53:54:00:12:34:56",
	            "neighbour: the MAC address is not that of one station");
	WRONG_VALUE("neighbour 192.0.2.1 00:00:00:00:00:00",
	            "neighbour: the MAC address is not that of one station");
	WRONG_VALUE("neighbour 127.0.0.1 52:54:00:12:34:56",
	            "neighbour: 127.0.0.1 is a loopback address");
}

static void full_lists(void)
{
	char many[8000];
	size_t n = 0;
	for (unsigned i = 0; i < NET_ROUTES + 1; i++)
		n += (size_t)snprintf(many + n, sizeof many - n,
		                      "route 10.%u.0.0/16 via 192.0.2.1\n", i);
	WRONG(many, "gateway.conf:65: route: given more than 64 times");
	CHECK_EQ(net_config(&c)->n_route, NET_ROUTES);
	CHECK(prints("route 10.63.0.0/16 via 192.0.2.1"));
	WRONG("gateway 1.0.0.1\ngateway 1.0.0.2\ngateway 1.0.0.3\ngateway 1.0.0.4\ngateway 1.0.0.5",
	      "gateway.conf:5: gateway: given more than 4 times");
}

int main(void)
{
	TEST(nics);
	TEST(same_nic);
	TEST(more_networks);
	TEST(networks_with_gaps);
	TEST(same_nic_of_three);
	TEST(vlans);
	TEST(own_addresses);
	TEST(gateways_routes_neighbours);
	TEST(full_lists);
	return tap_done();
}
