/* kernel/settings.c: keys that the running application does not read. */
#include "apps/apps.h"
#include "net/gw.h"
#include "tests/unit/config_kit.h"

static void say(const char *t, const char *app)
{
	static struct gw gw;
	memset(&gw, 0, sizeof gw);
	start();
	CHECK(text(t));
	for (uint32_t i = 0; i < n_apps; i++)
		if (strcmp(apps[i].name, app) == 0)
			settings_choose(&c, app, apps[i].forwarder, &gw);
	settings_log_ignored(&c, &gw, app);
}

static void ignored(void)
{
	say("lan.address 10.0.0.1/8\nnat.sessions 9\nhostname x\nwatchdog 3\n", "nat");
	CHECK(!logged("does not use"));
	say("nat.sessions 9\nivi.format ivi\ndns64.cache 9\nivi.map 192.0.2.1 2001:db8::1\n"
	    "ivi.map 192.0.2.2 2001:db8::2\nlan.ra off\n",
	    "nat");
	CHECK(logged("nat does not use: ivi.format, ivi.map, dns64.cache"));
	say("nat.sessions 9\nlan.ra off\ndns64.cache 9\n", "dns64");
	CHECK(logged("dns64 does not use: nat.sessions"));
	/* A service beside the forwarder reads its keys. */
	say("dns64.cache 9\nserve dns64\n", "nat");
	CHECK(!logged("nat does not use"));
	say("nat.sessions 9\n", "6to4");
	CHECK(!logged("does not use"));
}

/* A long list is cut, and the line says how many keys are left out. */
static void many(void)
{
	say("nat.sessions 9\nnat.host-limit 9\nnat.udp-timeout 9\nnat.tcp-timeout 9\n"
	    "nat.tcp-transitory-timeout 9\nnat.tcp-opening-timeout 9\nnat.icmp-timeout 9\n"
	    "nat.filtering endpoint-independent\nnat.hairpin off\nnat.protocol41 10.0.0.1\n"
	    "6to4.subnet 3\n6to4.mtu 1300\n",
	    "wire");
	CHECK(logged("wire does not use: nat.sessions, nat.host-limit, nat.filtering, "));
	CHECK(logged(" and 4 more"));
}

int main(void)
{
	TEST(ignored);
	TEST(many);
	return tap_done();
}
