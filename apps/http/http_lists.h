/* The pages of sessions, leases, configuration and help: the slots of their templates. */
#ifndef APPS_HTTP_HTTP_LISTS_H
#define APPS_HTTP_HTTP_LISTS_H

#include "apps/http/http_page.h"

#define HTTP_LISTS_SLOTS 6u

extern const struct http_slot http_lists_slots[HTTP_LISTS_SLOTS];

#endif
