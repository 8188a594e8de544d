/* See http_status.h. */
#include "apps/http/http_status.h"

#include "apps/http/http_facts.h"
#include "apps/http/http_health.h"
#include "apps/http/http_html.h"
#include "apps/http/http_state.h"
#include "kernel/lib/wall.h"
#include "net/machine.h"
#include "net/stats/count.h"

enum { LEASES = 32 }; /* that are shown */

/* The drawing of a rate. */
enum { STEP = 2, WIDTH = STEP * (HTTP_SAMPLES - 1), HEIGHT = 30 };

static bool hostname(struct gw *gw, struct http_job *job, struct http_out *o)
{
	char text[HTTP_FACT];
	(void)job;
	http_facts_value(gw, "hostname", 0, text);
	http_out_html(o, text);
	return false;
}

/* --- facts ------------------------------------------------------------------------------------ */

static void fact(struct http_out *o, const char *name, const char *value)
{
	http_print(o, "<li><span>%s</span> <strong>", name);
	http_out_html(o, value);
	http_print(o, "</strong></li>\n");
	o->cost++;
}

static void function_fact(struct gw *gw, struct http_out *o)
{
	char text[3 * HTTP_FACT], more[HTTP_FACT];
	http_facts_value(gw, "app", 0, more);
	size_t n = fmt(text, sizeof text, "%s", more);
	for (uint32_t i = 0; http_facts_value(gw, "serve", i, more); i++)
		n += fmt(text + n, sizeof text - n, ", %s", more);
	fact(o, "Function", text);
}

static void time_facts(struct gw *gw, struct http_out *o)
{
	char text[48];
	uint64_t now = wall_at(gw->clock.us);
	uint32_t s = gw->clock.s;
	fmt(text, sizeof text, "%u d %02u:%02u:%02u", s / 86400, s / 3600 % 24, s / 60 % 60,
	    s % 60);
	fact(o, "Uptime", text);
	if (now)
		fact(o, "Time", wall_text(text, now));
}

static bool facts(struct gw *gw, struct http_job *job, struct http_out *o)
{
	char text[48];
	const char *why = http_health_missing(gw);
	uint32_t busy = gw->machine ? gw->machine->busy() : 0;
	(void)job;
	http_print(o, "<li><span>State</span> <strong class=\"%s\">", why ? "bad" : "good");
	http_out_html(o, why ? why : "ready");
	http_print(o, "</strong></li>\n");
	function_fact(gw, o);
	time_facts(gw, o);
	fmt(text, sizeof text, "%u.%u %%", busy / 10, busy % 10);
	fact(o, "Load", text);
	fmt(text, sizeof text, "%llu", (unsigned long long)gw->counts.forwarded);
	fact(o, "Packets forwarded", text);
	fmt(text, sizeof text, "%llu", (unsigned long long)http_facts_dropped(gw));
	fact(o, "Packets dropped", text);
	return false;
}

/* --- interfaces --------------------------------------------------------------------------- */

/* Writes bits a second with three or four digits. */
static void put_rate(struct http_out *o, uint32_t bytes)
{
	static const char *const unit[] = {"bit/s", "kbit/s", "Mbit/s", "Gbit/s"};
	uint64_t tenths = (uint64_t)bytes * 80;
	uint32_t u = 0;
	for (; tenths >= 10000 && u + 1 < ARRAY_SIZE(unit); u++)
		tenths /= 1000;
	if (u == 0)
		http_print(o, "%u %s", (uint32_t)(tenths / 10), unit[u]);
	else
		http_print(o, "%u.%u %s", (uint32_t)(tenths / 10), (uint32_t)(tenths % 10),
		           unit[u]);
}

/* Draws the rates of the last minute, the largest at the top. */
static void put_drawing(const struct http_rates *r, struct http_out *o, uint32_t iface,
                        uint32_t way)
{
	uint32_t most = 1, rate, n = min_u32(r->n, HTTP_SAMPLES);
	for (uint32_t i = 0; http_rates_sample(r, iface, way, i, &rate); i++)
		most = max_u32(most, rate);
	http_print(o,
	           "<svg class=\"spark\" viewBox=\"0 0 %u %u\" preserveAspectRatio=\"none\" "
	           "aria-hidden=\"true\"><polyline points=\"",
	           WIDTH, HEIGHT);
	for (uint32_t i = 0; http_rates_sample(r, iface, way, i, &rate); i++)
		http_print(o, "%s%u,%u", i ? " " : "", (HTTP_SAMPLES - n + i) * STEP,
		           HEIGHT - 1 - (uint32_t)((uint64_t)rate * (HEIGHT - 2) / most));
	http_print(o, "\"/></svg>\n");
	o->cost += 4;
}

static void put_way(const struct http_rates *r, struct http_out *o, uint32_t i, uint32_t way)
{
	http_print(o, "<p>%s <strong>", way == HTTP_IN ? "in" : "out");
	put_rate(o, http_rates_last(r, i, way));
	http_print(o, "</strong>, %u packets/s</p>\n", r->packet_rate[i][way]);
	put_drawing(r, o, i, way);
}

