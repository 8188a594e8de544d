/* See config.h. Lines and words become (key, value) pairs, and the tables of the
 * sections say what to do with them.
 *
 * The text may be anything. Every line is looked at once, and each line gives at most
 * one error. Errors beyond CONFIG_ERRORS are only counted. */
#include "kernel/config/config.h"

#include "kernel/config/config_pause.h"
#include "kernel/lib/fmt.h"
#include "kernel/lib/log.h"

enum { FROM_FILE = 1, FROM_CMDLINE = 2 }; /* bits in config_entry.given */
enum { CMDLINE_VALUE = 200 };             /* characters of a value on the command line */

static const char cmdline_name[] = "command line";

/* --- errors ------------------------------------------------------------------------ */

static void PRINTF_LIKE(3, 0)
        fail(struct config *c, const char *where, const char *format, va_list args)
{
	if (c->n_errors++ >= CONFIG_ERRORS)
		return;
	struct config_error *e = &c->error[c->n_errors - 1];
	fmt(e->where, sizeof e->where, "%s", where);
	fmt_v(e->what, sizeof e->what, format, args);
	/* The message quotes the text, and a terminal shows it. */
	for (char *p = e->what; *p; p++)
		if (*p < ' ' || *p > '~')
			*p = '?';
}

void config_fail(struct config *c, const char *where, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	fail(c, where, format, args);
	va_end(args);
}

static void fail_unknown(struct config *c, const char *where, struct slice key)
{
	const char *nearest = NULL;
	uint32_t distance = 0;
	/* Errors that are only counted need no nearest key: 60 KB of junk must not take
	 * seconds. */
	for (uint32_t i = 0; i < c->n_entries && c->n_errors < CONFIG_ERRORS; i++)
		config_word_nearer(key, c->entry[i].key->name, &nearest, &distance);
	config_fail(c, where, "unknown key \"%.*s\"%s%s", (int)min_u32((uint32_t)key.len, 40),
	            key.at, nearest ? ", nearest: " : "", nearest ? nearest : "");
}

/* --- one key and its value ----------------------------------------------------------- */

/* The i-th value of a key; i is 0 where the key is no list. */
static uint8_t *slot(struct config *c, const struct config_entry *e, uint32_t i)
{
	return c->values + e->values + e->key->offset + i * e->key->type->size;
}

/* How many values a list holds. */
static uint32_t *counter(struct config *c, const struct config_entry *e)
{
	return (uint32_t *)(void *)(c->values + e->values + e->key->counter - 1);
}

static void store(struct config *c, const struct config_entry *e, const void *value)
{
	uint32_t i = e->key->counter ? (*counter(c, e))++ : 0;
	memcpy(slot(c, e, i), value, e->key->type->size);
	if (e->key->flag)
		*(bool *)(c->values + e->values + e->key->flag - 1) = true;
}

static void set(struct config *c, struct config_entry *e, const char *where, struct slice text,
                uint8_t from)
{
	const struct config_key *key = e->key;
	struct config_source s = {c, where, key};
	uint8_t value[CONFIG_VALUE] __attribute__((aligned(8))) = {0};

	bool again = e->given & from;
	e->given |= from;
	if (text.len == 0) {
		config_fail(c, where, "%s: the value is missing", key->name);
		return;
	}
	if (again && !key->counter) {
		config_fail(c, where, "%s: given a second time", key->name);
		return;
	}
	if (!key->type->parse(&s, text, value))
		return;
	if (from == FROM_FILE && e->given & FROM_CMDLINE)
		return;
	if (key->counter && !e->where[0]) /* the first value of a list replaces its default */
		*counter(c, e) = 0;
	if (key->counter && *counter(c, e) >= key->most) {
		config_fail(c, where, "%s: given more than %u times", key->name, key->most);
		return;
	}
	store(c, e, value);
	e->order = ++c->n_set;
	fmt(e->where, sizeof e->where, "%s", where);
}

