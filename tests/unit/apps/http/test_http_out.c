/* apps/http/http_out.c: escapes, and the end of a piece. */
#include "apps/http/http_out.h"
#include "tests/tap.h"

static struct http_out o;

static bool holds(const char *text)
{
	bool same = o.n == strlen(text) && memcmp(o.frame + HTTP_CHUNK, text, o.n) == 0;
	o.n = 0;
	return same;
}

static void html(void)
{
	http_out_html(&o, "a<b>&\"c'\x01\x7f\xe4z");
	CHECK(holds("a&lt;b&gt;&amp;&quot;c&#39;???z"));
}

static void json(void)
{
	http_out_json(&o, "a\"b\\c\n<\xff>");
	CHECK(holds("\"a\\\"b\\\\c\\u000a\\u003c?\\u003e\""));
}

/* What is too long ends whole: no half of an escape, and the string has its end. */
static void full(void)
{
	static char text[2 * HTTP_PIECE];
	memset(text, '<', sizeof text - 1);
	http_out_html(&o, text);
	CHECK(o.n < HTTP_PIECE && o.n % 4 == 0);
	o.n = 0;
	http_out_json(&o, text);
	CHECK(o.n < HTTP_PIECE && o.frame[HTTP_CHUNK + o.n - 1] == '"' && (o.n - 2) % 6 == 0);
	memset(text, 'x', sizeof text - 1);
	http_print(&o, "%s", text);
	http_put(&o, text, sizeof text);
	CHECK(o.n == HTTP_PIECE - 1);
}

int main(void)
{
	TEST(html);
	TEST(json);
	TEST(full);
	return tap_done();
}
