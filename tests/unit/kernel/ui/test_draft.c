/* kernel/ui/draft.c: changes that the parser accepts, those that it refuses, and the way back. */
#include "tests/unit/kernel/ui/ui_kit.h"

static char why[DRAFT_WHY];

static bool set(const char *name, uint32_t i, const char *value)
{
	return draft_set(&draft, key(name), i, slice(value), why);
}

static void a_good_value(void)
{
	begin_draft("", "lan.mtu 1400 # small\nwan.address 192.0.2.2/24\n");
	CHECK(!draft_has_changes(&draft));
	CHECK(set("lan.mtu", 0, " 1300 "));
	CHECK_STR(draft_text(), "lan.mtu 1300 # small\nwan.address 192.0.2.2/24\n");
	CHECK(draft_has_changes(&draft));
	CHECK(draft_changed(&draft, key("lan.mtu")));
	CHECK(!draft_changed(&draft, key("wan.address")));
	CHECK(set("wan.address", 1, "192.0.2.3/24"));
	CHECK_EQ(draft_count(&draft, key("wan.address")), 2);
	CHECK(set("lan.mtu", 0, "1400"));
	CHECK(!draft_changed(&draft, key("lan.mtu")));
	draft_drop(&draft);
	CHECK(!draft_has_changes(&draft));
	CHECK_STR(draft_text(), "lan.mtu 1400 # small\nwan.address 192.0.2.2/24\n");
}

static void a_bad_value_changes_nothing(void)
{
	begin_draft("", "lan.mtu 1400\n");
	CHECK(!set("lan.mtu", 0, "100"));
	CHECK_STR(why, "lan.mtu: expected a number from 1280 to 1500");
	CHECK(!set("wan.address", 0, "192.0.2.0/24"));
	CHECK(strstr(why, "names the network") != NULL);
	CHECK(!set("hostname", 0, "a#b"));
	CHECK_STR(why, "# begins a comment");
	CHECK(!set("hostname", 0, "a//b"));
	CHECK(!set("hostname", 0, "a\nb"));
	CHECK(!set("lan.mtu", 1, "1300"));
	CHECK_STR(why, "lan.mtu: given more than 1 times");
	CHECK_STR(draft_text(), "lan.mtu 1400\n");
	CHECK_EQ(draft.c->n_errors, 0);
	CHECK(!draft_has_changes(&draft));
}

/* The router of a network is changed, which is not a second router of it. */
static void a_value_of_a_list(void)
{
	begin_draft("", "route 10.0.0.0/8 via 192.0.2.1\n");
	CHECK(set("route", 0, "10.0.0.0/8 via 192.0.2.9"));
	CHECK(!set("route", 1, "10.0.0.0/8 via 192.0.2.7"));
	CHECK(strstr(why, "has a router already") != NULL);
	CHECK(set("route", 1, "11.0.0.0/8 via 192.0.2.7"));
	CHECK(set("route", 0, ""));
	CHECK_STR(draft_text(), "route 11.0.0.0/8 via 192.0.2.7\n");
}

static void only_one_value(void)
{
	begin_draft("", "nameserver 192.0.2.1\nnameserver 192.0.2.2\nnameserver 192.0.2.3\n");
	CHECK(!draft_set_only(&draft, key("nameserver"), slice("nowhere"), why));
	CHECK_EQ(draft_count(&draft, key("nameserver")), 3);
	CHECK(draft_set_only(&draft, key("nameserver"), slice("192.0.2.9"), why));
	CHECK_STR(draft_text(), "nameserver 192.0.2.9\n");
	CHECK(draft_set_only(&draft, key("nameserver"), slice(""), why));
	CHECK_STR(draft_text(), "");
	CHECK(draft_set_only(&draft, key("app"), slice("nat"), why));
	CHECK_STR(draft_text(), "app nat\n");
}

static void set_elsewhere(void)
{
	begin_draft("lan.mtu=1350 wan.mtu=1500", "lan.mtu 1400\n");
	texts_add(&texts, "more.conf", slice("hostname box\n"));
	draft_drop(&draft);
	CHECK_STR(draft_elsewhere(&draft, key("lan.mtu")), "command line");
	CHECK_STR(draft_elsewhere(&draft, key("hostname")), "more.conf:1");
	CHECK(draft_elsewhere(&draft, key("nat.sessions")) == NULL);
	CHECK(!set("lan.mtu", 0, "1300"));
	CHECK_STR(why, "lan.mtu is set by command line, and that cannot be changed here");
	CHECK(!set("hostname", 0, "a"));
	CHECK(!draft_has_changes(&draft));
}

