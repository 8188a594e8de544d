/* See http_request.h. Section numbers are those of RFC 9112, if not said otherwise.
 *
 * Stricter than the RFC has to be: lines end with CR LF alone (section 2.2 allows LF), bytes above
 * 127 are refused in a target, and the Host of HTTP/1.1 is never empty. */
#include "apps/http/http_request.h"

enum {
	AT_START,    /* an empty line may come first (section 2.2) */
	AT_START_LF, /* of that line */
	AT_METHOD,
	AT_TARGET,
	AT_VERSION,
	AT_LINE_LF, /* of the request line */
	AT_FIELD,   /* the first byte of a field or of the empty line */
	AT_NAME,
	AT_SPACE, /* in front of a value */
	AT_VALUE,
	AT_FIELD_LF,
	AT_END_LF,
};

enum { OK = 200, BAD = 400, TOO_LARGE = 413, LONG_TARGET = 414, EXPECTATION = 417 };
enum { LONG_HEAD = 431, NO_METHOD = 405, UNKNOWN_METHOD = 501, VERSION = 505 };
enum { METHOD_BASE = 300 };

/* --- characters ------------------------------------------------------------------------------ */

static bool is_alnum(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + 'a' - 'A') : c;
}

static bool is_one_of(char c, const char *set)
{
	for (; *set; set++)
		if (*set == c)
			return true;
	return false;
}

/* RFC 9110 section 5.6.2. */
static bool is_token(char c)
{
	return is_alnum(c) || is_one_of(c, "!#$%&'*+-.^_`|~");
}

/* A byte of a host in a URI (RFC 3986 section 3.2.2) and its port. */
static bool is_host(char c)
{
	return is_alnum(c) || is_one_of(c, "-._~!$&'()*+,;=%:[]");
}

/* RFC 9110 section 5.5. */
static bool is_value(char c)
{
	return (c >= ' ' && c < 127) || c == '\t' || (uint8_t)c >= 128;
}

static bool is_word(const char *a, uint32_t n, const char *b)
{
	uint32_t i = 0;
	while (i < n && b[i] && lower(a[i]) == b[i])
		i++;
	return i == n && !b[i];
}

/* --- the request line ---------------------------------------------------------------------------
 */

/* Adds a byte to the word; false when it is too long. */
static bool add(struct http_request *r, char c)
{
	if (r->n_word >= HTTP_WORD - 1)
		return false;
	r->word[r->n_word++] = c;
	return true;
}

static void take_method(struct http_request *r)
{
	static const char *const others[] = {"POST",    "PUT",   "DELETE", "CONNECT",
	                                     "OPTIONS", "TRACE", "PATCH"};
	r->word[r->n_word] = '\0';
	r->method = HTTP_GET;
	if (strcmp(r->word, "HEAD") == 0)
		r->method = HTTP_HEAD;
	else if (strcmp(r->word, "GET") != 0)
		r->other_method = UNKNOWN_METHOD - METHOD_BASE;
	for (uint32_t i = 0; i < ARRAY_SIZE(others); i++)
		if (strcmp(r->word, others[i]) == 0)
			r->other_method = NO_METHOD - METHOD_BASE;
	r->n_word = 0;
}

/* Takes the host of an absolute target away from its front (section 3.2.2). */
static uint32_t split_target(struct http_request *r)
{
	static const char scheme[] = "http://";
	const uint32_t skip = sizeof scheme - 1;
	r->target[r->n_target] = '\0';
	if (r->target[0] == '/')
		return 0;
	if (r->n_target < skip || !is_word(r->target, skip, scheme))
		return r->other_method ? (uint32_t)r->other_method + METHOD_BASE : BAD;
	uint32_t end = skip;
	while (r->target[end] && r->target[end] != '/' && r->target[end] != '?')
		if (!is_host(r->target[end++]))
			return BAD;
	if (end == skip || end - skip >= HTTP_HOST || r->target[end] == '?')
		return BAD;
	memcpy(r->host, r->target + skip, end - skip);
	r->host[end - skip] = '\0';
	r->absolute = true;
	r->n_target = (uint16_t)(r->n_target - end);
	memmove(r->target, r->target + end, r->n_target);
	if (r->n_target == 0)
		r->target[r->n_target++] = '/';
	r->target[r->n_target] = '\0';
	return 0;
}

static uint32_t take_version(struct http_request *r)
{
	const char *w = r->word;
	if (r->n_word != 8 || memcmp(w, "HTTP/", 5) != 0 || w[6] != '.' || w[5] < '0' ||
	    w[5] > '9' || w[7] < '0' || w[7] > '9')
		return BAD;
	if (w[5] != '1')
		return VERSION;
	r->old = w[7] == '0';
	r->close = r->old;
	r->n_word = 0;
	return 0;
}

static uint32_t read_line(struct http_request *r, char c)
{
	switch (r->state) {
	case AT_START:
		if (c == '\r') {
			r->state = AT_START_LF;
			return 0;
		}
		r->state = AT_METHOD;
		return is_token(c) && add(r, c) ? 0 : BAD;
	case AT_START_LF:
		r->state = AT_METHOD;
		return c == '\n' ? 0 : BAD;
	case AT_METHOD:
		if (c != ' ')
			return !is_token(c) ? BAD : add(r, c) ? 0 : UNKNOWN_METHOD;
		if (r->n_word == 0)
			return BAD;
		take_method(r);
		r->state = AT_TARGET;
		return 0;
	case AT_TARGET:
		if (c == ' ') {
			r->state = AT_VERSION;
			return r->n_target ? split_target(r) : BAD;
		}
		if (c <= ' ' || c >= 127 || c == '#')
			return BAD;
		if (r->n_target >= HTTP_TARGET - 1)
			return LONG_TARGET;
		r->target[r->n_target++] = c;
		return 0;
	case AT_VERSION:
		if (c != '\r')
			return add(r, c) ? 0 : BAD;
		r->state = AT_LINE_LF;
		return take_version(r);
	default: /* AT_LINE_LF */
		r->state = AT_FIELD;
		return c == '\n' ? 0 : BAD;
	}
}

