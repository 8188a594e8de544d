/* apps/tunnel/tun_keys.c: values of the tunnels' keys, good and bad. */
#include "apps/tunnel/tun_keys.h"
#include "tests/unit/config_kit.h"

static void tunnel_values(void)
{
	/* The parser accepts any host address; the application checks which ones it can use. */
	GOOD("6to4.address 10.0.0.1\n6to4.relay 192.168.1.1\n6rd.mask 32\n6to4.subnet 0\n");
	CHECK(!tun_config(&c)->rd.has_prefix && !tun_config(&c)->rd.has_relay);
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
#define EXPECTED "6rd.prefix: expected dhcp or a global IPv6 PREFIX/LENGTH, such as 2001:db8::/32"
	GOOD("6rd.prefix 2000::/3\n");
	GOOD("6rd.prefix 2001:db8:1:2::/64\n");
	WRONG_VALUE("6rd.prefix 2001:db8::1/32", EXPECTED);
	WRONG_VALUE("6rd.prefix 2001:db8::/65", EXPECTED);
	WRONG_VALUE("6rd.prefix fd00::/8", EXPECTED);
	WRONG_VALUE("6rd.prefix ::/0", EXPECTED);
	WRONG_VALUE("6rd.prefix 10.0.0.0/8", EXPECTED);
#undef EXPECTED
}

int main(void)
{
	TEST(tunnel_values);
	return tap_done();
}
