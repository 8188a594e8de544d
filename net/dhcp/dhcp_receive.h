/* Frames for the DHCP client, which has no address yet: they are looked at before the IP path. */
#ifndef NET_DHCP_DHCP_RECEIVE_H
#define NET_DHCP_DHCP_RECEIVE_H

#include "net/gw.h"

/* Looks at a frame of an interface, unchecked, data at the Ethernet header. Takes it, and gives
 * true, when it is for the DHCP client of the WAN; it is unchanged otherwise. */
bool dhcp_receive(struct gw *gw, const struct interface *in, struct pkt *p);

#endif
