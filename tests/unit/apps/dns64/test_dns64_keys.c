/* apps/dns64/dns64_keys.c: values of the DNS64 server's keys, good and bad. */
#include "apps/dns64/dns64_keys.h"
#include "net/setup/net_keys.h"
#include "tests/unit/config_kit.h"

/* Files of mtd64-ng are taken as they are. */
static void mtd64_values(void)
{
	GOOD("// nameservers\nnameserver default\nnameserver 8.8.8.8\nnameserver defaults\n"
	     "selection-mode random\ndns64-prefix 2001:db8:63a9:1ef2:dead:beef::/96\n"
	     "debugging no\ntimeout-time 1.000000\nresend-attempts 32767\n"
	     "response-maxlength 0\nnum-threads 100000\nport 65535\n");
	CHECK_EQ(net_config(&c)->n_server, 3);
	CHECK(net_config(&c)->server[0].lease && net_config(&c)->server[2].lease &&
	      !net_config(&c)->server[1].lease);
	CHECK_EQ(ip4_get(net_config(&c)->server[1].addr.v4), 0x08080808);
	CHECK(dns64_config(&c)->has_max_length && dns64_config(&c)->max_length == 0 &&
	      dns64_config(&c)->has_threads);
	CHECK(prints("dns64-prefix 2001:db8:63a9:1ef2:dead:beef::/96"));
	WRONG_VALUE("nameserver dns.example", "nameserver: expected an address, such as "
	                                      "192.0.2.1 or 2001:db8::1, or default");
	WRONG_VALUE("nameserver 224.0.0.1", "nameserver: 224.0.0.1 is a multicast address");
	WRONG_VALUE("selection-mode first", "selection-mode: expected random or round-robin");
	/* Host bits are cut, and the default is replaced. */
	GOOD("dns64-prefix 2001:db8:aaaa:bbbb:cccc:dddd:eeee:ffff/40\n");
	CHECK_EQ(dns64_config(&c)->n_prefix, 1);
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
	CHECK_EQ(dns64_config(&c)->timeout_ms, 5000);
	GOOD("timeout-time 2.5");
	CHECK_EQ(dns64_config(&c)->timeout_ms, 2500);
	GOOD("timeout-time 32767.999999");
	GOOD("timeout-time 0.0000001");
	CHECK_EQ(dns64_config(&c)->timeout_ms, 1);
	GOOD("timeout-time 1.999999");
	CHECK_EQ(dns64_config(&c)->timeout_ms, 1999);
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
	WRONG_VALUE("portfoo 53", "unknown key \"portfoo\"");
	GOOD("debugging maybe");
	CHECK(!dns64_config(&c)->debugging);
}

static void dns64_values(void)
{
	GOOD("dns64.client 192.168.1.77/24\ndns64.client ::/0\ndns64.exclude fe80::1/10\n");
	CHECK(prints("dns64.client 192.168.1.0/24"));
	CHECK(prints("dns64.exclude fe80::/10"));
	CHECK_EQ(dns64_config(&c)->n_exclude, 1);
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
	CHECK_STR(dns64_config(&c)->skip_name[0], "Example.com");
	WRONG_VALUE("dns64.skip-name *.example",
	            "dns64.skip-name: expected a domain name, such as example.com");
	WRONG_VALUE("dns64.on-error refuse", "dns64.on-error: expected synthesise or servfail");
	WRONG_VALUE("dns64.cache -1", "dns64.cache: expected a number from 0 to 16000000");
	/* The command line takes the place of file and default alike. */
	start();
	CHECK(config_cmdline(&c, "dns64-prefix=2001:db8:1::/96"));
	CHECK(text("dns64-prefix 2001:db8:2::/96\ndns64-prefix 2001:db8:3::/96\n"));
	CHECK_EQ(dns64_config(&c)->n_prefix, 1);
	CHECK(prints("dns64-prefix 2001:db8:1::/96"));
}

int main(void)
{
	TEST(mtd64_values);
	TEST(dns64_values);
	return tap_done();
}
