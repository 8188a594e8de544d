/* What routers of the WAN have advertised: entries with their ends, in tables of fixed size. Pure:
 * it knows no packet and changes no address or route of the gateway.
 *
 * Who may advertise cannot be known. So new entries are limited in number and in time, what
 * is known stays before what is new, and only what a router advertised that does not answer, or
 * that is gone, is replaced. What finds no room counts in `refused`.
 *
 * Lifetimes are in seconds, UINT32_MAX: for ever; `now` is in microseconds. */
#ifndef NET_AUTOCONF_AUTOCONF_TABLE_H
#define NET_AUTOCONF_AUTOCONF_TABLE_H

#include "net/autoconf/autoconf_state.h"

/* Charges the budget of changes: 32 at once, one a second. False, and counted, when it is used up.
 */
bool autoconf_table_may_change(struct autoconf *a, uint64_t now);

/* Takes a router as default router for `lifetime` seconds; 0: it is none from now on (RFC 4861
 * section 6.3.4). */
void autoconf_table_router(struct autoconf *a, uint64_t now, const ip6 *router, uint32_t lifetime,
                           enum autoconf_rank rank);

/* Takes a prefix as one of the link; 0: it is not from now on. */
void autoconf_table_on_link(struct autoconf *a, uint64_t now, const ip6 *router, const ip6 *net,
                            uint8_t len, uint32_t valid);

/* Takes a prefix of 64 bits for an address of ours (RFC 4862 section 5.5.3); preferred <= valid.
 * A lifetime of two hours or less shortens that of a known address only as section 5.5.3 (e) says.
 */
void autoconf_table_address(struct autoconf *a, uint64_t now, const ip6 *router, const ip6 *net,
                            uint32_t valid, uint32_t preferred);

/* Takes a route to a network behind a router; 0: it ends (RFC 4191 section 2.3). */
void autoconf_table_route(struct autoconf *a, uint64_t now, const ip6 *router, const ip6 *net,
                          uint8_t len, uint32_t lifetime, enum autoconf_rank rank);

/* Take a DNS server (RFC 8106 section 5.1) and a PREF64 (RFC 8781 section 4); 0: it ends. */
void autoconf_table_server(struct autoconf *a, uint64_t now, const ip6 *router, const ip6 *server,
                           uint32_t lifetime);
void autoconf_table_pref64(struct autoconf *a, uint64_t now, const ip6 *router, const ip6 *net,
                           uint8_t len, uint32_t lifetime);

/* A station says that it is no router any more (RFC 4861 section 7.2.5). */
void autoconf_table_no_router(struct autoconf *a, const ip6 *station);

/* Removes what has ended. */
void autoconf_table_expire(struct autoconf *a, uint64_t now);

/* Removes everything but counters. */
void autoconf_table_clear(struct autoconf *a);

/* Writes the routes that should be in force, 1 + AUTOCONF_ROUTES at most, and gives their number:
 * for each network that of the best router, one that answers before one that does not, then by
 * preference, then the one known longer (RFC 4861 section 6.3.6, RFC 4191 section 3.2). */
uint32_t autoconf_table_hops(const struct autoconf *a, struct autoconf_hop *out);

/* True when a router has a default route for us. */
bool autoconf_table_has_default(const struct autoconf *a);

/* Seconds until a time, UINT32_MAX: for ever. */
uint32_t autoconf_table_left(uint64_t now, uint64_t until_us);

#endif
