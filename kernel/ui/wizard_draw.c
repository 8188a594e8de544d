/* See wizard.h: the screen. */
#include "kernel/ui/wizard.h"

#include "kernel/console/keymap.h"
#include "kernel/lib/fmt.h"

enum { TEXT = 2, LIST = 6, INPUT = 8, HELP = 10, MESSAGE = 21, KEYS = 23, WIDTH = 78 };

static void row(const struct wizard *w, struct grid *g, uint32_t i, const char *text)
{
	enum grid_style style = i == w->chosen ? GRID_REVERSE : GRID_NORMAL;
	grid_print(g, LIST + i, 0, style, "%c%2u  %s", i == w->chosen ? '>' : ' ', i + 1, text);
	if (i == w->chosen)
		grid_cursor(g, LIST + i, 0);
}

static void text(struct grid *g, const char *what)
{
	grid_wrap(g, TEXT, 0, LIST - TEXT, WIDTH, GRID_NORMAL, what);
}

static void draw_layouts(const struct wizard *w, struct grid *g)
{
	char line[80];
	text(g, "Which keyboard is this? The answer counts at once.");
	for (uint32_t i = 0; i < KEYMAP_LAYOUTS; i++) {
		fmt(line, sizeof line, "%-4s%s", keymap_names[i], keymap_titles[i]);
		row(w, g, i, line);
	}
}

static void draw_apps(const struct wizard *w, struct grid *g)
{
	char line[80];
	text(g, "What shall this gateway do?");
	for (uint32_t i = 0; i < w->n_items; i++) {
		fmt(line, sizeof line, "%-10s  %s", w->item[i].name, w->item[i].about);
		row(w, g, i, line);
	}
}

static void draw_cards(const struct wizard *w, struct grid *g)
{
	char line[80];
	if (w->step == WIZARD_LAN)
		text(g, "Which card is the LAN, the side of your own hosts? Plug its cable in: the "
		        "card that gets a link is chosen. Then press Enter. With two cards the "
		        "other one is the WAN.");
	else
		text(g, "Which card is the WAN, the side of your provider? Plug its cable in: the "
		        "card that gets a link is chosen. Then press Enter.");
	for (uint32_t i = 0; i < w->n_cards; i++) {
		menu_view_card(&w->card[i], i, line, sizeof line);
		size_t n = strlen(line);
		if (i == w->came_up)
			fmt(line + n, sizeof line - n, "  came up");
		else if (w->step == WIZARD_WAN && i == w->lan &&
		         !draft_elsewhere(w->d, config_entry(w->d->c, "lan")))
			fmt(line + n, sizeof line - n, "  the LAN");
		row(w, g, i, line);
	}
}

static void draw_key(const struct wizard *w, struct grid *g)
{
	char help[CONFIG_HELP];
	const struct config_entry *e = config_entry(w->d->c, wizard_key_name(w));
	text(g, wizard_question(w));
	uint32_t at = grid_print(g, INPUT, 0, GRID_BOLD, "%s = ", wizard_key_name(w));
	field_draw(&w->input, g, INPUT, at, GRID_COLUMNS - at - 1);
	config_key_help(e->key, help, sizeof help);
	grid_wrap(g, HELP, 0, 3, WIDTH, GRID_NORMAL, help);
}

static void draw_end(const struct wizard *w, struct grid *g)
{
	text(g, "Start with these answers. If they are saved too, the gateway starts with them by "
	        "itself from the next time on.");
	row(w, g, 0, "use now");
	row(w, g, 1, "use now and save");
}

void wizard_draw(const struct wizard *w, struct grid *g)
{
	grid_clear(g);
	uint32_t part, parts, number = wizard_number(w, &part, &parts);
	uint32_t at =
	        number ? grid_print(g, 0, 0, GRID_BOLD, "First set-up: question %u of 5", number)
	               : grid_put(g, 0, 0, GRID_BOLD, "First set-up: the keyboard");
	if (parts > 1)
		grid_print(g, 0, at, GRID_BOLD, ", part %u of %u", part, parts);
	switch (w->step) {
	case WIZARD_KEYBOARD:
		draw_layouts(w, g);
		break;
	case WIZARD_APP:
		draw_apps(w, g);
		break;
	case WIZARD_LAN:
	case WIZARD_WAN:
		draw_cards(w, g);
		break;
	case WIZARD_KEYS:
		draw_key(w, g);
		break;
	case WIZARD_END:
		draw_end(w, g);
		break;
	}
	grid_wrap(g, MESSAGE, 0, KEYS - MESSAGE, WIDTH, GRID_BOLD, w->message);
	grid_put(g, KEYS, 0, GRID_NORMAL,
	         w->step == WIZARD_KEYS
	                 ? "Enter goes on   Ctrl-U empties the line   Esc or < goes back"
	                 : "Number or arrows, Enter goes on   Esc or < goes back");
}
