/* Pass-through: queries that are sent to a server as they are, and their answers.
 *
 * These are signed queries (TSIG, SIG(0)) and zone transfers. A client that signs does not want its
 * message changed (RFC 5625 section 4.5, RFC 8945 section 5.5); only the ID may change, which the
 * signature does not cover. */
#ifndef APPS_DNS64_CLIENT_DNS64_PASSTHROUGH_H
#define APPS_DNS64_CLIENT_DNS64_PASSTHROUGH_H

#include "apps/dns64/client/dns64_reply.h"
#include "apps/dns64/message/dns_message.h"
#include "apps/dns64/policy/dns64_policy.h"
#include "apps/dns64/upstream/dns64_conn.h"

struct dns64_passthrough {
	uint8_t message[1280]; /* the query, from its header on */
	uint16_t len;          /* 0: free */
	struct dns64_client from;
	uint16_t port; /* ours; 0: over TCP */
	uint16_t id, client_id, limit, n_attempts;
	bool edns, dnssec; /* the query has OPT, with DO */
	bool tcp;          /* under way over TCP, with this ID */
	uint8_t server;
	uint8_t share; /* of its client (dns64_pending_share) */
	uint32_t begun_us;
};

struct dns64_passthroughs {
	struct dns64_passthrough *entry;
	uint8_t udp_handler;
	uint64_t begun; /* since the start */
};

static inline struct dns64_passthroughs *dns64_passthroughs_of(const struct gw *gw)
{
	return dns64_parts_of(gw)->passthroughs;
}

/* Allocates the table; false when memory is short. */
bool dns64_passthrough_init(struct gw *gw, struct dns64_passthroughs *all) MUST_USE;

/* Passes a query on. False: it cannot be. */
bool dns64_passthrough_begin(struct gw *gw, struct dns_view m, const struct dns64_query *u,
                             const struct dns64_client *from) MUST_USE;

/* The timer of an entry. */
void dns64_passthrough_due(struct gw *gw, uint32_t i);

#endif
