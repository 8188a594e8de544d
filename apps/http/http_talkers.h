/* Top talkers: the inside hosts with the most sessions. A table of hosts may be long, so each call
 * looks at some of its places. All clients share one search and its result. */
#ifndef APPS_HTTP_HTTP_TALKERS_H
#define APPS_HTTP_HTTP_TALKERS_H

#include "apps/http/http_page.h"
#include "kernel/lib/addr.h"

#define HTTP_TALKERS 10u

struct http_talker {
	struct prefix host; /* an address, or the /64 that counts as one host */
	uint32_t sessions;
};

/* All zeros at first. */
struct http_talkers {
	uint64_t end_us; /* when the last search ended; 0: never */
	bool running;
	uint64_t moved_us; /* when the one that is under way last went on */
	uint32_t cursor;
	uint32_t n_found, n; /* of the search that is under way; of the last one */
	struct http_talker found[HTTP_TALKERS], shown[HTTP_TALKERS]; /* most sessions first */
};

/* Goes on with the search; true while the caller has to come back. False: `shown` is not older
 * than this page or than a second, or, where the search takes long, is that of the search before.
 */
bool http_talkers_search(const struct gw *gw, struct http_talkers *t, struct http_job *job,
                         struct http_out *o);

/* Goes on with a search whose pages have not waited for it, or are gone. */
void http_talkers_tick(struct gw *gw, struct http_talkers *t);

/* True for one address, false for a /64. */
static inline bool http_talkers_is_one(const struct http_talker *t)
{
	return t->host.len == (t->host.addr.is6 ? 128 : 32);
}

/* Writes ADDRESS, or ADDRESS/64, into buf. Gives buf. */
const char *http_talkers_text(char buf[FMT_IP6 + 4], const struct http_talker *t);

#endif
