/* Lines in the log about states in which nothing works and nothing else says why. */
#ifndef NET_STATS_NOTICE_H
#define NET_STATS_NOTICE_H

#include "net/gw.h"

/* Looks for silent states: a default router that does not answer or answers again, a packet without
 * a route while there is no default router. Costs no more than a walk over the routes. Called ten
 * times a second. */
void notice_tick(struct gw *gw);

/* A station asks on an interface for the MAC address of `target`. Says so where that is our address
 * on another interface: the cables may be swapped. */
void notice_request(struct gw *gw, uint32_t iface, ip4 sender, ip4 target);

#endif
