/* kernel/config.c and config_keys.c: lines, words, who wins, every key's
 * values, every error, and the way back to text. */
#include "kernel/config.h"
#include "kernel/log.h"

#include <stdlib.h>

#include "tests/tap.h"

static const char *const apps[] = {"nat", "wire", "6to4"};
static struct config c;

static void start(void)
{
	config_init(&c, apps, ARRAY_SIZE(apps));
	log_reset();
}

/* From a copy without anything behind it: a look beyond the end is seen. */
static bool text_n(const char *text, size_t n)
{
	char *copy = malloc(n ? n : 1);
	if (n)
		memcpy(copy, text, n);
	bool ok = config_text(&c, "gateway.conf", copy, n);
	free(copy);
	return ok;
}

static bool text(const char *t)
{
	return text_n(t, strlen(t));
}

/* Reads one file on top of the defaults. */
static bool load(const char *t)
{
	start();
	return text(t);
}

/* The error number i as it is shown, "" when there is none. */
static const char *error(uint32_t i)
{
	static char shown[200];
	if (i >= c.n_errors || i >= CONFIG_ERRORS)
		return "";
	snprintf(shown, sizeof shown, "%s: %s", c.error[i].where, c.error[i].what);
	return shown;
}

#define GOOD(t)                          \
	do {                             \
		CHECK(load(t));          \
		CHECK_STR(error(0), ""); \
	} while (0)
#define WRONG(t, want)                     \
	do {                               \
		CHECK(!load(t));           \
		CHECK_EQ(c.n_errors, 1);   \
		CHECK_STR(error(0), want); \
	} while (0)
/* One line whose value has the wrong form. */
#define WRONG_VALUE(t, what) WRONG(t "\n", "gateway.conf:1: " what)

static bool prints(const char *line)
{
	char buf[300];
	uint32_t cursor = 0;
	while (config_line(&c, &cursor, buf, sizeof buf))
		if (strcmp(buf, line) == 0)
			return true;
	return false;
}

static void dump(char *out, size_t size)
{
	char buf[300];
	uint32_t cursor = 0;
	size_t n = 0;
	out[0] = '\0';
	while (config_line(&c, &cursor, buf, sizeof buf) && n < size)
		n += (size_t)snprintf(out + n, size - n, "%s\n", buf);
}

static void defaults(void)
{
	char all[2000];
	start();
	dump(all, sizeof all);
	CHECK_STR(all, "hostname gateway\n"
	               "lan nic0\n"
	               "wan nic1\n"
	               "lan.mtu 1500\n"
	               "wan.mtu 1500\n"
	               "lan.ra on\n"
	               "watchdog 10\n"
	               "debug off\n"
	               "nat.sessions 100000\n"
	               "nat.host-limit 0\n"
	               "nat.filtering address-dependent\n"
	               "nat.udp-timeout 300\n"
	               "nat.tcp-timeout 7440\n"
	               "nat.tcp-transitory-timeout 240\n"
	               "nat.icmp-timeout 60\n"
	               "nat.hairpin on\n"
	               "6to4.subnet 1\n"
	               "6to4.native-from any\n"
	               "6to4.mtu 1280\n"
	               "6to4.mss-clamp 0\n"
	               "6to4.dscp copy\n"
	               "6to4.ecn copy\n"
	               "6to4.nat on\n"
	               "6rd.mask 0\n"
	               "ivi.format ivi\n"
	               "ivi.icmp-interface off\n"
	               "ivi.lowest-ipv6-mtu 1280\n"
	               "ivi.udp-zero-checksum compute\n"
	               "ivi.errors on\n"
	               "ivi.mss-clamp 0\n"
	               "ivi.tos copy\n"
	               "selection-mode random\n"
	               "dns64-prefix 64:ff9b::/96\n"
	               "debugging no\n"
	               "timeout-time 1.000\n"
	               "resend-attempts 2\n"
	               "port 53\n"
	               "dns64.exclude ::ffff:0.0.0.0/96\n"
	               "dns64.always off\n"
	               "dns64.cache 65536\n"
	               "dns64.reverse on\n"
	               "dns64.on-error synthesise\n"
	               "dns64.stale 86400\n"
	               "dns64.rate 0\n");
	CHECK_EQ(c.n_errors, 0);
	CHECK_STR(c.app, "");
	CHECK(!c.has_menu_timeout);
	CHECK_EQ(c.watchdog_ms, 10000);
	CHECK(config_check(&c));
}

