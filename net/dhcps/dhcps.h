/* The DHCPv4 server of the inside (`lan.dhcp`): RFC 2131 section 4.3. It needs no disk: a client
 * that asks for an address after a restart gets it if nobody else has it.
 *
 * Not implemented on purpose: BOOTP (RFC 951), rapid commit (RFC 4039), DHCPFORCERENEW (RFC 3203),
 * pools of networks that are not ours. */
#ifndef NET_DHCPS_DHCPS_H
#define NET_DHCPS_DHCPS_H

#include "net/dhcps/dhcps_ask.h"
#include "net/stats/count.h"

/* Handles a client's message of `len` bytes. Gives DROP_NONE, or why there is no answer. */
enum drop dhcps_take(struct gw *gw, struct dhcps_ask *ask, uint32_t len);

/* A station on an inside interface has an address. */
void dhcps_heard(struct gw *gw, uint32_t iface, ip4 addr, const mac *station);

/* True when a client has the lease of an address now; then *station is the client's MAC address. */
bool dhcps_holder(const struct gw *gw, ip4 addr, mac *station) MUST_USE;

/* Answers the clients whose addresses nobody else has. Called ten times a second. */
void dhcps_tick(struct gw *gw);

/* True while clients wait. */
static inline bool dhcps_is_busy(const struct gw *gw)
{
	return gw->dhcps && gw->dhcps->n_probes > 0;
}

/* Writes one line into buf for the listing `leases`, of the client of the WAN and then of the
 * server, and moves the cursor, which is 0 at first; false behind the last line. An empty line
 * means that a bounded search has found nothing yet. In dhcps_show.c. */
bool dhcps_show_leases(struct gw *gw, uint32_t *cursor, char *buf, size_t size);

extern const struct count_table dhcps_counts;

#endif
