/* Lines in the log about states in which nothing works and nothing else says why. */
#ifndef NET_STATS_NOTICE_H
#define NET_STATS_NOTICE_H

#include "kernel/lib/addr.h"
#include "net/interface.h"

#define NOTICE_ROUTERS 8u
#define NOTICE_MS      60000u /* between two lines of one kind */

struct gw;

/* What was said. All zeros at first. */
struct notice {
	uint64_t drops_seen;     /* of the list of dropped frames */
	uint64_t no_route_us[2]; /* of log_limited: IPv4, IPv6 */
	uint64_t swapped_us[INTERFACES];
	struct addr silent[NOTICE_ROUTERS]; /* default routers of which the log says that they do
	                                     * not answer */
	uint32_t n_silent;
};

/* Looks for silent states: a default router that does not answer or answers again, a packet without
 * a route while there is no default router. Costs no more than a walk over the routes. Called ten
 * times a second. */
void notice_tick(struct gw *gw);

/* A station asks on an interface for the MAC address of `target`. Says so where that is our address
 * on another interface: the cables may be swapped. */
void notice_request(struct gw *gw, uint32_t iface, ip4 sender, ip4 target);

#endif
