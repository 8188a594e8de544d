/* kernel/config/config.c and the keys of the image: lines, words, who wins, every key once,
 * errors, and the way back to text. */
#include "apps/nat/nat_keys.h"
#include "apps/tunnel/tun_keys.h"
#include "net/ra/ra_keys.h"
#include "net/setup/net_keys.h"
#include "tests/unit/config_kit.h"

static void defaults(void)
{
	char all[2500];
	start();
	dump(all, sizeof all);
	CHECK_STR(all, "hostname gateway\n"
	               "lan nic0\n"
	               "wan nic1\n"
	               "lan.mtu 1500\n"
	               "wan.mtu 1500\n"
	               "lan.ra on\n"
	               "wan.dhcp-probe on\n"
	               "wan.dhcp-client-id duid\n"
	               "lan.dhcp-lease 43200\n"
	               "wan.prefix-length 60\n"
	               "watchdog 10\n"
	               "usb on\n"
	               "keyboard us\n"
	               "debug off\n"
	               "nat.sessions 100000\n"
	               "nat.host-limit 0\n"
	               "nat.filtering address-dependent\n"
	               "nat.udp-timeout 300\n"
	               "nat.tcp-timeout 7440\n"
	               "nat.tcp-transitory-timeout 240\n"
	               "nat.icmp-timeout 60\n"
	               "nat.hairpin on\n"
	               "nat.log off\nnat.blocks 0\n"
	               "lan.filter stateful\n"
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
	               "wkp-strict on\n"
	               "nat64.prefix 64:ff9b::/96\n"
	               "nat64.sessions 100000\n"
	               "nat64.host-limit 0\n"
	               "nat64.host-length 64\n"
	               "nat64.filtering address-dependent\n"
	               "nat64.udp-timeout 300\n"
	               "nat64.tcp-timeout 7440\n"
	               "nat64.tcp-transitory-timeout 240\n"
	               "nat64.icmp-timeout 60\n"
	               "nat64.fragment-timeout 2\n"
	               "nat64.hairpin on\n"
	               "nat64.log off\nnat64.blocks 0\n"
	               "nat64.lowest-ipv6-mtu 1280\n"
	               "nat64.mss-clamp 0\n"
	               "nat64.tos copy\n"
	               "clat.prefix auto\n"
	               "clat.lowest-ipv6-mtu 1280\n"
	               "clat.mss-clamp 0\n"
	               "selection-mode random\n"
	               "dns64-prefix 64:ff9b::/96\n"
	               "debugging no\n"
	               "timeout-time 1.000\n"
	               "resend-attempts 2\n"
	               "port 53\n"
	               "dns64.exclude ::ffff:0.0.0.0/96\n"
	               "dns64.cache 65536\n"
	               "dns64.reverse on\n"
	               "dns64.on-error synthesise\n"
	               "dns64.stale 86400\n"
	               "dns64.rate 0\n"
	               "pcp.limit 64\n");
	CHECK_EQ(c.n_errors, 0);
	CHECK_STR(settings_name(&c)->app, "");
	CHECK(!settings_run(&c)->has_menu_timeout);
	CHECK_EQ(settings_run(&c)->watchdog_ms, 10000);
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
	                           "wan.dhcp-probe off\n"
	                           "wan.dhcp-client-id mac\n"
	                           "lan.dhcp 192.168.1.100-192.168.1.199\n"
	                           "lan.dhcp-lease 600\n"
	                           "lan.dhcp-static 52:54:00:00:00:09 192.168.1.20 nas\n"
	                           "lan.dhcp-static 52:54:00:00:00:0a 192.168.1.150\n"
	                           "lan.domain home.test\n"
	                           "lan.dhcp-option 42 192.168.1.9\n"
	                           "lan.dhcp-option 114 https://portal.test/\n"
	                           "lan.dhcp-v6only 1800\n"
	                           "lan.prefix delegated\n"
	                           "wan.prefix-length 56\n"
	                           "time-server 192.0.2.123\n"
	                           "time-server 2001:db8::123\n"
	                           "syslog 192.0.2.5:514\n"
	                           "syslog tcp:[2001:db8::5]:601\n"
	                           "ipfix 192.0.2.5:4739\n"
	                           "menu-timeout 2.5\n"
	                           "menu-default nat\n"
	                           "watchdog 0\n"
	                           "usb off\n"
	                           "stick 12AB-34CD\n"
	                           "keyboard fr\n"
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
	                           "nat.log sessions\nnat.blocks 64\n"
	                           "lan.filter off\n"
	                           "forward6 tcp [2001:db8:1::10]:443\n"
	                           "forward6 all 2001:db8:1::11\n"
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
	                           "wkp-strict off\n"
	                           "nat64.prefix 64:ff9b::/96\n"
	                           "nat64.prefix 2001:db8:164::/48\n"
	                           "nat64.pool 203.0.113.40\n"
	                           "nat64.sessions 2000\n"
	                           "nat64.host-limit 60\n"
	                           "nat64.host-length 128\n"
	                           "nat64.filtering endpoint-independent\n"
	                           "nat64.udp-timeout 121\n"
	                           "nat64.tcp-timeout 86400\n"
	                           "nat64.tcp-transitory-timeout 241\n"
	                           "nat64.icmp-timeout 61\n"
	                           "nat64.fragment-timeout 3\n"
	                           "nat64.forward tcp 203.0.113.40:80 [2001:db8:1::10]:8080\n"
	                           "nat64.hairpin off\n"
	                           "nat64.log sessions\nnat64.blocks 32\n"
	                           "nat64.lowest-ipv6-mtu 1500\n"
	                           "nat64.mss-clamp 1220\n"
	                           "nat64.tos 8\n"
	                           "clat.prefix 2001:db8:64::/96\n"
	                           "clat.address 2001:db8:c1a7::/64\n"
	                           "clat.lowest-ipv6-mtu 1400\n"
	                           "clat.mss-clamp 1220\n"
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
	                           "dns64.rate 1000\n"
	                           "pcp.limit 32\n";
	char all[5000];
	GOOD(file);
	CHECK(config_check(&c));
	dump(all, sizeof all);
	CHECK_STR(all, file);
	CHECK_EQ(net_config(&c)->iface[NET_LAN].card.index, 7);
	CHECK(net_config(&c)->iface[NET_WAN].card.by_mac &&
	      net_config(&c)->iface[NET_WAN].card.address.b[5] == 0x56);
	CHECK_EQ(net_config(&c)->iface[NET_LAN].n_address, 2);
	CHECK_EQ(ip4_get(net_config(&c)->iface[NET_LAN].address[0].addr.v4), 0xc0a80101);
	CHECK_EQ(net_config(&c)->iface[NET_LAN].address[0].len, 24);
	CHECK(net_config(&c)->iface[NET_LAN].address[1].addr.is6);
	CHECK_EQ(net_config(&c)->iface[NET_WAN].mtu, 1400);
	CHECK_EQ(net_config(&c)->n_gateway, 2);
	CHECK_EQ(net_config(&c)->n_route, 2);
	CHECK_EQ(net_config(&c)->route[0].to.len, 8);
	CHECK_EQ(net_config(&c)->n_neighbour, 2);
	CHECK(settings_run(&c)->has_menu_timeout);
	CHECK_EQ(settings_run(&c)->menu_timeout_ms, 2500);
	CHECK_STR(settings_run(&c)->menu_default, "nat");
	CHECK_EQ(settings_run(&c)->watchdog_ms, 0);
	CHECK(!settings_run(&c)->usb);
	CHECK_STR(settings_run(&c)->stick, "12AB-34CD");
	CHECK(settings_run(&c)->debug && !nat_config(&c)->hairpin);
	CHECK_EQ(nat_config(&c)->filtering, NAT_FILTER_ENDPOINT_INDEPENDENT);
	CHECK_EQ(nat_config(&c)->udp_timeout_ms, 120250);
	CHECK_EQ(nat_config(&c)->icmp_timeout_ms, 4000000000);
	CHECK(!ra_config(&c, NET_LAN)->on && ra_config(&c, NET_LAN)->rdnss[1].b[0] == 0xfe &&
	      ra_config(&c, NET_LAN)->pref64[0].len == 96);
	CHECK_EQ(ra_config(&c, NET_LAN)->n_rdnss, 2);
	CHECK_EQ(ra_config(&c, NET_LAN)->n_dnssl, 2);
	CHECK_EQ(ra_config(&c, NET_LAN)->n_pref64, 2);
	CHECK_STR(ra_config(&c, NET_LAN)->dnssl[1], "lab-1.x_y.example");
	CHECK(tun_config(&c)->has_address && ip4_get(tun_config(&c)->address) == 0xc0000204);
	CHECK(tun_config(&c)->has_relay && ip4_get(tun_config(&c)->relay) == 0xc6336409);
	CHECK_EQ(tun_config(&c)->subnet, 65535);
	CHECK_EQ(tun_config(&c)->native_from, TUN_NATIVE_RELAY);
	CHECK_EQ(tun_config(&c)->mtu, 1480);
	CHECK_EQ(tun_config(&c)->mss_clamp, 1220);
	CHECK(tun_config(&c)->dscp == TUN_ZERO && tun_config(&c)->ecn == TUN_ZERO &&
	      !tun_config(&c)->nat);
	CHECK(tun_config(&c)->rd.has_prefix && tun_config(&c)->rd.prefix.len == 33 &&
	      tun_config(&c)->rd.mask == 8 && tun_config(&c)->rd.has_relay);
}

