/* Addresses and routes that follow from the router advertisements of the WAN (`wan.address auto`).
 *
 * Not implemented on purpose: redirects, temporary addresses (RFC 8981). DHCPv6 is in net/dhcp6. */
#ifndef NET_AUTOCONF_AUTOCONF_H
#define NET_AUTOCONF_AUTOCONF_H

#include "net/gw.h"
#include "net/stats/count.h"

/* Runs the timers: asks for routers, watches those that there are, and makes addresses and routes
 * as the table has them (gw_change.h). Called ten times a second. */
void autoconf_tick(struct gw *gw);
/* True while it asks for a router. */
static inline bool autoconf_is_busy(const struct gw *gw)
{
	return gw->autoconf.on && gw->autoconf.solicit_us != 0;
}

/* Writes one line of the listing `addresses` into buf and moves the cursor, which is 0 at first;
 * false behind the last line: our addresses on all interfaces, then what routers of the WAN say. An
 * empty line is not to be printed. In autoconf_show.c. */
bool autoconf_show(struct gw *gw, uint32_t *cursor, char *buf, size_t size);

extern const struct count_table autoconf_counts;

#endif
