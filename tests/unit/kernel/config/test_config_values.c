/* kernel/config/config_keys.c and the files beside it: every kind of value, good and bad. */
#include "tests/unit/kernel/config/config_kit.h"

static void names(void)
{
	char longest[80];
	WRONG_VALUE("hostname two words", "hostname: expected letters, digits, - and . (at most "
	                                  "63), such as gateway");
	CHECK(!load("hostname -a"));
	CHECK(!load("hostname a-"));
	CHECK(!load("hostname ."));
	CHECK(!load("hostname a_b"));
	CHECK(!load("hostname a\"b"));
	GOOD("hostname A-b.9");
	memset(longest, 'h', sizeof longest);
	memcpy(longest, "hostname ", 9);
	start();
	CHECK(text_n(longest, 9 + 63));
	CHECK_EQ(strlen(c.hostname), 63);
	start();
	CHECK(!text_n(longest, 9 + 64));
}

static void app_names(void)
{
	GOOD("app nat");
	CHECK_STR(c.app, "nat");
	WRONG_VALUE("app nta", "app: unknown \"nta\", nearest: nat (there are: nat, wire, 6to4)");
	WRONG_VALUE("menu-default 6tp4",
	            "menu-default: unknown \"6tp4\", nearest: 6to4 (there are: nat, wire, 6to4)");
	CHECK(!load("app natt"));
	CHECK(!load("app na"));
	CHECK(!load("app NAT"));
	CHECK(!load("app nat wire"));
	config_init(&c, NULL, 0);
	CHECK(!text("app nat"));
	CHECK_STR(error(0), "gateway.conf:1: app: unknown \"nat\", nearest: none (there are: )");
}

