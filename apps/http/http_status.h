/* The status page: the slots of web/status.html. */
#ifndef APPS_HTTP_HTTP_STATUS_H
#define APPS_HTTP_HTTP_STATUS_H

#include "apps/http/http_page.h"

#define HTTP_STATUS_SLOTS 10u

extern const struct http_slot http_status_slots[HTTP_STATUS_SLOTS];

#endif
