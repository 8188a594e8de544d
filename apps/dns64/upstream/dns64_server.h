/* The upstream servers: which one is asked next, how long to wait for its answer, which are down.
 *
 * A server is down when it left several attempts in a row unanswered and was silent for some time.
 * While other names are answered, a name that no server answers for therefore takes none of them
 * down. A server that is down is used only when all are, or as a second one beside a healthy one,
 * at longer and longer intervals. It is gone when it stays down for a while although it is asked:
 * names that no server answers for may take a server down, but only for a short time. */
#ifndef APPS_DNS64_UPSTREAM_DNS64_SERVER_H
#define APPS_DNS64_UPSTREAM_DNS64_SERVER_H

#include "apps/dns64/shared/dns64_parts.h"
#include "net/setup/net_keys.h"
#include "net/udp/udp_path.h"

#define DNS64_PLAIN_S                                                               \
	600u /* seconds for which a server gets no OPT, or its case is not compared \
	      */

struct dns64_server {
	struct addr addr;
	bool is_named; /* a place for one that routers (RFC 8106) or the lease of the WAN name … */
	bool absent;   /* … and there is none: it counts as down */
	struct udp_path path;     /* to it, where it holds */
	uint32_t srtt_us, var_us; /* RFC 6298; srtt 0: not known yet */
	uint32_t missed;          /* attempts in a row that were not answered in time */
	bool down;
	uint64_t answer_us; /* when the last answer came */
	uint64_t probe_us;  /* while down: when to probe it next */
	uint32_t probe_gap_us;
	uint32_t down_s;   /* while down: since when */
	uint32_t missed_s; /* when an attempt was last not answered in time */
	uint32_t plain_s;  /* it does not know OPT and gets none until then; 0: it gets OPT */
	uint32_t case_s;   /* the case of names is not compared until then; 0: it is compared */
	uint8_t case_lost; /* answers with another case that no right one followed */
	uint64_t asked, answered;
};

struct dns64_servers {
	struct dns64_server server[NET_SERVERS];
	uint32_t n;
	uint32_t n_up;     /* servers that are not down */
	uint32_t next;     /* for round-robin */
	uint32_t followed; /* changes of what is named, when dns64_server_follow last ran */

	/* From the configuration. */
	bool round_robin;
	uint32_t attempt_us; /* longest wait for an answer */
	uint32_t n_attempts; /* of one fetch, at most */
	uint32_t fetch_us;   /* all attempts of a fetch together */

	/* Of all servers together, for the counters dns_upstream_*. */
	uint64_t asked, answered, timeouts, forged;
};

static inline struct dns64_servers *dns64_servers_of(const struct gw *gw)
{
	return dns64_parts_of(gw)->servers;
}

/* The server for the next attempt of a fetch that has tried the servers `tried` (a bit each). It is
 * one of these only if there is no other. dns64_server_choose is the general case. */
uint32_t dns64_server_choose(struct gw *gw, uint32_t tried);
static inline uint32_t dns64_server_pick(struct gw *gw, uint32_t tried)
{
	return dns64_servers_of(gw)->n == 1 ? 0 : dns64_server_choose(gw, tried);
}

/* A server that is down and whose next probe is due, with the following probe scheduled;
 * DNS64_NONE: there is none. dns64_server_due_probe is the general case. */
uint32_t dns64_server_due_probe(struct gw *gw);
static inline uint32_t dns64_server_probe(struct gw *gw)
{
	const struct dns64_servers *s = dns64_servers_of(gw);
	return LIKELY(s->n_up == s->n) || s->n_up == 0 ? DNS64_NONE : dns64_server_due_probe(gw);
}

/* True when all servers have been down for a while, and attempts failed until a moment ago. */
bool dns64_server_all_gone(const struct gw *gw);

/* Microseconds to wait for the answer to attempt number n (from 0) at a server: longer with each
 * attempt, attempt_us at most. */
uint32_t dns64_server_wait_us(const struct gw *gw, uint32_t server, uint32_t n);

/* Makes room for `n` servers that routers or the lease of the WAN name; there are none yet. */
void dns64_server_expect(struct dns64_servers *all, uint32_t n);

/* Takes the servers that routers and the lease of the WAN name now into the places for them. A
 * server that stays keeps its place. Called in each tick. */
void dns64_server_follow(struct gw *gw);

/* Notes that a server answered, after so many microseconds. */
void dns64_server_answered(struct gw *gw, uint32_t server, uint32_t rtt_us);

/* Notes that a server did not answer an attempt in time. */
void dns64_server_missed(struct gw *gw, uint32_t server);

#endif