static void nics(void)
{
	GOOD("lan nic0\nwan 52-54-00-12-34-56");
	CHECK(prints("wan 52:54:00:12:34:56"));
	GOOD("lan nic255\n");
	CHECK_EQ(c.iface[0].nic.index, 255);
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

static void own_addresses(void)
{
	GOOD("lan.address 10.0.0.1/8\nlan.address 10.255.255.254/8\nlan.address 192.0.2.0/31\n"
	     "lan.address 192.0.2.1/31\nlan.address 192.0.2.1/32\nlan.address 2001:db8::/127\n"
	     "lan.address 2001:db8::/128\nlan.address fe80::1/64\n");
	CHECK_EQ(c.iface[CONFIG_LAN].n_address, 8);
#define LONGEST "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff"
	GOOD("lan.address " LONGEST "/128\nroute " LONGEST "/128 via " LONGEST "\n");
	CHECK(prints("lan.address " LONGEST "/128"));
	CHECK(prints("route " LONGEST "/128 via " LONGEST));
#undef LONGEST
	GOOD("wan.address 223.255.255.254/24\nwan.address 2001:db8::ffff:ffff:ffff:ffff/64\n");
	/* The blocks for documentation and benchmarks count as public. */
	GOOD("wan.address 192.0.2.1/24\nwan.address 198.51.100.1/24\nwan.address 203.0.113.1/24\n"
	     "wan.address 198.18.0.1/15\nwan.address 2001:db8::1/32\n");
#define EXPECTED "lan.address: expected ADDRESS/LENGTH, such as 192.168.1.1/24"
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
	GOOD("route 0.0.0.0/0 via 192.0.2.1\nroute 10.1.2.3/8 via 192.0.2.1");
	CHECK(prints("route 10.1.2.3/8 via 192.0.2.1"));
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

static void nat_values(void)
{
	static const char pool[] = "nat.pool: expected an IPv4 address or a range, such as "
	                           "203.0.113.10-203.0.113.20";
	static const char forward[] = "nat.forward: expected tcp|udp PORT ADDRESS:PORT, such as "
	                              "tcp 8080 192.168.1.10:80";
	static const char *const bad_pool[] = {"203.0.113.20-203.0.113.10",
	                                       "224.0.0.1",
	                                       "2001:db8::1",
	                                       "203.0.113.1-",
	                                       "-203.0.113.1",
	                                       "203.0.113.0/24"};
	static const char *const bad_forward[] = {"sctp 80 192.168.1.10:80",
	                                          "tcp 0 192.168.1.10:80",
	                                          "tcp 65536 192.168.1.10:80",
	                                          "tcp 80 192.168.1.10",
	                                          "tcp 80 127.0.0.1:80",
	                                          "tcp 80 192.168.1.10:0",
	                                          "tcp 80",
	                                          "tcp 80 192.168.1.10:80 x"};
	char line[80], want[160];
	GOOD("nat.forward tcp 1 192.168.1.10:65535\nnat.forward udp 65535 192.168.1.10:1\n");
	for (unsigned i = 0; i < ARRAY_SIZE(bad_pool); i++) {
		snprintf(line, sizeof line, "nat.pool %s\n", bad_pool[i]);
		snprintf(want, sizeof want, "gateway.conf:1: %s", pool);
		WRONG(line, want);
	}
	for (unsigned i = 0; i < ARRAY_SIZE(bad_forward); i++) {
		snprintf(line, sizeof line, "nat.forward %s\n", bad_forward[i]);
		snprintf(want, sizeof want, "gateway.conf:1: %s", forward);
		WRONG(line, want);
	}
	WRONG_VALUE("nat.protocol41 any",
	            "nat.protocol41: expected an inside IPv4 address, such as 192.168.1.6");
	WRONG_VALUE("nat.host-limit -1", "nat.host-limit: expected a number from 0 to 16000000");
	WRONG_VALUE("nat.tcp-opening-timeout 0",
	            "nat.tcp-opening-timeout: expected seconds from 1 to 4000000, such as 2.5");
	GOOD("nat.tcp-transitory-timeout 100");
	CHECK(!c.nat.has_tcp_opening_timeout);
	GOOD("nat.tcp-opening-timeout 30");
	CHECK(c.nat.has_tcp_opening_timeout && c.nat.tcp_opening_timeout_ms == 30000);
}

static void advertised_values(void)
{
	GOOD("lan.ra on\n");
	WRONG_VALUE("lan.ra yes", "lan.ra: expected on or off");
	WRONG_VALUE("lan.rdnss 192.0.2.1",
	            "lan.rdnss: expected an IPv6 address, such as 2001:db8::53");
	WRONG_VALUE("lan.rdnss ff02::fb", "lan.rdnss: ff02::fb is a multicast address");
	WRONG_VALUE("lan.rdnss ::1", "lan.rdnss: ::1 is the loopback address");

#define LABEL "abcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabcdefghij"
	GOOD("lan.dnssl a.\nlan.dnssl 0az9.AZ_-9\n");
	CHECK(prints("lan.dnssl a"));
	GOOD("lan.dnssl a\nlan.dnssl " LABEL "abc.x\nlan.dnssl " LABEL "." LABEL "." LABEL "." LABEL
	     ".abcdefghi\n"); /* 63 in a label, 253 in all */
	static const char *const domain[] = {".",
	                                     ".x",
	                                     "x..",
	                                     "x..y",
	                                     "-x",
	                                     "x-",
	                                     "x.-y",
	                                     "x-.y",
	                                     "x y",
	                                     "x/y",
	                                     "x*y",
	                                     "x:53",
	                                     LABEL "abcd.x",
	                                     LABEL "." LABEL "." LABEL "." LABEL ".abcdefghij"};
	char line[400], want[120];
	for (unsigned i = 0; i < ARRAY_SIZE(domain); i++) {
		snprintf(line, sizeof line, "lan.dnssl %s\n", domain[i]);
		snprintf(want, sizeof want, "gateway.conf:1: %s",
		         "lan.dnssl: expected a domain name, such as example.com");
		WRONG(line, want);
	}
#undef LABEL
	GOOD("lan.pref64 2001:db8::/32\nlan.pref64 2001:db8:1:2::/64\nlan.pref64 "
	     "2001:db8:100::/56");
#define EXPECTED "lan.pref64: expected an IPv6 PREFIX/LENGTH, such as 64:ff9b::/96"
	WRONG_VALUE("lan.pref64 64:ff9b::", EXPECTED);
	WRONG_VALUE("lan.pref64 64:ff9b::1/96", EXPECTED);
	WRONG_VALUE("lan.pref64 10.0.0.0/8", EXPECTED);
#undef EXPECTED
#define EXPECTED "lan.pref64: the prefix length is not 32, 40, 48, 56, 64 or 96"
	WRONG_VALUE("lan.pref64 2001:db8::/33", EXPECTED);
	WRONG_VALUE("lan.pref64 2001:db8::/72", EXPECTED);
	WRONG_VALUE("lan.pref64 2001::/24", EXPECTED);
#undef EXPECTED
}

static void tunnel_values(void)
{
	/* Whether an address suits is for the application to say. */
	GOOD("6to4.address 10.0.0.1\n6to4.relay 192.168.1.1\n6rd.mask 32\n6to4.subnet 0\n");
	CHECK(!c.rd.has_prefix && !c.rd.has_relay);
	WRONG_VALUE("6to4.address 2001:db8::1",
	            "6to4.address: expected an IPv4 address, such as 192.0.2.1");
	WRONG_VALUE("6to4.relay 224.0.0.1", "6to4.relay: 224.0.0.1 is a multicast address");
	WRONG_VALUE("6rd.relay 0.0.0.0", "6rd.relay: 0.0.0.0 is not a host's address");
	WRONG_VALUE("6to4.native-from all", "6to4.native-from: expected relay or any");
	WRONG_VALUE("6to4.dscp 1", "6to4.dscp: expected copy or zero");
	WRONG_VALUE("6to4.ecn on", "6to4.ecn: expected copy or zero");
	WRONG_VALUE("6to4.mtu 1279", "6to4.mtu: expected a number from 1280 to 1480");
	WRONG_VALUE("6to4.mtu 1481", "6to4.mtu: expected a number from 1280 to 1480");
	WRONG_VALUE("6to4.subnet 65536", "6to4.subnet: expected a number from 0 to 65535");
	WRONG_VALUE("6rd.mask 33", "6rd.mask: expected a number from 0 to 32");
#define EXPECTED "6rd.prefix: expected a global IPv6 PREFIX/LENGTH, such as 2001:db8::/32"
	GOOD("6rd.prefix 2000::/3\n");
	GOOD("6rd.prefix 2001:db8:1:2::/64\n");
	WRONG_VALUE("6rd.prefix 2001:db8::1/32", EXPECTED);
	WRONG_VALUE("6rd.prefix 2001:db8::/65", EXPECTED);
	WRONG_VALUE("6rd.prefix fd00::/8", EXPECTED);
	WRONG_VALUE("6rd.prefix ::/0", EXPECTED);
	WRONG_VALUE("6rd.prefix 10.0.0.0/8", EXPECTED);
#undef EXPECTED
}

/* Files of mtd64-ng are taken as they are. */
static void mtd64_values(void)
{
	GOOD("// nameservers\nnameserver default\nnameserver 8.8.8.8\nnameserver defaults\n"
	     "selection-mode random\ndns64-prefix 2001:db8:63a9:1ef2:dead:beef::/96\n"
	     "debugging no\ntimeout-time 1.000000\nresend-attempts 32767\n"
	     "response-maxlength 0\nnum-threads 100000\nport 65535\n");
	CHECK_EQ(c.dns64.n_server, 3);
	CHECK(c.dns64.server[0].lease && c.dns64.server[2].lease && !c.dns64.server[1].lease);
	CHECK_EQ(ip4_get(c.dns64.server[1].addr.v4), 0x08080808);
	CHECK(c.dns64.has_max_length && c.dns64.max_length == 0 && c.dns64.has_threads);
	CHECK(prints("dns64-prefix 2001:db8:63a9:1ef2:dead:beef::/96"));
	WRONG_VALUE("nameserver dns.example", "nameserver: expected an address, such as "
	                                      "192.0.2.1 or 2001:db8::1, or default");
	WRONG_VALUE("nameserver 224.0.0.1", "nameserver: 224.0.0.1 is a multicast address");
	WRONG_VALUE("selection-mode first", "selection-mode: expected random or round-robin");
	/* Host bits are cut, and the default gives way. */
	GOOD("dns64-prefix 2001:db8:aaaa:bbbb:cccc:dddd:eeee:ffff/40\n");
	CHECK_EQ(c.dns64.n_prefix, 1);
	CHECK(prints("dns64-prefix 2001:db8:aa00::/40"));
	GOOD("dns64-prefix 2001:db8:ffff:ffff:ffff:ffff:ffff:ffff/96\n");
	CHECK(prints("dns64-prefix 2001:db8:ffff:ffff:ffff:ffff::/96"));
#define EXPECTED "dns64-prefix: the prefix length is not 32, 40, 48, 56, 64 or 96"
	WRONG_VALUE("dns64-prefix 2001:db8::/33", EXPECTED);
	WRONG_VALUE("dns64-prefix 2001:db8::/72", EXPECTED);
	WRONG_VALUE("dns64-prefix 2001:db8::/128", EXPECTED);
	WRONG_VALUE("dns64-prefix ::/0", EXPECTED);
#undef EXPECTED
	WRONG_VALUE("dns64-prefix 10.0.0.0/8",
	            "dns64-prefix: expected an IPv6 PREFIX/LENGTH, such as 64:ff9b::/96");
	GOOD("timeout-time 5");
	CHECK_EQ(c.dns64.timeout_ms, 5000);
	GOOD("timeout-time 2.5");
	CHECK_EQ(c.dns64.timeout_ms, 2500);
	GOOD("timeout-time 32767.999999");
	GOOD("timeout-time 0.0000001");
	CHECK_EQ(c.dns64.timeout_ms, 1);
	GOOD("timeout-time 1.999999");
	CHECK_EQ(c.dns64.timeout_ms, 1999);
	static const char *const bad[] = {"0",  "0.000", "1.2.3", "1s",  ".5",
	                                  "5.", "1.12x", "-1",    "1,5", "32768"};
	char line[80];
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
		snprintf(line, sizeof line, "timeout-time %s\n", bad[i]);
		WRONG(line, "gateway.conf:1: timeout-time: expected seconds, more than 0 and up "
		            "to 32767, such as 2.5");
	}
	WRONG_VALUE("port 0", "port: expected a number from 1 to 65535");
	WRONG_VALUE("resend-attempts 32768", "resend-attempts: expected a number from 0 to 32767");
	WRONG_VALUE("portfoo 53", "unknown key \"portfoo\", nearest: port");
	GOOD("debugging maybe");
	CHECK(!c.dns64.debugging);
}

static void dns64_values(void)
{
	GOOD("dns64.client 192.168.1.77/24\ndns64.client ::/0\ndns64.exclude fe80::1/10\n");
	CHECK(prints("dns64.client 192.168.1.0/24"));
	CHECK(prints("dns64.exclude fe80::/10"));
	CHECK_EQ(c.dns64.n_exclude, 1);
	/* Also within a byte. */
	GOOD("dns64.client 2001:db8:ffff::/44\ndns64.client 192.168.255.255/20\n");
	CHECK(prints("dns64.client 2001:db8:fff0::/44"));
	CHECK(prints("dns64.client 192.168.240.0/20"));
	GOOD("dns64.map 10.1.2.3/8 64:ff9b::/96\n");
	CHECK(prints("dns64.map 10.0.0.0/8 64:ff9b::/96"));
	WRONG_VALUE("dns64.client 192.168.1.1", "dns64.client: expected PREFIX/LENGTH, such as "
	                                        "192.168.1.0/24 or 2001:db8::/32");
	WRONG_VALUE("dns64.exclude 10.0.0.0/8", "dns64.exclude: expected an IPv6 PREFIX/LENGTH, "
	                                        "such as ::ffff:0:0/96");
	static const char *const bad[] = {"10.0.0.0/8", "10.0.0.0 none", "::/0 none",
	                                  "10.0.0.0/8 none none", "10.0.0.0/8 2001:db8::/96 x"};
	char line[80];
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
		snprintf(line, sizeof line, "dns64.map %s\n", bad[i]);
		WRONG(line, "gateway.conf:1: dns64.map: expected IPV4-PREFIX and IPV6-PREFIX or "
		            "none, such as 10.0.0.0/8 none");
	}
	WRONG_VALUE("dns64.map 10.0.0.0/8 any", "dns64.map: expected an IPv6 PREFIX/LENGTH, such "
	                                        "as 64:ff9b::/96");
	WRONG_VALUE("dns64.map 10.0.0.0/8 2001:db8::/72",
	            "dns64.map: the prefix length is not 32, 40, 48, 56, 64 or 96");
	GOOD("dns64.skip-name Example.com.");
	CHECK_STR(c.dns64.skip_name[0], "Example.com");
	WRONG_VALUE("dns64.skip-name *.example",
	            "dns64.skip-name: expected a domain name, such as example.com");
	WRONG_VALUE("dns64.on-error refuse", "dns64.on-error: expected synthesise or servfail");
	WRONG_VALUE("dns64.cache -1", "dns64.cache: expected a number from 0 to 16000000");
	/* The command line takes the place of file and default alike. */
	start();
	CHECK(config_cmdline(&c, "dns64-prefix=2001:db8:1::/96"));
	CHECK(text("dns64-prefix 2001:db8:2::/96\ndns64-prefix 2001:db8:3::/96\n"));
	CHECK_EQ(c.dns64.n_prefix, 1);
	CHECK(prints("dns64-prefix 2001:db8:1::/96"));
}

