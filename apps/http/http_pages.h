/* What the server has. */
#ifndef APPS_HTTP_HTTP_PAGES_H
#define APPS_HTTP_HTTP_PAGES_H

#include "apps/http/http_page.h"

/* The page of a target, without its query; NULL: there is none. */
const struct http_page *http_pages_find(const char *target);

#endif