static void every_key(void)
{
	static const char file[] = "app 6to4\n"
	                           "hostname gw-1.example\n"
	                           "lan nic7\n"
	                           "wan 52:54:00:12:34:56\n"
	                           "lan.address 192.168.1.1/24\n"
	                           "lan.address 2001:db8:1::1/64\n"
	                           "wan.address 192.0.2.7/31\n"
	                           "lan.mtu 1280\n"
	                           "wan.mtu 1400\n"
	                           "gateway 192.0.2.6\n"
	                           "gateway fe80::1\n"
	                           "route 10.0.0.0/8 via 192.168.1.2\n"
	                           "route ::/0 via 2001:db8:1::2\n"
	                           "neighbour 192.168.1.2 52:54:00:00:00:02\n"
	                           "neighbour 2001:db8:1::2 52:54:00:00:00:02\n"
	                           "nameserver 192.0.2.53\n"
	                           "nameserver 2001:db8::53\n"
	                           "nameserver default\n"
	                           "lan.ra off\n"
	                           "lan.rdnss 2001:db8::53\n"
	                           "lan.rdnss fe80::1\n"
	                           "lan.dnssl example.com\n"
	                           "lan.dnssl lab-1.x_y.example\n"
	                           "lan.pref64 64:ff9b::/96\n"
	                           "lan.pref64 2001:db8:100::/40\n"
	                           "menu-timeout 2.5\n"
	                           "menu-default nat\n"
	                           "watchdog 0\n"
	                           "debug on\n"
	                           "nat.pool 203.0.113.10\n"
	                           "nat.pool 203.0.113.20-203.0.113.30\n"
	                           "nat.sessions 10000\n"
	                           "nat.host-limit 500\n"
	                           "nat.filtering endpoint-independent\n"
	                           "nat.udp-timeout 120.25\n"
	                           "nat.tcp-timeout 86400\n"
	                           "nat.tcp-transitory-timeout 100.005\n"
	                           "nat.icmp-timeout 4000000\n"
	                           "nat.forward tcp 8080 192.168.1.10:80\n"
	                           "nat.forward udp 53 192.168.1.11:5353\n"
	                           "nat.protocol41 192.168.1.6\n"
	                           "nat.hairpin off\n"
	                           "6to4.address 192.0.2.4\n"
	                           "6to4.subnet 65535\n"
	                           "6to4.relay 198.51.100.9\n"
	                           "6to4.native-from relay\n"
	                           "6to4.mtu 1480\n"
	                           "6to4.mss-clamp 1220\n"
	                           "6to4.dscp zero\n"
	                           "6to4.ecn zero\n"
	                           "6to4.nat off\n"
	                           "6rd.prefix 2001:db8:8000::/33\n"
	                           "6rd.mask 8\n"
	                           "6rd.relay 10.0.0.1\n"
	                           "ivi.prefix 2001:db8::/32\n"
	                           "ivi.format rfc6052\n"
	                           "ivi.ipv4 192.0.2.0/24\n"
	                           "ivi.map 10.0.0.0/24 2001:db8:2::/120\n"
	                           "ivi.share 192.0.2.1/32 16 64\n"
	                           "ivi.icmp-source 203.0.113.8\n"
	                           "ivi.icmp-source 2001:db8::8\n"
	                           "ivi.icmp-interface on\n"
	                           "ivi.lowest-ipv6-mtu 1500\n"
	                           "ivi.udp-zero-checksum drop\n"
	                           "ivi.errors off\n"
	                           "ivi.mss-clamp 1220\n"
	                           "ivi.tos 184\n"
	                           "selection-mode round-robin\n"
	                           "dns64-prefix 2001:db8:64::/48\n"
	                           "dns64-prefix 2001:db8:65::/96\n"
	                           "debugging yes\n"
	                           "timeout-time 0.250\n"
	                           "resend-attempts 0\n"
	                           "response-maxlength 512\n"
	                           "port 5353\n"
	                           "num-threads 10\n"
	                           "dns64.exclude ::ffff:0.0.0.0/96\n"
	                           "dns64.exclude 2001:db8:64::/48\n"
	                           "dns64.always on\n"
	                           "dns64.client 10.0.0.0/8\n"
	                           "dns64.client 2001:db8::/32\n"
	                           "dns64.cache 0\n"
	                           "dns64.map 10.0.0.0/8 none\n"
	                           "dns64.map 0.0.0.0/0 2001:db8:66::/96\n"
	                           "dns64.skip-name example.com\n"
	                           "dns64.skip-client 10.1.0.0/16\n"
	                           "dns64.reverse off\n"
	                           "dns64.on-error servfail\n"
	                           "dns64.stale 0\n"
	                           "dns64.rate 1000\n";
	char all[4000];
	GOOD(file);
	CHECK(config_check(&c));
	dump(all, sizeof all);
	CHECK_STR(all, file);
	CHECK_EQ(c.port[CONFIG_LAN].nic.index, 7);
	CHECK(c.port[CONFIG_WAN].nic.by_mac && c.port[CONFIG_WAN].nic.address.b[5] == 0x56);
	CHECK_EQ(c.port[CONFIG_LAN].n_address, 2);
	CHECK_EQ(ip4_get(c.port[CONFIG_LAN].address[0].addr.v4), 0xc0a80101);
	CHECK_EQ(c.port[CONFIG_LAN].address[0].len, 24);
	CHECK(c.port[CONFIG_LAN].address[1].addr.is6);
	CHECK_EQ(c.port[CONFIG_WAN].mtu, 1400);
	CHECK_EQ(c.n_gateway, 2);
	CHECK_EQ(c.n_route, 2);
	CHECK_EQ(c.route[0].to.len, 8);
	CHECK_EQ(c.n_neighbour, 2);
	CHECK(c.has_menu_timeout);
	CHECK_EQ(c.menu_timeout_ms, 2500);
	CHECK_STR(c.menu_default, "nat");
	CHECK_EQ(c.watchdog_ms, 0);
	CHECK(c.debug && !c.nat.hairpin);
	CHECK_EQ(c.nat.filtering, NAT_FILTER_ENDPOINT_INDEPENDENT);
	CHECK_EQ(c.nat.udp_timeout_ms, 120250);
	CHECK_EQ(c.nat.icmp_timeout_ms, 4000000000);
	CHECK(!c.ra.on && c.ra.rdnss[1].b[0] == 0xfe && c.ra.pref64[0].len == 96);
	CHECK_EQ(c.ra.n_rdnss, 2);
	CHECK_EQ(c.ra.n_dnssl, 2);
	CHECK_EQ(c.ra.n_pref64, 2);
	CHECK_STR(c.ra.dnssl[1], "lab-1.x_y.example");
	CHECK(c.tun.has_address && ip4_get(c.tun.address) == 0xc0000204);
	CHECK(c.tun.has_relay && ip4_get(c.tun.relay) == 0xc6336409);
	CHECK_EQ(c.tun.subnet, 65535);
	CHECK_EQ(c.tun.native_from, TUN_NATIVE_RELAY);
	CHECK_EQ(c.tun.mtu, 1480);
	CHECK_EQ(c.tun.mss_clamp, 1220);
	CHECK(c.tun.dscp == TUN_ZERO && c.tun.ecn == TUN_ZERO && !c.tun.nat);
	CHECK(c.rd.has_prefix && c.rd.prefix.len == 33 && c.rd.mask == 8 && c.rd.has_relay);
}

