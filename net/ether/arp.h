/* ARP for IPv4 over Ethernet (RFC 826; announcements and probes: RFC 5227). */
#ifndef NET_ETHER_ARP_H
#define NET_ETHER_ARP_H

#include "net/gw.h"

/* Handles an ARP frame, data behind the Ethernet header: answers requests for our addresses and
 * learns from stations that talk to us. Takes the packet. */
void arp_input(struct gw *gw, struct pkt *p);

/* Sends a request for the MAC address of `target` on an interface: to the station `to`, or to all
 * stations when `to` is NULL. */
void arp_ask(struct gw *gw, uint32_t iface, ip4 target, const mac *to);

/* Asks all stations on an interface for an address that is not ours yet (RFC 5227 section 2.1.1).
 */
void arp_probe(struct gw *gw, uint32_t iface, ip4 wanted);

/* Announces to all stations on an interface that `own` has our MAC address (gratuitous ARP). */
void arp_announce(struct gw *gw, uint32_t iface, ip4 own);

#endif