/* What no value shows by itself is an error of the draft, not of the value. */
static void errors_of_the_whole(void)
{
	begin_draft("", "lan nic0\nwan nic1\nbroken line\n");
	CHECK_EQ(draft.c->n_errors, 1);
	CHECK(draft_comment(&draft, 3));
	CHECK_EQ(draft.c->n_errors, 0);
	CHECK_STR(draft_text(), "lan nic0\nwan nic1\n# broken line\n");
	CHECK(set("wan", 0, "nic0"));
	CHECK_EQ(draft.c->n_errors, 1);
	CHECK(set("lan", 0, "nic1"));
	CHECK_EQ(draft.c->n_errors, 0);
}

static void checked_while_typed(void)
{
	begin_draft("", "x\ny\n");
	uint32_t errors = draft.c->n_errors;
	char first[120];
	snprintf(first, sizeof first, "%s", draft.c->error[0].what);
	CHECK(!draft_check(&draft, key("lan.mtu"), slice("12"), why));
	CHECK_STR(why, "lan.mtu: expected a number from 1280 to 1500");
	CHECK(draft_check(&draft, key("lan.mtu"), slice("1280"), why));
	CHECK_STR(why, "");
	CHECK_EQ(draft.c->n_errors, errors);
	CHECK_STR(draft.c->error[0].what, first);
	char longest[DRAFT_VALUE + 1];
	memset(longest, 'a', sizeof longest);
	CHECK(!draft_check(&draft, key("hostname"), (struct slice){longest, sizeof longest}, why));
}

static void kept(void)
{
	begin_draft("", "a b\n");
	CHECK(set("hostname", 0, "one"));
	for (int i = 0; i < 4; i++) {
		draft_keep(&draft);
		CHECK(!draft_has_changes(&draft));
		CHECK(set("hostname", 0, i % 2 ? "two" : "three"));
		CHECK(draft_has_changes(&draft));
	}
	draft_drop(&draft);
	CHECK_STR(draft_text(), "a b\nhostname three\n");
}

/* The mark comes into both texts; what was typed while it was being saved stays a change. */
static void saved(void)
{
	begin_draft("", "a b\n");
	CHECK(set("hostname", 0, "one"));
	draft_saved(&draft, slice(CONFIG_EDIT_MARK "\na b\nhostname one\n"));
	CHECK(!draft_has_changes(&draft));
	CHECK(!draft_changed(&draft, key("hostname")));
	CHECK_STR(draft_text(), CONFIG_EDIT_MARK "\na b\nhostname one\n");
	CHECK(set("hostname", 0, "two"));
	draft_saved(&draft, slice(CONFIG_EDIT_MARK "\na b\nhostname one\n"));
	CHECK(draft_has_changes(&draft));
	CHECK(draft_changed(&draft, key("hostname")));
	CHECK(!draft_changed(&draft, key("lan.mtu")));
	draft_drop(&draft);
	CHECK_STR(draft_text(), CONFIG_EDIT_MARK "\na b\nhostname one\n");
}

/* The logs of parsers are for the configuration in force. */
static void silent(void)
{
	char line[LOG_LINE];
	uint64_t at = 0;
	begin_draft("word", "nameserver default\nroute 10.1.2.3/8 via 192.0.2.1\n");
	set("hostname", 0, "x");
	CHECK(!log_next(&at, line, sizeof line));
	log_line("heard");
	CHECK(log_next(&at, line, sizeof line));
}

static void a_text_that_is_full(void)
{
	static char big[DRAFT_TEXT];
	memset(big, '#', sizeof big);
	begin_draft("", "");
	draft_init(&draft, &scratch, memory, (struct slice){big, sizeof big}, texts_parse, &texts);
	CHECK(!set("hostname", 0, "x"));
	CHECK_STR(why, "the file would be longer than 65536 bytes");
	CHECK(!draft_has_changes(&draft));
	CHECK(!draft_comment(&draft, 1));
}

int main(void)
{
	TEST(a_good_value);
	TEST(a_bad_value_changes_nothing);
	TEST(a_value_of_a_list);
	TEST(only_one_value);
	TEST(set_elsewhere);
	TEST(errors_of_the_whole);
	TEST(checked_while_typed);
	TEST(kept);
	TEST(saved);
	TEST(silent);
	TEST(a_text_that_is_full);
	return tap_done();
}
