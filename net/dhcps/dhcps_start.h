/* What starts the DHCP server; the rest is in dhcps.h. */
#ifndef NET_DHCPS_DHCPS_START_H
#define NET_DHCPS_DHCPS_START_H

#include "net/gw.h"

/* Makes the tables of leases, where the configuration has a pool. Called once, when addresses and
 * forwarder are set up. Gives NULL, or what is wrong (static). */
const char *dhcps_start(struct gw *gw);

#endif
