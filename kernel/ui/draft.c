/* See draft.h. */
#include "kernel/ui/draft.h"

#include "kernel/lib/fmt.h"
#include "kernel/lib/log.h"

enum { NONE = 3 };

static const struct slice nothing = {"", 0};

/* The hash FNV-1a of a text and its end, behind others. */
static uint64_t hash(uint64_t h, struct slice s)
{
	for (size_t i = 0; i <= s.len; i++)
		h = (h ^ (i < s.len ? (uint8_t)s.at[i] : 0)) * 0x100000001b3;
	return h;
}

/* Finds out what a text says about each key, in one pass. */
static void look(const struct config *c, struct slice text, struct draft_key key[CONFIG_KEYS])
{
	struct slice name, value;
	memset(key, 0, CONFIG_KEYS * sizeof *key);
	for (size_t at = 0; config_edit_next(text, &at, &name, &value);)
		for (uint32_t i = 0; i < c->n_entries; i++)
			if (config_word_is(name, c->entry[i].key->name)) {
				key[i].n++;
				key[i].hash = hash(key[i].hash, value);
				break;
			}
}

static void reread(struct draft *d)
{
	log_mute(true); /* parsers log what they change, each time */
	d->read(d->owner, d->c, d->text);
	d->n_text_errors = d->c->n_errors;
	config_check(d->c);
	log_mute(false);
	look(d->c, d->text, d->now);
}

static bool same(struct slice a, struct slice b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.at, b.at, a.len) == 0);
}

/* Copies `base` into a buffer that it is not in. */
static void copy_base(struct draft *d)
{
	d->in_text = d->in_base == 0 ? 1 : 0;
	if (d->base.len)
		memcpy(d->buffer[d->in_text], d->base.at, d->base.len);
	d->text = (struct slice){d->buffer[d->in_text], d->base.len};
}

void draft_init(struct draft *d, struct config *c, char *memory, struct slice base,
                void (*read)(void *owner, struct config *c, struct slice text), void *owner)
{
	memset(d, 0, sizeof *d);
	d->read = read;
	d->owner = owner;
	d->c = c;
	d->base = base.len <= DRAFT_TEXT ? base : nothing;
	d->in_base = NONE;
	for (uint32_t i = 0; i < ARRAY_SIZE(d->buffer); i++)
		d->buffer[i] = memory + i * DRAFT_TEXT;
	copy_base(d);
	reread(d);
	memcpy(d->was, d->now, sizeof d->was);
}

void draft_drop(struct draft *d)
{
	copy_base(d);
	reread(d);
}

void draft_keep(struct draft *d)
{
	d->base = d->text;
	d->in_base = d->in_text;
	memcpy(d->was, d->now, sizeof d->was);
	copy_base(d);
}

/* The buffer in which neither `text` nor `base` is. */
static uint32_t spare(const struct draft *d)
{
	uint32_t i = 0;
	while (i == d->in_text || i == d->in_base)
		i++;
	return i;
}

void draft_rebase(struct draft *d, struct slice base)
{
	uint32_t in = spare(d);
	if (base.len > DRAFT_TEXT)
		return;
	if (base.len)
		memcpy(d->buffer[in], base.at, base.len);
	d->in_base = in;
	d->base = (struct slice){d->buffer[in], base.len};
	look(d->c, d->base, d->was);
}

void draft_saved(struct draft *d, struct slice text)
{
	draft_rebase(d, text);
	uint32_t in = spare(d);
	size_t len = config_edit_mark(d->text, d->buffer[in], DRAFT_TEXT);
	if (len == CONFIG_EDIT_FULL)
		return;
	d->in_text = in;
	d->text = (struct slice){d->buffer[in], len};
	reread(d);
}

bool draft_has_changes(const struct draft *d)
{
	return !same(d->base, d->text);
}

/* The number of an entry of d->c. */
static uint32_t number(const struct draft *d, const struct config_entry *e)
{
	return (uint32_t)(e - d->c->entry);
}

uint32_t draft_count(const struct draft *d, const struct config_entry *e)
{
	return d->now[number(d, e)].n;
}

struct slice draft_value(const struct draft *d, const struct config_entry *e, uint32_t i)
{
	return config_edit_value(d->text, e->key->name, i, NULL);
}

bool draft_changed(const struct draft *d, const struct config_entry *e)
{
	const struct draft_key *was = &d->was[number(d, e)], *now = &d->now[number(d, e)];
	return was->n != now->n || was->hash != now->hash;
}

const char *draft_elsewhere(const struct draft *d, const struct config_entry *e)
{
	size_t len = strlen(d->c->file);
	if (!e->where[0] || (memcmp(e->where, d->c->file, len) == 0 && e->where[len] == ':'))
		return NULL;
	return e->where;
}

