/* net/stats/gw_show.c: the addresses of an interface. */
#include "net/gw.h"
#include "tests/tap.h"

static struct interface iface;

static const char *shown(size_t size)
{
	static char text[200];
	memset(text, 'x', sizeof text);
	CHECK_EQ(gw_show_addresses(&iface, text, size), strlen(text));
	return text;
}

static void addresses_with_a_space_between(void)
{
	CHECK_STR(shown(200), "");
	iface.addr[0].addr = ip4_of(0xc0000201);
	iface.addr[0].len = 24;
	iface.n_addr = 1;
	CHECK_STR(shown(200), "192.0.2.1/24");
	iface.addr6[0].len = 64;
	iface.addr6[0].state = ADDRESS6_TENTATIVE;
	iface.n_addr6 = 1;
	CHECK_STR(shown(200), "192.0.2.1/24 ::/64(tentative)");
	iface.n_addr = 0;
	CHECK_STR(shown(200), "::/64(tentative)");
}

/* A line that is too short ends in the middle of an address. */
static void no_more_than_fit(void)
{
	iface.addr[0].len = iface.addr[1].len = 24;
	iface.n_addr = 2;
	for (size_t size = 1; size < 40; size++)
		CHECK(strlen(shown(size)) < size);
}

int main(void)
{
	TEST(addresses_with_a_space_between);
	TEST(no_more_than_fit);
	return tap_done();
}