static void lines(void)
{
	GOOD("");
	GOOD("\n\n\n");
	GOOD("# only a comment");
	GOOD("// only a comment\n   \t \n#\n//\n");
	GOOD("hostname x");
	CHECK_STR(c.hostname, "x");
	GOOD("  \thostname\t \tx  \t\r\n");
	CHECK_STR(c.hostname, "x");
	GOOD("hostname x\r");
	CHECK_STR(c.hostname, "x");
	GOOD("hostname x# y\nlan.mtu 1400// z");
	CHECK_STR(c.hostname, "x");
	CHECK_EQ(c.port[0].mtu, 1400);
	GOOD("hostname x # with \xc3\xa4 in it // twice\n");
	GOOD("\xef\xbb\xbf");
	GOOD("\xef\xbb\xbfhostname x\n");
	CHECK_STR(c.hostname, "x");
	GOOD("route  10.0.0.0/8\tvia   192.0.2.1\n");
	CHECK_EQ(c.n_route, 1);
	GOOD("lan.address 192.168.1.1/24// one slash is no comment\n");
	CHECK_EQ(c.port[0].n_address, 1);
	CHECK(text_n(NULL, 0));
}

static void not_text(void)
{
	start();
	CHECK(!text_n("hostname x\n\0\nlan.mtu 1400\n", 26));
	CHECK_STR(error(0), "gateway.conf:2: byte 0x00 is not text");
	CHECK_EQ(c.port[0].mtu, 1400);
	WRONG("hostname \xe4\n", "gateway.conf:1: byte 0xe4 is not text");
	WRONG("\n\nhost\x01name x", "gateway.conf:3: byte 0x01 is not text");
	WRONG("# a\rhostname x\n", "gateway.conf:1: byte 0x0d is not text");
	WRONG("# \x1a", "gateway.conf:1: byte 0x1a is not text");
	WRONG("hostname x\r\r\n", "gateway.conf:1: byte 0x0d is not text");
	WRONG("hostname x\x7f\n", "gateway.conf:1: byte 0x7f is not text");
	/* UTF-16, as some editors save it. */
	start();
	CHECK(!text_n("\xff\xfeh\0o\0\n\0", 8));
	CHECK_STR(error(0), "gateway.conf:1: byte 0xff is not text");
	CHECK_STR(error(1), "gateway.conf:2: byte 0x00 is not text");
}

