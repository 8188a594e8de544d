/* Datagrams of DHCPv6: to the client of the WAN and to the server of the inside. */
#ifndef NET_DHCP6_DHCP6_RECEIVE_H
#define NET_DHCP6_DHCP6_RECEIVE_H

#include "net/gw.h"

/* Handles a UDP packet over IPv6 to the gateway itself, parsed, to one of our addresses or to a
 * group of ours; it is no fragment. Gives V_LOCAL when it is not for DHCPv6: then it is unchanged.
 */
enum verdict dhcp6_receive(struct gw *gw, struct pkt *p);

#endif
