/* See http_pages.h. */
#include "apps/http/http_pages.h"

#include "apps/http/http_health.h"
#include "apps/http/http_metrics.h"

#define TEXT "text/plain; charset=utf-8"

static const struct http_page page[] = {
        {"/livez", TEXT, http_health_livez, NULL},
        {"/readyz", TEXT, http_health_readyz, http_health_ready},
        {"/metrics", "text/plain; version=0.0.4; charset=utf-8", http_metrics, NULL},
};

const struct http_page *http_page_of(const char *target)
{
	for (uint32_t i = 0; i < ARRAY_SIZE(page); i++) {
		size_t n = strlen(page[i].path);
		if (strncmp(target, page[i].path, n) == 0 && (!target[n] || target[n] == '?'))
			return &page[i];
	}
	return NULL;
}