static void unknown_keys(void)
{
	WRONG("hostnam x\n", "gateway.conf:1: unknown key \"hostnam\", nearest: hostname");
	WRONG("\n\nnat.udp_timeout 5", "gateway.conf:3: unknown key \"nat.udp_timeout\", nearest: "
	                               "nat.udp-timeout");
	WRONG("lanaddress 1.2.3.4/8", "gateway.conf:1: unknown key \"lanaddress\", nearest: "
	                              "lan.address");
	WRONG("neighbor x", "gateway.conf:1: unknown key \"neighbor\", nearest: neighbour");
	WRONG("App nat", "gateway.conf:1: unknown key \"App\", nearest: app");
	WRONG("hostname=x", "gateway.conf:1: unknown key \"hostname=x\", nearest: hostname");
	/* Keys of later versions, and keys of nobody. */
	static const char *const other[] = {"nat.ftp", "syslog", "lan.dhcp", "http",
	                                    "6rd",     "6to4",   "ivi",      "lan"};
	for (unsigned i = 0; i < ARRAY_SIZE(other); i++) {
		char file[64], want[64];
		snprintf(file, sizeof file, "%s 1", other[i]);
		snprintf(want, sizeof want, "unknown key \"%s\", nearest: ", other[i]);
		CHECK(!load(file));
		CHECK_EQ(strstr(error(0), want) != NULL, strcmp(other[i], "lan") != 0);
	}
	start();
	char longer[5000];
	memset(longer, 'k', sizeof longer);
	CHECK(!text_n(longer, sizeof longer));
	CHECK(strstr(error(0),
	             "unknown key \"kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk\", nearest"));
}

