/* Router solicitations on the WAN (RFC 4861 section 6.3.7, RFC 7559), and the start of it all. */
#ifndef NET_AUTOCONF_AUTOCONF_SOLICIT_H
#define NET_AUTOCONF_AUTOCONF_SOLICIT_H

#include "net/gw.h"

/* Sets what a router may change (MTU, hop limit, times) to what holds without one. `mtu` is that of
 * IP packets on the interface. */
void autoconf_set_defaults(struct interface *iface, uint32_t mtu);

/* Begins: the configuration has `wan.address auto`. Where the application has no IPv6 on the WAN
 * the log says so, and nothing begins. */
void autoconf_start(struct gw *gw);

/* Ends: what was learned is forgotten, and addresses and routes go with the next tick. */
void autoconf_stop(struct gw *gw);

/* The carrier of an interface came up: routers are asked for again. */
void autoconf_carrier_up(struct gw *gw, uint32_t iface);

/* Sends what is due. Called about ten times a second. */
void autoconf_solicit_tick(struct gw *gw);

#endif