static void lines(void)
{
	GOOD("");
	GOOD("\n\n\n");
	GOOD("# only a comment");
	GOOD("// only a comment\n   \t \n#\n//\n");
	GOOD("hostname x");
	CHECK_STR(settings_name(&c)->hostname, "x");
	GOOD("  \thostname\t \tx  \t\r\n");
	CHECK_STR(settings_name(&c)->hostname, "x");
	GOOD("hostname x\r");
	CHECK_STR(settings_name(&c)->hostname, "x");
	WRONG("hostname x://y\n", "gateway.conf:1: hostname: expected letters, digits, - and . (at "
	                          "most 63), such as gateway");
	GOOD("hostname x# y\nlan.mtu 1400// z");
	CHECK_STR(settings_name(&c)->hostname, "x");
	CHECK_EQ(net_config(&c)->iface[NET_LAN].mtu, 1400);
	GOOD("hostname x # with \xc3\xa4 in it // twice\n");
	GOOD("\xef\xbb\xbf");
	GOOD("\xef\xbb\xbfhostname x\n");
	CHECK_STR(settings_name(&c)->hostname, "x");
	GOOD("route  10.0.0.0/8\tvia   192.0.2.1\n");
	CHECK_EQ(net_config(&c)->n_route, 1);
	GOOD("lan.address 192.168.1.1/24// one slash is no comment\n");
	CHECK_EQ(net_config(&c)->iface[NET_LAN].n_address, 1);
	CHECK(text_n(NULL, 0));
}

