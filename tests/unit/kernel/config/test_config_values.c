/* kernel/config/config_types.c and kernel/settings.c: names and numbers, good and bad. */
#include "apps/nat/nat_keys.h"
#include "tests/unit/config_kit.h"

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
	CHECK_EQ(strlen(settings_name(&c)->hostname), 63);
	start();
	CHECK(!text_n(longest, 9 + 64));
}

static void names_of_apps(void)
{
	GOOD("app nat");
	CHECK_STR(settings_name(&c)->app, "nat");
	WRONG_VALUE("app nta", "app: unknown \"nta\", nearest: nat (there are: nat, wire, 6to4)");
	WRONG_VALUE("menu-default 6tp4",
	            "menu-default: unknown \"6tp4\", nearest: 6to4 (there are: nat, wire, 6to4)");
	CHECK(!load("app natt"));
	CHECK(!load("app na"));
	CHECK(!load("app NAT"));
	CHECK(!load("app nat wire"));
	settings_init(&c, NULL, 0);
	CHECK(!text("app nat"));
	CHECK_STR(error(0), "gateway.conf:1: app: unknown \"nat\" (there are: )");
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
	CHECK(settings_run(&c)->has_menu_timeout && settings_run(&c)->menu_timeout_ms == 0);
	CHECK(prints("menu-timeout 0"));
	WRONG_VALUE("debug yes", "debug: expected on or off");
	WRONG_VALUE("nat.hairpin ON", "nat.hairpin: expected on or off");
	WRONG_VALUE("nat.filtering none",
	            "nat.filtering: expected endpoint-independent, address-dependent or "
	            "address-and-port-dependent");
	GOOD("nat.filtering address-and-port-dependent");
	CHECK_EQ(nat_config(&c)->filtering, NAT_FILTER_ADDRESS_AND_PORT_DEPENDENT);
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
	TEST(names_of_apps);
	TEST(numbers);
	TEST(lines_in_a_small_room);
	return tap_done();
}
