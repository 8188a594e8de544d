/* What gw_init (gw_setup.c) and gw_change.c share with gw_setup4.c and gw_setup6.c. */
#ifndef NET_SETUP_GW_SETUP_H
#define NET_SETUP_GW_SETUP_H

#include "net/gw.h"

/* Formats what is wrong; gives the text, which is valid until the next call. */
const char *gw_setup_fail(const char *format, ...) PRINTF_LIKE(1, 2);

/* Add an IPv4 address to interface i, and a route to a next hop, which must be on a network of ours
 * and not be our own address; `to` NULL: the default route; `key` begins the text of what is wrong.
 * Give NULL or that text. gw_setup_del_address4 is false when the interface has no such address. */
const char *gw_setup_add_address4(struct gw *gw, uint32_t i, ip4 a, uint8_t len);
bool gw_setup_del_address4(struct gw *gw, uint32_t i, ip4 a);
const char *gw_setup_add_route4(struct gw *gw, const char *key, const struct prefix *to,
                                const struct addr *via);

/* As gw_setup_add_route4, for IPv6. */
const char *gw_setup_add_route6(struct gw *gw, const char *key, const struct prefix *to,
                                const struct addr *via);

/* Adds the IPv4 addresses of interface i, the IPv4 routes and the static IPv4 neighbours of the
 * configuration. Give NULL or what is wrong. */
const char *gw_setup_iface4(struct gw *gw, uint32_t i);
const char *gw_setup_routes4(struct gw *gw);
const char *gw_setup_neighbours4(struct gw *gw);

/* True when interface i has an IPv4 link. */
static inline bool gw_has_ip4(const struct gw *gw, uint32_t i)
{
	return !(i == IF_WAN && gw->forwarder->no_wan4);
}

/* True when interface i has IPv6 at all. */
static inline bool gw_has_ip6(const struct gw *gw, uint32_t i)
{
	return gw->ip6 && !(i == IF_WAN && gw->forwarder->no_wan6);
}

/* Adds the IPv6 addresses of interface i: the link-local one and those of the configuration. Gives
 * NULL or what is wrong. This and the next two are not called where the application has no IPv6. */
const char *gw_setup_iface6(struct gw *gw, uint32_t i);

/* Adds the IPv6 routes of the configuration, when all interfaces have their addresses. Gives NULL
 * or what is wrong. */
const char *gw_setup_routes6(struct gw *gw);

/* Adds the static IPv6 neighbours of the configuration, when all interfaces have their addresses.
 * Gives NULL or what is wrong. */
const char *gw_setup_neighbours6(struct gw *gw);

#endif