static void put_link(const struct gw *gw, struct http_out *o, uint32_t i)
{
	struct machine_card card = {.driver = NULL};
	const struct interface *f = &gw->iface[i];
	if (!f->present) {
		http_print(o, "<p class=\"bad\">no card</p>\n");
		return;
	}
	http_print(o, "<p class=\"%s\">%s", f->carrier ? "good" : "bad",
	           f->carrier ? "up" : "no carrier");
	if (gw->machine && gw->machine->card(i, &card) && f->carrier && card.mbit)
		http_print(o, ", %u Mbit/s %s", card.mbit, card.full_duplex ? "full" : "half");
	if (card.driver)
		http_print(o, " <span class=\"quiet\">%s</span>", card.driver);
	http_print(o, "</p>\n");
}

/* An interface in three pieces. */
static bool interfaces(struct gw *gw, struct http_job *job, struct http_out *o)
{
	const struct http_rates *r = &http_of(gw)->rates;
	char text[GW_ADDRESS];
	uint32_t i = (uint32_t)job->cursor / 3, piece = (uint32_t)job->cursor % 3;
	if (i >= gw->n_iface)
		return false;
	job->cursor++;
	if (piece == 1) {
		put_way(r, o, i, HTTP_IN);
	} else if (piece == 2) {
		put_way(r, o, i, HTTP_OUT);
		http_print(o, "</div>\n");
	} else {
		http_print(o, "<div class=\"card\"><h3>%s</h3>\n", gw->iface[i].name);
		put_link(gw, o, i);
		http_print(o, "<p>");
		for (uint32_t k = 0; gw_show_address(&gw->iface[i], k, text, sizeof text); k++) {
			http_print(o, k ? " " : "");
			http_out_html(o, text);
		}
		http_print(o, "%s</p>\n",
		           gw_show_address(&gw->iface[i], 0, text, sizeof text) ? ""
		                                                                : "no address");
	}
	return true;
}

/* --- tables and lists ----------------------------------------------------------------------- */

static bool tables(struct gw *gw, struct http_job *job, struct http_out *o)
{
	struct count_fill f;
	if (!gw_show_fill(gw, (uint32_t)job->cursor++, &f))
		return false;
	uint32_t percent = f.most ? (uint32_t)(f.value * 100 / f.most) : 0;
	http_print(o,
	           "<tr><td>%s</td><td class=\"number\">%llu</td><td class=\"number\">%llu</td>"
	           "<td><meter min=\"0\" max=\"100\" value=\"%u\" title=\"%s\">%u "
	           "%%</meter></td></tr>\n",
	           f.name, (unsigned long long)f.value, (unsigned long long)f.most, percent, f.name,
	           percent);
	o->cost += 2;
	return true;
}

static bool talkers(struct gw *gw, struct http_job *job, struct http_out *o)
{
	char text[FMT_IP6 + 4];
	struct http_talkers *t = &http_of(gw)->talkers;
	if (http_talkers_search(gw, t, job, o))
		return true;
	for (uint32_t i = 0; i < t->n; i++) {
		const char *host = http_talkers_text(text, &t->shown[i]);
		if (!http_talkers_is_one(&t->shown[i])) /* a search asks for one address */
			http_print(o, "<tr><td>%s</td>", host);
		else
			http_print(o, "<tr><td><a href=\"/sessions?address=%s\">%s</a></td>", host,
			           host);
		http_print(o, "<td class=\"number\">%u</td></tr>\n", t->shown[i].sessions);
		o->cost++;
	}
	if (t->n == 0)
		http_print(o,
		           "<tr><td>no host has sessions</td><td class=\"number\">0</td></tr>\n");
	return false;
}

static bool dns(struct gw *gw, struct http_job *job, struct http_out *o)
{
	char name[HTTP_FACT], text[24];
	uint64_t value;
	if (!http_facts_dns(gw, &job->cursor, name, &value)) {
		if (job->n == 0)
			fact(o, "DNS", "not served");
		return false;
	}
	job->n++;
	fmt(text, sizeof text, "%llu", (unsigned long long)value);
	for (char *c = name; *c; c++)
		*c = *c == '_' ? ' ' : *c;
	fact(o, name + 4, text);
	return true;
}

static bool list(struct gw *gw, struct http_job *job, struct http_out *o,
                 bool (*line)(struct gw *, uint64_t *, char[HTTP_LINE]), const char *if_none)
{
	char text[HTTP_LINE];
	if (!line(gw, &job->cursor, text))
		return http_html_end(job, o, if_none);
	http_html_line(job, o, text, false);
	o->cost += 2;
	return true;
}

static bool leases(struct gw *gw, struct http_job *job, struct http_out *o)
{
	if (job->n == LEASES) {
		http_print(o,
		           "<li><a href=\"/leases\">All leases</a>: these are the first %u.</li>\n",
		           LEASES);
		return false;
	}
	return list(gw, job, o, http_facts_lease, "no leases");
}

static bool drops(struct gw *gw, struct http_job *job, struct http_out *o)
{
	return list(gw, job, o, http_facts_drop, "no packet was dropped");
}

static bool log_lines(struct gw *gw, struct http_job *job, struct http_out *o)
{
	return list(gw, job, o, http_facts_log, "the log is empty");
}

const struct http_slot http_status_slots[HTTP_STATUS_SLOTS] = {
        {"head", http_html_head},   {"hostname", hostname}, {"facts", facts},
        {"interfaces", interfaces}, {"tables", tables},     {"talkers", talkers},
        {"leases", leases},         {"dns", dns},           {"drops", drops},
        {"log", log_lines},
};
