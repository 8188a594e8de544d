/* kernel/ui/wizard.c and wizard_draw.c: the questions of each function, the cable that is plugged
 * in, and the text that comes out. */
#include "kernel/ui/wizard.h"

#include "kernel/console/keymap.h"
#include "tests/unit/kernel/ui/ui_kit.h"

static struct wizard w;
static struct menu_item items[16];
static struct menu_card cards[MENU_VIEW_CARDS];
static enum wizard_act last;

static void press(int k)
{
	last = wizard_key(&w, k);
	wizard_draw(&w, &grid);
	check_screen();
}

static void type(const char *text)
{
	for (; *text; text++)
		press(*text);
}

/* Types a value in place of the one that is suggested. */
static void answer(const char *value)
{
	press(21);
	type(value);
	press('\r');
}

static void begin_at(bool local, const char *cmdline, const char *text, uint32_t n_cards)
{
	begin_draft(cmdline, text);
	for (uint32_t i = 0; i < n_apps; i++)
		items[i] = (struct menu_item){apps[i].name, apps[i].about};
	for (uint32_t i = 0; i < MENU_VIEW_CARDS; i++)
		cards[i] = (struct menu_card){"52:54:00:00:00:01", "e1000", false, 1000};
	wizard_init(&w, &draft, items, n_apps, 0, cards, n_cards, local);
	wizard_draw(&w, &grid);
}

static void begin_with(const char *cmdline, const char *text, uint32_t n_cards)
{
	begin_at(false, cmdline, text, n_cards);
}

static void begin(const char *text, uint32_t n_cards)
{
	begin_with("", text, n_cards);
}

/* Chooses a function by its name. */
static void app(const char *name)
{
	char text[4];
	uint32_t i = 0;
	while (strcmp(apps[i].name, name) != 0)
		i++;
	snprintf(text, sizeof text, "%u\r", i + 1);
	type(text);
}

static void a_nat(void)
{
	begin("# mine\n", 2);
	CHECK(shows("question 1 of 5"));
	CHECK(shows("NAT: many inside hosts"));
	app("nat");
	CHECK(shows("question 2 of 5"));
	CHECK(shows("nic0  52:54:00:00:00:01  e1000"));
	type("2\r");
	CHECK(shows("question 3 of 5"));
	CHECK(shows("lan.address = 192.168.1.1/24"));
	press('\r');
	CHECK(shows("question 4 of 5, part 1 of 2"));
	CHECK(shows("wan.address = dhcp"));
	answer("203.0.113.9/24");
	CHECK(shows("question 4 of 5, part 2 of 2"));
	answer("203.0.113.1");
	CHECK(shows("question 5 of 5"));
	press('\r');
	CHECK_EQ(last, WIZARD_USE);
	CHECK_STR(draft_text(), "# mine\napp nat\nlan nic1\nlan.address 192.168.1.1/24\nwan nic0\n"
	                        "wan.address 203.0.113.9/24\ngateway 203.0.113.1\n");
	CHECK_EQ(draft.c->n_errors, 0);
}

/* Nobody types an address, and none is asked for. */
static void all_by_dhcp(void)
{
	begin("", 2);
	app("nat");
	press('\r');
	press('\r');
	CHECK(shows("wan.address = dhcp"));
	press('\r');
	CHECK(shows("question 5 of 5"));
	CHECK_STR(draft_text(), "app nat\nlan nic0\nlan.address 192.168.1.1/24\nwan nic1\n"
	                        "wan.address dhcp\n");
	press('<');
	CHECK(shows("wan.address = dhcp"));
}

/* As the file comes with the image. The range that hosts get is asked for: it goes with the
 * address. */
static void other_network_inside(void)
{
	begin("lan.address 192.168.1.1/24\nlan.dhcp 192.168.1.100-192.168.1.199\n"
	      "wan.address dhcp\nwan.address auto\n",
	      2);
	app("nat");
	press('\r');
	answer("10.0.0.1/24");
	CHECK(shows("question 4 of 5, part 1 of 2"));
	CHECK(shows("lan.dhcp = 192.168.1.100-192.168.1.199"));
	answer("10.0.0.100-10.0.0.199");
	CHECK(shows("wan.address = dhcp"));
	press('\r');
	CHECK(shows("question 5 of 5"));
	press('\r');
	CHECK_EQ(last, WIZARD_USE);
	CHECK_STR(draft_text(), "lan.address 10.0.0.1/24\nlan.dhcp 10.0.0.100-10.0.0.199\n"
	                        "lan nic0\nwan.address dhcp\nwan.address auto\nwan nic1\n"
	                        "app nat\n");
}

