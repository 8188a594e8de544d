/* apps/nat64/nat64_keys.c: values of the keys of NAT64, good and bad, and of the key that all users
 * of 64:ff9b::/96 share (apps/translate/embed_keys.c). */
#include "apps/nat64/nat64_keys.h"
#include "apps/translate/embed_keys.h"
#include "apps/translate/xlat_keys.h"
#include "net/lib/wire.h"
#include "tests/unit/config_kit.h"

/* One line that is accepted, and how it prints. */
#define SHOWN(line, shown)            \
	do {                          \
		CHECK(load(line));    \
		CHECK(prints(shown)); \
	} while (0)

static void defaults(void)
{
	GOOD("");
	const struct nat64_config *n = nat64_config(&c);
	CHECK_EQ(n->n_prefix, 1);
	CHECK_EQ(n->prefix[0].len, 96);
	CHECK_EQ(n->host_length, NAT64_HOST_64);
	CHECK_EQ(n->nat.filtering, NAT_FILTER_ADDRESS_DEPENDENT);
	CHECK_EQ(n->nat.tcp_timeout_ms, 7440000);
	CHECK_EQ(n->fragment_timeout_ms, 2000);
	CHECK_EQ(n->tos, XLAT_TOS_COPY);
	CHECK(n->nat.hairpin);
	const struct embed_config *e = config_values(&c, &embed_section);
	CHECK(e->wkp_strict);
}

static void forwards(void)
{
	static const char *const bad[] = {"sctp 203.0.113.2:80 [2001:db8:1::10]:80",
	                                  "tcp 203.0.113.2:0 [2001:db8:1::10]:80",
	                                  "tcp 203.0.113.2:80 [2001:db8:1::10]:65536",
	                                  "tcp 203.0.113.2 [2001:db8:1::10]:80",
	                                  "tcp 203.0.113.2:80 2001:db8:1::10:80",
	                                  "tcp 203.0.113.2:80 [192.0.2.1]:80",
	                                  "tcp [2001:db8:1::10]:80 203.0.113.2:80",
	                                  "tcp 224.0.0.1:80 [2001:db8:1::10]:80",
	                                  "tcp 203.0.113.2:80 [ff02::1]:80",
	                                  "icmp 203.0.113.2:0 [2001:db8:1::10]:9",
	                                  "tcp 203.0.113.2:80 []:80",
	                                  "tcp 203.0.113.2:80 [192.168.1.10]:80",
	                                  "tcp 203.0.113.2:80 2001:db8:1::10:80",
	                                  "icmp 203.0.113.2:80 192.168.1.10:80",
	                                  "tcp 203.0.113.2:80 192.168.1.10",
	                                  "tcp 203.0.113.2:80 224.0.0.1:80",
	                                  "tcp 203.0.113.2:80 [:80",
	                                  "tcp :80 [2001:db8:1::10]:80",
	                                  "tcp 203.0.113.2:80",
	                                  "tcp 203.0.113.2:80 [2001:db8:1::10]:80 x"};
	char line[100];
	GOOD("nat64.forward icmp 203.0.113.2:9 [2001:db8:1::10]:65535\n");
	const struct nat64_config_forward *f = nat64_config(&c)->forward;
	CHECK_EQ(nat64_config(&c)->n_forward, 1);
	CHECK_EQ(f->proto, PROTO_ICMP);
	CHECK_EQ(f->public_port, 9);
	CHECK_EQ(f->inside_port, 65535);
	CHECK_EQ(ip4_get(f->public), 0xcb007102);
	SHOWN("nat64.forward tcp 203.0.113.2:80 [2001:db8:1::10]:8080",
	      "nat64.forward tcp 203.0.113.2:80 [2001:db8:1::10]:8080");
	SHOWN("nat64.forward udp 203.0.113.2:80 192.168.1.10:8080",
	      "nat64.forward udp 203.0.113.2:80 192.168.1.10:8080");
	SHOWN("nat64.forward udp 203.0.113.2:80 [2001:db8:1:0::10]:8080",
	      "nat64.forward udp 203.0.113.2:80 [2001:db8:1::10]:8080");
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
		snprintf(line, sizeof line, "nat64.forward %s\n", bad[i]);
		WRONG(line, "gateway.conf:1: nat64.forward: expected tcp|udp|icmp IPV4:PORT "
		            "[IPV6]:PORT or IPV4:PORT, such as tcp 192.0.2.1:80 [fd00::10]:80");
	}
}

static void values(void)
{
	SHOWN("nat64.host-length 128", "nat64.host-length 128");
	SHOWN("nat64.pool 203.0.113.1-203.0.113.9", "nat64.pool 203.0.113.1-203.0.113.9");
	SHOWN("nat64.tos 0", "nat64.tos zero");
	SHOWN("wkp-strict off", "wkp-strict off");
	WRONG_VALUE("nat64.host-length 96", "nat64.host-length: expected 64 or 128");
	WRONG_VALUE("nat64.fragment-timeout 1",
	            "nat64.fragment-timeout: expected seconds from 2 to 60, such as 2.5");
	WRONG_VALUE("nat64.prefix 64:ff9b::1/96",
	            "nat64.prefix: expected an IPv6 PREFIX/LENGTH, such as 2001:db8::/32");
}

int main(void)
{
	TEST(defaults);
	TEST(forwards);
	TEST(values);
	return tap_done();
}
