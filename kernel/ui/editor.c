/* See editor.h: the reaction to keys. */
#include "kernel/ui/editor.h"

#include "kernel/console/keys.h"
#include "kernel/lib/fmt.h"

enum { ESC = 27 };

static const char *app_of(const struct editor *e)
{
	const struct config_entry *app = config_entry(e->d->c, "app");
	static char name[DRAFT_VALUE];
	return app && config_value(e->d->c, app, 0, name, sizeof name) ? name : e->app;
}

static void add_row(struct editor *e, uint32_t entry, uint32_t index)
{
	if (e->n_rows < EDITOR_ROWS)
		e->row[e->n_rows++] = (struct editor_row){(uint16_t)entry, (uint16_t)index};
}

/* A key that is given is shown in any case when its value is wrong. */
static bool is_shown(const struct editor *e, const struct config_entry *entry, const char *app)
{
	return e->all || e->uses(e->d->c, app, entry) || draft_changed(e->d, entry);
}

static void make_rows(struct editor *e)
{
	const struct config *c = e->d->c;
	const char *app = app_of(e);
	e->n_rows = 0;
	for (uint32_t i = 0; i < min_u32(c->n_errors, CONFIG_ERRORS); i++)
		add_row(e, EDITOR_ERROR, i);
	for (uint32_t i = 0; i < c->n_entries; i++) {
		if (!is_shown(e, &c->entry[i], app))
			continue;
		uint32_t n = draft_count(e->d, &c->entry[i]);
		for (uint32_t k = 0; k < (n ? n : 1); k++)
			add_row(e, i, k);
	}
	e->chosen = e->n_rows ? min_u32(e->chosen, e->n_rows - 1) : 0;
}

/* Chooses the row of a value, or the last one of its key. */
static void choose(struct editor *e, uint32_t entry, uint32_t index)
{
	for (uint32_t i = 0; i < e->n_rows; i++)
		if (e->row[i].entry == entry && e->row[i].index <= index)
			e->chosen = i;
}

const struct config_entry *editor_entry(const struct editor *e, uint32_t row)
{
	if (row >= e->n_rows || e->row[row].entry == EDITOR_ERROR)
		return NULL;
	return &e->d->c->entry[e->row[row].entry];
}

void editor_init(struct editor *e, struct draft *d, const char *app,
                 bool (*uses)(const struct config *c, const char *app,
                              const struct config_entry *e))
{
	memset(e, 0, sizeof *e);
	e->d = d;
	e->app = app;
	e->uses = uses;
	make_rows(e);
}

/* --- the list ------------------------------------------------------------------------------- */

static void begin_input(struct editor *e, bool more)
{
	const struct config_entry *entry = editor_entry(e, e->chosen);
	if (!entry)
		return;
	const char *where = draft_elsewhere(e->d, entry);
	uint32_t n = draft_count(e->d, entry);
	if (where) {
		fmt(e->message, sizeof e->message, "%s is set by %s, not by this file",
		    entry->key->name, where);
	} else if (more && n >= (entry->key->counter ? entry->key->most : 1)) {
		fmt(e->message, sizeof e->message, "%s cannot have another value",
		    entry->key->name);
	} else {
		if (more && n > 0)
			e->row[e->chosen].index = (uint16_t)n;
		field_set(&e->input, draft_value(e->d, entry, e->row[e->chosen].index));
		e->mode = EDITOR_INPUT;
	}
}

/* Makes the rows again after a change of a value, which stays chosen. */
static void changed(struct editor *e, struct editor_row row)
{
	make_rows(e);
	choose(e, row.entry, row.index);
}

/* The place of an error in gateway.conf: the number behind the colon; 0 when it has none. */
static uint32_t line_of(const struct config *c, const char *where)
{
	uint32_t line = 0;
	size_t len = strlen(c->file);
	if (memcmp(where, c->file, len) != 0 || where[len] != ':')
		return 0;
	for (where += len + 1; *where >= '0' && *where <= '9'; where++)
		line = line * 10 + (uint32_t)(*where - '0');
	return line;
}