static void numbers(void)
{
	WRONG_VALUE("lan.mtu 1279", "lan.mtu: expected a number from 1280 to 1500");
	WRONG_VALUE("lan.mtu 1501", "lan.mtu: expected a number from 1280 to 1500");
	WRONG_VALUE("wan.mtu 9000", "wan.mtu: expected a number from 1280 to 1500");
	WRONG_VALUE("wan.mtu 1500 bytes", "wan.mtu: expected a number from 1280 to 1500");
	WRONG_VALUE("wan.mtu 1400.0", "wan.mtu: expected a number from 1280 to 1500");
	WRONG_VALUE("nat.sessions 0", "nat.sessions: expected a number from 1 to 16000000");
	WRONG_VALUE("nat.sessions 16000001", "nat.sessions: expected a number from 1 to 16000000");
	WRONG_VALUE("nat.sessions 4294967396",
	            "nat.sessions: expected a number from 1 to 16000000");
	WRONG_VALUE("nat.sessions -100", "nat.sessions: expected a number from 1 to 16000000");
	GOOD("nat.sessions 100\nlan.mtu 1280\nwan.mtu 1500");
	GOOD("nat.sessions 16000000");
	WRONG_VALUE("nat.udp-timeout 0.999",
	            "nat.udp-timeout: expected seconds from 1 to 4000000, such as 2.5");
	WRONG_VALUE("nat.udp-timeout 4000000.001",
	            "nat.udp-timeout: expected seconds from 1 to 4000000, such as 2.5");
	WRONG_VALUE("nat.tcp-timeout 2h",
	            "nat.tcp-timeout: expected seconds from 1 to 4000000, such as 2.5");
	WRONG_VALUE("watchdog 0.5", "watchdog: expected 0 (off) or seconds from 1 to 86400");
	WRONG_VALUE("watchdog 86400.001", "watchdog: expected 0 (off) or seconds from 1 to 86400");
	GOOD("watchdog 1");
	GOOD("watchdog 86400\nmenu-timeout 86400\nnat.udp-timeout 1\nnat.tcp-timeout 4000000");
	WRONG_VALUE("watchdog off", "watchdog: expected 0 (off) or seconds from 1 to 86400");
	WRONG_VALUE("menu-timeout 86401",
	            "menu-timeout: expected seconds from 0 to 86400, such as 2.5");
	GOOD("menu-timeout 0\nwatchdog 0.0\n");
	CHECK(c.has_menu_timeout && c.menu_timeout_ms == 0);
	CHECK(prints("menu-timeout 0"));
	WRONG_VALUE("debug yes", "debug: expected on or off");
	WRONG_VALUE("nat.hairpin ON", "nat.hairpin: expected on or off");
	WRONG_VALUE("nat.filtering none",
	            "nat.filtering: expected endpoint-independent, address-dependent or "
	            "address-and-port-dependent");
	GOOD("nat.filtering address-and-port-dependent");
	CHECK_EQ(c.nat.filtering, NAT_FILTER_ADDRESS_AND_PORT_DEPENDENT);
}

