/* What the gateway has of a DHCPv6 server: the leases and when they are to be extended (RFC 8415
 * sections 18.2.4 and 18.2.10.1). It changes no address, route or prefix of the gateway. */
#ifndef NET_DHCP6_DHCP6_BIND_H
#define NET_DHCP6_DHCP6_BIND_H

#include "net/gw.h"

/* Takes the leases of an answer over: those that it names again, and with `fresh` no others of the
 * associations that it has; one that is valid for 0 seconds ends. Sets t1_us and t2_us. The log
 * says what is new and what is gone. `asked` are the associations of the question. */
void dhcp6_bind_take(struct gw *gw, const struct dhcp6_answer *a, uint8_t asked, bool fresh);

/* Removes what has ended. True when something did. */
bool dhcp6_bind_expire(struct gw *gw);

/* Removes a lease, with words for the log. */
void dhcp6_bind_drop(struct gw *gw, enum dhcp6_ia ia, uint32_t i, const char *why);

/* Removes all leases of an association. */
void dhcp6_bind_clear(struct gw *gw, enum dhcp6_ia ia, const char *why);

/* True while the gateway has a lease. */
static inline bool dhcp6_bind_any(const struct dhcp6_client *c)
{
	return c->bound[DHCP6_NA].n || c->bound[DHCP6_PD].n;
}

/* Takes the DNS servers of an answer over; NULL: there are none any more. */
void dhcp6_bind_servers(struct dhcp6_client *c, const struct dhcp6_answer *a);

#endif