static void not_text(void)
{
	start();
	CHECK(!text_n("hostname x\n\0\nlan.mtu 1400\n", 26));
	CHECK_STR(error(0), "gateway.conf:2: byte 0x00 is not text");
	CHECK_EQ(net_config(&c)->iface[NET_LAN].mtu, 1400);
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
	WRONG("hostname x\nserve dns46", "gateway.conf:2: serve: unknown \"dns46\", nearest: dns64 "
	                                 "(there are: dns64, dns, http, pcp)");
	CHECK(load("serve dns64\nserve dns64") && !config_check(&c));
	CHECK_STR(error(0), "gateway.conf:2: serve: dns64 is given twice");
	WRONG("rotue x", "gateway.conf:1: unknown key \"rotue\", nearest: route");
	WRONG("nat.udptimeuot 5",
	      "gateway.conf:1: unknown key \"nat.udptimeuot\", nearest: nat.udp-timeout");
	/* Words that no key is like. */
	static const char *const other[] = {"http", "firewall", "ivi", "xyz", "q", "password"};
	for (unsigned i = 0; i < ARRAY_SIZE(other); i++) {
		char file[64], want[64];
		snprintf(file, sizeof file, "%s 1", other[i]);
		snprintf(want, sizeof want, "gateway.conf:1: unknown key \"%s\"", other[i]);
		WRONG(file, want);
	}
	start();
	char longer[5000];
	memset(longer, 'k', sizeof longer);
	CHECK(!text_n(longer, sizeof longer));
	CHECK_STR(error(0),
	          "gateway.conf:1: unknown key \"kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk\"");
}

