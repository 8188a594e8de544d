/* Values in the query of a target, as a form sends them. */
#ifndef APPS_HTTP_HTTP_QUERY_H
#define APPS_HTTP_HTTP_QUERY_H

#include "apps/http/http_page.h"

/* Decodes the value of a name into buf, without the spaces at its end; "" where it is not there. */
void http_query_value(const char *query, const char *name, char buf[HTTP_QUERY]);

#endif
