/* What all pages of HTML have. */
#ifndef APPS_HTTP_HTTP_HTML_H
#define APPS_HTTP_HTTP_HTML_H

#include "apps/http/http_page.h"

/* The begin of a page up to its navigation. */
bool http_html_head(struct gw *gw, struct http_job *job, struct http_out *o);

/* One line of a list; an empty line is none. */
void http_html_line(struct http_job *job, struct http_out *o, const char *line, bool strong);

/* The end of a list: says so if it has no line. Gives false. */
bool http_html_end(struct http_job *job, struct http_out *o, const char *if_none);

#endif
