/* The status as JSON: the slots of web/status.json. */
#ifndef APPS_HTTP_HTTP_JSON_H
#define APPS_HTTP_HTTP_JSON_H

#include "apps/http/http_page.h"

#define HTTP_JSON_SLOTS 17u

extern const struct http_slot http_json_slots[HTTP_JSON_SLOTS];

#endif
