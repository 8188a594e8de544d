/* See http_facts.h. */
#include "apps/http/http_facts.h"

#include "kernel/config/config.h"
#include "kernel/lib/log.h"
#include "net/dhcp6/dhcp6_client.h"
#include "net/stats/count.h"

enum { LAST_DROPS = 12, LAST_LOG = 20 };

bool http_facts_value(const struct gw *gw, const char *key, uint32_t i, char buf[HTTP_FACT])
{
	const struct config_entry *e = config_entry(gw->config, key);
	buf[0] = '\0';
	if (e && config_value(gw->config, e, i, buf, HTTP_FACT))
		return true;
	buf[0] = '\0';
	return false;
}

uint64_t http_facts_dropped(const struct gw *gw)
{
	uint64_t n = 0;
	for (uint32_t i = 0; i < DROP_COUNT; i++)
		n += gw->counts.drops[i];
	return n;
}

bool http_facts_dns(const struct gw *gw, uint64_t *cursor, char name[HTTP_FACT], uint64_t *value)
{
	for (uint32_t s = (uint32_t)(*cursor >> 32); s < SERVICES_MAX;
	     s++, *cursor = (uint64_t)s << 32) {
		uint32_t i = (uint32_t)*cursor;
		char line[HTTP_FACT + 24];
		if (!gw->service[s] || !gw->service[s]->counts[0] ||
		    !count_show(gw, gw->service[s]->counts[0], &i, line, sizeof line) ||
		    strncmp(line, "dns_", 4) != 0)
			continue;
		++*cursor;
		size_t n = strlen(line), at = 0;
		while (at < n && line[at] != ' ')
			at++;
		fmt(name, HTTP_FACT, "%.*s", (int)at, line);
		*value = 0;
		for (at++; at < n; at++)
			*value = *value * 10 + (uint64_t)(line[at] - '0');
		return true;
	}
	return false;
}

bool http_facts_lease(struct gw *gw, uint64_t *cursor, char line[HTTP_LINE])
{
	uint32_t i = (uint32_t)*cursor;
	bool more = dhcp6_show_leases(gw, &i, line, HTTP_LINE);
	*cursor = i;
	return more;
}

bool http_facts_drop(struct gw *gw, uint64_t *cursor, char line[HTTP_LINE])
{
	uint32_t have =
	        gw->drop_log.n < DROP_LOG_ENTRIES ? (uint32_t)gw->drop_log.n : DROP_LOG_ENTRIES;
	uint32_t i = (uint32_t)*cursor;
	if (i == 0 && have > LAST_DROPS)
		i = have - LAST_DROPS;
	bool more = gw_show_drops(gw, &i, line, HTTP_LINE);
	*cursor = i;
	return more;
}

/* The cursor of the log is 0 at first only. */
bool http_facts_log(struct gw *gw, uint64_t *cursor, char line[HTTP_LINE])
{
	(void)gw;
	if (*cursor == 0)
		*cursor = log_before(UINT64_MAX, LAST_LOG);
	return log_next(cursor, line, HTTP_LINE);
}
