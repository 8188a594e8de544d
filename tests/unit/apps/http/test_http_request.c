/* apps/http/http_request.c: whatever way the bytes of a head are cut, the result is the same; what
 * a head may be, and what is left of the stream behind it. */
#include "apps/http/http_request.h"
#include "tests/tap.h"

#define HOST "Host: 192.168.1.1\r\n"

static struct http_request r;

/* Reads a text in pieces of n bytes; gives the status, and how many bytes were read. */
static uint32_t read_in(const char *text, size_t len, uint32_t n, uint32_t *total)
{
	uint32_t status = 0, used = 0;
	memset(&r, 0, sizeof r);
	*total = 0;
	for (size_t at = 0; at < len && !status; at += used, *total += used)
		status = http_request_read(&r, text + at, min_u32(n, (uint32_t)(len - at)), &used);
	return status;
}

static uint32_t read_all(const char *text)
{
	uint32_t total;
	return read_in(text, strlen(text), 1u << 16, &total);
}

static void pieces(void)
{
	static const char *const text[] = {
	        "GET /a?b HTTP/1.1\r\n" HOST "Connection: close\r\n\r\nGET /",
	        "\r\nHEAD http://box:80 HTTP/1.0\r\n\r\n",
	        "GET / HTTP/1.1\r\n" HOST HOST "\r\n",
	        "GET / HTTP/1.1\r\n" HOST "Content-Length: 1\r\n\r\nx",
	};
	for (uint32_t i = 0; i < ARRAY_SIZE(text); i++) {
		uint32_t total, all;
		uint32_t status = read_in(text[i], strlen(text[i]), 1u << 16, &all);
		struct http_request whole = r;
		for (uint32_t n = 1; n < 40; n++) {
			CHECK(read_in(text[i], strlen(text[i]), n, &total) == status);
			CHECK(total == all && memcmp(&whole, &r, sizeof r) == 0);
		}
	}
}

static void contents(void)
{
	uint32_t total;
	const char *two = "GET /x?y=z HTTP/1.1\r\nhOsT:box\r\nOrigin: http://box\r\n\r\nGET /";
	CHECK(read_in(two, strlen(two), 64, &total) == 200 && total == strlen(two) - 5);
	CHECK(strcmp(r.target, "/x?y=z") == 0 && strcmp(r.host, "box") == 0);
	CHECK(strcmp(r.origin, "http://box") == 0 && !r.close && !r.old && r.method == HTTP_GET);
	CHECK(read_all("HEAD http://a/b HTTP/1.1\r\nHost: c\r\nConnection: x, Close\r\n\r\n") ==
	      200);
	CHECK(strcmp(r.target, "/b") == 0 && strcmp(r.host, "a") == 0 && r.close);
	CHECK(r.method == HTTP_HEAD);
	CHECK(read_all("GET http://a HTTP/1.1\r\nHost: c\r\n\r\n") == 200 &&
	      !strcmp(r.target, "/"));
	CHECK(read_all("GET / HTTP/1.0\r\n\r\n") == 200 && r.old && r.close && !r.host[0]);
	CHECK(read_all("GET / HTTP/1.7\r\n" HOST "Connection: closed\r\n\r\n") == 200 && !r.close);
}

/* A line ends with CR LF alone. */
static void ends(void)
{
	CHECK(read_all("GET / HTTP/1.1\r\nHost: a\rXY: z\r\n\r\n") == 400);
	CHECK(read_all("GET / HTTP/1.1\nHost: a\r\n\r\n") == 400);
	CHECK(read_all("GET / HTTP/1.1\r\nHost: a\n\r\n") == 400);
	CHECK(read_all("GET / HTTP/1.1\r\nHost: a\r\n\n") == 400);
	CHECK(read_all("GET / HTTP/1.1\r\nHost: a\r\n\rX") == 400);
}

static void empty(void)
{
	CHECK(read_all("") == 0 && http_request_is_empty(&r));
	CHECK(read_all("\r\n") == 0 && http_request_is_empty(&r));
	CHECK(read_all("G") == 0 && !http_request_is_empty(&r));
	CHECK(read_all("\r\n\r\n") == 400);
}

/* Heads of each length up to the bound and one byte more. */
static void longest(void)
{
	static char text[HTTP_HEAD_MOST + 64];
	const char *begin = "GET / HTTP/1.1\r\n" HOST "X: ";
	uint32_t total;
	size_t n = strlen(begin);
	memset(text, 'a', sizeof text);
	memcpy(text, begin, n);
	memcpy(text + HTTP_HEAD_MOST - 4, "\r\n\r\n", 4);
	CHECK(read_in(text, HTTP_HEAD_MOST, 100, &total) == 200 && total == HTTP_HEAD_MOST);
	memset(text + n, 'a', sizeof text - n);
	CHECK(read_in(text, sizeof text, 100, &total) == 431 && total == HTTP_HEAD_MOST + 1);
}

static void target(void)
{
	static char text[2 * HTTP_TARGET];
	size_t most = HTTP_TARGET - 1;
	memset(text, 'a', sizeof text);
	memcpy(text, "GET /", 5);
	strcpy(text + 4 + most, " HTTP/1.1\r\n" HOST "\r\n");
	CHECK(read_all(text) == 200 && strlen(r.target) == most);
	memset(text + 4, 'a', most + 1);
	text[4] = '/';
	strcpy(text + 4 + most + 1, " HTTP/1.1\r\n" HOST "\r\n");
	CHECK(read_all(text) == 414);
}

int main(void)
{
	TEST(pieces);
	TEST(contents);
	TEST(ends);
	TEST(empty);
	TEST(longest);
	TEST(target);
	return tap_done();
}