/* --- fields ------------------------------------------------------------------------------- */

/* True when a list (RFC 9110 section 5.6.1) has the word. */
static bool has(const char *list, uint32_t n, const char *word)
{
	for (uint32_t i = 0; i < n;) {
		while (i < n && is_one_of(list[i], " \t,"))
			i++;
		uint32_t begin = i;
		while (i < n && !is_one_of(list[i], " \t,"))
			i++;
		if (is_word(list + begin, i - begin, word))
			return true;
	}
	return false;
}

static uint32_t take_host(struct http_request *r)
{
	if (r->n_hosts++ || r->long_value || r->n_value == 0 || r->n_value >= HTTP_HOST)
		return BAD;
	for (uint32_t i = 0; i < r->n_value; i++)
		if (!is_host(r->value[i]))
			return BAD;
	if (r->absolute)
		return 0;
	memcpy(r->host, r->value, r->n_value);
	r->host[r->n_value] = '\0';
	return 0;
}

static uint32_t take_length(struct http_request *r)
{
	if (r->n_lengths++ || r->long_value || r->n_value == 0)
		return BAD;
	for (uint32_t i = 0; i < r->n_value; i++) {
		if (r->value[i] < '0' || r->value[i] > '9')
			return BAD;
		r->has_body |= r->value[i] != '0';
	}
	return 0;
}

static uint32_t take_origin(struct http_request *r)
{
	if (r->n_origins++ || r->long_value || r->n_value == 0 || r->n_value >= HTTP_HOST)
		return BAD;
	memcpy(r->origin, r->value, r->n_value);
	r->origin[r->n_value] = '\0';
	return 0;
}

/* A field is complete: takes what counts here. */
static uint32_t take_field(struct http_request *r)
{
	const char *name = r->word;
	while (r->n_value && is_one_of(r->value[r->n_value - 1], " \t"))
		r->n_value--;
	if (is_word(name, r->n_word, "host"))
		return take_host(r);
	if (is_word(name, r->n_word, "content-length"))
		return take_length(r);
	if (is_word(name, r->n_word, "origin"))
		return take_origin(r);
	if (is_word(name, r->n_word, "transfer-encoding")) {
		r->n_codings = 1;
		r->has_body = true;
	}
	r->expects |= is_word(name, r->n_word, "expect");
	if (is_word(name, r->n_word, "connection"))
		r->close |= r->long_value || has(r->value, r->n_value, "close");
	return 0;
}

/* The head is complete: gives what is wrong with it as a whole. */
static uint32_t judge(const struct http_request *r)
{
	if (r->n_hosts == 0 && !r->old)
		return BAD; /* section 3.2 */
	if (r->n_codings && (r->n_lengths || r->old))
		return BAD; /* section 6.1 */
	if (r->other_method)
		return (uint32_t)r->other_method + METHOD_BASE;
	if (r->has_body)
		return TOO_LARGE;
	return r->expects ? EXPECTATION : OK;
}

static uint32_t read_value(struct http_request *r, char c)
{
	if (c == '\r') {
		r->state = AT_FIELD_LF;
		return take_field(r);
	}
	if (!is_value(c))
		return BAD;
	r->state = AT_VALUE;
	if (r->n_value < HTTP_VALUE)
		r->value[r->n_value++] = c;
	else
		r->long_value = true;
	return 0;
}

static uint32_t read_field(struct http_request *r, char c)
{
	switch (r->state) {
	case AT_FIELD:
		r->n_word = 0;
		r->n_value = 0;
		r->long_value = false;
		r->state = c == '\r' ? AT_END_LF : AT_NAME;
		/* A space here is an old way to continue a line (section 5.2). */
		return c == '\r' || (is_token(c) && add(r, c)) ? 0 : BAD;
	case AT_NAME:
		if (c != ':') {
			/* A longer name is none that counts: its last byte takes the rest. */
			if (is_token(c) && !add(r, c))
				r->word[HTTP_WORD - 2] = '?';
			return is_token(c) ? 0 : BAD;
		}
		r->state = AT_SPACE;
		return 0;
	case AT_SPACE:
		return c == ' ' || c == '\t' ? 0 : read_value(r, c);
	case AT_VALUE:
		return read_value(r, c);
	case AT_FIELD_LF:
		r->state = AT_FIELD;
		return c == '\n' ? 0 : BAD;
	default: /* AT_END_LF */
		return c == '\n' ? judge(r) : BAD;
	}
}

/* --- bytes ----------------------------------------------------------------------------------- */

uint32_t http_request_read(struct http_request *r, const char *bytes, uint32_t n, uint32_t *used)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t status = r->n_head++ >= HTTP_HEAD_MOST ? LONG_HEAD
		                  : r->state < AT_FIELD         ? read_line(r, bytes[i])
		                                                : read_field(r, bytes[i]);
		*used = i + 1;
		if (status)
			return status;
	}
	*used = n;
	return 0;
}

bool http_request_is_empty(const struct http_request *r)
{
	return r->state == AT_START || (r->state == AT_METHOD && r->n_word == 0);
}
