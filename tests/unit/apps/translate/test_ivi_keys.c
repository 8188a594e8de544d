/* apps/translate/ivi_keys.c: values of the translator's keys, good and bad, and the
 * way back to text. */
#include "apps/translate/ivi_keys.h"
#include "apps/translate/xlat_keys.h"
#include "tests/unit/config_kit.h"

/* One line that is accepted, and how it prints. */
#define SHOWN(line, shown)            \
	do {                          \
		CHECK(load(line));    \
		CHECK(prints(shown)); \
	} while (0)

static void prefix(void)
{
#define EXPECTED "ivi.prefix: expected an IPv6 PREFIX/LENGTH, such as 2001:db8::/32"
	SHOWN("ivi.prefix 2001:DB8:100::/40", "ivi.prefix 2001:db8:100::/40");
	CHECK(ivi_config(&c)->has_prefix);
	CHECK_EQ(ivi_config(&c)->prefix.len, 40);
	SHOWN("ivi.prefix 64:ff9b::/96", "ivi.prefix 64:ff9b::/96");
	SHOWN("ivi.prefix ::/0", "ivi.prefix ::/0");
	SHOWN("ivi.prefix 2001:db8::7", "ivi.prefix 2001:db8::7/128");
	WRONG_VALUE("ivi.prefix 2001:db8::1/32", EXPECTED);
	WRONG_VALUE("ivi.prefix 2001:db8:100::/39", EXPECTED);
	WRONG_VALUE("ivi.prefix 2001:db8::/129", EXPECTED);
	WRONG_VALUE("ivi.prefix 192.0.2.0/24", EXPECTED);
	WRONG_VALUE("ivi.prefix 2001:db8::/32 x", EXPECTED);
	CHECK(load("") && !ivi_config(&c)->has_prefix);
#undef EXPECTED
}

static void ipv4(void)
{
#define EXPECTED "ivi.ipv4: expected an IPv4 PREFIX/LENGTH, such as 192.0.2.0/24"
	SHOWN("ivi.ipv4 192.0.2.0/24\nivi.ipv4 198.51.100.7", "ivi.ipv4 198.51.100.7/32");
	CHECK_EQ(ivi_config(&c)->n_ipv4, 2);
	CHECK_EQ(ivi_config(&c)->ipv4[0].len, 24);
	CHECK_EQ(ip4_get(ivi_config(&c)->ipv4[1].net), 0xc6336407);
	SHOWN("ivi.ipv4 0.0.0.0/0", "ivi.ipv4 0.0.0.0/0");
	WRONG_VALUE("ivi.ipv4 192.0.2.1/24", EXPECTED);
	WRONG_VALUE("ivi.ipv4 2001:db8::/32", EXPECTED);
	WRONG_VALUE("ivi.ipv4 192.0.2.0/33", EXPECTED);
	WRONG_VALUE("ivi.ipv4 192.0.2", EXPECTED);
#undef EXPECTED
}

/* RFC 7757, figure 1, and what section 3.2 forbids. */
static void map(void)
{
#define EXPECTED "ivi.map: expected IPV4-PREFIX IPV6-PREFIX, such as 192.0.2.0/28 2001:db8:1::/124"
	SHOWN("ivi.map 192.0.2.1 2001:db8:aaaa::", "ivi.map 192.0.2.1/32 2001:db8:aaaa::/128");
	SHOWN("ivi.map 192.0.2.2/32 2001:db8:bbbb::b/128",
	      "ivi.map 192.0.2.2/32 2001:db8:bbbb::b/128");
	SHOWN("ivi.map 192.0.2.16/28 2001:db8:cccc::/124",
	      "ivi.map 192.0.2.16/28 2001:db8:cccc::/124");
	SHOWN("ivi.map 192.0.2.128/26 2001:db8:dddd::/64",
	      "ivi.map 192.0.2.128/26 2001:db8:dddd::/64");
	SHOWN("ivi.map 192.0.2.192/29 2001:db8:eeee:8::/62",
	      "ivi.map 192.0.2.192/29 2001:db8:eeee:8::/62");
	SHOWN("ivi.map\t192.0.2.224/31  64:ff9b::/127 # x", "ivi.map 192.0.2.224/31 64:ff9b::/127");
	CHECK_EQ(ivi_config(&c)->map[0].len4, 31);
	CHECK_EQ(ivi_config(&c)->map[0].len6, 127);
	SHOWN("ivi.map 0.0.0.0/0 2001:db8:ff00::/40", "ivi.map 0.0.0.0/0 2001:db8:ff00::/40");
	WRONG_VALUE("ivi.map 192.0.2.0/24 2001:db8::/121",
	            "ivi.map: the IPv4 prefix leaves more bits than the IPv6 prefix");
	CHECK(load("ivi.map 192.0.2.0/24 2001:db8::/120"));
	WRONG_VALUE("ivi.map 192.0.2.0/24", EXPECTED);
	WRONG_VALUE("ivi.map 2001:db8::/120 192.0.2.0/24", EXPECTED);
	WRONG_VALUE("ivi.map 192.0.2.0/24 2001:db8::1/120", EXPECTED);
	WRONG_VALUE("ivi.map 192.0.2.1/24 2001:db8::/120", EXPECTED);
	WRONG_VALUE("ivi.map 192.0.2.0/24 2001:db8::/120 x", EXPECTED);
#undef EXPECTED
}

