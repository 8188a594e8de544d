/* kernel/edit.c and apply.c on a gateway that runs: what counts at once, for how long, the way
 * back. */
#include "kernel/edit.h"

#include "apps/apps.h"
#include "apps/nat/nat.h"
#include "kernel/apply.h"
#include "kernel/lib/log.h"
#include "net/setup/net_keys.h"
#include "tests/host/rig.h"
#include "tests/tap.h"

#define SECOND 1000000u

static const char conf[] = "app nat\n"
                           "lan.address 192.168.1.1/24\n"
                           "wan.address 192.0.2.2/24\n"
                           "gateway 192.0.2.1\n"
                           "nat.udp-timeout 300\n";
static struct rig rig;
static struct texts texts;
static char why[DRAFT_WHY];
static unsigned told;
static const char *names[16];

static void tell(void)
{
	told++;
}

static void begin(void)
{
	for (uint32_t i = 0; i < n_apps; i++)
		names[i] = apps[i].name;
	rig_reset(&rig, 1, 64u << 20, SECOND);
	texts_init(&texts, "", names, n_apps);
	texts_add(&texts, "gateway.conf", (struct slice){conf, sizeof conf - 1});
	edit_init(&texts, &rig.config);
	texts_read(&texts, &rig.config, texts.conf);
	const char *wrong = rig_start(&rig, "nat", 1024);
	CHECK_STR(wrong ? wrong : "", "");
	told = 0;
}

static bool set(const char *key, const char *value)
{
	struct draft *d = edit_draft();
	return draft_set_only(d, config_entry(d->c, key), (struct slice){value, strlen(value)},
	                      why);
}

static bool try(void)
{
	why[0] = 0;
	return edit_apply(&rig.gw, rig.gw.clock.us, tell, why);
}

/* A value in force as text. */
static const char *now(const char *key)
{
	static char text[100];
	text[0] = 0;
	config_value(&rig.config, config_entry(&rig.config, key), 0, text, sizeof text);
	return text;
}

static bool routes_to(const char *address)
{
	ip4 a;
	return addr_ip4(address, strlen(address), &a) && route4_for(&rig.gw.routes4, a);
}

static void which_keys(void)
{
	CHECK(apply_is_live("lan.address"));
	CHECK(apply_is_live("lan7.rdnss"));
	CHECK(apply_is_live("gateway"));
	CHECK(apply_is_live("nat.udp-timeout"));
	CHECK(!apply_is_live("lan.mtu"));
	CHECK(!apply_is_live("lan"));
	CHECK(!apply_is_live("nat.sessions"));
	CHECK(!apply_is_live("lan8.address"));
}

static void kept(void)
{
	begin();
	CHECK(!try());
	CHECK_STR(why, "nothing can change at once");
	CHECK(set("lan.address", "192.168.7.1/24"));
	CHECK(set("nat.udp-timeout", "100"));
	CHECK(set("hostname", "box"));
	CHECK(try());
	CHECK_STR(why, "in force for 60 seconds; `keep` makes it last");
	CHECK_EQ(told, 1);
	CHECK_STR(now("lan.address"), "192.168.7.1/24");
	CHECK_STR(now("hostname"), "box");
	CHECK_EQ(rig.gw.iface[IF_LAN].n_addr, 1);
	CHECK_EQ(ip4_get(rig.gw.iface[IF_LAN].addr[0].addr), 0xc0a80701);
	CHECK_EQ(nat_of(&rig.gw)->life_s[NAT_UDP][0], 100);
	CHECK(routes_to("198.51.100.1"));
	CHECK(edit_keep());
	CHECK(!edit_keep());
	CHECK(!edit_poll(&rig.gw, rig.gw.clock.us + 100 * SECOND));
	CHECK_STR(now("lan.address"), "192.168.7.1/24");
	CHECK(!draft_has_changes(edit_draft()));
	CHECK(texts.conf.len != sizeof conf - 1);
}

static void not_kept(void)
{
	begin();
	CHECK(set("wan.address", "203.0.113.2/24"));
	CHECK(set("gateway", "203.0.113.1"));
	CHECK(set("nat.udp-timeout", "100"));
	CHECK(set("lan.mtu", "1400"));
	CHECK(set("nat.sessions", "5000"));
	CHECK(try());
	CHECK_STR(why,
	          "in force for 60 seconds; `keep` makes it last; 2 more at the next start after "
	          "`save`");
	CHECK_EQ(ip4_get(rig.gw.iface[IF_WAN].addr[0].addr), 0xcb007102);
	CHECK(routes_to("198.51.100.1"));
	CHECK_STR(now("lan.mtu"), "1500");
	CHECK(!edit_poll(&rig.gw, rig.gw.clock.us + 59 * SECOND));
	CHECK(edit_poll(&rig.gw, rig.gw.clock.us + 60 * SECOND));
	CHECK(!edit_poll(&rig.gw, rig.gw.clock.us + 61 * SECOND));
	CHECK_EQ(told, 2);
	CHECK_EQ(rig.gw.iface[IF_WAN].n_addr, 1);
	CHECK_EQ(ip4_get(rig.gw.iface[IF_WAN].addr[0].addr), 0xc0000202);
	CHECK_STR(now("gateway"), "192.0.2.1");
	CHECK_STR(now("nat.udp-timeout"), "300");
	CHECK_EQ(nat_of(&rig.gw)->life_s[NAT_UDP][0], 300);
	CHECK(routes_to("198.51.100.1"));
	CHECK(draft_has_changes(edit_draft()));
}

