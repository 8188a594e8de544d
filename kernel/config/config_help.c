/* What keys mean, as text for people. See config_key.h and config.h. */
#include "kernel/config/config.h"
#include "kernel/lib/fmt.h"

/* "a, b or c". */
static size_t words_text(const struct config_key *key, char *buf, size_t size)
{
	size_t n = 0;
	for (uint32_t i = 0; i < key->max; i++) {
		const char *between = i + 1 == key->max ? " or " : ", ";
		n += fmt(buf + n, size - n, "%s%s", i ? between : "", key->words[i]);
	}
	return n;
}

size_t config_key_help(const struct config_key *key, char *buf, size_t size)
{
	const struct config_type *type = key->type;
	const char *without = key->without ? key->without : key->initial;
	size_t n = type->form ? fmt(buf, size, "%s", type->form) : words_text(key, buf, size);
	if (type->ranged)
		n += fmt(buf + n, size - n, " from %u to %u", key->min, key->max);
	if (key->counter)
		n += fmt(buf + n, size - n, "; up to %u times", key->most);
	return n + fmt(buf + n, size - n, "; default: %s", without ? without : "none");
}

static bool begins(const char *name, const char *word)
{
	return strncmp(name, word, strlen(word)) == 0;
}

/* The key that is explained: the one that has the name `word`, or else the only one that begins
 * so. NULL when there are none or several. */
static const struct config_entry *explained(const struct config *c, const char *word)
{
	const struct config_entry *e = config_entry(c, word), *only = NULL;
	if (e || !word[0])
		return e;
	for (uint32_t i = 0; i < c->n_entries; i++) {
		if (!begins(c->entry[i].key->name, word))
			continue;
		if (only)
			return NULL;
		only = &c->entry[i];
	}
	return only;
}

/* Line number i about a key. False after the last. */
static bool explain(const struct config *c, const struct config_entry *e, uint32_t i, char *buf,
                    size_t size)
{
	size_t n;
	if (i == 0) {
		n = fmt(buf, size, "%s: ", e->key->name);
		fmt(buf + n, size - n, "%s", e->key->about ? e->key->about : "");
		return true;
	}
	if (i == 1) {
		n = fmt(buf, size, "  ");
		config_key_help(e->key, buf + n, size - n);
		return true;
	}
	n = fmt(buf, size, "  now: ");
	if (config_value(c, e, i - 2, buf + n, size - n)) {
		n += strlen(buf + n);
		fmt(buf + n, size - n, " (%s)", e->where[0] ? e->where : "default");
		return true;
	}
	return false;
}

bool config_help(const struct config *c, const char *word, uint32_t *cursor, char *buf, size_t size)
{
	const struct config_entry *e = explained(c, word);
	/* The upper half of the cursor is 1 + the entry that is next, 0 while *e is explained. */
	if (*cursor >> 16 == 0) {
		if (e && explain(c, e, (*cursor)++, buf, size))
			return true;
		*cursor = 1u << 16;
	}
	for (uint32_t i = (*cursor >> 16) - 1; i < c->n_entries; i++) {
		const struct config_key *key = c->entry[i].key;
		if (!word[0] || &c->entry[i] == e || !begins(key->name, word))
			continue;
		*cursor = (i + 2) << 16;
		fmt(buf, size, "%-26s %s", key->name, key->about ? key->about : "");
		return true;
	}
	*cursor = (c->n_entries + 1) << 16;
	return false;
}
