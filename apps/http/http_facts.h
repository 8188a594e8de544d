/* What the pages and the JSON say alike. */
#ifndef APPS_HTTP_HTTP_FACTS_H
#define APPS_HTTP_HTTP_FACTS_H

#include "apps/http/http_page.h"

#define HTTP_FACT 64u  /* bytes of a value, with NUL */
#define HTTP_LINE 448u /* of a line of a listing */

/* Writes value i of a key of the configuration into buf; false, with an empty text, when there are
 * not so many. */
bool http_facts_value(const struct gw *gw, const char *key, uint32_t i, char buf[HTTP_FACT]);

/* The number of all dropped packets. */
uint64_t http_facts_dropped(const struct gw *gw);

/* Finds the next counter of DNS; its name goes to `name`. False behind the last. */
bool http_facts_dns(const struct gw *gw, uint64_t *cursor, char name[HTTP_FACT], uint64_t *value);

/* The next line of a listing: leases, the last drops, the last lines of the log. False behind the
 * last. */
bool http_facts_lease(struct gw *gw, uint64_t *cursor, char line[HTTP_LINE]);
bool http_facts_drop(struct gw *gw, uint64_t *cursor, char line[HTTP_LINE]);
bool http_facts_log(struct gw *gw, uint64_t *cursor, char line[HTTP_LINE]);

#endif
