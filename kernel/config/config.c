/* See config.h. Lines and words become (key, value) pairs; which keys there
 * are and what their values look like stands in config_keys.c.
 *
 * The text may be anything: every line is looked at once, each gives at most
 * one error, and beyond CONFIG_ERRORS they are only counted. */
#include "kernel/config/config.h"

#include "kernel/config/config_keys.h"
#include "kernel/lib/fmt.h"
#include "kernel/lib/log.h"

enum { FROM_FILE = 1, FROM_CMDLINE = 2 }; /* bits in config.given */
enum { VALUE_MAX = 200 };                 /* characters of a value on the command line */

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
	/* Parts of the text are quoted, and the error goes to a terminal. */
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
	/* What is only counted needs no name: junk must not cost seconds. */
	for (uint32_t i = 0; i < config_n_keys && c->n_errors < CONFIG_ERRORS; i++)
		config_nearer(key, config_key[i].name, &nearest, &distance);
	config_fail(c, where, "unknown key \"%.*s\", nearest: %s",
	            (int)min_u32((uint32_t)key.len, 40), key.at, nearest ? nearest : "none");
}

/* --- one key and its value ----------------------------------------------------------- */

static uint32_t *counter(struct config *c, const struct config_key *key)
{
	return (uint32_t *)(void *)((char *)c + key->count);
}

static void store(struct config *c, const struct config_key *key, const union config_value *v)
{
	uint32_t i = key->count ? (*counter(c, key))++ : 0;
	memcpy(config_slot(c, key, i), v, key->type->size);
	if (key->flag)
		*((bool *)c + key->flag) = true;
}

static void set(const struct config_source *s, struct slice text, unsigned from)
{
	struct config *c = s->c;
	const struct config_key *key = s->key;
	uint8_t *given = &c->given[key - config_key];
	union config_value v;
	memset(&v, 0, sizeof v);

	bool again = *given & from;
	*given |= (uint8_t)from;
	if (text.len == 0) {
		config_fail(c, s->where, "%s: the value is missing", key->name);
		return;
	}
	if (again && !key->count) {
		config_fail(c, s->where, "%s: given a second time", key->name);
		return;
	}
	if (!key->type->parse(s, text, &v))
		return;
	if (from == FROM_FILE && *given & FROM_CMDLINE)
		return;
	char *where = c->where[key - config_key];
	if (key->count && !where[0]) /* the first of a list takes the place of the default */
		*counter(c, key) = 0;
	if (key->count && *counter(c, key) >= key->max) {
		config_fail(c, s->where, "%s: given more than %u times", key->name, key->max);
		return;
	}
	store(c, key, &v);
	fmt(where, sizeof c->where[0], "%s", s->where);
	if (key->offset == offsetof(struct config, iface[CONFIG_LAN].nic) ||
	    key->offset == offsetof(struct config, iface[CONFIG_WAN].nic))
		fmt(c->nic_where, sizeof c->nic_where, "%s", s->where);
}

static void set_named(struct config *c, const char *where, struct slice key, struct slice value,
                      unsigned from)
{
	for (uint32_t i = 0; i < config_n_keys; i++) {
		const char *name = config_key[i].name;
		if (key.len != strlen(name) || memcmp(key.at, name, key.len) != 0)
			continue;
		struct config_source s = {c, where, &config_key[i]};
		set(&s, value, from);
		return;
	}
	fail_unknown(c, where, key);
}

const char *config_where(const struct config *c, const char *text)
{
	size_t len = 0;
	while (text[len] != '\0' && text[len] != ' ' && text[len] != ':')
		len++;
	for (uint32_t i = 0; i < config_n_keys; i++)
		if (strlen(config_key[i].name) == len &&
		    memcmp(config_key[i].name, text, len) == 0 && c->where[i][0])
			return c->where[i];
	return "gateway.conf";
}

/* --- the two kinds of text ------------------------------------------------------------ */

void config_init(struct config *c, const char *const *apps, uint32_t n_apps)
{
	memset(c, 0, sizeof *c);
	c->apps = apps;
	c->n_apps = n_apps;
	for (uint32_t i = 0; i < config_n_keys; i++) {
		const struct config_key *key = &config_key[i];
		struct config_source s = {c, "default", key};
		union config_value v;
		memset(&v, 0, sizeof v);
		if (!key->initial)
			continue;
		struct slice text = {key->initial, strlen(key->initial)};
		if (key->type->parse(&s, text, &v))
			store(c, key, &v);
	}
}

