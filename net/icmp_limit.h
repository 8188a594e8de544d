/* Limits on the ICMP and ICMPv6 errors that the gateway sends (RFC 1812 section 4.3.2.8, RFC 4443
 * section 2.4 (f)): of each kind 1000 a second in bursts of 100, of which one addressee gets a
 * quarter of the rate and half of the burst. */
#ifndef NET_ICMP_LIMIT_H
#define NET_ICMP_LIMIT_H

#include "kernel/lib/rng.h"

#define ICMP_LIMIT_CLIENTS 256u /* a power of two */

/* Kinds of ICMP errors, by what their loss costs: a connection stalls without packet-too-big; the
 * loss of any other error only delays a report. */
enum icmp_limit_kind { ICMP_LIMIT_TOO_BIG, ICMP_LIMIT_OTHER, ICMP_LIMIT_KINDS };

/* The token buckets of one kind of error: for all addressees together and for each. A value is the
 * time at which the bucket is full again (bucket.h). */
struct icmp_limit {
	uint64_t all_us;
	uint64_t one_us[ICMP_LIMIT_CLIENTS]; /* by the number of a client (client.h) */
};

/* Takes one error to a client (client.h) off the budget of its kind; false when it may not be sent
 * now, and nothing is taken then. */
bool icmp_limit_take(struct icmp_limit *kind, struct rng *rng, uint64_t now_us,
                     uint32_t client) MUST_USE;

#endif
