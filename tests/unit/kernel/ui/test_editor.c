/* kernel/ui/editor.c, editor_draw.c, field.c: keys typed, the screen, and what becomes of the text.
 */
#include "kernel/ui/editor.h"
#include "tests/unit/kernel/ui/ui_kit.h"

static struct editor e;
static enum editor_act last;

static void press(int k)
{
	last = editor_key(&e, k);
	editor_draw(&e, &grid);
	check_screen();
}

static void type(const char *text)
{
	for (; *text; text++)
		press(*text);
}

static void begin(const char *text, const char *app)
{
	begin_draft("", text);
	editor_init(&e, &draft, app, settings_uses);
	editor_draw(&e, &grid);
}

/* Chooses the row with this text by its number; looks on all pages. */
static void choose(const char *part)
{
	char number[8];
	press(KEY_HOME);
	for (uint32_t i = 0; i < e.n_rows; i++) {
		if (number_of(part)) {
			snprintf(number, sizeof number, "%u", number_of(part));
			type(number);
			return;
		}
		press(KEY_DOWN);
	}
	CHECK(!"there is such a row");
}

static void shows_the_keys_of_the_function(void)
{
	begin("lan.mtu 1400\n", "nat");
	CHECK(shows("lan.mtu                   1400"));
	CHECK(shows("hostname                  (gateway)"));
	uint32_t few = e.n_rows;
	type("f");
	CHECK(e.n_rows > few + 40);
	CHECK(shows("all keys"));
	type("f");
	CHECK_EQ(e.n_rows, few);
	begin("app ivi\n", "nat");
	choose("ivi.prefix");
	begin("serve dns64\n", "nat");
	choose("dns64.cache");
}

static void explains_the_chosen_key(void)
{
	begin("", "nat");
	choose("lan.mtu");
	CHECK(shows("Largest IP packet on this interface, in bytes."));
	CHECK(shows("number from 1280 to 1500; default: 1500"));
	CHECK_EQ(strncmp(grid_row(grid.row), ">", 1), 0);
	CHECK_EQ(grid.column, 0);
}

static void edits_a_value(void)
{
	begin("lan.mtu 1400\n", "nat");
	choose("lan.mtu");
	press('\r');
	CHECK(shows("lan.mtu ="));
	type("\x15"
	     "12");
	CHECK(shows("expected a number from 1280 to 1500"));
	press('\r');
	CHECK(shows("expected a number from 1280 to 1500"));
	CHECK_EQ(e.mode, EDITOR_INPUT);
	type("80");
	CHECK(!shows("expected"));
	press('\r');
	CHECK_EQ(e.mode, EDITOR_LIST);
	CHECK(shows("* lan.mtu                   1280"));
	CHECK(shows("* changed"));
	CHECK_STR(draft_text(), "lan.mtu 1280\n");
}

static void keeps_the_old_value(void)
{
	static const int back[] = {27, '<'};
	for (unsigned i = 0; i < 2; i++) {
		begin("lan.mtu 1400\n", "nat");
		choose("lan.mtu");
		type("\r9");
		press(back[i]);
		CHECK_EQ(e.mode, EDITOR_LIST);
		CHECK(shows("lan.mtu                   1400"));
		CHECK_STR(draft_text(), "lan.mtu 1400\n");
		CHECK(shows("the value stays as it was"));
	}
}

static void defaults(void)
{
	begin("lan.mtu 1400\n", "nat");
	choose("lan.mtu");
	press('d');
	CHECK(shows("* lan.mtu                   (1500)"));
	CHECK_STR(draft_text(), "");
	type("\r1300\r");
	CHECK_STR(draft_text(), "lan.mtu 1300\n");
	choose("lan.mtu");
	type("\r\x15\r");
	CHECK_STR(draft_text(), "");
}