/* A second change on trial goes back to what was kept, not to the first one. */
static void changed_twice(void)
{
	begin();
	CHECK(set("lan.address", "192.168.7.1/24"));
	CHECK(try());
	CHECK(set("lan.address", "192.168.8.1/24"));
	CHECK(try());
	CHECK_EQ(ip4_get(rig.gw.iface[IF_LAN].addr[0].addr), 0xc0a80801);
	CHECK(edit_poll(&rig.gw, rig.gw.clock.us + 60 * SECOND));
	CHECK_EQ(rig.gw.iface[IF_LAN].n_addr, 1);
	CHECK_EQ(ip4_get(rig.gw.iface[IF_LAN].addr[0].addr), 0xc0a80101);
}

static void what_cannot_be(void)
{
	begin();
	CHECK(set("lan.address", "192.0.2.9/24")); /* the network of the WAN */
	CHECK(set("nat.udp-timeout", "100"));
	bool done = try();
	if (!done) {
		CHECK(strstr(why, "; nothing has changed") != NULL);
		CHECK_STR(now("lan.address"), "192.168.1.1/24");
		CHECK_STR(now("nat.udp-timeout"), "300");
	}
	CHECK(!done);
	draft_drop(edit_draft());
	CHECK(set("gateway", "198.51.100.1")); /* in no network */
	CHECK(!try());
	CHECK_STR(now("gateway"), "192.0.2.1");
	CHECK(routes_to("8.8.8.8"));
	CHECK_EQ(rig.gw.iface[IF_LAN].n_addr, 1);
	CHECK(set("gateway", "192.0.2.1"));
	CHECK(set("lan", "nic1"));
	CHECK(!try());
	CHECK_STR(why, "lan and wan name the same NIC");
}

static void routes_and_more_addresses(void)
{
	begin();
	CHECK(set("route", "10.0.0.0/8 via 192.168.1.9"));
	struct draft *d = edit_draft();
	struct slice second = {"192.168.2.1/24", 14};
	CHECK(draft_set(d, config_entry(d->c, "lan.address"), 1, second, why));
	CHECK(try());
	CHECK_EQ(rig.gw.iface[IF_LAN].n_addr, 2);
	CHECK_EQ(net_config(&rig.config)->n_route, 1);
	CHECK(edit_poll(&rig.gw, rig.gw.clock.us + 60 * SECOND));
	CHECK_EQ(rig.gw.iface[IF_LAN].n_addr, 1);
	CHECK_EQ(net_config(&rig.config)->n_route, 0);
	CHECK_EQ(apply_count(&rig.gw, &rig.config), 0);
}

static void without_memory(void)
{
	rig_reset(&rig, 1, 100000, SECOND);
	edit_init(&texts, &rig.config);
	CHECK(edit_draft() == NULL);
	CHECK(!try());
	CHECK_STR(why, "not enough memory");
	CHECK(edit_save(false) != NULL);
}

static void used_before_the_start(void)
{
	begin();
	CHECK(set("hostname", "used"));
	edit_use();
	CHECK_STR(now("hostname"), "used");
	CHECK(!draft_has_changes(edit_draft()));
	CHECK(set("lan", "nic1"));
	CHECK_STR(edit_save(false), "not saved: the configuration has errors");
}

/* What is saved must be loaded again: the loader has room for 64 KB of all files. */
static void too_long_for_the_loader(void)
{
	static char big[40000];
	memset(big, '#', sizeof big);
	begin();
	texts_add(&texts, "more", (struct slice){big, sizeof big});
	CHECK(edit_save(true) == NULL);
	begin();
	texts_add(&texts, "gateway.last", (struct slice){big, sizeof big});
	texts_add(&texts, "more", (struct slice){big, sizeof big});
	const char *wrong = edit_save(false);
	CHECK_STR(wrong ? wrong : "", "not saved: the files would have more than 64 KB together");
}

int main(void)
{
	TEST(which_keys);
	TEST(kept);
	TEST(not_kept);
	TEST(changed_twice);
	TEST(what_cannot_be);
	TEST(routes_and_more_addresses);
	TEST(without_memory);
	TEST(used_before_the_start);
	TEST(too_long_for_the_loader);
	return tap_done();
}
