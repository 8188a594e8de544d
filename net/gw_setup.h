/* Between gw_setup.c and gw_setup6.c: the two halves of gw_init. */
#ifndef NET_GW_SETUP_H
#define NET_GW_SETUP_H

#include "net/gw.h"

/* Formats what is wrong; gives the text, valid until the next call. */
const char *gw_setup_fail(const char *format, ...) PRINTF_LIKE(1, 2);

/* The IPv6 addresses of a port: the link-local one and those of the configuration.
 * Routes and fixed neighbours of the configuration, when all ports are set up. NULL,
 * or what is wrong. Not called where the application has no IPv6. */
const char *gw_setup_iface6(struct gw *gw, uint32_t i);
const char *gw_setup_routes6(struct gw *gw);
const char *gw_setup_neighbours6(struct gw *gw);

#endif