static void full_lists(void)
{
	char many[8000];
	size_t n = 0;
	for (unsigned i = 0; i < CONFIG_ROUTES + 1; i++)
		n += (size_t)snprintf(many + n, sizeof many - n,
		                      "route 10.%u.0.0/16 via 192.0.2.1\n", i);
	WRONG(many, "gateway.conf:65: route: given more than 64 times");
	CHECK_EQ(c.n_route, CONFIG_ROUTES);
	CHECK(prints("route 10.63.0.0/16 via 192.0.2.1"));
	WRONG("gateway 1.0.0.1\ngateway 1.0.0.2\ngateway 1.0.0.3\ngateway 1.0.0.4\ngateway 1.0.0.5",
	      "gateway.conf:5: gateway: given more than 4 times");
}

/* Lines that do not fit are cut, and nothing is written behind them. */
static void lines_in_a_small_room(void)
{
	GOOD("neighbour 192.0.2.1 52:54:00:00:00:01\n");
	for (size_t size = 1; size < 60; size++) {
		char buf[64];
		uint32_t cursor = 0;
		memset(buf, 'x', sizeof buf);
		while (config_line(&c, &cursor, buf, size)) {
			CHECK(strnlen(buf, size) < size);
			for (size_t i = size; i < sizeof buf; i++)
				CHECK_EQ(buf[i], 'x');
		}
	}
}

int main(void)
{
	TEST(names);
	TEST(app_names);
	TEST(nics);
	TEST(same_nic);
	TEST(own_addresses);
	TEST(gateways_routes_neighbours);
	TEST(nat_values);
	TEST(advertised_values);
	TEST(tunnel_values);
	TEST(mtd64_values);
	TEST(dns64_values);
	TEST(numbers);
	TEST(full_lists);
	TEST(lines_in_a_small_room);
	return tap_done();
}
