/* A page: its path, and who writes its contents piece by piece. */
#ifndef APPS_HTTP_HTTP_PAGE_H
#define APPS_HTTP_HTTP_PAGE_H

#include "apps/http/http_out.h"
#include "net/gw.h"

#define HTTP_QUERY 64u /* bytes of a query that a page gets, with NUL */
#define HTTP_NAME  64u

/* An answer that is written. All zeros at first. */
struct http_job {
	uint32_t step;   /* of the writer */
	uint32_t part;   /* within a step */
	uint64_t cursor; /* of a listing */
	uint32_t hint;
	char name[HTTP_NAME];   /* what the writer remembers: a name */
	char query[HTTP_QUERY]; /* the query of the target, as it came; longer ones are cut */
};

struct http_page {
	const char *path;
	const char *type; /* Content-Type */
	/* Writes the next piece: at least a line unless it searches, and at most HTTP_PIECE bytes.
	 * True while there is more. */
	bool (*write)(struct gw *gw, struct http_job *job, struct http_out *o);
	/* Gives the status of the answer. NULL: 200. */
	uint32_t (*status)(const struct gw *gw);
};

#endif
