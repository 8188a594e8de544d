/* Frames for the DHCP server. */
#ifndef NET_DHCPS_DHCPS_RECEIVE_H
#define NET_DHCPS_DHCPS_RECEIVE_H

#include "net/gw.h"

/* Handles a frame, data at its Ethernet header, if it is a DHCP message of the inside. True when it
 * took the packet; the packet is unchanged otherwise. gw->dhcps is set. */
bool dhcps_receive(struct gw *gw, const struct interface *in, struct pkt *p);

#endif
