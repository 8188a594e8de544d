/* See http_pages.h. */
#include "apps/http/http_pages.h"

#include "apps/http/http_capture.h"
#include "apps/http/http_health.h"
#include "apps/http/http_json.h"
#include "apps/http/http_lists.h"
#include "apps/http/http_metrics.h"
#include "apps/http/http_status.h"
#include "build/web.inc"

#define TEXT "text/plain; charset=utf-8"
#define HTML "text/html; charset=utf-8"

#define WRITTEN(path, type, write, status)                \
	{                                                 \
		path, type, write, status, "", 0, NULL, 0 \
	}
#define TEMPLATE(path, type, text, slots)                                                        \
	{                                                                                        \
		path, type, http_template, NULL, text, sizeof text - 1, slots, ARRAY_SIZE(slots) \
	}
#define FILE(path, type, text)                                                  \
	{                                                                       \
		path, type, http_template, NULL, text, sizeof text - 1, NULL, 0 \
	}

static const struct http_page page[] = {
        WRITTEN("/livez", TEXT, http_health_livez, NULL),
        WRITTEN("/readyz", TEXT, http_health_readyz, http_health_ready),
        WRITTEN("/metrics", "text/plain; version=0.0.4; charset=utf-8", http_metrics, NULL),
        TEMPLATE("/", HTML, web_status_html, http_status_slots),
        TEMPLATE("/sessions", HTML, web_sessions_html, http_lists_slots),
        TEMPLATE("/leases", HTML, web_leases_html, http_lists_slots),
        TEMPLATE("/config", HTML, web_config_html, http_lists_slots),
        TEMPLATE("/help", HTML, web_help_html, http_lists_slots),
        TEMPLATE("/api/status.json", "application/json", web_status_json, http_json_slots),
        TEMPLATE("/capture", HTML, web_capture_html, http_capture_slots),
        WRITTEN("/capture.pcapng", "application/octet-stream", http_capture_file,
                http_capture_status),
        FILE("/style.css", "text/css; charset=utf-8", web_style_css),
        FILE("/app.js", "text/javascript; charset=utf-8", web_app_js),
        FILE("/icon.svg", "image/svg+xml", web_icon_svg),
};

const struct http_page *http_pages_find(const char *target)
{
	for (uint32_t i = 0; i < ARRAY_SIZE(page); i++) {
		size_t n = strlen(page[i].path);
		if (strncmp(target, page[i].path, n) == 0 && (!target[n] || target[n] == '?'))
			return &page[i];
	}
	return NULL;
}
