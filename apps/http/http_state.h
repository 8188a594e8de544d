/* The state of the service. */
#ifndef APPS_HTTP_HTTP_STATE_H
#define APPS_HTTP_HTTP_STATE_H

#include "apps/http/http_page.h"
#include "apps/http/http_rates.h"
#include "apps/http/http_request.h"
#include "apps/http/http_talkers.h"
#include "net/tcp/tcp.h"

#ifndef HTTP_CONNECTIONS
#define HTTP_CONNECTIONS 64u
#endif
#define HTTP_OF_CLIENT 8u /* connections of one client (client.h) */

enum http_state {
	HTTP_FREE,
	HTTP_READING,
	HTTP_ANSWERING,
	HTTP_LINGERING, /* the answer is written, and the connection ends when the client has it */
};

struct http_conn {
	uint32_t conn; /* of tcp.h */
	uint32_t client;
	uint8_t state;        /* enum http_state */
	bool ready;           /* there may be something to do */
	bool close;           /* the connection ends after this answer */
	bool chunked, bare;   /* how the body is sent; it has none */
	uint32_t unpushed;    /* bytes written since tcp_push */
	uint64_t deadline_us; /* of the state */
	struct http_request request;
	const struct http_page *page; /* that is written; NULL: all is */
	struct http_job job;
};

struct http {
	struct http_conn conn[HTTP_CONNECTIONS];
	uint32_t next;       /* whose turn it is */
	uint32_t n;          /* in use */
	uint64_t checked_us; /* when the deadlines were last looked at */
	uint64_t requests, errors;
	struct http_out out;
	struct http_rates rates;
	struct http_talkers talkers;
};

struct http *http_of(const struct gw *gw);

#endif
