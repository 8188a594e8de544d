/* See lines.h. */
#include "net/stats/lines.h"

#include "kernel/config/config_word.h"
#include "kernel/lib/fmt.h"

/* The text up to the next space. */
static struct slice first_word(const char *line)
{
	struct slice rest = {line, strlen(line)};
	return config_word(&rest);
}

static bool begins(const char *text, size_t len, struct slice with)
{
	return len >= with.len && memcmp(text, with.at, with.len) == 0;
}

bool lines_want_stat(const char *line, const char *words)
{
	struct slice name = first_word(line), rest = {words, strlen(words)};
	const char *value = line + name.len;
	for (struct slice word; (word = config_word(&rest)).len > 0;) {
		bool good = config_word_is(word, "nonzero") ? strcmp(value, " 0") != 0
		                                            : begins(name.at, name.len, word);
		if (!good)
			return false;
	}
	return true;
}

bool lines_have_address(const char *line, const char *text)
{
	struct slice rest = {line, strlen(line)}, a = {text, strlen(text)};
	for (struct slice word; (word = config_word(&rest)).len > 0;) {
		bool bracket = word.at[0] == '[';
		const char *at = word.at + bracket;
		size_t len = word.len - bracket;
		if (!begins(at, len, a))
			continue;
		bool v6 = memchr(text, ':', a.len) != NULL;
		/* An IPv6 address goes on behind ':' unless it is in brackets. */
		if (len == a.len || (bracket ? at[a.len] == ']' : !v6 && at[a.len] == ':'))
			return true;
	}
	return false;
}

void lines_count(struct lines_count *c, const char *line)
{
	struct slice kind = first_word(line);
	c->all++;
	uint32_t i = 0;
	kind.len = min_u32((uint32_t)kind.len, LINES_KIND - 1);
	while (i < c->n_kinds && !config_word_is(kind, c->kind[i].name))
		i++;
	if (i == LINES_KINDS)
		return;
	if (i == c->n_kinds) {
		memcpy(c->kind[i].name, kind.at, kind.len);
		c->n_kinds++;
	}
	c->kind[i].n++;
}

bool lines_count_show(const struct lines_count *c, uint32_t i, char *buf, size_t size)
{
	if (i > c->n_kinds)
		return false;
	if (i == 0)
		fmt(buf, size, "all %u", c->all);
	else
		fmt(buf, size, "%s %u", c->kind[i - 1].name, c->kind[i - 1].n);
	return true;
}
