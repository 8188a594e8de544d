/* See menu_view.h. No row has a frame at its sides: a program that reads the lines of COM1, and a
 * person who listens to them, gets text alone. */
#include "kernel/ui/menu_view.h"

#include "kernel/lib/fmt.h"

enum { ITEMS = 2, LAST = 23, WIDTH = 78, MESSAGE_ROWS = 2 };

void menu_view_card(const struct menu_card *card, uint32_t i, char *buf, size_t size)
{
	size_t n = fmt(buf, size, "nic%u  %s  %-11s link %s", i, card->address, card->driver,
	               card->up ? "up" : "down");
	if (card->up && card->mbit)
		fmt(buf + n, size - n, " %u", card->mbit);
}

/* Each function below draws from a row on and gives the next free row. */

static uint32_t draw_items(const struct menu_view *v, struct grid *g)
{
	for (uint32_t i = 0; i < v->n_items; i++) {
		enum grid_style style = i == v->chosen ? GRID_REVERSE : GRID_NORMAL;
		grid_print(g, ITEMS + i, 0, style, "%c%2u  %-10s  %s", i == v->chosen ? '>' : ' ',
		           i + 1, v->item[i].name, v->item[i].about);
	}
	return ITEMS + v->n_items;
}

static uint32_t draw_cards(const struct menu_view *v, struct grid *g, uint32_t row)
{
	char text[80];
	if (v->n_cards == 0)
		grid_put(g, row++, 0, GRID_NORMAL, "No network card was found.");
	for (uint32_t i = 0; i < v->n_cards; i++) {
		menu_view_card(&v->card[i], i, text, sizeof text);
		grid_put(g, row++, 1, GRID_NORMAL, text);
	}
	return row;
}

/* Writes a text into the rows before `end` if all of it fits there. */
static bool draw_whole(struct grid *g, uint32_t *row, uint32_t end, const char *text)
{
	uint32_t n = grid_wrap(g, *row, 0, 0, WIDTH, GRID_BOLD, text);
	if (n > end - *row)
		return false;
	*row += grid_wrap(g, *row, 0, n, WIDTH, GRID_BOLD, text);
	return true;
}

static void draw_errors(const struct menu_view *v, struct grid *g, uint32_t row, uint32_t end)
{
	uint32_t kept = min_u32(v->c->n_errors, CONFIG_ERRORS), shown = 0;
	char text[CONFIG_WHERE + sizeof v->c->error[0].what + 2];
	if (v->c->n_errors == 0 || row + 2 > end)
		return;
	grid_put(g, row++, 0, GRID_BOLD, "Nothing can start until the configuration is correct:");
	for (; shown < kept; shown++) {
		const struct config_error *e = &v->c->error[shown];
		fmt(text, sizeof text, "%s: %s", e->where, e->what);
		/* The last row is for the number of the others. */
		if (!draw_whole(g, &row, end - (shown + 1 < v->c->n_errors), text))
			break;
	}
	if (shown < v->c->n_errors)
		grid_print(g, row, 0, GRID_BOLD, "... and %u more", v->c->n_errors - shown);
}

static void draw_keys(const struct menu_view *v, struct grid *g, uint32_t row)
{
	uint32_t at = 0;
	if (!v->c->n_errors)
		at = grid_put(g, row, at, GRID_NORMAL, "1-9 or arrows, Enter starts   ");
	if (v->can_edit)
		at = grid_put(g, row, at, GRID_NORMAL, "c change   w wizard   s save   ");
	grid_put(g, row, at, GRID_NORMAL, "r restart   p off");
	if (v->counting)
		grid_print(g, LAST, 0, GRID_NORMAL,
		           "%.20s starts in %u s; any key stops the countdown",
		           v->item[v->chosen].name, v->counting);
	else if (v->message)
		grid_wrap(g, row + 1, 0, LAST - row, WIDTH, GRID_BOLD, v->message);
}

/* The row of the keys, above the message. */
static uint32_t keys_row(const struct menu_view *v, struct grid *g)
{
	uint32_t n = 1;
	if (v->message && !v->counting)
		n = grid_wrap(g, 0, 0, 0, WIDTH, GRID_BOLD, v->message);
	return LAST - (n > 1 ? MESSAGE_ROWS : 1);
}

void menu_view_draw(const struct menu_view *v, struct grid *g)
{
	grid_clear(g);
	grid_put(g, 0, 0, GRID_BOLD, "Baregate: what shall this gateway do?");
	uint32_t row = draw_items(v, g) + 1, keys = keys_row(v, g);
	row = draw_cards(v, g, row) + 1;
	if (v->problem && row < keys)
		row += grid_wrap(g, row, 0, keys - row, WIDTH, GRID_BOLD, v->problem);
	if (row < keys)
		draw_errors(v, g, row, keys);
	draw_keys(v, g, keys);
	grid_cursor(g, ITEMS + v->chosen, 0);
}
