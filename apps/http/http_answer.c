/* See http_answer.h. Section numbers are those of RFC 9110. */
#include "apps/http/http_answer.h"

#include "apps/http/http_host.h"
#include "apps/http/http_pages.h"
#include "kernel/lib/wall.h"

/* What each answer tells a browser: keep nothing, guess no types, load nothing from elsewhere, and
 * be shown in no frame and to no other origin. */
static const char security[] = "Cache-Control: no-store\r\n"
                               "Content-Security-Policy: default-src 'none'; style-src 'self'; "
                               "script-src 'self'; img-src 'self'; connect-src 'self'; "
                               "form-action 'self'; base-uri 'none'; frame-ancestors 'none'\r\n"
                               "Cross-Origin-Resource-Policy: same-origin\r\n"
                               "Referrer-Policy: no-referrer\r\n"
                               "X-Content-Type-Options: nosniff\r\n"
                               "X-Frame-Options: DENY\r\n";

static const struct {
	uint16_t code;
	const char *reason;
} reasons[] = {
        {200, "OK"},
        {400, "Bad Request"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {408, "Request Timeout"},
        {413, "Content Too Large"},
        {414, "URI Too Long"},
        {417, "Expectation Failed"},
        {421, "Misdirected Request"},
        {431, "Request Header Fields Too Large"},
        {501, "Not Implemented"},
        {503, "Service Unavailable"},
        {505, "HTTP Version Not Supported"},
};

static const char *reason_of(uint32_t status)
{
	for (uint32_t i = 0; i < ARRAY_SIZE(reasons); i++)
		if (reasons[i].code == status)
			return reasons[i].reason;
	return "Error";
}

static void clear(struct http_out *o)
{
	o->n = 0;
	o->cost = 0;
}

/* Sends what is written, in front of which the size of a chunk has room. */
static bool send(struct gw *gw, struct http *h, struct http_conn *c, uint32_t skip)
{
	uint32_t n = HTTP_CHUNK - skip + h->out.n;
	if (!tcp_send(gw, c->conn, h->out.frame + skip, n))
		return false;
	c->unpushed += n;
	return true;
}

/* Section 6.6.1: only where the time is known. */
static void put_date(const struct gw *gw, struct http_out *o)
{
	static const char *const month[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
	                                    "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
	static const char *const day[] = {"Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"};
	char text[WALL_TEXT];
	uint64_t now = wall_at(gw->clock.us);
	if (!now)
		return;
	wall_text(text, now); /* 2026-11-23T17:30:00Z */
	uint32_t m = (uint32_t)(text[5] - '0') * 10 + (uint32_t)(text[6] - '0');
	uint32_t days = (uint32_t)(now / 86400000000u);
	http_print(o, "Date: %s, %.2s %s %.4s %.8s GMT\r\n", day[days % 7], text + 8,
	           month[(m - 1) % 12], text, text + 11);
}

static void put_head(const struct gw *gw, struct http_out *o, uint32_t status, const char *type)
{
	http_print(o, "HTTP/1.1 %u %s\r\n", status, reason_of(status));
	put_date(gw, o);
	http_put(o, security, sizeof security - 1);
	http_print(o, "Content-Type: %s\r\n", type);
	if (status == 405)
		http_print(o, "Allow: GET, HEAD\r\n");
}

static bool error(struct gw *gw, struct http *h, struct http_conn *c, uint32_t status)
{
	char text[64];
	size_t n = fmt(text, sizeof text, "%u %s\n", status, reason_of(status));
	h->errors++;
	clear(&h->out);
	put_head(gw, &h->out, status, "text/plain; charset=utf-8");
	http_print(&h->out, "Content-Length: %u\r\n%s\r\n", (uint32_t)n,
	           c->close ? "Connection: close\r\n" : "");
	if (!c->bare)
		http_put(&h->out, text, n);
	c->page = NULL;
	return send(gw, h, c, HTTP_CHUNK);
}

/* The query of a request for a page, as it came. */
static const char *query_of(const struct http_request *r, const struct http_page *p)
{
	const char *query = r->target + strlen(p->path);
	return query[0] ? query + 1 : "";
}

/* The status of a request whose form is right. */
static uint32_t judge(struct gw *gw, const struct http_conn *c)
{
	const struct http_request *r = &c->request;
	const struct udp_ends *ends = tcp_ends(gw, c->conn);
	/* A client of HTTP/1.0 without Host is no browser. */
	if (r->host[0] && (!ends || !http_host_is_ours(gw, &ends->local, r->host)))
		return 421;
	if (r->origin[0] && !http_host_is_origin(r->origin, r->host))
		return 403;
	const struct http_page *p = http_pages_find(r->target);
	return !p ? 404 : p->status ? p->status(gw, query_of(r, p)) : 200;
}

bool http_answer_begin(struct gw *gw, struct http *h, struct http_conn *c, uint32_t status)
{
	const struct http_request *r = &c->request;
	c->bare = status == 200 && r->method == HTTP_HEAD;
	c->close = status != 200 || r->close;
	h->requests++;
	c->page = NULL;
	if (status == 200) {
		status = judge(gw, c);
		c->page = status == 200 || status == 503 ? http_pages_find(r->target) : NULL;
	}
	if (!c->page)
		return error(gw, h, c, status);
	c->job = (struct http_job){.page = c->page};
	fmt(c->job.query, sizeof c->job.query, "%s", query_of(r, c->page));
	c->chunked = !r->old;
	clear(&h->out);
	put_head(gw, &h->out, status, c->page->type);
	http_print(&h->out, "%s%s\r\n", c->chunked ? "Transfer-Encoding: chunked\r\n" : "",
	           c->close ? "Connection: close\r\n" : "");
	if (c->bare)
		c->page = NULL;
	return send(gw, h, c, HTTP_CHUNK);
}

bool http_answer_more(struct gw *gw, struct http *h, struct http_conn *c)
{
	static const char digits[] = "0123456789abcdef";
	struct http_out *o = &h->out;
	clear(o);
	bool more = c->page->write(gw, &c->job, o);
	uint32_t n = o->n;
	if (!more)
		c->page = NULL;
	if (!c->chunked)
		return n == 0 || send(gw, h, c, HTTP_CHUNK);
	if (n) {
		for (uint32_t i = 0; i < 4; i++)
			o->frame[i] = digits[n >> (12 - 4 * i) & 15];
		o->frame[4] = '\r';
		o->frame[5] = '\n';
		o->frame[HTTP_CHUNK + n] = '\r';
		o->frame[HTTP_CHUNK + n + 1] = '\n';
		o->n += 2;
		if (!send(gw, h, c, 0))
			return false;
	}
	if (more)
		return true;
	o->n = 0;
	http_print(o, "0\r\n\r\n");
	return send(gw, h, c, HTTP_CHUNK);
}
