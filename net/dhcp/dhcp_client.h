/* The DHCP client of the WAN (`wan.address dhcp`): RFC 2131 section 4.4. It begins, asks, renews
 * and ends by itself, and never gives up. One lease is in force at a time (dhcp_use.h).
 *
 * Not implemented on purpose: DHCPINFORM, DHCPFORCERENEW (RFC 3203), rapid commit (RFC 4039). */
#ifndef NET_DHCP_DHCP_CLIENT_H
#define NET_DHCP_DHCP_CLIENT_H

#include "net/dhcp/dhcp_message.h"
#include "net/gw.h"
#include "net/stats/count.h"

/* Ends: gives the lease back. */
void dhcp_stop(struct gw *gw);

/* Does what is due. Called ten times a second. */
void dhcp_tick(struct gw *gw);
/* True while it asks for a lease, or announces an address. */
static inline bool dhcp_is_busy(const struct gw *gw)
{
	const struct dhcp_client *c = &gw->dhcp;
	return c->announce_us ||
	       (c->state != DHCP_OFF && c->state != DHCP_BOUND && c->state != DHCP_RELEASED);
}

/* Gives the lease back and asks for none until dhcp_renew. Gives NULL, or why it does not
 * (static). */
const char *dhcp_release(struct gw *gw);

/* Asks at once: for more time of the lease, or for a lease. Gives as dhcp_release. */
const char *dhcp_renew(struct gw *gw);

/* True when nothing is missing that the start waits for: a lease is in force, or none is asked
 * for. */
static inline bool dhcp_is_ready(const struct gw *gw)
{
	return gw->dhcp.state == DHCP_OFF || gw->dhcp.in_force;
}

/* Writes one line about the client into buf for the listing `leases` and moves the cursor, which is
 * 0 at first; false behind the last line. In dhcp_show.c. */
bool dhcp_show_leases(struct gw *gw, uint32_t *cursor, char *buf, size_t size);

/* Writes what is to be said of an IPv4 address of the WAN behind it, with a space in front; nothing
 * when it is not from a lease. In dhcp_show.c. */
void dhcp_show_origin(const struct gw *gw, ip4 own, char *buf, size_t size);

/* Writes DNS server i of the lease for the listing `addresses`; false when there are not so many.
 * In dhcp_show.c. */
bool dhcp_show_server(const struct gw *gw, uint32_t i, char *buf, size_t size);

extern const struct count_table dhcp_counts;

/* --- between dhcp_client.c and dhcp_receive.c ------------------------------------------------ */

/* An answer to our own question, whose form and lease are right. */
void dhcp_client_offered(struct gw *gw, const struct dhcp_lease *lease);
void dhcp_client_acknowledged(struct gw *gw, const struct dhcp_lease *lease);
void dhcp_client_refused(struct gw *gw, ip4 server);

/* Another station has the address that is probed, or wants it too. */
void dhcp_client_conflict(struct gw *gw, const mac *station);

/* The router of the lease has answered with the MAC address that it had (RFC 4436). */
void dhcp_client_router_seen(struct gw *gw);

#endif