static void share(void)
{
#define EXPECTED                                                                        \
	"ivi.share: expected IPV4-PREFIX RATIO [PORTS-IN-A-ROW], such as 192.0.2.1/32 " \
	"16 64 (powers of two)"
	SHOWN("ivi.share 192.0.2.1 16", "ivi.share 192.0.2.1/32 16 1");
	SHOWN("ivi.share 192.0.2.0/24 256 4", "ivi.share 192.0.2.0/24 256 4");
	CHECK_EQ(ivi_config(&c)->share[0].ratio, 256);
	CHECK_EQ(ivi_config(&c)->share[0].run, 4);
	SHOWN("ivi.share 192.0.2.0/24 256 256", "ivi.share 192.0.2.0/24 256 256");
	SHOWN("ivi.share 192.0.2.0/24 65536", "ivi.share 192.0.2.0/24 65536 1");
	SHOWN("ivi.share 192.0.2.0/24 1 65536", "ivi.share 192.0.2.0/24 1 65536");
	WRONG_VALUE("ivi.share 192.0.2.0/24 512 256",
	            "ivi.share: ratio times ports in a row is more than 65536");
	WRONG_VALUE("ivi.share 192.0.2.0/24", EXPECTED);
	WRONG_VALUE("ivi.share 192.0.2.0/24 0", EXPECTED);
	WRONG_VALUE("ivi.share 192.0.2.0/24 3", EXPECTED);
	WRONG_VALUE("ivi.share 192.0.2.0/24 4 6", EXPECTED);
	WRONG_VALUE("ivi.share 192.0.2.0/24 131072", EXPECTED);
	WRONG_VALUE("ivi.share 192.0.2.0/24 4 4 4", EXPECTED);
	WRONG_VALUE("ivi.share 192.0.2.9/24 4", EXPECTED);
#undef EXPECTED
}

static void icmp_source(void)
{
	SHOWN("ivi.icmp-source 203.0.113.8\nivi.icmp-source 2001:db8::8",
	      "ivi.icmp-source 2001:db8::8");
	CHECK_EQ(ivi_config(&c)->n_icmp_source, 2);
	CHECK(prints("ivi.icmp-source 203.0.113.8"));
	WRONG_VALUE("ivi.icmp-source 127.0.0.1",
	            "ivi.icmp-source: 127.0.0.1 is a loopback address");
	WRONG_VALUE("ivi.icmp-source ff02::1", "ivi.icmp-source: ff02::1 is a multicast address");
	WRONG_VALUE("ivi.icmp-source 192.0.2.0/24",
	            "ivi.icmp-source: expected an address, such as 192.0.2.1 or 2001:db8::1");
}

static void words(void)
{
	SHOWN("ivi.format rfc6052", "ivi.format rfc6052");
	CHECK_EQ(ivi_config(&c)->format, IVI_FORMAT_RFC6052);
	SHOWN("ivi.format ivi", "ivi.format ivi");
	WRONG_VALUE("ivi.format eam", "ivi.format: expected ivi or rfc6052");
	SHOWN("ivi.udp-zero-checksum drop", "ivi.udp-zero-checksum drop");
	CHECK_EQ(ivi_config(&c)->udp_zero_checksum, IVI_ZERO_DROP);
	WRONG_VALUE("ivi.udp-zero-checksum forward",
	            "ivi.udp-zero-checksum: expected drop or compute");
	SHOWN("ivi.tos zero", "ivi.tos zero");
	CHECK_EQ(ivi_config(&c)->tos, 0);
	SHOWN("ivi.tos 0", "ivi.tos zero");
	SHOWN("ivi.tos 255", "ivi.tos 255");
	CHECK_EQ(ivi_config(&c)->tos, 255);
	SHOWN("ivi.tos copy", "ivi.tos copy");
	CHECK_EQ(ivi_config(&c)->tos, XLAT_TOS_COPY);
	WRONG_VALUE("ivi.tos 256", "ivi.tos: expected copy, zero, or a number from 0 to 255");
	WRONG_VALUE("ivi.tos ef", "ivi.tos: expected copy, zero, or a number from 0 to 255");
	SHOWN("ivi.lowest-ipv6-mtu 1500", "ivi.lowest-ipv6-mtu 1500");
	WRONG_VALUE("ivi.lowest-ipv6-mtu 1279",
	            "ivi.lowest-ipv6-mtu: expected a number from 1280 to 65535");
	SHOWN("ivi.mss-clamp 1220", "ivi.mss-clamp 1220");
	SHOWN("ivi.errors off\nivi.icmp-interface on", "ivi.errors off");
	CHECK(!ivi_config(&c)->errors && ivi_config(&c)->icmp_interface);
}

static void full_lists(void)
{
	char many[40000];
	size_t n = 0;
	for (unsigned i = 0; i < EMBED_MAPS; i++)
		n += (size_t)snprintf(many + n, sizeof many - n,
		                      "ivi.map 10.0.%u.0/24 2001:db8:%x::/120\n", i, i);
	CHECK(load(many));
	CHECK_EQ(ivi_config(&c)->n_map, EMBED_MAPS);
	snprintf(many + n, sizeof many - n, "ivi.map 10.1.0.0/24 2001:db8:ffff::/120\n");
	WRONG(many, "gateway.conf:257: ivi.map: given more than 256 times");
}

int main(void)
{
	TEST(prefix);
	TEST(ipv4);
	TEST(map);
	TEST(share);
	TEST(icmp_source);
	TEST(words);
	TEST(full_lists);
	return tap_done();
}