static void lists(void)
{
	begin("", "nat");
	choose("wan.address");
	type("\r192.0.2.2/24\r");
	choose("wan.address");
	type("a192.0.2.3/24\r");
	type("a192.0.2.4/24\r");
	CHECK_STR(draft_text(), "wan.address 192.0.2.2/24\nwan.address 192.0.2.3/24\n"
	                        "wan.address 192.0.2.4/24\n");
	choose("192.0.2.3/24");
	press(KEY_DELETE);
	CHECK_STR(draft_text(), "wan.address 192.0.2.2/24\nwan.address 192.0.2.4/24\n");
	choose("lan.mtu");
	type("\r1300\ra");
	CHECK(shows("lan.mtu cannot have another value"));
	choose("wan.address");
	press('a');
	press(27);
	CHECK_EQ(draft_count(&draft, key("wan.address")), 2);
}

static void errors_of_the_text(void)
{
	begin("lan.mtu 12\nnonsense 1\nhostname x\n", "nat");
	CHECK(shows("! gateway.conf:1: lan.mtu: expected"));
	CHECK(shows("! gateway.conf:2: unknown key"));
	type("1d");
	CHECK_STR(draft_text(), "# lan.mtu 12\nnonsense 1\nhostname x\n");
	CHECK(shows("line 1 is a comment now"));
	type("\r"); /* nothing to edit */
	CHECK_EQ(e.mode, EDITOR_LIST);
	type("1d");
	CHECK_EQ(draft.c->n_errors, 0);
	begin("lan.mtu 12\n", "nat");
	choose("lan.mtu");
	choose("lan.mtu   ");
	type("\r\x15"
	     "1300\r");
	CHECK_STR(draft_text(), "lan.mtu 1300\n");
}

static void leaves_without_changes(void)
{
	begin("lan.mtu 1400\n", "nat");
	press('<');
	CHECK_EQ(last, EDITOR_DROP);
	begin("lan.mtu 1400\n", "nat");
	press(27);
	CHECK_EQ(last, EDITOR_DROP);
}

static void change(void)
{
	begin("lan.mtu 1400\nnameserver 192.0.2.1\n", "nat");
	choose("lan.mtu");
	type("\r\x15"
	     "1300\r");
	choose("hostname");
	type("\rbox\r");
	press('<');
}

struct way {
	const char *keys;
	enum editor_act act;
};

static void leave_by(const struct way *way, unsigned n, bool runs)
{
	for (unsigned i = 0; i < n; i++) {
		change();
		e.runs = runs;
		press(KEY_UP);
		CHECK(shows("lan.mtu                  1400 -> 1300"));
		CHECK(shows("hostname                 (gateway) -> box"));
		CHECK(!shows("nameserver"));
		type(way[i].keys);
		CHECK_EQ(last, way[i].act);
		CHECK_EQ(draft_has_changes(&draft), way[i].act != EDITOR_DROP);
	}
}

/* In the menu nothing is saved that has not started: there are three answers. */
static void leaves_with_changes(void)
{
	static const struct way menu[] = {
	        {"u", EDITOR_USE},  {"s", EDITOR_BOTH},   {"b", EDITOR_STAY},   {"d", EDITOR_DROP},
	        {"\r", EDITOR_USE}, {"2\r", EDITOR_BOTH}, {"3\r", EDITOR_DROP}, {"4\r", EDITOR_USE},
	};
	static const struct way runs[] = {
	        {"u", EDITOR_USE},    {"s", EDITOR_SAVE},   {"b", EDITOR_BOTH},
	        {"d", EDITOR_DROP},   {"\r", EDITOR_USE},   {"2\r", EDITOR_SAVE},
	        {"3\r", EDITOR_BOTH}, {"4\r", EDITOR_DROP},
	};
	leave_by(menu, ARRAY_SIZE(menu), false);
	CHECK(shows("saved when what you start has started"));
	CHECK(!shows("both"));
	leave_by(runs, ARRAY_SIZE(runs), true);
	CHECK(shows("they count from the next start on"));
	change();
	for (int i = 0; i < 9; i++)
		press(KEY_DOWN);
	CHECK(shows("> 3  drop"));
	press('<');
	CHECK_EQ(e.mode, EDITOR_LIST);
	CHECK(draft_has_changes(&draft));
}

