/* The head of an HTTP/1.1 request (RFC 9112), read byte by byte as it comes. Pure and strict: what
 * two servers could read in two ways is an error, so that nothing can be smuggled.
 *
 * A request has no body here: one with a body is refused (413), and its connection ends. */
#ifndef APPS_HTTP_HTTP_REQUEST_H
#define APPS_HTTP_HTTP_REQUEST_H

#include "kernel/lib/bytes.h"

#define HTTP_HEAD_MOST 8192u /* bytes of a head, with its empty line */
#define HTTP_TARGET    512u  /* bytes of the target that is kept, with NUL */
#define HTTP_HOST      160u  /* of the host and of the origin, with NUL */
#define HTTP_WORD      24u   /* of a method, a version, and the name of a field that is looked at */
#define HTTP_VALUE     256u  /* of the value of such a field */

enum http_method { HTTP_GET, HTTP_HEAD };

/* What is read of a request. All zeros at first. */
struct http_request {
	uint8_t state;        /* enum in http_request.c */
	uint8_t n_word;       /* bytes in `word` */
	uint8_t method;       /* enum http_method; others are errors */
	uint8_t other_method; /* the status that the method brings if the rest is right, less 300 */
	uint8_t n_hosts, n_lengths, n_codings, n_origins;
	bool old;      /* HTTP/1.0 */
	bool close;    /* the client wants the connection to end */
	bool absolute; /* the target had a host, which counts in place of the field's */
	bool has_body, expects, long_value;
	uint16_t n_target, n_value;
	uint16_t n_head; /* bytes so far */
	char word[HTTP_WORD];
	char target[HTTP_TARGET]; /* path and query; begins with '/' */
	char value[HTTP_VALUE];
	char host[HTTP_HOST];   /* of the field Host, or of an absolute target */
	char origin[HTTP_HOST]; /* of the field Origin; empty: there is none */
};

/* Reads up to n bytes; *used is how many belong to this head. Gives 0 while more is needed, 200
 * when the head is complete and right, or else the status that says what is wrong: then nothing
 * more is to be read, and the connection ends after the answer. */
uint32_t http_request_read(struct http_request *r, const char *bytes, uint32_t n, uint32_t *used);

/* True when nothing of a request has come but empty lines in front of it. */
bool http_request_is_empty(const struct http_request *r);

#endif
