/* What gw_setup.c and gw_setup6.c, the two halves of gw_init, share. */
#ifndef NET_SETUP_GW_SETUP_H
#define NET_SETUP_GW_SETUP_H

#include "net/gw.h"

/* Formats what is wrong; gives the text, which is valid until the next call. */
const char *gw_setup_fail(const char *format, ...) PRINTF_LIKE(1, 2);

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