static void missing_and_twice(void)
{
	WRONG("hostname", "gateway.conf:1: hostname: the value is missing");
	WRONG("hostname   \t\r\n", "gateway.conf:1: hostname: the value is missing");
	WRONG("hostname # x\n", "gateway.conf:1: hostname: the value is missing");
	WRONG("hostname x\nhostname y\n", "gateway.conf:2: hostname: given a second time");
	CHECK_STR(c.hostname, "x");
	WRONG("debug on\n\ndebug on\n", "gateway.conf:3: debug: given a second time");
	/* In another module it is a second time as well. */
	start();
	CHECK(text("hostname x\n"));
	CHECK(!config_text(&c, "more.conf", "\nhostname y", 11));
	CHECK_STR(error(0), "more.conf:2: hostname: given a second time");
	/* Lists go on in another module. */
	start();
	CHECK(text("gateway 192.0.2.1\n"));
	CHECK(text("gateway 192.0.2.2\n"));
	CHECK_EQ(c.n_gateway, 2);
}

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
	CHECK_EQ(c.port[0].nic.index, 255);
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
	CHECK_EQ(c.port[CONFIG_LAN].n_address, 8);
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

static void command_line(void)
{
	char line[200];
	uint64_t cursor = 0;
	start();
	CHECK(config_cmdline(&c, " app=nat  quiet lan.address=192.168.7.1/24\t"
	                         "route=10.0.0.0/8+via+192.168.7.2 \033[2J"));
	CHECK(text("app wire\nhostname fromfile\nlan.address 192.168.1.1/24\n"
	           "lan.address 192.168.2.1/24\nroute ::/0 via 2001:db8::1\n"));
	CHECK_STR(c.app, "nat");
	CHECK_STR(c.hostname, "fromfile");
	CHECK_EQ(c.port[0].n_address, 1);
	CHECK(prints("lan.address 192.168.7.1/24"));
	CHECK_EQ(c.n_route, 1);
	CHECK(prints("route 10.0.0.0/8 via 192.168.7.2"));
	CHECK(log_next(&cursor, line, sizeof line));
	CHECK_STR(line, "0.000 command line: ignored \"quiet\"");
	CHECK(log_next(&cursor, line, sizeof line));
	CHECK_STR(line, "0.000 command line: ignored \"?[2J\"");
	CHECK(!log_next(&cursor, line, sizeof line));

	/* A list on the command line may have several words. */
	start();
	CHECK(config_cmdline(&c, "gateway=192.0.2.1 gateway=2001:db8::1"));
	CHECK(text("gateway 192.0.2.3"));
	CHECK_EQ(c.n_gateway, 2);
	start();
	CHECK(config_cmdline(&c, ""));
	CHECK(config_cmdline(&c, "   "));
}

static void command_line_errors(void)
{
	static const struct {
		const char *line, *error;
	} wrong[] = {
	        {"ap=nat", "command line: unknown key \"ap\", nearest: app"},
	        {"=nat", "command line: unknown key \"\", nearest: app"},
	        {"app=", "command line: app: the value is missing"},
	        {"app=+", "command line: app: the value is missing"},
	        {"app=nat app=nat", "command line: app: given a second time"},
	        {"lan.mtu=99", "command line: lan.mtu: expected a number from 1280 to 1500"},
	        {"hostname=a=b", "command line: hostname: expected letters, digits, - and . (at "
	                         "most 63), such as gateway"},
	        {"app=\033\x01\xff", "command line: app: unknown \"???\", nearest: nat (there are: "
	                             "nat, wire, 6to4)"},
	        {"route+x=1", "command line: unknown key \"route+x\", nearest: route"},
	};
	for (unsigned i = 0; i < ARRAY_SIZE(wrong); i++) {
		start();
		CHECK(!config_cmdline(&c, wrong[i].line));
		CHECK_STR(error(0), wrong[i].error);
		CHECK_EQ(c.n_errors, 1);
	}
	char line[2048];
	memset(line, 'v', sizeof line - 1);
	line[sizeof line - 1] = '\0';
	memcpy(line, "hostname=", 9);
	start();
	CHECK(!config_cmdline(&c, line));
	CHECK_STR(error(0), "command line: hostname: the value is longer than 200 characters");
	memset(line, '=', sizeof line - 1);
	start();
	CHECK(!config_cmdline(&c, line));
	/* Overridden lines are still checked for form, and for "twice". */
	start();
	CHECK(config_cmdline(&c, "lan.mtu=1400 debug=on"));
	CHECK(!text("lan.mtu 99\ndebug off\ndebug off\n"));
	CHECK_STR(error(0), "gateway.conf:1: lan.mtu: expected a number from 1280 to 1500");
	CHECK_STR(error(1), "gateway.conf:3: debug: given a second time");
	CHECK_EQ(c.port[0].mtu, 1400);
	CHECK(c.debug);
}

