/* kernel/edit.c and apply.c on a gateway that runs: what counts at once, for how long, the way
 * back. */
#include "kernel/edit.h"

#include "apps/apps.h"
#include "apps/nat/nat.h"
#include "drivers/block/media.h"
#include "kernel/apply.h"
#include "kernel/lib/log.h"
#include "kernel/settings.h"
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

static char last[1024], saved[1024];
static enum media_save_state state;
static const char *message;

bool media_save(const char *file, const char *text, size_t len)
{
	bool is_last = strcmp(file, "gateway.last") == 0;
	snprintf(is_last ? last : saved, sizeof last, "%.*s", (int)len, text);
	state = MEDIA_SAVE_BUSY;
	return true;
}

enum media_save_state media_save_state(const char **said)
{
	*said = message;
	return state;
}

static void tell(void)
{
	told++;
}

static void begin_with(const char *text)
{
	for (uint32_t i = 0; i < n_apps; i++)
		names[i] = apps[i].name;
	rig_reset(&rig, 1, 64u << 20, SECOND);
	texts_init(&texts, "", names, n_apps);
	texts_add(&texts, "gateway.conf", (struct slice){text, strlen(text)});
	edit_init(&texts, &rig.config, tell);
	texts_read(&texts, &rig.config, texts.conf);
	const char *wrong = rig_start(&rig, "nat", 1024);
	CHECK_STR(wrong ? wrong : "", "");
	told = 0;
	last[0] = saved[0] = 0;
	state = MEDIA_SAVE_IDLE;
	message = "";
}