/* As the file comes with the image, with a fixed address: nobody names a DNS server then. */
static void fixed_outside(void)
{
	begin("lan.address 192.168.1.1/24\nserve dns\nnameserver default\nwan.address dhcp\n", 2);
	app("nat");
	press('\r');
	press('\r');
	CHECK(shows("question 4 of 5"));
	CHECK(!shows("part"));
	answer("203.0.113.9/24");
	answer("203.0.113.1");
	CHECK(shows("question 4 of 5, part 3 of 3"));
	CHECK(shows("nameserver ="));
	CHECK(!shows("nameserver = default"));
	press('\r');
	CHECK(shows("a DNS server is needed"));
	answer("default");
	CHECK(shows("no server: the WAN's address is neither dhcp nor auto"));
	answer("192.0.2.53");
	CHECK(shows("question 5 of 5"));
	CHECK_STR(draft_text(), "lan.address 192.168.1.1/24\nlan nic0\nserve dns\n"
	                        "nameserver 192.0.2.53\nwan.address 203.0.113.9/24\nwan nic1\n"
	                        "app nat\ngateway 203.0.113.1\n");
	/* Routers may name one. */
	begin("serve dns64\nnameserver default\nwan.address 203.0.113.9/24\nwan.address auto\n", 2);
	app("nat");
	press('\r');
	press('\r');
	press('\r');
	press('\r');
	CHECK(shows("nameserver = default"));
	press('\r');
	CHECK(shows("question 5 of 5"));
	/* Nothing is served, nothing is asked. */
	begin("nameserver default\nserve http\nwan.address 203.0.113.9/24\n", 2);
	app("nat");
	press('\r');
	press('\r');
	press('\r');
	press('\r');
	CHECK(shows("question 5 of 5"));
}

static void saved_too(void)
{
	begin("", 2);
	app("wire");
	press('\r');
	CHECK(shows("question 5 of 5")); /* a bridge has no addresses */
	type("2\r");
	CHECK_EQ(last, WIZARD_BOTH);
	CHECK_STR(draft_text(), "app wire\nlan nic0\nwan nic1\n");
}

static void what_others_need(void)
{
	begin("", 2);
	app("ivi");
	press('\r');
	answer("2001:db8:ffcb:71:fe00::/64");
	answer("192.0.2.2/24");
	answer("192.0.2.1");
	press('\r');
	CHECK(shows("ivi needs it"));
	answer("2001:db8::/32");
	answer("203.0.113.0/24");
	CHECK(shows("question 5 of 5"));
	begin("", 2);
	app("dns64");
	press('\r');
	press('\r');
	answer("");
	answer("");
	answer("192.0.2.53");
	CHECK(shows("question 5 of 5"));
	CHECK_STR(draft_text(), "app dns64\nlan nic0\nlan.address 192.168.1.1/24\nwan nic1\n"
	                        "nameserver 192.0.2.53\n");
}

static void the_cable_is_plugged_in(void)
{
	begin("", 3);
	app("nat");
	CHECK(shows("> 1  nic0"));
	CHECK(!wizard_look(&w));
	cards[2].up = true;
	CHECK(wizard_look(&w));
	wizard_draw(&w, &grid);
	CHECK(shows("> 3  nic2  52:54:00:00:00:01  e1000       link up 1000  came up"));
	CHECK(!wizard_look(&w));
	press('\r');
	CHECK(shows("Which card is the WAN"));
	press('3');
	press('\r');
	CHECK(shows("nic2 is the card of the LAN"));
	cards[1].up = true;
	CHECK(wizard_look(&w));
	press('\r');
	CHECK(shows("question 3 of 5"));
	cards[1].up = false; /* a cable that is pulled later chooses nothing */
	CHECK(wizard_look(&w));
	CHECK_STR(draft_text(), "app nat\nlan nic2\nwan nic1\n");
}

static void back_through_all(void)
{
	begin("", 3);
	app("nat");
	press('\r');
	type("2\r");
	press('\r');
	answer("203.0.113.9/24");
	answer("203.0.113.1");
	CHECK(shows("question 5 of 5"));
	press('<');
	CHECK(shows("gateway = 203.0.113.1"));
	press('<');
	CHECK(shows("wan.address = 203.0.113.9/24"));
	press(27);
	CHECK(shows("lan.address = "));
	press('<');
	CHECK(shows("Which card is the WAN"));
	press('<');
	CHECK(shows("Which card is the LAN"));
	press('<');
	CHECK(shows("question 1 of 5"));
	app("wire");
	press('\r');
	press('\r');
	CHECK(shows("question 5 of 5"));
	press('<');
	CHECK(shows("Which card is the WAN"));
	press('<');
	press('<');
	press('<');
	CHECK_EQ(last, WIZARD_DROP);
	CHECK(!draft_has_changes(&draft));
}

static void values_are_checked(void)
{
	begin("lan.address 10.0.0.1/8\nlan.address 10.0.0.9/33\n", 2);
	app("nat");
	press('\r');
	CHECK(shows("lan.address = 10.0.0.1/8"));
	press('x');
	CHECK(shows("expected"));
	press('\r');
	CHECK(shows("question 3 of 5"));
	answer("10.1.0.1/8");
	answer("");
	answer("");
	CHECK(shows("question 5 of 5"));
	press('\r');
	CHECK_EQ(last, WIZARD_STAY); /* the other value of the list is wrong */
	CHECK(shows("gateway.conf:"));
}

static void without_cards(void)
{
	begin("", 0);
	app("nat");
	CHECK(shows("question 3 of 5"));
	press('<');
	CHECK(shows("question 1 of 5"));
	begin("", 1);
	app("nat");
	type("9\r");
	CHECK_STR(draft_text(), "app nat\nlan nic0\nwan nic1\n");
}