static void many_errors(void)
{
	char junk[61440];
	start();
	for (unsigned i = 0; i < 30; i++)
		CHECK(!config_text(&c, "more", "x\ny", 3));
	CHECK_EQ(c.n_errors, 60);
	CHECK_STR(error(CONFIG_ERRORS - 1), "more:2: unknown key \"y\", nearest: app");
	config_fail(&c, "later", "%s", "one");
	CHECK_EQ(c.n_errors, 61);

	/* 60 KB: lines of one letter, one endless line, zeros, noise. */
	for (size_t i = 0; i < sizeof junk; i++)
		junk[i] = i % 2 ? '\n' : 'z';
	start();
	CHECK(!text_n(junk, sizeof junk));
	CHECK_EQ(c.n_errors, sizeof junk / 2);
	CHECK_STR(error(1), "gateway.conf:2: unknown key \"z\", nearest: app");
	memset(junk, 'z', sizeof junk);
	start();
	CHECK(!text_n(junk, sizeof junk));
	CHECK_EQ(c.n_errors, 1);
	memset(junk, 0, sizeof junk);
	start();
	CHECK(!text_n(junk, sizeof junk));
	CHECK_STR(error(0), "gateway.conf:1: byte 0x00 is not text");
	uint32_t seed = 7;
	for (size_t i = 0; i < sizeof junk; i++)
		junk[i] = (char)((seed = seed * 1664525 + 1013904223) >> 24);
	start();
	CHECK(!text_n(junk, sizeof junk));
	for (unsigned i = 0; i < CONFIG_ERRORS; i++)
		for (const char *p = error(i); *p; p++)
			CHECK(*p >= ' ' && *p <= '~');
}

static void error_texts(void)
{
	char name[80];
	start();
	memset(name, 'n', sizeof name - 1);
	name[sizeof name - 1] = '\0';
	CHECK(!config_text(&c, name, "\n\nx", 3));
	size_t n = strlen(c.error[0].where);
	CHECK(n < sizeof c.error[0].where && strcmp(c.error[0].where + n - 2, ":3") == 0);
	config_fail(&c, "", "%s %s %s", name, name, name);
	CHECK_EQ(strlen(c.error[1].what), sizeof c.error[1].what - 1);
	config_fail(&c, "nic", "lan: %s\n\033", "not there");
	CHECK_STR(error(2), "nic: lan: not there??");
}

/* --- generated configurations ------------------------------------------------- */

static uint32_t seed = 4242;

static uint32_t draw(uint32_t n)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % n;
}

static const char *address(bool is6)
{
	static char turn[4][64];
	static unsigned next;
	char *t = turn[next++ % 4];
	if (is6)
		snprintf(t, 64, draw(2) ? "2001:db8:%x::%x" : "2001:DB8::%X:%X:0:0:1", draw(65536),
		         1 + draw(65535));
	else
		snprintf(t, 64, "%u.%u.%u.%u", 1 + draw(126), draw(256), draw(256), 1 + draw(253));
	return t;
}

static const char *seconds(uint32_t most)
{
	static char t[32];
	static const char *const form[] = {"%u", "%u.5", "%u.25", "%u.007", "%u.0"};
	snprintf(t, sizeof t, form[draw(ARRAY_SIZE(form))], 1 + draw(most - 1));
	return t;
}

