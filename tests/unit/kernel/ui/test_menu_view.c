/* kernel/ui/menu_view.c: every function has one whole line, and what is wrong is seen. */
#include "kernel/ui/menu_view.h"
#include "tests/unit/kernel/ui/ui_kit.h"

static struct menu_item items[16];
static struct menu_card cards[MENU_VIEW_CARDS];
static struct menu_view v;

static void begin(const char *text)
{
	begin_draft("", text);
	for (uint32_t i = 0; i < n_apps; i++)
		items[i] = (struct menu_item){apps[i].name, apps[i].about};
	for (uint32_t i = 0; i < MENU_VIEW_CARDS; i++)
		cards[i] = (struct menu_card){"52:54:00:00:00:01", "virtio-net", i % 2, 0};
	v = (struct menu_view){.item = items,
	                       .n_items = n_apps,
	                       .card = cards,
	                       .n_cards = 2,
	                       .c = draft.c,
	                       .can_edit = true};
}

static void draw(void)
{
	menu_view_draw(&v, &grid);
	check_screen();
}

static void nothing_is_cut(void)
{
	begin("");
	v.chosen = 1;
	draw();
	CHECK_STR(grid_row(0), "Baregate: what shall this gateway do?");
	for (uint32_t i = 0; i < n_apps; i++) {
		char line[100];
		CHECK(strlen(apps[i].name) <= MENU_VIEW_NAME);
		CHECK(strlen(apps[i].about) <= MENU_VIEW_ABOUT);
		snprintf(line, sizeof line, "%c%2u  %-10s  %s", i == 1 ? '>' : ' ', i + 1,
		         apps[i].name, apps[i].about);
		CHECK_STR(grid_row(2 + i), line);
	}
	CHECK(shows("nic0  52:54:00:00:00:01  virtio-net  link down"));
	CHECK(shows("nic1  52:54:00:00:00:01  virtio-net  link up"));
	CHECK(shows("c change   w wizard   s save   r restart   p off"));
	CHECK_EQ(grid.row, 3);
}

static void errors(void)
{
	begin("one 1\ntwo 2\nlan.mtu 1\n");
	draw();
	CHECK(shows("Nothing can start until the configuration is correct:"));
	CHECK(shows("gateway.conf:1: unknown key \"one\""));
	CHECK(shows("gateway.conf:3: lan.mtu: expected a number from 1280 to 1500"));
	CHECK(!shows("more"));
	CHECK(!shows("Enter starts"));
}

static void many_errors(void)
{
	char text[1000] = "";
	for (int i = 0; i < 40; i++)
		strcat(text, "nonsense\n");
	for (uint32_t cards_shown = 0; cards_shown <= 8; cards_shown++) {
		begin(text);
		v.n_cards = cards_shown;
		v.problem =
		        "lan: there is no nic0; no network card was found, and this text goes on "
		        "and on, so that it takes more than one row of the screen";
		draw();
		CHECK(shows("r restart   p off"));
		if (cards_shown > 5)
			continue;
		CHECK(shows("more than one row"));
		CHECK(shows("... and 3"));
	}
}

static void countdown_and_messages(void)
{
	begin("");
	v.counting = 4;
	draw();
	CHECK(shows("nat starts in 4 s; any key stops the countdown"));
	v.counting = 0;
	v.message = "saved in gateway.conf";
	draw();
	CHECK_STR(grid_row(23), "saved in gateway.conf");
	CHECK(strstr(grid_row(22), "r restart"));
	v.message = "not saved: gateway.conf on the stick is not the one that was loaded, and this "
	            "text goes on into the next row";
	draw();
	CHECK_STR(grid_row(22),
	          "not saved: gateway.conf on the stick is not the one that was loaded, "
	          "and this");
	CHECK_STR(grid_row(23), "text goes on into the next row");
	CHECK(strstr(grid_row(21), "r restart"));
	v.n_cards = 0;
	v.can_edit = false;
	draw();
	CHECK(shows("No network card was found."));
	CHECK(!shows("wizard"));
}

int main(void)
{
	TEST(nothing_is_cut);
	TEST(errors);
	TEST(many_errors);
	TEST(countdown_and_messages);
	return tap_done();
}
