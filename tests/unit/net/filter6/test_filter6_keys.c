/* net/filter6/filter6_keys: good and bad values. */
#include "net/filter6/filter6_keys.h"
#include "net/lib/wire.h"
#include "tests/unit/config_kit.h"

static void filter(void)
{
	GOOD("hostname x");
	CHECK_EQ(filter6_config(&c)->filter, FILTER6_STATEFUL);
	GOOD("lan.filter off");
	CHECK_EQ(filter6_config(&c)->filter, FILTER6_OFF);
	CHECK(prints("lan.filter off"));
}

static void rules(void)
{
	GOOD("forward6 tcp [2001:db8::10]:443\nforward6 udp [2001:db8::10]:65535\n"
	     "forward6 all 2001:db8::11\n");
	const struct filter6_config *f = filter6_config(&c);
	CHECK_EQ(f->n_rule, 3);
	CHECK_EQ(f->rule[0].proto, PROTO_TCP);
	CHECK_EQ(f->rule[0].port, 443);
	CHECK_EQ(f->rule[1].proto, PROTO_UDP);
	CHECK_EQ(f->rule[1].port, 65535);
	CHECK_EQ(f->rule[2].proto, 0);
	CHECK(prints("forward6 tcp [2001:db8::10]:443"));
	CHECK(prints("forward6 udp [2001:db8::10]:65535"));
	CHECK(prints("forward6 all 2001:db8::11"));
#define EXPECTED \
	"forward6: expected tcp|udp [ADDRESS]:PORT or all ADDRESS, such as tcp [2001:db8::10]:443"
	WRONG_VALUE("forward6 tcp 2001:db8::10:443", EXPECTED);
	WRONG_VALUE("forward6 tcp [2001:db8::10]", EXPECTED);
	WRONG_VALUE("forward6 tcp [2001:db8::10]:", EXPECTED);
	WRONG_VALUE("forward6 tcp [2001:db8::10]:0", EXPECTED);
	WRONG_VALUE("forward6 tcp [2001:db8::10]:65536", EXPECTED);
	WRONG_VALUE("forward6 tcp [2001:db8::10:443", EXPECTED);
	WRONG_VALUE("forward6 tcp []:443", EXPECTED);
	WRONG_VALUE("forward6 tcp [192.0.2.1]:443", EXPECTED);
	WRONG_VALUE("forward6 icmp [2001:db8::10]:443", EXPECTED);
	WRONG_VALUE("forward6 all [2001:db8::10]:443", EXPECTED);
	WRONG_VALUE("forward6 all", EXPECTED);
	WRONG_VALUE("forward6 all 2001:db8::10 x", EXPECTED);
#undef EXPECTED
	WRONG_VALUE("forward6 all ff02::1", "forward6: ff02::1 is a multicast address");
}

int main(void)
{
	TEST(filter);
	TEST(rules);
	return tap_done();
}
