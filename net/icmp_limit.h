/* Limits on the ICMP and ICMPv6 errors that the gateway sends (RFC 1812 section 4.3.2.8, RFC 4443
 * section 2.4 (f)): each kind has a budget of 1000 units a second and 100 at once. One addressee
 * gets 250 a second and 50 at once. An error costs one or two units, at random. */
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

/* Takes the cost of one error (one or two units) to a client (client.h) off the budget of its kind.
 * False when the budget is too small: then nothing is taken, and the error must not be sent. */
bool icmp_limit_take(struct icmp_limit *kind, struct rng *rng, uint64_t now_us,
                     uint32_t client) MUST_USE;

#endif