static void begin(void)
{
	begin_with(conf);
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
	return edit_apply(&rig.gw, rig.gw.clock.us, why);
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

static const char *save(void)
{
	const char *wrong = edit_save();
	return wrong ? wrong : "";
}

/* Goes on until the save has ended. */
static const char *finish(void)
{
	const char *said = NULL;
	for (int i = 0; i < 10 && !said; i++) {
		said = edit_save_run();
		state = MEDIA_SAVE_DONE;
	}
	return said ? said : "";
}

#define MARK CONFIG_EDIT_MARK "\n"

static bool apply_is_live(const char *key)
{
	const struct config_entry *e = config_entry(edit_draft()->c, key);
	return e && e->key->live;
}

static void which_keys(void)
{
	begin();
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
	CHECK(edit_keep(why));
	CHECK(!edit_keep(why));
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
	edit_init(&texts, &rig.config, tell);
	CHECK(edit_draft() == NULL);
	CHECK(!try());
	CHECK_STR(why, "not enough memory");
	CHECK_STR(save(), "not saved: not enough memory");
	edit_apply_and_save(&rig.gw, 0, why);
	CHECK_STR(why, "not enough memory");
	edit_begin();
	CHECK(edit_save_run() == NULL);
}

static void used_before_the_start(void)
{
	begin();
	CHECK(set("hostname", "used"));
	edit_use();
	CHECK_EQ(told, 1); /* the keyboard's layout counts in the menu too */
	CHECK_STR(now("hostname"), "used");
	CHECK(!draft_has_changes(edit_draft()));
	CHECK(set("lan", "nic1"));
	CHECK_STR(edit_save(), "not saved: the configuration has errors");
}

/* What is saved must be loaded again: the loader has room for 64 KB of all files. */
static void too_long_for_the_loader(void)
{
	static char big[40000];
	memset(big, '#', sizeof big);
	begin();
	texts_add(&texts, "more", (struct slice){big, sizeof big});
	CHECK(edit_save() == NULL);
	begin();
	texts_add(&texts, "more", (struct slice){big, sizeof big});
	texts_add(&texts, "and more", (struct slice){big, sizeof big});
	CHECK_STR(save(), "not saved: the files would have more than 64 KB together");
	const char *wrong = edit_save_later();
	CHECK_STR(wrong ? wrong : "", "not saved: the files would have more than 64 KB together");
	CHECK(!edit_saves_later());
}

/* What was saved stays in the draft when later changes are dropped, and in the next save. */
static void saved_stays(void)
{
	char both[1100], one[1024];
	begin();
	snprintf(one, sizeof one, MARK "%snat.sessions 5000\n", conf);
	snprintf(both, sizeof both, "%smenu-timeout 9\n", one);
	CHECK(set("nat.sessions", "5000"));
	CHECK_STR(save(), "");
	CHECK_STR(finish(), "saved in gateway.conf");
	CHECK_STR(saved, one);
	CHECK(!draft_has_changes(edit_draft()));
	draft_drop(edit_draft());
	CHECK(set("menu-timeout", "9"));
	CHECK_STR(save(), "");
	finish();
	CHECK_STR(saved, both);
	CHECK_STR(last, conf); /* which runs */
	CHECK_STR(now("nat.sessions"), "100000");
}

/* Another value while a save goes on is not saved, and is a change afterwards. */
static void changed_while_saved(void)
{
	begin();
	CHECK(set("hostname", "one"));
	CHECK_STR(save(), "");
	CHECK(set("hostname", "two"));
	CHECK_STR(save(), "not saved: another save goes on");
	finish();
	CHECK(strstr(saved, "hostname one") != NULL);
	CHECK(draft_has_changes(edit_draft()));
	draft_drop(edit_draft());
	CHECK_STR(save(), "");
	finish();
	CHECK(strstr(saved, "hostname one") != NULL);
}

/* A text that runs is not one that was typed after `apply`; and it outlives many changes. */
static void last_is_what_runs(void)
{
	char runs[1024];
	begin();
	CHECK(set("hostname", "aaa"));
	snprintf(runs, sizeof runs, "%shostname aaa\n", conf);
	CHECK(try());
	CHECK(set("hostname", "bbb"));
	CHECK_STR(save(), "not saved: it is on trial, `keep` it first");
	CHECK(edit_keep(why));
	CHECK_STR(why, "kept; `save` writes it to the boot medium");
	CHECK_STR(now("hostname"), "aaa");
	for (int i = 0; i < 3; i++) {
		CHECK(set("hostname", i % 2 ? "ccc" : "ddd"));
		CHECK_STR(save(), "");
		finish();
		CHECK_STR(last, runs);
	}
	CHECK(strstr(saved, "hostname ddd") != NULL);
	/* Kept, but not all of it is in force: the old text is the one that could start. */
	CHECK(set("hostname", "eee"));
	CHECK(set("nat.sessions", "5000"));
	CHECK(try());
	CHECK(edit_keep(why));
	CHECK_STR(save(), "");
	finish();
	CHECK_STR(last, runs);
}

static const char *later(void)
{
	const char *wrong = edit_save_later();
	return wrong ? wrong : "";
}

/* What the menu is to save is saved when it has started: as gateway.last too, since it could. */
static void saved_when_started(void)
{
	begin();
	CHECK(set("hostname", "one"));
	edit_use();
	CHECK_STR(later(), "");
	CHECK(edit_saves_later());
	CHECK_STR(finish(), "");
	CHECK_STR(saved, "");
	CHECK(edit_started() == NULL);
	CHECK_STR(finish(), "saved in gateway.conf");
	CHECK(strstr(last, "hostname one") != NULL);
	CHECK(strstr(saved, MARK) != NULL && strstr(saved, "hostname one") != NULL);
	CHECK(set("hostname", "three"));
	CHECK_STR(save(), "");
	finish();
	CHECK(strstr(last, "hostname one") != NULL);
	CHECK(strstr(saved, "hostname three") != NULL);
	saved[0] = 0;
	CHECK(edit_started() == NULL); /* once */
	CHECK_STR(finish(), "");
	CHECK_STR(saved, "");
}

/* The function that somebody chose in the menu is saved as well. */
static void saved_with_the_choice(void)
{
	begin();
	edit_save_app("wire"); /* nothing is to be saved */
	CHECK_EQ(texts.conf.len, sizeof conf - 1);
	CHECK_STR(later(), "");
	edit_save_app("nat"); /* as the text says */
	CHECK_EQ(texts.conf.len, sizeof conf - 1);
	edit_save_app("wire");
	CHECK(edit_saves_later());
	CHECK_STR(settings_name(&rig.config)->app, "wire");
	CHECK(edit_started() == NULL);
	CHECK_STR(finish(), "saved in gateway.conf");
	CHECK(strstr(saved, "app wire\n") != NULL && strstr(saved, "app nat") == NULL);
}

/* A start that failed, another text in force and gateway.last end it; errors are never saved. */
static void not_saved_when_not_started(void)
{
	begin();
	CHECK_STR(later(), "");
	CHECK(edit_forget_save());
	CHECK(!edit_forget_save());
	CHECK(edit_started() == NULL);
	CHECK_STR(finish(), "");
	CHECK_STR(later(), "");
	CHECK(set("hostname", "one"));
	edit_use();
	CHECK(!edit_saves_later());
	CHECK_STR(later(), "");
	edit_begin();
	CHECK(!edit_saves_later());
	CHECK_STR(later(), "");
	CHECK(set("lan", "nic1"));
	CHECK_STR(later(), "not saved: the configuration has errors");
	CHECK(!edit_saves_later());
	CHECK(edit_started() == NULL);
	CHECK_STR(finish(), "");
	CHECK_STR(saved, "");
}

/* "both" in a gateway that runs: nothing is saved before `keep`. */
static void both(void)
{
	begin();
	CHECK(set("hostname", "one"));
	edit_apply_and_save(&rig.gw, rig.gw.clock.us, why);
	CHECK_STR(why, "in force for 60 seconds; `keep` makes it last and saves it");
	CHECK_STR(finish(), "");
	CHECK(set("hostname", "two"));
	CHECK(edit_keep(why));
	CHECK_STR(why, "kept, and being saved: the log says how it ends");
	CHECK_STR(finish(), "saved in gateway.conf");
	CHECK(strstr(saved, "hostname one") != NULL);
	CHECK(set("hostname", "three"));
	CHECK(try()); /* not to be saved */
	CHECK(edit_keep(why));
	CHECK_STR(finish(), "");
	begin();
	CHECK(set("gateway", "198.51.100.1")); /* refused */
	edit_apply_and_save(&rig.gw, rig.gw.clock.us, why);
	CHECK_STR(finish(), "");
	CHECK(!edit_keep(why));
	begin();
	CHECK(set("nat.sessions", "5000")); /* nothing to be tried */
	edit_apply_and_save(&rig.gw, rig.gw.clock.us, why);
	CHECK_STR(why, "nothing can change at once; saving");
	CHECK_STR(finish(), "saved in gateway.conf");
}

/* After the way back the draft still has the values: that is said once before they are saved. */
static void not_kept_is_asked(void)
{
	begin();
	CHECK(set("lan.address", "192.168.7.1/24"));
	edit_apply_and_save(&rig.gw, rig.gw.clock.us, why);
	CHECK(edit_poll(&rig.gw, rig.gw.clock.us + 60 * SECOND));
	CHECK(!edit_keep(why));
	CHECK_STR(finish(), "");
	CHECK(set("hostname", "y"));
	CHECK_STR(save(), "not saved: the draft has what was not kept; `save` again saves it");
	CHECK_STR(save(), "");
	finish();
	CHECK(set("hostname", "z"));
	CHECK(try());
	CHECK(edit_poll(&rig.gw, rig.gw.clock.us + 60 * SECOND));
	draft_drop(edit_draft());
	CHECK_STR(save(), "");
}

/* After gateway.last took the place of gateway.conf, the draft is gateway.last, and the first save
 * says what it will replace. */
static void after_a_fallback(void)
{
	static const char broken[] = MARK "lan.address 10.0.0.1/24\nhostname broken\n";
	begin();
	texts_init(&texts, "", names, n_apps);
	texts_add(&texts, "gateway.conf", (struct slice){broken, sizeof broken - 1});
	texts_add(&texts, "gateway.last", (struct slice){conf, sizeof conf - 1});
	texts_read(&texts, &rig.config, texts.conf);
	edit_begin();
	CHECK(texts_fall_back(&texts, &rig.config, "it cannot start"));
	told = 0;
	edit_begin();
	CHECK_EQ(told, 1);
	CHECK(!draft_has_changes(edit_draft()));
	CHECK(set("keyboard", "de"));
	CHECK(try());
	CHECK_STR(now("lan.address"), "192.168.1.1/24");
	CHECK(edit_keep(why));
	CHECK_STR(save(), "not saved: gateway.conf could not be used; `save` again replaces it");
	CHECK_STR(save(), "");
	finish();
	CHECK(strstr(saved, "broken") == NULL);
	CHECK(strstr(saved, "keyboard de") != NULL);
	CHECK_STR(save(), "");
}

/* What blocks of ports stand on counts from the next start on; nothing else of the draft is tried.
 */
static void blocks_stay(void)
{
	begin_with("app nat\nlan.address 192.168.1.1/24\nwan.address 192.0.2.2/24\n"
	           "nat.blocks 64\nnat.udp-timeout 300\n");
	CHECK(set("lan.address", "192.168.7.1/24"));
	CHECK(set("nat.udp-timeout", "400"));
	CHECK(!try());
	CHECK_STR(why, "nat.blocks: the IPv4 addresses of the inside count from the next start on, "
	               "after `save`; nothing has changed");
	CHECK_STR(now("lan.address"), "192.168.1.1/24");
	CHECK_STR(now("nat.udp-timeout"), "300");
	CHECK(interface_has4(&rig.gw.iface[IF_LAN], ip4_of(0xc0a80101)));
	CHECK(set("lan.address", "192.168.1.1/24"));
	CHECK(set("wan.address", "192.0.2.3/24"));
	CHECK(try());
	begin_with("app nat\nlan.address 192.168.1.1/24\nlan.address 10.0.0.1/24\n"
	           "wan.address 192.0.2.2/24\nnat.blocks 64\n");
	CHECK(set("lan.address", "192.168.1.1/24")); /* one is gone, none comes */
	CHECK(!try());
	CHECK(interface_has4(&rig.gw.iface[IF_LAN], ip4_of(0x0a000001)));
}

int main(void)
{
	TEST(blocks_stay);
	TEST(which_keys);
	TEST(kept);
	TEST(not_kept);
	TEST(changed_twice);
	TEST(what_cannot_be);
	TEST(routes_and_more_addresses);
	TEST(without_memory);
	TEST(used_before_the_start);
	TEST(too_long_for_the_loader);
	TEST(saved_stays);
	TEST(changed_while_saved);
	TEST(last_is_what_runs);
	TEST(saved_when_started);
	TEST(saved_with_the_choice);
	TEST(not_saved_when_not_started);
	TEST(both);
	TEST(not_kept_is_asked);
	TEST(after_a_fallback);
	return tap_done();
}
