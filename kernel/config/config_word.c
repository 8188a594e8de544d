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

bool config_word_is(struct slice a, const char *b)
{
	return a.len == strlen(b) && memcmp(a.at, b, a.len) == 0;
}

/* The smallest number of characters to insert, remove or replace that makes `b` of
 * `a`. Of longer texts only the first COMPARED characters count. */
static uint32_t distance(struct slice a, const char *b)
{
	uint32_t row[COMPARED + 1];
	uint32_t n = min_u32((uint32_t)strlen(b), COMPARED);
	uint32_t len = a.len < COMPARED ? (uint32_t)a.len : COMPARED;
	for (uint32_t j = 0; j <= n; j++)
		row[j] = j;
	for (uint32_t i = 0; i < len; i++) {
		uint32_t diagonal = row[0];
		row[0] = i + 1;
		for (uint32_t j = 1; j <= n; j++) {
			uint32_t replaced = diagonal + (a.at[i] != b[j - 1]);
			diagonal = row[j];
			row[j] = min_u32(replaced, min_u32(row[j], row[j - 1]) + 1);
		}
	}
	return row[n];
}

void config_word_nearer(struct slice text, const char *name, const char **best, uint32_t *at)
{
	uint32_t d = distance(text, name);
	if (*best && d >= *at)
		return;
	*best = name;
	*at = d;
}
