/* A piece of an answer while it is written, and what it cost. */
#ifndef APPS_HTTP_HTTP_OUT_H
#define APPS_HTTP_HTTP_OUT_H

#include "kernel/lib/fmt.h"

#define HTTP_PIECE 2048u /* bytes of a piece at most */
#define HTTP_CHUNK 6u    /* bytes of the size in front of a chunk (RFC 9112 section 7.1) */

struct http_out {
	uint32_t n; /* bytes of text so far */
	/* Work that it took, in units of about one formatted line of a listing. The writer adds it.
	 */
	uint32_t cost;
	char frame[HTTP_CHUNK + HTTP_PIECE + 2]; /* the text begins behind the size */
};

/* Gives the bytes that are left. */
static inline uint32_t http_out_room(const struct http_out *o)
{
	return HTTP_PIECE - 1 - o->n; /* fmt writes a NUL */
}

/* Adds text. What does not fit is cut off: writers know how much they write. */
void http_print(struct http_out *o, const char *format, ...) PRINTF_LIKE(2, 3);

/* Adds n bytes as they are. */
void http_put(struct http_out *o, const char *text, size_t n);

/* Adds text for HTML, also in a value in double quotes: & < > " ' are escaped, control characters
 * become '?'. */
void http_out_html(struct http_out *o, const char *text);

/* Adds a JSON string (RFC 8259 section 7) with its quotes. The text is ASCII; other bytes become
 * '?'. '<' and '>' are escaped too. */
void http_out_json(struct http_out *o, const char *text);

#endif
