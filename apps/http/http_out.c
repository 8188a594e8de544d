/* See http_out.h. */
#include "apps/http/http_out.h"

static char *end_of(struct http_out *o)
{
	return o->frame + HTTP_CHUNK + o->n;
}

void http_print(struct http_out *o, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	o->n += (uint32_t)fmt_v(end_of(o), http_out_room(o) + 1, format, args);
	va_end(args);
}

void http_put(struct http_out *o, const char *text, size_t n)
{
	if (n > http_out_room(o))
		n = http_out_room(o);
	memcpy(end_of(o), text, n);
	o->n += (uint32_t)n;
}

/* Room for the longest escape, and for the end of a string. */
#define ESCAPE 8u

void http_out_html(struct http_out *o, const char *text)
{
	for (; *text && http_out_room(o) > ESCAPE; text++) {
		switch (*text) {
		case '&':
			http_put(o, "&amp;", 5);
			break;
		case '<':
			http_put(o, "&lt;", 4);
			break;
		case '>':
			http_put(o, "&gt;", 4);
			break;
		case '"':
			http_put(o, "&quot;", 6);
			break;
		case '\'':
			http_put(o, "&#39;", 5);
			break;
		default:
			http_put(o, *text >= ' ' && *text < 127 ? text : "?", 1);
		}
	}
}

void http_out_json(struct http_out *o, const char *text)
{
	http_put(o, "\"", 1);
	for (; *text && http_out_room(o) > ESCAPE; text++) {
		if (*text == '"' || *text == '\\')
			http_print(o, "\\%c", *text);
		else if (*text == '<' || *text == '>' || (uint8_t)*text < ' ')
			http_print(o, "\\u%04x", (uint8_t)*text);
		else
			http_put(o, *text > 0 && *text < 127 ? text : "?", 1);
	}
	http_put(o, "\"", 1);
}
