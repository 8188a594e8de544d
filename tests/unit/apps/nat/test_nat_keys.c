/* apps/nat/nat_keys.c: values of the NAT's keys, good and bad. */
#include "apps/nat/nat_keys.h"
#include "tests/unit/config_kit.h"

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
	CHECK(!nat_config(&c)->has_tcp_opening_timeout);
	GOOD("nat.tcp-opening-timeout 30");
	CHECK(nat_config(&c)->has_tcp_opening_timeout &&
	      nat_config(&c)->tcp_opening_timeout_ms == 30000);
}

int main(void)
{
	TEST(nat_values);
	return tap_done();
}
