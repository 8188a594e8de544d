/* See http_lists.h. A list may be long, and a search may look at a large table: each call looks at
 * a few lines. */
#include "apps/http/http_lists.h"

#include "apps/http/http_facts.h"
#include "apps/http/http_html.h"
#include "apps/http/http_query.h"
#include "kernel/config/config.h"
#include "kernel/lib/addr.h"
#include "net/stats/lines.h"

enum {
	LINES = 4,       /* in a piece */
	SESSIONS = 1000, /* that are shown at most */
	KEY_COST = 2,
};

/* --- sessions --------------------------------------------------------------------------------- */

static bool address(struct gw *gw, struct http_job *job, struct http_out *o)
{
	char text[HTTP_QUERY];
	(void)gw;
	http_query_value(job->query, "address", text);
	http_out_html(o, text);
	return false;
}

/* Prepares a search: job->name becomes the address as listings write it, or "" for all. False, with
 * the end of the list, when it is no address. */
static bool begin_search(struct http_job *job, struct http_out *o)
{
	char text[HTTP_QUERY];
	struct addr a;
	http_query_value(job->query, "address", text);
	job->step = 1;
	if (!text[0])
		return true;
	if (!addr_any(text, strlen(text), &a))
		return http_html_end(job, o, "This is not an address.");
	addr_text(job->name, &a);
	return true;
}

static bool sessions(struct gw *gw, struct http_job *job, struct http_out *o)
{
	char line[HTTP_LINE];
	if (job->step == 0 && !begin_search(job, o))
		return false;
	for (uint32_t k = 0; k < LINES; k++) {
		uint32_t i = (uint32_t)job->cursor;
		bool more = gw_show_sessions(gw, &i, line, sizeof line);
		job->cursor = i;
		o->cost++;
		if (!more)
			return http_html_end(job, o, "There are no sessions.");
		if (job->name[0] && !lines_have_address(line, job->name))
			continue;
		http_html_line(job, o, line, false);
		if (job->n < SESSIONS)
			continue;
		http_print(o, "<li>These are the first %u; a search shows others.</li>\n",
		           SESSIONS);
		return false;
	}
	return true;
}

/* --- configuration and help ---------------------------------------------------------------------
 */

static bool config(struct gw *gw, struct http_job *job, struct http_out *o)
{
	char line[HTTP_LINE];
	uint32_t i = (uint32_t)job->cursor;
	if (!config_line(gw->config, &i, line, sizeof line))
		return http_html_end(job, o, "There is none.");
	job->cursor = i;
	http_html_line(job, o, line, config_line_differs(gw->config, i, line));
	o->cost += KEY_COST;
	return true;
}

static bool keys(struct gw *gw, struct http_job *job, struct http_out *o)
{
	char text[CONFIG_HELP];
	uint32_t i = (uint32_t)job->cursor++;
	if (i >= gw->config->n_entries)
		return false;
	const struct config_key *key = gw->config->entry[i].key;
	http_print(o, "<dt>");
	http_out_html(o, key->name);
	http_print(o, "</dt>\n<dd>");
	http_out_html(o, key->about ? key->about : "");
	http_print(o, "<br><span class=\"quiet\">");
	config_key_help(key, text, sizeof text);
	http_out_html(o, text);
	http_print(o, "</span></dd>\n");
	o->cost += KEY_COST;
	return true;
}

/* --- leases ------------------------------------------------------------------------------------
 */

static bool leases(struct gw *gw, struct http_job *job, struct http_out *o)
{
	char line[HTTP_LINE];
	if (!http_facts_lease(gw, &job->cursor, line))
		return http_html_end(job, o, "There are no leases.");
	http_html_line(job, o, line, false);
	o->cost += KEY_COST;
	return true;
}

const struct http_slot http_lists_slots[HTTP_LISTS_SLOTS] = {
        {"head", http_html_head}, {"address", address}, {"sessions", sessions},
        {"config", config},       {"keys", keys},       {"leases", leases},
};