/* The index of the entry with a name, n_entries when there is none. */
static uint32_t find(const struct config *c, struct slice name)
{
	uint32_t i = 0;
	while (i < c->n_entries && !config_word_is(name, c->entry[i].key->name))
		i++;
	return i;
}

static void set_named(struct config *c, const char *where, struct slice key, struct slice value,
                      uint8_t from)
{
	uint32_t i = find(c, key);
	if (i < c->n_entries)
		set(c, &c->entry[i], where, value, from);
	else
		fail_unknown(c, where, key);
}

/* The entry that the first word of a text names, NULL when it names none. */
static const struct config_entry *named(const struct config *c, const char *text)
{
	size_t len = 0;
	while (text[len] != '\0' && text[len] != ' ' && text[len] != ':')
		len++;
	uint32_t i = find(c, (struct slice){text, len});
	return i < c->n_entries ? &c->entry[i] : NULL;
}

const struct config_entry *config_entry(const struct config *c, const char *name)
{
	uint32_t i = find(c, (struct slice){name, strlen(name)});
	return i < c->n_entries ? &c->entry[i] : NULL;
}

bool config_given(const struct config *c, const char *key)
{
	const struct config_entry *e = named(c, key);
	return e && e->where[0];
}

const char *config_given_under(const struct config *c, const char *start)
{
	for (uint32_t i = 0; i < c->n_entries; i++)
		if (c->entry[i].where[0] &&
		    strncmp(c->entry[i].key->name, start, strlen(start)) == 0)
			return c->entry[i].key->name;
	return NULL;
}

const char *config_where(const struct config *c, const char *text)
{
	const struct config_entry *e = named(c, text);
	if (e && e->where[0])
		return e->where;
	return c->file[0] ? c->file : "no configuration file";
}

const char *config_where_later(const struct config *c, const char *a, const char *b)
{
	const struct config_entry *e = named(c, a), *f = named(c, b);
	if (!e || !f)
		return "";
	return e->order > f->order ? e->where : f->where;
}

/* --- two configurations ------------------------------------------------------------------- */

bool config_same(const struct config *a, const struct config *b, uint32_t i)
{
	const struct config_entry *e = &a->entry[i];
	const struct config_key *key = e->key;
	size_t start = e->values + key->offset, n = key->counter ? key->most : 1;
	const uint8_t *x = a->values, *y = b->values;
	/* What a list does not use any more may hold old values. */
	if (key->counter) {
		uint32_t count;
		memcpy(&count, x + e->values + key->counter - 1, sizeof count);
		if (memcmp(x + e->values + key->counter - 1, y + e->values + key->counter - 1,
		           sizeof count) != 0)
			return false;
		n = count;
	}
	if (key->flag && x[e->values + key->flag - 1] != y[e->values + key->flag - 1])
		return false;
	return memcmp(x + start, y + start, n * key->type->size) == 0;
}

void config_take(struct config *to, const struct config *from, uint32_t i)
{
	const struct config_entry *e = &from->entry[i];
	const struct config_key *key = e->key;
	size_t start = e->values + key->offset;
	memcpy(to->values + start, from->values + start,
	       (key->counter ? key->most : 1) * key->type->size);
	if (key->counter)
		memcpy(to->values + e->values + key->counter - 1,
		       from->values + e->values + key->counter - 1, sizeof(uint32_t));
	if (key->flag)
		to->values[e->values + key->flag - 1] = from->values[e->values + key->flag - 1];
	to->entry[i] = *e;
}

/* --- sections --------------------------------------------------------------------------- */

static void set_default(struct config *c, const struct config_entry *e)
{
	struct config_source s = {c, "default", e->key};
	uint8_t value[CONFIG_VALUE] __attribute__((aligned(8))) = {0};
	if (!e->key->initial)
		return;
	struct slice text = {e->key->initial, strlen(e->key->initial)};
	if (e->key->type->parse(&s, text, value))
		store(c, e, value);
}

