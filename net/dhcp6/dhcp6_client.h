/* The DHCPv6 client of the WAN: RFC 8415 section 18.2. With `wan.address auto` it asks for an
 * address where routers say so (flag M), and for other configuration alone where they say that
 * (flag O); for `lan.prefix delegated` it asks for a prefix in any case (RFC 7084 WPD-4), all in
 * one exchange. It begins, asks, renews and ends by itself, and never gives up. It does not give
 * its leases back when the gateway stops (RFC 9096 WPD-9).
 *
 * Not implemented on purpose: temporary addresses (IA_TA), Reconfigure (section 18.2.11: the server
 * is not told that we accept it), server unicast, authentication, PD exclude (RFC 6603). */
#ifndef NET_DHCP6_DHCP6_CLIENT_H
#define NET_DHCP6_DHCP6_CLIENT_H

#include "net/gw.h"
#include "net/stats/count.h"

/* Does what is due. Called ten times a second. */
void dhcp6_tick(struct gw *gw);

/* True while something is due within a second. */
bool dhcp6_is_busy(const struct gw *gw);

/* As dhcp_release and dhcp_renew (net/dhcp/dhcp_client.h), for both clients of the WAN: NULL when
 * one of them could. */
const char *dhcp6_release_all(struct gw *gw);
const char *dhcp6_renew_all(struct gw *gw);

/* Handles an answer to our question, whose form is right. Gives DROP_NONE, or why it is not
 * taken. */
enum drop dhcp6_client_answered(struct gw *gw, const struct dhcp6_answer *a);

/* Writes one line about leases into buf for the listing `leases`, both versions, and moves the
 * cursor, which is 0 at first; false behind the last line. An empty line is not to be printed. In
 * dhcp6_show.c. */
bool dhcp6_show_leases(struct gw *gw, uint32_t *cursor, char *buf, size_t size);

/* Writes what is to be said of an IPv6 address of ours behind it, with a space in front; nothing
 * when it is not from DHCPv6. In dhcp6_show.c. */
void dhcp6_show_origin(const struct gw *gw, const ip6 *own, char *buf, size_t size);

/* Writes DNS server i for the listing `addresses`; false when there are not so many. In
 * dhcp6_show.c. */
bool dhcp6_show_server(const struct gw *gw, uint32_t i, char *buf, size_t size);

extern const struct count_table dhcp6_counts;

#endif
