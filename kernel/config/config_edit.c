/* See config_edit.h. What a line, a comment and a value are is said by config.c. */
#include "kernel/config/config_edit.h"

#include "kernel/config/config_pause.h"

static const char bom[] = "\xef\xbb\xbf";
enum { BOM = sizeof bom - 1 };

/* One line of a text. */
struct line {
	size_t start, end; /* of the line without its line end */
	size_t next;       /* where the next line begins */
	size_t comment;    /* where the comment begins; `end` without one */
	struct slice key, value;
};

static bool is_space(char c)
{
	return c == ' ' || c == '\t';
}

/* Where the comment of a line begins, between `at` and `end`. */
static size_t find_comment(struct slice text, size_t at, size_t end)
{
	while (at < end && !config_word_comments((struct slice){text.at, end}, at))
		at++;
	return at;
}

/* Splits a piece of text into a key and its value. */
static void split(struct slice rest, struct slice *key, struct slice *value)
{
	while (rest.len > 0 && is_space(rest.at[rest.len - 1]))
		rest.len--;
	*key = config_word(&rest);
	while (rest.len > 0 && is_space(*rest.at)) {
		rest.at++;
		rest.len--;
	}
	*value = rest;
}

/* Reads the line at l->next. False at the end of the text. */
static bool read_line(struct slice text, struct line *l)
{
	if (l->next >= text.len)
		return false;
	l->start = l->next;
	if (l->start == 0 && text.len >= BOM && memcmp(text.at, bom, BOM) == 0)
		l->start = BOM;
	const char *lf =
	        text.len > l->start ? memchr(text.at + l->start, '\n', text.len - l->start) : NULL;
	l->end = lf ? (size_t)(lf - text.at) : text.len;
	l->next = lf ? l->end + 1 : text.len;
	if (l->end > l->start && text.at[l->end - 1] == '\r')
		l->end--;
	l->comment = find_comment(text, l->start, l->end);
	split((struct slice){text.at + l->start, l->comment - l->start}, &l->key, &l->value);
	config_pause_read(l->next - l->start);
	return true;
}

bool config_edit_next(struct slice text, size_t *at, struct slice *key, struct slice *value)
{
	struct line l = {.next = *at};
	while (read_line(text, &l)) {
		*at = l.next;
		*key = l.key;
		*value = l.value;
		if (l.key.len > 0)
			return true;
	}
	return false;
}

uint32_t config_edit_count(struct slice text, const char *key)
{
	uint32_t n = 0;
	for (struct line l = {0}; read_line(text, &l);)
		n += config_word_is(l.key, key);
	return n;
}

/* Finds line `i` of the key. Gives its number from 1, or 0. */
static uint32_t find(struct slice text, const char *key, uint32_t i, struct line *l)
{
	uint32_t number = 0;
	for (*l = (struct line){0}; read_line(text, l);) {
		number++;
		if (config_word_is(l->key, key) && i-- == 0)
			return number;
	}
	return 0;
}

struct slice config_edit_value(struct slice text, const char *key, uint32_t i, uint32_t *line)
{
	struct line l;
	uint32_t number = find(text, key, i, &l);
	if (line)
		*line = number;
	return number ? l.value : (struct slice){text.at, 0};
}

/* --- writing ------------------------------------------------------------------------------ */

struct out {
	char *at;
	size_t len, size;
	bool full;
};

static void add(struct out *o, const char *text, size_t len)
{
	if (len > o->size - o->len) {
		o->full = true;
		return;
	}
	memcpy(o->at + o->len, text, len);
	o->len += len;
}

static void add_text(struct out *o, const char *text)
{
	add(o, text, strlen(text));
}

static size_t done(const struct out *o)
{
	return o->full ? CONFIG_EDIT_FULL : o->len;
}

/* The line end of the text's first line. */
static const char *line_end(struct slice text)
{
	const char *lf = text.len ? memchr(text.at, '\n', text.len) : NULL;
	return lf && lf > text.at && lf[-1] == '\r' ? "\r\n" : "\n";
}

/* Writes `text` with the part from `from` to `to` replaced. */
static size_t replace(struct slice text, size_t from, size_t to, struct slice with, char *out,
                      size_t size)
{
	struct out o = {out, 0, size, false};
	add(&o, text.at, from);
	add(&o, with.at, with.len);
	add(&o, text.at + to, text.len - to);
	return done(&o);
}

