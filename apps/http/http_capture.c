/* See http_capture.h. */
#include "apps/http/http_capture.h"

#include "apps/http/http_html.h"
#include "apps/http/http_query.h"
#include "net/capture/capture_file.h"

enum { RECORDS = 8 }; /* that a piece looks at */

static bool asked(const struct gw *gw, const char *query, struct capture_what *what)
{
	char of[HTTP_QUERY], end[HTTP_QUERY];
	http_query_value(query, "of", of);
	http_query_value(query, "end", end);
	return capture_what_parse(gw, of, end, what);
}

uint32_t http_capture_status(const struct gw *gw, const char *query)
{
	struct capture_what what;
	return !gw->capture ? 404 : asked(gw, query, &what) ? 200 : 400;
}

/* --- the file --------------------------------------------------------------------------------- */

static bool begin(struct gw *gw, struct http_job *job, struct http_out *o)
{
	http_put(o, (const char *)gw->capture->file, capture_file_begin(gw));
	o->cost += 2;
	job->step = 1;
	job->cursor = gw->capture->begin;
	job->n = gw->capture->first;
	job->hint = gw->capture->n; /* later packets are not in the file */
	return true;
}

bool http_capture_file(struct gw *gw, struct http_job *job, struct http_out *o)
{
	struct capture_what what;
	if (job->step == 0)
		return begin(gw, job, o);
	if (!asked(gw, job->query, &what))
		return false; /* an interface is there no more */
	for (uint32_t i = 0; i < RECORDS; i++) {
		uint32_t lost;
		struct capture_place place = {job->cursor, job->n};
		const struct capture_record *r = capture_next(gw->capture, &place, &lost);
		o->cost++;
		if (!r || r->number - job->hint < 1u << 31)
			return false;
		bool wanted = capture_selects(&what, r);
		uint32_t n = wanted ? capture_file_packet(gw, r, lost) : 0;
		if (n > http_out_room(o))
			return true;
		http_put(o, (const char *)gw->capture->file, n);
		o->cost += wanted;
		job->cursor = place.at;
		job->n = place.number;
	}
	return true;
}

/* --- the page --------------------------------------------------------------------------------- */

static bool now(struct gw *gw, struct http_job *job, struct http_out *o)
{
	char line[160];
	uint32_t cursor = 0;
	capture_show(gw, "", &cursor, line, sizeof line);
	http_html_line(job, o, line, false);
	o->cost++;
	return false;
}

static const char form_begin[] =
        "<form action=\"/capture.pcapng\" method=\"get\">\n<label for=\"of\">Packets</label>\n"
        "<select id=\"of\" name=\"of\">\n<option value=\"all\">all interfaces</option>\n"
        "<option value=\"drops\">dropped</option>\n";
static const char form_end[] =
        "</select>\n<label for=\"end\">Address</label>\n"
        "<input id=\"end\" name=\"end\" maxlength=\"48\" placeholder=\"192.168.1.10:5000\" "
        "autocomplete=\"off\" spellcheck=\"false\">\n<button type=\"submit\">Download</button>\n"
        "</form>\n<p class=\"quiet\">The file is for Wireshark or tshark. It holds what users send "
        "and receive, but no packets of this server. The console command capture chooses what is "
        "kept.</p>\n";

/* The form, where there is something to download. */
static bool form(struct gw *gw, struct http_job *job, struct http_out *o)
{
	(void)job;
	o->cost++;
	if (!gw->capture)
		return false;
	http_put(o, form_begin, sizeof form_begin - 1);
	for (uint32_t i = 0; i < gw->n_iface; i++) {
		http_print(o, "<option>");
		http_out_html(o, gw->iface[i].name);
		http_print(o, "</option>\n");
	}
	http_put(o, form_end, sizeof form_end - 1);
	return false;
}

const struct http_slot http_capture_slots[HTTP_CAPTURE_SLOTS] = {
        {"head", http_html_head},
        {"now", now},
        {"form", form},
};