/* Adds a section behind those before it; `used` bytes of the values are taken. */
static uint32_t add_section(struct config *c, const struct config_section *s, uint32_t used)
{
	uint32_t start = (used + 7) & ~7u;
	if (c->n_sections == CONFIG_SECTIONS || s->n_keys > CONFIG_KEYS - c->n_entries ||
	    start > CONFIG_VALUES || s->size > CONFIG_VALUES - start) {
		config_fail(c, "default", "no room for the keys from %s on", s->key[0].name);
		return used;
	}
	c->section[c->n_sections] = s;
	c->start[c->n_sections++] = start;
	for (uint32_t i = 0; i < s->n_keys; i++) {
		struct config_entry *e = &c->entry[c->n_entries++];
		e->key = &s->key[i];
		e->values = start;
		set_default(c, e);
	}
	return start + s->size;
}

void config_init(struct config *c, const struct config_section *const *section, uint32_t n)
{
	uint32_t used = 0;
	memset(c, 0, sizeof *c);
	for (uint32_t i = 0; i < n; i++)
		used = add_section(c, section[i], used);
}

const void *config_values(const struct config *c, const struct config_section *s)
{
	for (uint32_t i = 0; i < c->n_sections; i++)
		if (c->section[i] == s)
			return c->values + c->start[i];
	return NULL;
}

void *config_values_of(struct config *c, const struct config_section *s)
{
	const uint8_t *values = config_values(c, s);
	return values ? c->values + (values - c->values) : NULL;
}

bool config_check(struct config *c)
{
	bool good = true;
	for (uint32_t i = 0; i < c->n_sections; i++)
		if (c->section[i]->check)
			good &= c->section[i]->check(c);
	return good;
}

/* --- the two kinds of text ------------------------------------------------------------ */

/* Removes spaces and tabs at the end. */
static void trim(struct slice *s)
{
	while (s->len > 0 && (s->at[s->len - 1] == ' ' || s->at[s->len - 1] == '\t'))
		s->len--;
}

bool config_cmdline(struct config *c, const char *line)
{
	uint32_t before = c->n_errors;
	struct slice rest = {line, strlen(line)};
	for (struct slice word; (word = config_word(&rest)).len > 0;) {
		const char *equals = memchr(word.at, '=', word.len);
		if (!equals) {
			log_line("command line: ignored \"%.*s\"",
			         (int)min_u32((uint32_t)word.len, 100), word.at);
			continue;
		}
		struct slice key = {word.at, (size_t)(equals - word.at)};
		char text[CMDLINE_VALUE];
		size_t n = word.len - key.len - 1;
		if (n > sizeof text) {
			config_fail(c, cmdline_name, "%.*s: the value is longer than %u characters",
			            (int)min_u32((uint32_t)key.len, 40), key.at, CMDLINE_VALUE);
			continue;
		}
		for (size_t i = 0; i < n; i++)
			text[i] = equals[1 + i] == '+' ? ' ' : equals[1 + i];
		struct slice value = {text, n};
		trim(&value);
		set_named(c, cmdline_name, key, value, FROM_CMDLINE);
	}
	return c->n_errors == before;
}

/* Removes the comment. */
static void cut_comment(struct slice *line)
{
	for (size_t i = 0; i < line->len; i++) {
		if (config_word_comments(*line, i)) {
			line->len = i;
			return;
		}
	}
}

/* The first byte that is not allowed in a line of text, or -1. Comments may be in any
 * script, so in them only control characters are refused. */
static int bad_byte(struct slice line, size_t before_comment)
{
	for (size_t i = 0; i < line.len; i++) {
		unsigned char b = (unsigned char)line.at[i];
		if ((b < ' ' && b != '\t') || b == 0x7f || (b > 0x7f && i < before_comment))
			return b;
	}
	return -1;
}

