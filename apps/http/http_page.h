/* A page: its path, and who writes its contents piece by piece. */
#ifndef APPS_HTTP_HTTP_PAGE_H
#define APPS_HTTP_HTTP_PAGE_H

#include "apps/http/http_out.h"
#include "net/gw.h"

#define HTTP_QUERY 128u /* bytes of a query that a page gets, with NUL */
#define HTTP_NAME  64u

struct http_job;

/* Writes the next piece: at most HTTP_PIECE bytes, nothing where it only searched. Adds what it
 * cost. True while there is more. */
typedef bool (*http_writer)(struct gw *gw, struct http_job *job, struct http_out *o);

/* What stands in a template as {{name}}. */
struct http_slot {
	const char *name;
	http_writer write;
};

struct http_page {
	const char *path;
	const char *type; /* Content-Type */
	http_writer write;
	uint32_t (*status)(const struct gw *gw, const char *query); /* of the answer; NULL: 200 */
	/* For http_template: the text, its length, and its slots. */
	const char *text;
	uint32_t len;
	const struct http_slot *slot;
	uint32_t n_slots;
};

/* An answer that is written. All zeros at first, but for the page and the query. */
struct http_job {
	const struct http_page *page;
	uint32_t at; /* in the template */
	/* Of the writer; zero at the begin of each slot. */
	uint32_t step;
	uint64_t cursor; /* of a listing */
	uint32_t n;      /* lines written */
	uint32_t hint;
	char name[HTTP_NAME];
	char query[HTTP_QUERY]; /* the query of the target, as it came; longer ones are cut */
};

/* Writes a template, in which each {{name}} stands for what its slot writes. */
bool http_template(struct gw *gw, struct http_job *job, struct http_out *o);

#endif