/* Refuses what a line of text cannot hold. */
static bool is_text(struct slice value, char why[static DRAFT_WHY])
{
	if (value.len >= DRAFT_VALUE) {
		fmt(why, DRAFT_WHY, "the value is too long");
		return false;
	}
	for (size_t i = 0; i < value.len; i++) {
		char c = value.at[i];
		if (config_word_comments(value, i)) {
			fmt(why, DRAFT_WHY, "%s begins a comment", c == '#' ? "#" : "//");
			return false;
		}
		if (c < ' ' || c > '~') {
			fmt(why, DRAFT_WHY, "only plain characters are possible");
			return false;
		}
	}
	return true;
}

bool draft_check(struct draft *d, const struct config_entry *e, struct slice value,
                 char why[static DRAFT_WHY])
{
	uint8_t parsed[CONFIG_VALUE] __attribute__((aligned(8))) = {0};
	struct config_source source = {d->c, "", e->key};
	uint32_t errors = d->c->n_errors;
	why[0] = '\0';
	if (!is_text(value, why))
		return false;
	/* The parser's error goes where the first error of the configuration is, for a moment. */
	struct config_error first = d->c->error[0];
	d->c->n_errors = 0;
	log_mute(true);
	bool good = e->key->type->parse(&source, value, parsed);
	log_mute(false);
	if (!good)
		fmt(why, DRAFT_WHY, "%s", d->c->n_errors ? d->c->error[0].what : "not a value");
	d->c->error[0] = first;
	d->c->n_errors = errors;
	return good;
}

/* Makes the text in buffer `in` the draft's. False when it was too long. */
static bool take(struct draft *d, uint32_t in, size_t len, char why[static DRAFT_WHY])
{
	if (len == CONFIG_EDIT_FULL) {
		fmt(why, DRAFT_WHY, "the file would be longer than %u bytes", DRAFT_TEXT);
		return false;
	}
	d->in_text = in;
	d->text = (struct slice){d->buffer[in], len};
	return true;
}

static bool may_change(const struct draft *d, const struct config_entry *e,
                       char why[static DRAFT_WHY])
{
	const char *where = draft_elsewhere(d, e);
	if (where)
		fmt(why, DRAFT_WHY, "%s is set by %s, and that cannot be changed here",
		    e->key->name, where);
	return !where;
}

/* Removes spaces at both ends. */
static struct slice trim(struct slice s)
{
	while (s.len > 0 && s.at[s.len - 1] == ' ')
		s.len--;
	while (s.len > 0 && *s.at == ' ') {
		s.at++;
		s.len--;
	}
	return s;
}

/* What the parser says about value `i` of the key; NULL: nothing. */
static const char *complaint(const struct draft *d, const struct config_entry *e, uint32_t i)
{
	char where[CONFIG_WHERE];
	uint32_t line;
	config_edit_value(d->text, e->key->name, i, &line);
	fmt(where, sizeof where, "%s:%u", d->c->file, line);
	for (uint32_t k = 0; k < min_u32(d->n_text_errors, CONFIG_ERRORS); k++)
		if (strcmp(d->c->error[k].where, where) == 0)
			return d->c->error[k].what;
	return NULL;
}

bool draft_set(struct draft *d, const struct config_entry *e, uint32_t i, struct slice value,
               char why[static DRAFT_WHY])
{
	uint32_t n = draft_count(d, e), in = spare(d), most = e->key->counter ? e->key->most : 1;
	struct slice before = d->text;
	value = trim(value);
	if (!may_change(d, e, why) || !is_text(value, why))
		return false;
	if (i >= n && value.len > 0 && n >= most) {
		fmt(why, DRAFT_WHY, "%s: given more than %u times", e->key->name, most);
		return false;
	}
	size_t len = config_edit_set(d->text, e->key->name, i, value, d->buffer[in], DRAFT_TEXT);
	uint32_t was = d->in_text;
	if (!take(d, in, len, why))
		return false;
	reread(d);
	const char *wrong = value.len > 0 ? complaint(d, e, i < n ? i : n) : NULL;
	if (!wrong)
		return true;
	fmt(why, DRAFT_WHY, "%s", wrong);
	d->in_text = was;
	d->text = before;
	reread(d);
	return false;
}

bool draft_set_only(struct draft *d, const struct config_entry *e, struct slice value,
                    char why[static DRAFT_WHY])
{
	value = trim(value);
	/* The value first: when it is refused, nothing has changed. */
	if (value.len > 0 && !draft_set(d, e, 0, value, why))
		return false;
	for (uint32_t n = draft_count(d, e); n > (value.len > 0); n--)
		if (!draft_set(d, e, n - 1, nothing, why))
			return false;
	return true;
}

bool draft_comment(struct draft *d, uint32_t line)
{
	char why[DRAFT_WHY];
	uint32_t in = spare(d);
	if (!take(d, in, config_edit_comment(d->text, line, d->buffer[in], DRAFT_TEXT), why))
		return false;
	reread(d);
	return true;
}
