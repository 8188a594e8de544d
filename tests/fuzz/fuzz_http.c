/* Fuzzer: any bytes as a stream of HTTP requests. However the stream is cut, the same requests are
 * read from it, the same bytes belong to them, and what is read is what other parsers would read:
 * the target stands in the stream, nothing in it ends a line. */
#include "apps/http/http_request.h"
#include "tests/fuzz/must.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct http_request *r)
{
	MUST(r->target[0] == '/' && strlen(r->target) < HTTP_TARGET);
	for (const char *c = r->target; *c; c++)
		MUST(*c > ' ' && *c < 127);
	for (const char *c = r->host; *c; c++)
		MUST(*c > ' ' && *c < 127 && *c != '/' && *c != '@' && *c != '"' && *c != '<');
	for (const char *c = r->origin; *c; c++)
		MUST(*c != '\r' && *c != '\n');
	MUST(r->old || r->host[0]);
	MUST(!r->has_body && r->n_codings == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2)
		return 0;
	const char *text = (const char *)data + 1;
	uint32_t step = data[0] % 64u + 1, len = (uint32_t)size - 1;
	for (uint32_t at = 0; at < len;) {
		struct http_request whole = {.state = 0}, cut = {.state = 0};
		uint32_t used = 0, n = 0, all = 0;
		uint32_t status = http_request_read(&whole, text + at, len - at, &all);
		MUST(all <= len - at);
		uint32_t again = 0;
		while (!again && n < len - at) {
			uint32_t part = len - at - n < step ? len - at - n : step;
			again = http_request_read(&cut, text + at + n, part, &used);
			MUST(used <= part);
			n += used;
		}
		MUST(again == status && n == all && memcmp(&whole, &cut, sizeof cut) == 0);
		MUST(all <= HTTP_HEAD_MOST + 1);
		if (status != 200)
			break;
		check(&whole);
		at += all;
	}
	return 0;
}
