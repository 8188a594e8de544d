/* Clients over TCP (RFC 7766). */
#ifndef APPS_DNS64_CLIENT_DNS64_STREAM_H
#define APPS_DNS64_CLIENT_DNS64_STREAM_H

#include "apps/dns64/shared/dns64_parts.h"
#include "net/tcp/tcp.h"

/* A client's connection. */
struct dns64_stream {
	uint32_t conn;        /* TCP_NONE: there is none */
	uint32_t query_s;     /* when the last query came */
	uint32_t n_waiting;   /* queries without an answer */
	uint16_t first, last; /* of the pending queries that are held back; DNS64_NONE: none */
};

struct dns64_streams {
	struct dns64_stream *stream; /* by number of the connection, modulo TCP_CONNECTIONS */
	uint8_t *query, *reply;      /* memory for one message each, and its length before it */
	uint64_t queries;
};

static inline struct dns64_streams *dns64_streams_of(const struct gw *gw)
{
	return dns64_parts_of(gw)->streams;
}

/* Allocates memory and serves the port; NULL, or what is wrong. */
const char *dns64_stream_init(struct gw *gw, struct dns64_streams *all, uint16_t port);

#endif