/* One good line for a key that is drawn; `used` keeps the others from coming
 * twice. */
static int line(char *buf, size_t size, uint32_t *used)
{
	static const char *const timeout[] = {
	        "nat.udp-timeout",  "nat.tcp-timeout", "nat.tcp-transitory-timeout",
	        "nat.icmp-timeout", "menu-timeout",    "watchdog"};
	static const char *const filter[] = {"endpoint-independent", "address-dependent",
	                                     "address-and-port-dependent"};
	uint32_t kind = draw(20);
	bool is6 = draw(2);
	if (kind < 16 && (*used >> kind & 1))
		return 0;
	*used |= 1u << kind;
	switch (kind) {
	case 0:
		return snprintf(buf, size, "app %s\n", apps[draw(3)]);
	case 1:
		return snprintf(buf, size, "hostname h%u.example\n", draw(1000));
	case 2:
		return snprintf(buf, size, "lan nic%u\n", draw(256));
	case 3:
		return snprintf(buf, size, "wan 52:54:00:%02x:%02X:%02x\n", draw(256), draw(256),
		                draw(256));
	case 4:
	case 5:
		return snprintf(buf, size, "%s.mtu %u\n", kind == 4 ? "lan" : "wan",
		                1280 + draw(221));
	case 6:
		return snprintf(buf, size, "menu-default\t%s # c\n", apps[draw(3)]);
	case 7:
		return snprintf(buf, size, "nat.sessions %u\n", 100 + draw(16000000 - 100));
	case 8:
		return snprintf(buf, size, "nat.filtering %s\r\n", filter[draw(3)]);
	case 9:
		return snprintf(buf, size, "%s %s\n", "nat.hairpin", draw(2) ? "on" : "off");
	default:
		break;
	}
	if (kind < 16)
		return snprintf(buf, size, "%s %s\n", timeout[kind - 10],
		                seconds(kind < 14 ? 4000000 : 86400));
	switch (kind) {
	case 16:
		return snprintf(buf, size, "%s.address %s/%u\n", draw(2) ? "lan" : "wan",
		                address(is6), is6 ? 127 : 31);
	case 17:
		return snprintf(buf, size, "gateway %s\n", address(is6));
	case 18:
		return snprintf(buf, size, "route %s/%u  via %s\n", address(is6),
		                draw(is6 ? 129 : 33), address(is6));
	default:
		return snprintf(buf, size, "neighbour %s 52-54-00-%02x-aa-BB // x\n", address(is6),
		                draw(256));
	}
}

static void round_trips(void)
{
	static struct config first;
	for (unsigned round = 0; round < 3000; round++) {
		char file[4000] = "", again[10000], twice[10000];
		size_t n = 0;
		uint32_t used = 0;
		start();
		for (unsigned i = draw(40); i > 0; i--)
			n += (size_t)line(file + n, sizeof file - n, &used);
		/* Lists may overflow: then the error is the lists' only. */
		if (!text(file)) {
			CHECK(strstr(error(0), "given more than"));
			c.n_errors = 0;
		}
		dump(again, sizeof again);
		first = c;
		CHECK(load(again));
		CHECK_STR(error(0), "");
		CHECK(memcmp(&first, &c, offsetof(struct config, apps)) == 0);
		dump(twice, sizeof twice);
		CHECK_STR(twice, again);
	}
}

int main(void)
{
	TEST(defaults);
	TEST(every_key);
	TEST(lines);
	TEST(not_text);
	TEST(unknown_keys);
	TEST(missing_and_twice);
	TEST(names);
	TEST(app_names);
	TEST(nics);
	TEST(same_nic);
	TEST(own_addresses);
	TEST(gateways_routes_neighbours);
	TEST(numbers);
	TEST(nat_values);
	TEST(advertised_values);
	TEST(tunnel_values);
	TEST(mtd64_values);
	TEST(dns64_values);
	TEST(full_lists);
	TEST(command_line);
	TEST(command_line_errors);
	TEST(many_errors);
	TEST(error_texts);
	TEST(round_trips);
	return tap_done();
}
