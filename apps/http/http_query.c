/* See http_query.h. */
#include "apps/http/http_query.h"

static uint32_t digit(char c)
{
	return c >= '0' && c <= '9'   ? (uint32_t)(c - '0')
	       : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a' + 10)
	       : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A' + 10)
	                              : 16;
}

/* True for an encoded character other than NUL. */
static bool is_encoded(const char *at)
{
	return at[0] == '%' && digit(at[1]) < 16 && digit(at[2]) < 16 &&
	       digit(at[1]) + digit(at[2]);
}

/* The value of a name, still encoded; NULL: it is not there. */
static const char *find(const char *query, const char *name)
{
	size_t n = strlen(name);
	for (const char *at = query; *at;) {
		if (strncmp(at, name, n) == 0 && at[n] == '=')
			return at + n + 1;
		while (*at && *at++ != '&')
			;
	}
	return NULL;
}

void http_query_value(const char *query, const char *name, char buf[HTTP_QUERY])
{
	uint32_t n = 0;
	const char *at = find(query, name);
	for (; at && *at && *at != '&' && n < HTTP_QUERY - 1; at++) {
		if (!is_encoded(at)) {
			buf[n++] = *at == '+' ? ' ' : *at;
			continue;
		}
		buf[n++] = (char)(digit(at[1]) << 4 | digit(at[2]));
		at += 2;
	}
	while (n > 0 && buf[n - 1] == ' ')
		n--;
	buf[n] = '\0';
}
