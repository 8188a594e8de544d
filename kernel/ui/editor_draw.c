/* See editor.h: the screen, of 24 rows.
 *
 * Nothing is said by colour alone: '>' stands before the chosen row, '*' before a changed one, and
 * a default is in parentheses. */
#include "kernel/ui/editor.h"

#include "kernel/lib/fmt.h"

enum { TOP = 2, LINE = 14, ABOUT = 15, HELP = 18, INPUT = 21, MESSAGE = 22, KEYS = 23 };
enum { WIDTH = 78, KEY_COLUMN = 7, VALUE_COLUMN = 33, VALUE_WIDTH = 46, INPUT_COLUMN = 34 };

static void title(const struct editor *e, struct grid *g, const char *text)
{
	grid_put(g, 0, 0, GRID_BOLD, text);
	grid_fill(g, 1, 0, GRID_COLUMNS, GRID_NORMAL, GRID_HORIZONTAL);
	if (draft_has_changes(e->d))
		grid_put(g, 0, 62, GRID_BOLD, "* changed");
}

static void keys(struct grid *g, const char *text)
{
	grid_put(g, KEYS, 0, GRID_NORMAL, text);
}

/* Writes the default of a key in parentheses. */
static void print_default(const struct config_key *key, char *buf, size_t size)
{
	const char *text = key->without ? key->without : key->initial;
	fmt(buf, size, "(%s)", text ? text : "none");
}

/* Writes the value that is in force by the draft, for people. */
static void print_value(const struct editor *e, const struct config_entry *entry, uint32_t index,
                        char *buf, size_t size)
{
	const char *where = draft_elsewhere(e->d, entry);
	struct slice v = draft_value(e->d, entry, index);
	if (where) {
		char value[DRAFT_VALUE];
		bool any = config_value(e->d->c, entry, index, value, sizeof value);
		fmt(buf, size, "%s [%s]", any ? value : "", where);
	} else if (index < draft_count(e->d, entry)) {
		fmt(buf, size, "%.*s", (int)v.len, v.at);
	} else {
		print_default(entry->key, buf, size);
	}
}

static void draw_row(const struct editor *e, struct grid *g, uint32_t row, uint32_t i)
{
	const struct config_entry *entry = editor_entry(e, i);
	enum grid_style style = i == e->chosen ? GRID_REVERSE : GRID_NORMAL;
	grid_fill(g, row, 0, GRID_COLUMNS, style, ' ');
	grid_print(g, row, 0, style, "%c%3u", i == e->chosen ? '>' : ' ', i + 1);
	if (!entry) {
		const struct config_error *error = &e->d->c->error[e->row[i].index];
		grid_print(g, row, 5, style, "! %s: %s", error->where, error->what);
		return;
	}
	char value[DRAFT_VALUE + CONFIG_WHERE];
	print_value(e, entry, e->row[i].index, value, sizeof value);
	size_t len = strlen(value);
	grid_print(g, row, 5, style, "%c %s", draft_changed(e->d, entry) ? '*' : ' ',
	           entry->key->name);
	grid_print(g, row, VALUE_COLUMN, style, "%.*s%s",
	           (int)(len > VALUE_WIDTH ? VALUE_WIDTH - 2 : VALUE_WIDTH), value,
	           len > VALUE_WIDTH ? ".." : "");
}

static void draw_meaning(const struct editor *e, struct grid *g)
{
	const struct config_entry *entry = editor_entry(e, e->chosen);
	char help[CONFIG_HELP];
	if (!entry) {
		grid_wrap(g, ABOUT, 1, 2, WIDTH, GRID_NORMAL,
		          e->n_rows ? "An error. d makes a comment of its line."
		                    : "There are no keys.");
		if (e->n_rows)
			grid_wrap(g, HELP, 1, 3, WIDTH, GRID_NORMAL,
			          e->d->c->error[e->row[e->chosen].index].what);
		return;
	}
	if (entry->key->about)
		grid_wrap(g, ABOUT, 1, HELP - ABOUT, WIDTH, GRID_NORMAL, entry->key->about);
	config_key_help(entry->key, help, sizeof help);
	grid_wrap(g, HELP, 1, INPUT - HELP, WIDTH, GRID_NORMAL, help);
}