/* Cuts blanks off the end. */
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
		char text[VALUE_MAX];
		size_t n = word.len - key.len - 1;
		if (n > sizeof text) {
			config_fail(c, cmdline_name, "%.*s: the value is longer than %u characters",
			            (int)min_u32((uint32_t)key.len, 40), key.at, VALUE_MAX);
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

/* A line without what follows a '#' or "//". */
static void cut_comment(struct slice *line)
{
	for (size_t i = 0; i < line->len; i++) {
		char c = line->at[i];
		if (c == '#' || (c == '/' && i + 1 < line->len && line->at[i + 1] == '/')) {
			line->len = i;
			return;
		}
	}
}

/* The first byte that no line of text has, or -1. Comments may be in any
 * script, so only control characters count there. */
static int bad_byte(struct slice line, size_t before_comment)
{
	for (size_t i = 0; i < line.len; i++) {
		unsigned char b = (unsigned char)line.at[i];
		if ((b < ' ' && b != '\t') || b == 0x7f || (b > 0x7f && i < before_comment))
			return b;
	}
	return -1;
}

static void read_line(struct config *c, const char *where, struct slice line)
{
	if (line.len > 0 && line.at[line.len - 1] == '\r')
		line.len--;
	struct slice rest = line;
	cut_comment(&rest);
	int bad = bad_byte(line, rest.len);
	if (bad >= 0) {
		config_fail(c, where, "byte 0x%02x is not text", (unsigned)bad);
		return;
	}
	trim(&rest);
	struct slice key = config_word(&rest);
	if (key.len == 0)
		return;
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
	/* The mark that Windows editors put before UTF-8. */
	if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
		rest.at += 3;
		rest.len -= 3;
	}
	for (uint32_t number = 1; rest.len > 0; number++) {
		char where[sizeof c->error[0].where];
		const char *lf = memchr(rest.at, '\n', rest.len);
		struct slice line = {rest.at, lf ? (size_t)(lf - rest.at) : rest.len};
		size_t used = line.len + (lf != NULL);
		fmt(where, sizeof where, "%.*s:%u", (int)sizeof where - 12, name, number);
		read_line(c, where, line);
		rest.at += used;
		rest.len -= used;
	}
	return c->n_errors == before;
}

bool config_check(struct config *c)
{
	const struct config_nic *lan = &c->iface[CONFIG_LAN].nic, *wan = &c->iface[CONFIG_WAN].nic;
	bool same = lan->by_mac ? wan->by_mac && mac_eq(&lan->address, &wan->address)
	                        : !wan->by_mac && lan->index == wan->index;
	if (same)
		config_fail(c, c->nic_where, "lan and wan name the same NIC");
	return !same;
}

/* --- and back to text ---------------------------------------------------------------- */

static bool print_value(const struct config *c, const struct config_key *key, uint32_t i, char *buf,
                        size_t size)
{
	const char *base = (const char *)c;
	union config_value v;
	if (key->flag && !*((const bool *)c + key->flag))
		return false;
	memset(&v, 0, sizeof v);
	memcpy(&v, base + key->offset + i * key->type->size, key->type->size);
	size_t n = fmt(buf, size, "%s ", key->name);
	return key->type->print(&v, buf + n, size - n);
}

bool config_line(const struct config *c, uint32_t *cursor, char *buf, size_t size)
{
	/* The cursor is the key's number and, below it, the place in its list. */
	for (uint32_t k = *cursor >> 16; k < config_n_keys; k++) {
		const struct config_key *key = &config_key[k];
		uint32_t n = 1, i = *cursor >> 16 == k ? *cursor & 0xffff : 0;
		if (key->count)
			memcpy(&n, (const char *)c + key->count, sizeof n);
		for (; i < n; i++) {
			if (!print_value(c, key, i, buf, size))
				continue;
			*cursor = k << 16 | (i + 1);
			return true;
		}
	}
	*cursor = config_n_keys << 16;
	return false;
}