static void remove_error(struct editor *e)
{
	const struct config_error *error = &e->d->c->error[e->row[e->chosen].index];
	uint32_t line = line_of(e->d->c, error->where);
	if (line > 0 && draft_comment(e->d, line))
		fmt(e->message, sizeof e->message, "line %u is a comment now", line);
	else
		fmt(e->message, sizeof e->message, "this is not a line of the file");
	make_rows(e);
}

static void remove_value(struct editor *e)
{
	const struct config_entry *entry = editor_entry(e, e->chosen);
	if (!entry) {
		if (e->n_rows)
			remove_error(e);
		return;
	}
	struct editor_row row = e->row[e->chosen];
	const char *name = entry->key->name;
	if (!draft_set(e->d, entry, row.index, (struct slice){"", 0}, e->message))
		return;
	fmt(e->message, sizeof e->message, "%s: %u in the file", name, draft_count(e->d, entry));
	changed(e, row);
}

static void digit(struct editor *e, uint32_t n)
{
	uint32_t number = e->number * 10 + n;
	if (number > e->n_rows)
		number = n;
	e->number = number;
	if (number > 0 && number <= e->n_rows)
		e->chosen = number - 1;
}

static bool move(struct editor *e, int key)
{
	uint32_t last = e->n_rows ? e->n_rows - 1 : 0;
	switch (key) {
	case KEY_UP:
		e->chosen -= e->chosen > 0;
		return true;
	case KEY_DOWN:
		e->chosen = min_u32(e->chosen + 1, last);
		return true;
	case KEY_LEFT:
	case KEY_PAGE_UP:
		e->chosen -= min_u32(e->chosen, EDITOR_LIST_ROWS);
		return true;
	case KEY_RIGHT:
	case KEY_PAGE_DOWN:
	case ' ':
		e->chosen = min_u32(e->chosen + EDITOR_LIST_ROWS, last);
		return true;
	case KEY_HOME:
		e->chosen = 0;
		return true;
	case KEY_END:
		e->chosen = last;
		return true;
	default:
		return false;
	}
}

static enum editor_act leave(struct editor *e)
{
	if (!draft_has_changes(e->d))
		return EDITOR_DROP;
	e->mode = EDITOR_LEAVE;
	e->back = e->chosen;
	e->chosen = 0;
	if (e->d->c->n_errors)
		fmt(e->message, sizeof e->message, "%s: %s", e->d->c->error[0].where,
		    e->d->c->error[0].what);
	return EDITOR_STAY;
}

static void toggle_all(struct editor *e)
{
	struct editor_row row = e->n_rows ? e->row[e->chosen] : (struct editor_row){0, 0};
	e->all = !e->all;
	e->chosen = 0;
	changed(e, row);
}

static enum editor_act list_key(struct editor *e, int key)
{
	uint32_t number = e->number;
	e->number = 0;
	e->message[0] = '\0';
	if (move(e, key))
		return EDITOR_STAY;
	switch (key) {
	case '\r':
	case '\n':
		begin_input(e, false);
		break;
	case 'a':
	case '+':
		begin_input(e, true);
		break;
	case 'd':
	case KEY_DELETE:
		remove_value(e);
		break;
	case 'f':
		toggle_all(e);
		break;
	case '<':
	case ESC:
		return leave(e);
	default:
		e->number = number;
		if (key >= '0' && key <= '9')
			digit(e, (uint32_t)(key - '0'));
	}
	return EDITOR_STAY;
}

/* --- one value -------------------------------------------------------------------------------- */

static struct slice typed(const struct editor *e)
{
	return (struct slice){e->input.text, e->input.len};
}

