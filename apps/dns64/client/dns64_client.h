/* Messages of clients: what a message is, whether its client may query, and what becomes of it.
 * Nothing here knows how the message came. */
#ifndef APPS_DNS64_CLIENT_DNS64_CLIENT_H
#define APPS_DNS64_CLIENT_DNS64_CLIENT_H

#include "apps/dns64/client/dns64_reply.h"
#include "apps/dns64/shared/dns64_parts.h"
#include "apps/dns64/shared/dns64_sizes.h"

struct dns64_clients {
	/* From the configuration. */
	uint16_t port;                     /* for queries */
	uint32_t size_max;                 /* bytes of an answer over UDP */
	bool debug;                        /* a log line for each query */
	struct prefix skip[DNS64_CLIENTS]; /* nothing is synthesised for these clients */
	uint32_t n_skip;

	uint64_t said_us; /* when the last log line about a query was written */
	/* Counters. */
	uint64_t queries, answers, hits, formerr, notimp, refused, badvers;
};

static inline struct dns64_clients *dns64_clients_of(const struct gw *gw)
{
	return dns64_parts_of(gw)->clients;
}

/* True when nothing is synthesised for a client. */
static inline bool dns64_client_skips(const struct dns64_clients *c, const struct addr *a)
{
	return c->n_skip && addr_in_prefixes(a, c->skip, c->n_skip);
}

/* Handles a message of `len` bytes from a client, at m in memory of `room` bytes, UDP_ROOM at
 * least. Gives the length of the answer that m then holds. 0: there is no answer; *why says why the
 * message is dropped, or DROP_NONE when the answer comes later. */
uint32_t dns64_client_query(struct gw *gw, const struct dns64_client *from, uint8_t *m,
                            uint32_t len, uint32_t room, enum drop *why);

#endif