static void missing_and_twice(void)
{
	WRONG("hostname", "gateway.conf:1: hostname: the value is missing");
	WRONG("hostname   \t\r\n", "gateway.conf:1: hostname: the value is missing");
	WRONG("hostname # x\n", "gateway.conf:1: hostname: the value is missing");
	WRONG("hostname x\nhostname y\n", "gateway.conf:2: hostname: given a second time");
	CHECK_STR(settings_name(&c)->hostname, "x");
	WRONG("debug on\n\ndebug on\n", "gateway.conf:3: debug: given a second time");
	/* A second value in another module is an error too. */
	start();
	CHECK(text("hostname x\n"));
	CHECK(!config_text(&c, "more.conf", "\nhostname y", 11));
	CHECK_STR(error(0), "more.conf:2: hostname: given a second time");
	/* A list continues in another module. */
	start();
	CHECK(text("gateway 192.0.2.1\n"));
	CHECK(text("gateway 192.0.2.2\n"));
	CHECK_EQ(net_config(&c)->n_gateway, 2);
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
	CHECK_STR(settings_name(&c)->app, "nat");
	CHECK_STR(settings_name(&c)->hostname, "fromfile");
	CHECK_EQ(net_config(&c)->iface[NET_LAN].n_address, 1);
	CHECK(prints("lan.address 192.168.7.1/24"));
	CHECK_EQ(net_config(&c)->n_route, 1);
	CHECK(prints("route 10.0.0.0/8 via 192.168.7.2"));
	CHECK(log_next(&cursor, line, sizeof line));
	CHECK_STR(line, "0.000 command line: ignored \"quiet\"");
	CHECK(log_next(&cursor, line, sizeof line));
	CHECK_STR(line, "0.000 command line: ignored \"?[2J\"");
	CHECK(!log_next(&cursor, line, sizeof line));

	/* The command line may repeat the key of a list. */
	start();
	CHECK(config_cmdline(&c, "gateway=192.0.2.1 gateway=2001:db8::1"));
	CHECK(text("gateway 192.0.2.3"));
	CHECK_EQ(net_config(&c)->n_gateway, 2);
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
	        {"=nat", "command line: unknown key \"\""},
	        {"app=", "command line: app: the value is missing"},
	        {"app=+", "command line: app: the value is missing"},
	        {"app=nat app=nat", "command line: app: given a second time"},
	        {"lan.mtu=99", "command line: lan.mtu: expected a number from 1280 to 1500"},
	        {"hostname=a=b", "command line: hostname: expected letters, digits, - and . (at "
	                         "most 63), such as gateway"},
	        {"app=\033\x01\xff", "command line: app: unknown \"???\" (there are: "
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
	/* A value of 200 characters is read, one of 201 is not. The NUL does not count. */
	line[9 + 201] = '\0';
	start();
	CHECK(!config_cmdline(&c, line));
	CHECK_STR(error(0), "command line: hostname: the value is longer than 200 characters");
	line[9 + 200] = '\0';
	start();
	CHECK(!config_cmdline(&c, line));
	CHECK_STR(error(0), "command line: hostname: expected letters, digits, - and . (at most "
	                    "63), such as gateway");
	memset(line + 9 + 10, '+', 190); /* spaces, which are removed */
	start();
	CHECK(config_cmdline(&c, line));
	CHECK_STR(settings_name(&c)->hostname, "vvvvvvvvvv");
	memset(line, '=', sizeof line - 1);
	start();
	CHECK(!config_cmdline(&c, line));
	/* Lines that the command line overrides are still checked. */
	start();
	CHECK(config_cmdline(&c, "lan.mtu=1400 debug=on"));
	CHECK(!text("lan.mtu 99\ndebug off\ndebug off\n"));
	CHECK_STR(error(0), "gateway.conf:1: lan.mtu: expected a number from 1280 to 1500");
	CHECK_STR(error(1), "gateway.conf:3: debug: given a second time");
	CHECK_EQ(net_config(&c)->iface[NET_LAN].mtu, 1400);
	CHECK(settings_run(&c)->debug);
}

static void many_errors(void)
{
	char junk[61440];
	start();
	for (unsigned i = 0; i < 30; i++)
		CHECK(!config_text(&c, "more", "x\ny", 3));
	CHECK_EQ(c.n_errors, 60);
	CHECK_STR(error(CONFIG_ERRORS - 1), "more:2: unknown key \"y\"");
	config_fail(&c, "later", "%s", "one");
	CHECK_EQ(c.n_errors, 61);

	/* 60 KB: lines of one letter, one endless line, zeros, noise. */
	for (size_t i = 0; i < sizeof junk; i++)
		junk[i] = i % 2 ? '\n' : 'z';
	start();
	CHECK(!text_n(junk, sizeof junk));
	CHECK_EQ(c.n_errors, sizeof junk / 2);
	CHECK_STR(error(1), "gateway.conf:2: unknown key \"z\"");
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

/* The first word of a message is the key; config_where gives the place of its value. */
static void where_a_value_stands(void)
{
	start();
	CHECK(config_cmdline(&c, "lan.mtu=1400"));
	CHECK(text("\nwan.mtu 1300\n"));
	CHECK_STR(config_where(&c, "lan.mtu: too small"), "command line");
	CHECK_STR(config_where(&c, "lan.mtu"), "command line");
	CHECK_STR(config_where(&c, "wan.mtu of 1300 is too small"), "gateway.conf:2");
	CHECK_STR(config_where(&c, "lan: a default"), "gateway.conf");
	CHECK_STR(config_where(&c, "lan.mt: no key"), "gateway.conf");
	CHECK_STR(config_where(&c, "lan.mtux: no key"), "gateway.conf");
	CHECK_STR(config_where(&c, ""), "gateway.conf");
	/* Without a file there is none to be named. */
	start();
	CHECK(config_cmdline(&c, "lan.mtu=1400"));
	CHECK_STR(config_where(&c, "lan.mtu"), "command line");
	CHECK_STR(config_where(&c, "wan.mtu"), "no configuration file");
	CHECK(config_text(&c, "my.conf", "", 0));
	CHECK(config_text(&c, "more.conf", "", 0));
	CHECK_STR(config_where(&c, "wan.mtu"), "my.conf");
}

/* Only what differs from its default: every default is the text that its value prints. */
static void changed_lines(void)
{
	char all[300], *at = all, buf[100];
	uint32_t cursor = 0;
	start();
	CHECK(!config_line_changed(&c, &cursor, buf, sizeof buf));
	CHECK(text("lan.mtu 1500\nwan.mtu 1400\ndns64-prefix 64:ff9b::/96\n"
	           "dns64-prefix 2001:db8::/96\nlan.address 192.0.2.1/24\n"
	           "dns64.exclude ::ffff:0:0/96\ntimeout-time 1\n"));
	cursor = 0;
	while (config_line_changed(&c, &cursor, buf, sizeof buf))
		at += sprintf(at, "%s\n", buf);
	CHECK_STR(all, "lan.address 192.0.2.1/24\nwan.mtu 1400\n"
	               "dns64-prefix 64:ff9b::/96\ndns64-prefix 2001:db8::/96\n");
}

/* Bytes behind the text are not read. */
static void text_ends_where_it_ends(void)
{
	start();
	CHECK(!config_text(&c, "gateway.conf", "hostname a//", 11));
	CHECK_EQ(c.n_errors, 1);
	start();
	CHECK(config_text(&c, "gateway.conf", "hostname a//", 12));
	CHECK_STR(settings_name(&c)->hostname, "a");
}

static void bytes_at_the_edges(void)
{
	start();
	CHECK(!text("# \x7f\n"));
	CHECK_STR(error(0), "gateway.conf:1: byte 0x7f is not text");
	start();
	CHECK(!text("hostname \x80\n"));
	CHECK_STR(error(0), "gateway.conf:1: byte 0x80 is not text");
	start();
	CHECK(text("\r\n\r\nhostname a\r\n\r"));
	CHECK_STR(settings_name(&c)->hostname, "a");
	start();
	CHECK(!text("\xef\xbb hostname a\n")); /* two bytes of the mark are no mark */
	CHECK_STR(error(0), "gateway.conf:1: byte 0xef is not text");
}

int main(void)
{
	TEST(defaults);
	TEST(every_key);
	TEST(lines);
	TEST(not_text);
	TEST(unknown_keys);
	TEST(missing_and_twice);
	TEST(command_line);
	TEST(command_line_errors);
	TEST(many_errors);
	TEST(error_texts);
	TEST(where_a_value_stands);
	TEST(changed_lines);
	TEST(text_ends_where_it_ends);
	TEST(bytes_at_the_edges);
	return tap_done();
}
