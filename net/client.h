/* Who a client is, for all that limits what one of them may take.
 *
 * A host on a link of ours is its MAC address, with all its IPv4 and IPv6 addresses: it has as many
 * of these as it likes. All addresses of a link whose MAC address is not known are one client
 * together, since nobody has answered for them. Who is behind a router has the router's MAC
 * address, and is its IPv4 address or its IPv6 prefix of 64 bits.
 *
 * A client is a number, the hash of that under a secret key of this gateway (HalfSipHash): of two
 * clients nobody can tell, nor choose, that they have the same, or the same modulo the size of a
 * table. */
#ifndef NET_CLIENT_H
#define NET_CLIENT_H

#include "kernel/lib/addr.h"
#include "net/gw.h"

/* Draws the key; once, before any of the others. */
void client_init(struct gw *gw);

/* The client with an address that packets of ours would be sent to now. A link-local address is one
 * on port `link`; `link` is not looked at for others. One look-up of a route, and of a neighbour
 * where that route says that it is one. */
uint32_t client_of(struct gw *gw, uint32_t link, const struct addr *a);

/* The client that is the station with this MAC address on a port of ours: what client_of gives of
 * each of its addresses. */
uint32_t client_station(const struct gw *gw, uint32_t iface, const mac *station);

/* The client with an address beyond our links. */
uint32_t client_beyond(const struct gw *gw, const struct addr *a);

#endif