/* True when the comment of a line that is otherwise empty shows the key. */
static bool shows(struct slice text, const struct line *l, const char *key)
{
	struct slice shown, value;
	size_t at = l->comment;
	if (l->key.len > 0 || at == l->end)
		return false;
	while (at < l->end && (text.at[at] == '#' || text.at[at] == '/' || is_space(text.at[at])))
		at++;
	split((struct slice){text.at + at, find_comment(text, at, l->end) - at}, &shown, &value);
	return config_word_is(shown, key) && value.len > 0;
}

/* True when two keys have the same beginning up to a dot. */
static bool is_akin(struct slice a, const char *key)
{
	size_t len = 0;
	while (key[len] != '\0' && key[len] != '.')
		len++;
	return a.len >= len && memcmp(a.at, key, len) == 0 && (a.len == len || a.at[len] == '.');
}

/* Where a new line of the key belongs. */
static size_t place(struct slice text, const char *key)
{
	size_t same = 0, shown = 0, akin = 0;
	for (struct line l = {0}; read_line(text, &l);) {
		if (config_word_is(l.key, key))
			same = l.next;
		else if (shows(text, &l, key))
			shown = l.next;
		else if (l.key.len > 0 && is_akin(l.key, key))
			akin = l.next;
	}
	return same ? same : shown ? shown : akin ? akin : text.len;
}

static size_t insert(struct slice text, const char *key, struct slice value, char *out, size_t size)
{
	struct out o = {out, 0, size, false};
	size_t at = place(text, key);
	add(&o, text.at, at);
	if (at > 0 && text.at[at - 1] != '\n')
		add_text(&o, line_end(text));
	add_text(&o, key);
	add_text(&o, " ");
	add(&o, value.at, value.len);
	add_text(&o, line_end(text));
	add(&o, text.at + at, text.len - at);
	return done(&o);
}

size_t config_edit_set(struct slice text, const char *key, uint32_t i, struct slice value,
                       char *out, size_t size)
{
	struct line l;
	struct slice nothing = {"", 0};
	if (!find(text, key, i, &l))
		return value.len ? insert(text, key, value, out, size)
		                 : replace(text, 0, 0, nothing, out, size);
	if (value.len == 0)
		return replace(text, l.start, l.comment < l.end ? l.comment : l.next, nothing, out,
		               size);
	if (l.value.len == 0) { /* the value was missing */
		size_t at = (size_t)(l.key.at + l.key.len - text.at);
		struct out o = {out, 0, size, false};
		add(&o, text.at, at);
		add_text(&o, " ");
		add(&o, value.at, value.len);
		add(&o, text.at + at, text.len - at);
		return done(&o);
	}
	size_t at = (size_t)(l.value.at - text.at);
	return replace(text, at, at + l.value.len, value, out, size);
}

size_t config_edit_comment(struct slice text, uint32_t line, char *out, size_t size)
{
	struct line l = {0};
	uint32_t i = 0;
	size_t at = text.len;
	while (i < line && read_line(text, &l))
		i++;
	if (line > 0 && i == line)
		at = l.start;
	return replace(text, at, at, (struct slice){"# ", at < text.len ? 2 : 0}, out, size);
}

bool config_edit_is_marked(struct slice text)
{
	struct line l = {0};
	size_t len = sizeof CONFIG_EDIT_MARK - 1;
	return read_line(text, &l) && l.end - l.start == len &&
	       memcmp(text.at + l.start, CONFIG_EDIT_MARK, len) == 0;
}

size_t config_edit_mark(struct slice text, char *out, size_t size)
{
	struct out o = {out, 0, size, false};
	bool has_bom = text.len >= BOM && memcmp(text.at, bom, BOM) == 0;
	if (config_edit_is_marked(text))
		return replace(text, 0, 0, (struct slice){"", 0}, out, size);
	if (has_bom)
		add_text(&o, bom);
	add_text(&o, CONFIG_EDIT_MARK);
	add_text(&o, line_end(text));
	add(&o, text.at + (has_bom ? BOM : 0), text.len - (has_bom ? BOM : 0));
	return done(&o);
}