static void draw_list(const struct editor *e, struct grid *g)
{
	title(e, g, "Configuration");
	grid_put(g, 0, 16, GRID_NORMAL,
	         e->all ? "all keys" : "the keys of what is chosen; f shows all");
	for (uint32_t i = 0; i < EDITOR_LIST_ROWS && e->first + i < e->n_rows; i++)
		draw_row(e, g, TOP + i, e->first + i);
	grid_fill(g, LINE, 0, GRID_COLUMNS, GRID_NORMAL, GRID_HORIZONTAL);
	grid_print(g, LINE, 2, GRID_NORMAL, " %u of %u ", e->chosen + 1, e->n_rows);
	draw_meaning(e, g);
	if (e->mode == EDITOR_INPUT) {
		const struct config_entry *entry = editor_entry(e, e->chosen);
		grid_print(g, INPUT, 1, GRID_BOLD, "%.30s =", entry->key->name);
		field_draw(&e->input, g, INPUT, INPUT_COLUMN, GRID_COLUMNS - INPUT_COLUMN - 1);
		keys(g, "Enter takes the value   Ctrl-U empties it   Esc or < keeps the old one");
	} else {
		keys(g,
		     "Number or arrows, Enter edits   a adds a value   d default   f all keys   < "
		     "back");
		grid_cursor(g, TOP + e->chosen - e->first, 0);
	}
	grid_print(g, MESSAGE, 1, GRID_BOLD, "%.78s", e->message);
}

/* --- leaving ---------------------------------------------------------------------------------- */

/* Writes all values of a key in a text into buf: "a, b". */
static void print_all(struct slice text, const struct config_entry *entry, char *buf, size_t size)
{
	uint32_t n = config_edit_count(text, entry->key->name);
	size_t used = 0;
	if (n == 0)
		print_default(entry->key, buf, size);
	for (uint32_t i = 0; i < n; i++) {
		struct slice v = config_edit_value(text, entry->key->name, i, NULL);
		used += fmt(buf + used, size - used, "%s%.*s", i ? ", " : "", (int)v.len, v.at);
	}
}

/* Lists the changes in the rows up to LINE, and how many do not fit. */
static void draw_changes(const struct editor *e, struct grid *g)
{
	uint32_t n = 0, row = TOP;
	for (uint32_t i = 0; i < e->d->c->n_entries; i++) {
		const struct config_entry *entry = &e->d->c->entry[i];
		char was[60], now[60];
		if (!draft_changed(e->d, entry))
			continue;
		n++;
		if (row >= LINE - 1)
			continue;
		print_all(e->d->base, entry, was, sizeof was);
		print_all(e->d->text, entry, now, sizeof now);
		grid_print(g, row++, 1, GRID_NORMAL, "%-24s %s -> %s", entry->key->name, was, now);
	}
	if (n > row - TOP)
		grid_print(g, row, 1, GRID_NORMAL, "and %u more", n - (row - TOP));
	else if (n == 0)
		grid_put(g, row, 1, GRID_NORMAL, "Only comments.");
}

static void draw_leave(const struct editor *e, struct grid *g)
{
	const struct editor_answer *answer;
	title(e, g, "What becomes of these changes?");
	draw_changes(e, g);
	grid_fill(g, LINE, 0, GRID_COLUMNS, GRID_NORMAL, GRID_HORIZONTAL);
	for (uint32_t i = 0; (answer = editor_answer(e, i)); i++) {
		enum grid_style style = i == e->chosen ? GRID_REVERSE : GRID_NORMAL;
		grid_print(g, ABOUT + 1 + i, 0, style, "%c %u  %s", i == e->chosen ? '>' : ' ',
		           i + 1, answer->text);
	}
	if (e->d->c->n_errors) {
		grid_put(g, INPUT, 1, GRID_BOLD,
		         "Nothing can start from this: correct it, or drop it.");
		grid_print(g, MESSAGE, 1, GRID_BOLD, "%.78s", e->message);
	}
	keys(g, "Number and Enter, or the first letter   < back to the keys");
	grid_cursor(g, ABOUT + 1 + e->chosen, 0);
}

void editor_draw(const struct editor *e, struct grid *g)
{
	grid_clear(g);
	if (e->mode == EDITOR_LEAVE)
		draw_leave(e, g);
	else
		draw_list(e, g);
}
