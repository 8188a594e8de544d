/* ARP for IPv4 over Ethernet (RFC 826; announcements and probes: RFC 5227). */
#ifndef NET_ETHER_ARP_H
#define NET_ETHER_ARP_H

#include "net/gw.h"

/* An ARP frame: data behind the Ethernet header. Takes the packet. Answers
 * questions for our addresses; learns only from stations that talk to us. */
void arp_input(struct gw *gw, struct pkt *p);

/* Asks who has `target` on a port; to one station, or to all when `to` is NULL. */
void arp_ask(struct gw *gw, uint32_t iface, ip4 target, const mac *to);

/* Tells everyone that `own` is at our MAC (gratuitous ARP). */
void arp_announce(struct gw *gw, uint32_t iface, ip4 own);

#endif