static void take_input(struct editor *e)
{
	struct editor_row row = e->row[e->chosen];
	const struct config_entry *entry = editor_entry(e, e->chosen);
	const char *name = entry->key->name;
	if (!draft_set(e->d, entry, row.index, typed(e), e->message))
		return;
	e->mode = EDITOR_LIST;
	if (e->input.len)
		fmt(e->message, sizeof e->message, "%s is %.80s", name, e->input.text);
	else
		fmt(e->message, sizeof e->message, "%s has its default", name);
	changed(e, row);
}

static enum editor_act input_key(struct editor *e, int key)
{
	if (key == '\r' || key == '\n') {
		take_input(e);
	} else if (key == ESC || key == '<') {
		struct editor_row row = e->row[e->chosen];
		e->mode = EDITOR_LIST;
		fmt(e->message, sizeof e->message, "the value stays as it was");
		changed(e, row);
	} else if (field_key(&e->input, key)) {
		e->message[0] = '\0';
		if (e->input.len)
			draft_check(e->d, editor_entry(e, e->chosen), typed(e), e->message);
	}
	return EDITOR_STAY;
}

/* --- leaving ---------------------------------------------------------------------------------- */

const struct editor_answer *editor_answer(const struct editor *e, uint32_t i)
{
	static const struct editor_answer runs[] = {
	        {'u', EDITOR_USE,
	         "use   what can change at once does, for 60 s; `keep` makes it last"},
	        {'s', EDITOR_SAVE, "save  they count from the next start on"},
	        {'b', EDITOR_BOTH, "both  use and save"},
	        {'d', EDITOR_DROP, "drop  they are forgotten"},
	};
	static const struct editor_answer menu[] = {
	        {'u', EDITOR_USE, "use   they count now, until the next start"},
	        {'s', EDITOR_BOTH,
	         "save  they count now, and are saved when what you start has started"},
	        {'d', EDITOR_DROP, "drop  they are forgotten"},
	};
	if (i >= (e->runs ? ARRAY_SIZE(runs) : ARRAY_SIZE(menu)))
		return NULL;
	return e->runs ? &runs[i] : &menu[i];
}

static uint32_t n_answers(const struct editor *e)
{
	uint32_t n = 0;
	while (editor_answer(e, n))
		n++;
	return n;
}

static enum editor_act answer(struct editor *e, uint32_t i)
{
	enum editor_act act = editor_answer(e, i)->act;
	e->chosen = i;
	if (act == EDITOR_DROP)
		draft_drop(e->d);
	else if (e->d->c->n_errors)
		return EDITOR_STAY; /* the message says what is wrong */
	return act;
}

static enum editor_act leave_key(struct editor *e, int key)
{
	uint32_t n = n_answers(e);
	for (uint32_t i = 0; i < n; i++)
		if (key == editor_answer(e, i)->letter)
			return answer(e, i);
	if (key >= '1' && key <= '9' && (uint32_t)(key - '1') < n)
		e->chosen = (uint32_t)(key - '1');
	else if (key == KEY_UP)
		e->chosen -= e->chosen > 0;
	else if (key == KEY_DOWN)
		e->chosen = min_u32(e->chosen + 1, n - 1);
	else if (key == '\r' || key == '\n')
		return answer(e, e->chosen);
	if (key == '<' || key == ESC) {
		e->mode = EDITOR_LIST;
		e->chosen = e->back;
		e->message[0] = '\0';
		make_rows(e);
	}
	return EDITOR_STAY;
}

enum editor_act editor_key(struct editor *e, int key)
{
	enum editor_act act = e->mode == EDITOR_LIST    ? list_key(e, key)
	                      : e->mode == EDITOR_INPUT ? input_key(e, key)
	                                                : leave_key(e, key);
	if (e->mode != EDITOR_LEAVE) {
		if (e->chosen < e->first)
			e->first = e->chosen;
		if (e->chosen >= e->first + EDITOR_LIST_ROWS)
			e->first = e->chosen - EDITOR_LIST_ROWS + 1;
	}
	return act;
}
