/* kernel/config/config.c: generated configurations print as text that reads the same. */
#include "tests/unit/config_kit.h"

static uint32_t seed = 4242;

static uint32_t draw(uint32_t n)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % n;
}

static const char *address(bool is6)
{
	static char turn[4][64];
	static unsigned next;
	char *t = turn[next++ % 4];
	if (is6)
		snprintf(t, 64, draw(2) ? "2001:db8:%x::%x" : "2001:DB8::%X:%X:0:0:1", draw(65536),
		         1 + draw(65535));
	else
		snprintf(t, 64, "%u.%u.%u.%u", 1 + draw(126), draw(256), draw(256), 1 + draw(253));
	return t;
}

static const char *seconds(uint32_t most)
{
	static char t[32];
	static const char *const form[] = {"%u", "%u.5", "%u.25", "%u.007", "%u.0"};
	snprintf(t, sizeof t, form[draw(ARRAY_SIZE(form))], 1 + draw(most - 1));
	return t;
}

/* One good line for a key that is drawn; `used` keeps the others from coming
 * twice. */
static int line(char *buf, size_t size, uint32_t *used)
{
	static const char *const timeout[] = {
	        "nat.udp-timeout",  "nat.tcp-timeout", "nat.tcp-transitory-timeout",
	        "nat.icmp-timeout", "menu-timeout",    "watchdog"};
	static const char *const filter[] = {"endpoint-independent", "address-dependent",
	                                     "address-and-port-dependent"};
	uint32_t kind = draw(20);
	bool is6 = draw(2);
	if (kind < 16 && (*used >> kind & 1))
		return 0;
	*used |= 1u << kind;
	switch (kind) {
	case 0:
		return snprintf(buf, size, "app %s\n", known_apps[draw(3)]);
	case 1:
		return snprintf(buf, size, "hostname h%u.example\n", draw(1000));
	case 2:
		return snprintf(buf, size, "lan nic%u\n", draw(256));
	case 3:
		return snprintf(buf, size, "wan 52:54:00:%02x:%02X:%02x\n", draw(256), draw(256),
		                draw(256));
	case 4:
	case 5:
		return snprintf(buf, size, "%s.mtu %u\n", kind == 4 ? "lan" : "wan",
		                1280 + draw(221));
	case 6:
		return snprintf(buf, size, "menu-default\t%s # c\n", known_apps[draw(3)]);
	case 7:
		return snprintf(buf, size, "nat.sessions %u\n", 100 + draw(16000000 - 100));
	case 8:
		return snprintf(buf, size, "nat.filtering %s\r\n", filter[draw(3)]);
	case 9:
		return snprintf(buf, size, "%s %s\n", "nat.hairpin", draw(2) ? "on" : "off");
	default:
		break;
	}
	if (kind < 16)
		return snprintf(buf, size, "%s %s\n", timeout[kind - 10],
		                seconds(kind < 14 ? 4000000 : 86400));
	switch (kind) {
	case 16:
		return snprintf(buf, size, "%s.address %s/%u\n", draw(2) ? "lan" : "wan",
		                address(is6), is6 ? 127 : 31);
	case 17:
		return snprintf(buf, size, "gateway %s\n", address(is6));
	case 18:
		return snprintf(buf, size, "route %s/%u  via %s\n", address(is6),
		                draw(is6 ? 129 : 33), address(is6));
	default:
		return snprintf(buf, size, "neighbour %s 52-54-00-%02x-aa-BB // x\n", address(is6),
		                draw(256));
	}
}

static void round_trips(void)
{
	static struct config first;
	for (unsigned round = 0; round < 3000; round++) {
		char file[4000] = "", again[10000], twice[10000];
		size_t n = 0;
		uint32_t used = 0;
		start();
		for (unsigned i = draw(40); i > 0; i--)
			n += (size_t)line(file + n, sizeof file - n, &used);
		/* A list may overflow; no other error is possible. */
		if (!text(file)) {
			CHECK(strstr(error(0), "given more than") ||
			      strstr(error(0), "has a router already"));
			c.n_errors = 0;
		}
		dump(again, sizeof again);
		first = c;
		CHECK(load(again));
		CHECK_STR(error(0), "");
		CHECK(memcmp(first.values, c.values, sizeof c.values) == 0);
		dump(twice, sizeof twice);
		CHECK_STR(twice, again);
	}
}

int main(void)
{
	TEST(round_trips);
	return tap_done();
}
