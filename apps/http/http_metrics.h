/* The counters in the text format 0.0.4 of Prometheus. */
#ifndef APPS_HTTP_HTTP_METRICS_H
#define APPS_HTTP_HTTP_METRICS_H

#include "apps/http/http_page.h"

bool http_metrics(struct gw *gw, struct http_job *job, struct http_out *o);

#endif
