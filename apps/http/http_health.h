/* Whether the gateway lives, and whether it does what it is for. */
#ifndef APPS_HTTP_HTTP_HEALTH_H
#define APPS_HTTP_HTTP_HEALTH_H

#include "apps/http/http_page.h"

/* Why the gateway does not do what it is for: one word or a few. NULL: it does. */
const char *http_health_missing(const struct gw *gw);

uint32_t http_health_ready(const struct gw *gw, const char *query);
bool http_health_readyz(struct gw *gw, struct http_job *job, struct http_out *o);
bool http_health_livez(struct gw *gw, struct http_job *job, struct http_out *o);

#endif