/* What the command line sets is not asked for, and nobody is stuck at it. */
static void set_elsewhere(void)
{
	begin_with("lan=nic1 lan.address=10.0.0.1/8", "", 2);
	app("nat");
	CHECK(shows("question 2 of 5"));
	CHECK(!shows("part"));
	CHECK(shows("Which card is the WAN"));
	CHECK(!shows("the LAN"));
	type("1\r");
	CHECK(shows("wan.address ="));
	press('<');
	CHECK(shows("Which card is the WAN"));
	press('\r');
	answer("203.0.113.9/24");
	answer("203.0.113.1");
	CHECK(shows("question 5 of 5"));
	press('\r');
	CHECK_EQ(last, WIZARD_USE);
	CHECK_STR(draft_text(),
	          "app nat\nwan nic0\nwan.address 203.0.113.9/24\ngateway 203.0.113.1\n");
	begin_with("app=nat wan=nic0", "", 3);
	CHECK(shows("question 2 of 5"));
	type("2\r");
	CHECK(shows("lan.address = "));
	CHECK_STR(draft_text(), "lan nic1\n");
	press('<');
	CHECK(shows("Which card is the LAN"));
	press('<');
	CHECK_EQ(last, WIZARD_DROP);
	CHECK(!draft_has_changes(&draft));
	begin_with("lan=nic0", "", 1);
	app("nat");
	CHECK(shows("question 3 of 5"));
}

/* The layout in force by the draft, as the menu takes it. */
static uint32_t layout(void)
{
	return settings_run(draft.c)->keyboard;
}

/* At the machine's keyboard its layout is asked for first, and counts as soon as it is chosen. */
static void the_keyboard(void)
{
	begin_at(true, "", "", 2);
	CHECK(shows("First set-up: the keyboard"));
	CHECK(shows("> 1  us  English, United States"));
	CHECK_EQ(layout(), KEYMAP_US);
	type("9");
	CHECK(shows("> 1  us"));
	type("3");
	CHECK(shows("> 3  de  German"));
	press('\r');
	CHECK(shows("question 1 of 5"));
	CHECK(!shows("part"));
	CHECK_EQ(layout(), KEYMAP_DE);
	CHECK_STR(draft_text(), "keyboard de\n");
	press('<');
	CHECK(shows("> 3  de"));
	press(KEY_DOWN);
	press(KEY_DOWN);
	press('\r');
	CHECK_EQ(layout(), KEYMAP_FR);
	press('<');
	type("1\r");
	CHECK_EQ(layout(), KEYMAP_US);
	CHECK_STR(draft_text(), ""); /* the default needs no line */
	press('<');
	type("2\r");
	press('<');
	press('<');
	CHECK_EQ(last, WIZARD_DROP);
	CHECK_EQ(layout(), KEYMAP_US);
	begin_at(true, "", "keyboard fr\n", 2);
	CHECK(shows("> 4  fr  French"));
	press('\r');
	CHECK_STR(draft_text(), "keyboard fr\n");
	/* A terminal on COM1 has a keyboard of its own; what the command line sets is not asked. */
	begin_at(false, "", "keyboard fr\n", 2);
	CHECK(shows("question 1 of 5"));
	press('<');
	CHECK_EQ(last, WIZARD_DROP);
	begin_at(true, "keyboard=uk", "", 2);
	CHECK(shows("question 1 of 5"));
}

static void random_keys(void)
{
	static const int special[] = {KEY_UP, KEY_DOWN, KEY_HOME, KEY_DELETE, '\r', '\r', '\r',
	                              27,     '<',      21,       '1',        '2',  8};
	uint32_t x = 5, bad = 0;
	begin("nonsense\n", 4);
	for (int i = 0; i < 20000; i++) {
		x = x * 1664525 + 1013904223;
		cards[x >> 30].up = x & 1u << 20;
		wizard_look(&w);
		int k = x & 1u << 21 ? special[(x >> 22) % ARRAY_SIZE(special)]
		                     : (int)(x >> 24 & 0x7f);
		enum wizard_act act = wizard_key(&w, k);
		if (i % 8 == 0)
			wizard_draw(&w, &grid);
		bad += act != WIZARD_STAY && act != WIZARD_DROP && draft.c->n_errors;
		bad += act == WIZARD_DROP && draft_has_changes(&draft);
		if (act != WIZARD_STAY)
			wizard_init(&w, &draft, items, n_apps, x % n_apps, cards, x >> 20 & 7,
			            x >> 19 & 1);
	}
	CHECK_EQ(bad, 0);
}

int main(void)
{
	TEST(a_nat);
	TEST(all_by_dhcp);
	TEST(other_network_inside);
	TEST(fixed_outside);
	TEST(saved_too);
	TEST(what_others_need);
	TEST(the_cable_is_plugged_in);
	TEST(back_through_all);
	TEST(values_are_checked);
	TEST(without_cards);
	TEST(set_elsewhere);
	TEST(the_keyboard);
	TEST(random_keys);
	return tap_done();
}
