/* net/ra/ra_keys.c: values of the keys of router advertisements, good and bad. */
#include "net/ra/ra_keys.h"
#include "tests/unit/config_kit.h"

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

int main(void)
{
	TEST(advertised_values);
	return tap_done();
}
