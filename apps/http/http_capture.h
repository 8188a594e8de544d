/* The last packets (net/capture): their page, and a file of them. */
#ifndef APPS_HTTP_HTTP_CAPTURE_H
#define APPS_HTTP_HTTP_CAPTURE_H

#include "apps/http/http_page.h"

#define HTTP_CAPTURE_SLOTS 3u

extern const struct http_slot http_capture_slots[HTTP_CAPTURE_SLOTS];

/* The file: what `of` and `end` of the query select (capture_what_parse), of the packets that are
 * there when it begins. Those that are overwritten meanwhile are missing, and a comment says how
 * many. */
bool http_capture_file(struct gw *gw, struct http_job *job, struct http_out *o);

/* 404 where nothing is kept, 400 for a query that selects nothing. */
uint32_t http_capture_status(const struct gw *gw, const char *query);

#endif