static void read_line(struct config *c, const char *name, uint32_t number, struct slice line)
{
	char where[CONFIG_WHERE];
	if (line.len > 0 && line.at[line.len - 1] == '\r')
		line.len--;
	struct slice rest = line;
	cut_comment(&rest);
	int bad = bad_byte(line, rest.len);
	trim(&rest);
	struct slice key = config_word(&rest);
	if (bad < 0 && key.len == 0)
		return;
	fmt(where, sizeof where, "%.*s:%u", (int)sizeof where - 12, name, number);
	if (bad >= 0) {
		config_fail(c, where, "byte 0x%02x is not text", (unsigned)bad);
		return;
	}
	while (rest.len > 0 && (*rest.at == ' ' || *rest.at == '\t')) {
		rest.at++;
		rest.len--;
	}
	set_named(c, where, key, rest, FROM_FILE);
}

bool config_text(struct config *c, const char *name, const char *text, size_t len)
{
	uint32_t before = c->n_errors;
	struct slice rest = {text, len};
	if (!c->file[0])
		fmt(c->file, sizeof c->file, "%s", name);
	/* The byte order mark that some editors write before UTF-8. */
	if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
		rest.at += 3;
		rest.len -= 3;
	}
	for (uint32_t number = 1; rest.len > 0; number++) {
		const char *lf = memchr(rest.at, '\n', rest.len);
		struct slice line = {rest.at, lf ? (size_t)(lf - rest.at) : rest.len};
		size_t used = line.len + (lf != NULL);
		read_line(c, name, number, line);
		rest.at += used;
		rest.len -= used;
		config_pause_read(used);
	}
	return c->n_errors == before;
}

/* --- back to text -------------------------------------------------------------------- */

/* How many values a key has: 1, or the number of values in its list. */
static uint32_t n_values(const struct config *c, const struct config_entry *e)
{
	uint32_t n = 1;
	if (e->key->counter)
		memcpy(&n, c->values + e->values + e->key->counter - 1, sizeof n);
	return n;
}

bool config_value(const struct config *c, const struct config_entry *e, uint32_t i, char *buf,
                  size_t size)
{
	const uint8_t *values = c->values + e->values;
	if (i >= n_values(c, e) || (e->key->flag && !*(const bool *)(values + e->key->flag - 1)))
		return false;
	const uint8_t *value = values + e->key->offset + i * e->key->type->size;
	return e->key->type->print(e->key, value, buf, size);
}

static bool print_value(const struct config *c, const struct config_entry *e, uint32_t i, char *buf,
                        size_t size)
{
	size_t n = fmt(buf, size, "%s ", e->key->name);
	return config_value(c, e, i, buf + n, size - n);
}

/* True when a line that print_value wrote is the default of a key that is given `n` times. A
 * default is the text that its value prints. */
static bool is_default(const struct config_key *key, uint32_t n, const char *line)
{
	return key->initial && n == 1 && strcmp(line + strlen(key->name) + 1, key->initial) == 0;
}

/* The next line of config_line, or with `changed` of config_line_changed. */
static bool next_line(const struct config *c, uint32_t *cursor, char *buf, size_t size,
                      bool changed)
{
	/* The upper half of the cursor is the entry, the lower half the place in its list. */
	for (uint32_t k = *cursor >> 16; k < c->n_entries; k++) {
		const struct config_entry *e = &c->entry[k];
		uint32_t n = n_values(c, e), i = *cursor >> 16 == k ? *cursor & 0xffff : 0;
		for (; i < n; i++) {
			if (!print_value(c, e, i, buf, size) ||
			    (changed && is_default(e->key, n, buf)))
				continue;
			*cursor = k << 16 | (i + 1);
			return true;
		}
	}
	*cursor = c->n_entries << 16;
	return false;
}

bool config_line(const struct config *c, uint32_t *cursor, char *buf, size_t size)
{
	return next_line(c, cursor, buf, size, false);
}

bool config_line_differs(const struct config *c, uint32_t cursor, const char *line)
{
	const struct config_entry *e = &c->entry[cursor >> 16];
	return !is_default(e->key, n_values(c, e), line);
}

bool config_line_changed(const struct config *c, uint32_t *cursor, char *buf, size_t size)
{
	return next_line(c, cursor, buf, size, true);
}
