/* See config_word.h. */
#include "kernel/config/config_word.h"

enum { COMPARED = 64 }; /* characters of a word and of a name that count */

static bool is_space(char c)
{
	return c == ' ' || c == '\t';
}

struct slice config_word(struct slice *text)
{
	while (text->len > 0 && is_space(*text->at)) {
		text->at++;
		text->len--;
	}
	struct slice word = {text->at, 0};
	while (word.len < text->len && !is_space(word.at[word.len]))
		word.len++;
	text->at += word.len;
	text->len -= word.len;
	return word;
}

bool config_word_comments(struct slice text, size_t at)
{
	if (text.at[at] == '#')
		return true;
	return text.at[at] == '/' && at + 1 < text.len && text.at[at + 1] == '/' &&
	       (at == 0 || text.at[at - 1] != ':');
}

bool config_word_is(struct slice a, const char *b)
{
	return a.len == strlen(b) && memcmp(a.at, b, a.len) == 0;
}

/* The smallest number of steps that make `b` of `a`: a character is inserted, removed or replaced,
 * or two neighbours change places. Of longer texts only the first COMPARED characters count. */
static uint32_t distance(struct slice a, const char *b)
{
	uint32_t rows[3][COMPARED + 1], *before = rows[0], *above = rows[1], *row = rows[2];
	uint32_t n = min_u32((uint32_t)strlen(b), COMPARED);
	uint32_t len = a.len < COMPARED ? (uint32_t)a.len : COMPARED;
	for (uint32_t j = 0; j <= n; j++)
		above[j] = before[j] = j;
	for (uint32_t i = 0; i < len; i++) {
		row[0] = i + 1;
		for (uint32_t j = 1; j <= n; j++) {
			uint32_t d = above[j - 1] + (a.at[i] != b[j - 1]);
			d = min_u32(d, min_u32(above[j], row[j - 1]) + 1);
			if (i > 0 && j > 1 && a.at[i] == b[j - 2] && a.at[i - 1] == b[j - 1])
				d = min_u32(d, before[j - 2] + 1);
			row[j] = d;
		}
		uint32_t *next = before;
		before = above;
		above = row;
		row = next;
	}
	return above[n];
}

void config_word_nearer(struct slice text, const char *name, const char **best, uint32_t *at)
{
	uint32_t d = distance(text, name);
	if (3 * d > min_u32((uint32_t)text.len, COMPARED) + 1 || (*best && d >= *at))
		return;
	*best = name;
	*at = d;
}
