/* Names that DNS64 answers itself: ipv4only.arpa, by which clients find the prefix (RFC 7050, RFC
 * 8880 section 7.1), and names under ip6.arpa of synthesised addresses (RFC 6147 section 5.3.1, the
 * second way: a CNAME to the name under in-addr.arpa, where there are PTR records). */
#ifndef APPS_DNS64_POLICY_DNS64_REVERSE_H
#define APPS_DNS64_POLICY_DNS64_REVERSE_H

#include "apps/dns64/policy/dns64_policy.h"

/* The two addresses of ipv4only.arpa (host order), its name, and the TTL of its records. */
#define DNS64_WKA_1   0xc00000aau
#define DNS64_WKA_2   0xc00000abu
#define DNS64_WKN     "\10ipv4only\4arpa"
#define DNS64_WKN_LEN 15u
#define DNS64_WKN_TTL 3600u

/* Plans the answer about such a name. False: it is no such name; p->exists is then set if such
 * names lie below it. */
bool dns64_reverse_plan(const struct dns64_policy *y, struct dns64_query *u, struct dns64_plan *p);

#endif