static void never_uses_errors(void)
{
	begin("lan nic0\n", "nat");
	choose("wan  ");
	type("\r\x15"
	     "nic0\r<");
	CHECK(shows("Nothing can start from this"));
	CHECK(shows("name the same NIC"));
	static const char letters[] = "usb";
	for (const char *k = letters; *k; k++) {
		e.runs = *k == 'b';
		press(*k);
		CHECK_EQ(last, EDITOR_STAY);
	}
	press('d');
	CHECK_EQ(last, EDITOR_DROP);
}

static void values_from_elsewhere(void)
{
	begin_draft("lan.mtu=1350", "");
	editor_init(&e, &draft, "nat", settings_uses);
	editor_draw(&e, &grid);
	choose("lan.mtu");
	CHECK(shows("1350 [command line]"));
	press('\r');
	CHECK_EQ(e.mode, EDITOR_LIST);
	CHECK(shows("lan.mtu is set by command line"));
	press('d');
	CHECK(shows("cannot be changed here"));
}

static void the_line_is_edited(void)
{
	struct field f;
	field_set(&f, slice("ac\n"));
	CHECK_STR(f.text, "ac");
	field_key(&f, KEY_LEFT);
	field_key(&f, 'b');
	CHECK_STR(f.text, "abc");
	field_key(&f, KEY_HOME);
	field_key(&f, KEY_DELETE);
	field_key(&f, 8);
	CHECK_STR(f.text, "bc");
	field_key(&f, KEY_END);
	field_key(&f, 127);
	field_key(&f, KEY_DELETE);
	CHECK_STR(f.text, "b");
	CHECK(!field_key(&f, KEY_F1));
	CHECK(!field_key(&f, 1));
	for (unsigned i = 0; i < 2 * FIELD_TEXT; i++)
		field_key(&f, 'x');
	CHECK_EQ(f.len, FIELD_TEXT - 1);
	CHECK_EQ(f.text[f.len], 0);
	grid_clear(&grid);
	field_draw(&f, &grid, 0, 10, 20);
	CHECK_EQ(grid.column, 29);
	field_key(&f, KEY_HOME);
	field_draw(&f, &grid, 0, 10, 20);
	CHECK_EQ(grid.column, 10);
	CHECK_EQ((uint8_t)grid.cell[0][30], ' ');
}

/* Random keys: the editor stays in its bounds, and the text has no error that it did not have. */
static void random_keys(void)
{
	static const int special[] = {KEY_UP,     KEY_DOWN,   KEY_LEFT, KEY_RIGHT,   KEY_HOME,
	                              KEY_END,    KEY_DELETE, KEY_F1,   '\r',        '\r',
	                              27,         8,          '<',      'a',         'd',
	                              'f',        ' ',        21,       KEY_PAGE_UP, KEY_PAGE_DOWN,
	                              0x7fffffff, KEY_NONE};
	uint32_t x = 99, bad = 0;
	begin("lan.mtu 1400\nwan.address 192.0.2.2/24 # c\n\nserve dns64\nroute\n", "nat");
	for (int i = 0; i < 30000; i++) {
		x = x * 1664525 + 1013904223;
		int k = x >> 31 ? special[(x >> 20) % ARRAY_SIZE(special)] : (int)(x >> 24 & 0x7f);
		enum editor_act act = editor_key(&e, k);
		if (i % 16 == 0)
			editor_draw(&e, &grid);
		bad += e.mode != EDITOR_LEAVE && e.n_rows && e.chosen >= e.n_rows;
		bad += grid.cell[24][0] != (GRID_NORMAL << 8 | ' ');
		if (act != EDITOR_STAY) {
			bad += act != EDITOR_DROP && draft.c->n_errors;
			draft_keep(&draft);
			editor_init(&e, &draft, apps[x % n_apps].name, settings_uses);
		}
	}
	CHECK_EQ(bad, 0);
}

int main(void)
{
	TEST(shows_the_keys_of_the_function);
	TEST(explains_the_chosen_key);
	TEST(edits_a_value);
	TEST(keeps_the_old_value);
	TEST(defaults);
	TEST(lists);
	TEST(errors_of_the_text);
	TEST(leaves_without_changes);
	TEST(leaves_with_changes);
	TEST(never_uses_errors);
	TEST(values_from_elsewhere);
	TEST(the_line_is_edited);
	TEST(random_keys);
	return tap_done();
}
