/* See http_html.h. */
#include "apps/http/http_html.h"

#include "apps/http/http_facts.h"

bool http_html_head(struct gw *gw, struct http_job *job, struct http_out *o)
{
	static const struct {
		const char *path, *title;
	} link[] = {{"/", "Status"},         {"/sessions", "Sessions"},
	            {"/leases", "Leases"},   {"/config", "Configuration"},
	            {"/capture", "Capture"}, {"/help", "Help"}};
	char host[HTTP_FACT];
	http_facts_value(gw, "hostname", 0, host);
	http_print(o, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	              "<meta name=\"viewport\" content=\"width=device-width, "
	              "initial-scale=1\">\n<title>");
	http_out_html(o, host);
	for (uint32_t i = 0; i < ARRAY_SIZE(link); i++)
		if (strcmp(link[i].path, job->page->path) == 0)
			http_print(o, ": %s", link[i].title);
	http_print(o, "</title>\n<link rel=\"icon\" href=\"/icon.svg\" type=\"image/svg+xml\">\n"
	              "<link rel=\"stylesheet\" href=\"/style.css\">\n</head>\n<body>\n<header>\n"
	              "<nav aria-label=\"Pages\"><ul>\n");
	for (uint32_t i = 0; i < ARRAY_SIZE(link); i++)
		http_print(o, "<li><a href=\"%s\"%s>%s</a></li>\n", link[i].path,
		           strcmp(link[i].path, job->page->path) ? "" : " aria-current=\"page\"",
		           link[i].title);
	http_print(o, "</ul></nav>\n</header>");
	o->cost += 2;
	return false;
}

void http_html_line(struct http_job *job, struct http_out *o, const char *line, bool strong)
{
	if (!line[0])
		return;
	http_print(o, strong ? "<li><strong>" : "<li>");
	http_out_html(o, line);
	http_print(o, strong ? "</strong></li>\n" : "</li>\n");
	job->n++;
}

bool http_html_end(struct http_job *job, struct http_out *o, const char *if_none)
{
	if (job->n == 0)
		http_print(o, "<li>%s</li>\n", if_none);
	return false;
}
