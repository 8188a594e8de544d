/* What one client is, for every part that limits what one client may use.
 *
 * A host on a network of ours is one client, known by its MAC address, with all its IPv4 and IPv6
 * addresses: a host can have as many of these as it likes. All addresses of a network whose MAC
 * address is not known are one client together, since no station has answered for them. Hosts
 * behind a router share the router's MAC address; there an IPv4 address is a client, or an IPv6
 * prefix of 64 bits.
 *
 * A client is a number: the hash of its address under a secret key of this gateway (HalfSipHash).
 * So no outsider can find out or arrange that two clients have the same number, or the same number
 * modulo the size of a table. */
#ifndef NET_CLIENT_H
#define NET_CLIENT_H

#include "kernel/lib/addr.h"
#include "net/gw.h"

/* Draws the key. Called once, before the other functions. */
void client_init(struct gw *gw);

/* The client that packets to an address would be sent to now. `link` is the interface of a
 * link-local address and not used for others. Costs one look-up of a route, and one of a neighbour
 * where the route says that the address is a neighbour's. */
uint32_t client_of(struct gw *gw, uint32_t link, const struct addr *a);

/* The same. *known says whether this is a client of its own now: a station that answered for the
 * address, or what is behind a router. Otherwise it is client_nobody(). */
uint32_t client_find(struct gw *gw, uint32_t link, const struct addr *a, bool *known);

/* The client that all addresses of an interface's networks are together whose MAC address is not
 * known. */
uint32_t client_nobody(const struct gw *gw, uint32_t iface);

/* The client that is the station with this MAC address on an interface: what client_of gives for
 * each of its addresses. */
uint32_t client_station(const struct gw *gw, uint32_t iface, const mac *station);

/* The client with an address that is on no network of ours. */
uint32_t client_beyond(const struct gw *gw, const struct addr *a);

/* True for a host of a network whose hosts are served unless the configuration says otherwise: of
 * any network of ours, or of the inside beside a forwarder that routes. */
static inline bool client_is_own(const struct gw *gw, const struct addr *client)
{
	for (uint32_t i = 0; i < gw->n_iface; i++) {
		const struct interface *iface = &gw->iface[i];
		if (!gw->forwarder->is_host && !interface_is_inside(i))
			continue;
		if (client->is6 ? interface_on_link6(iface, &client->v6)
		                : interface_on_link4(iface, client->v4) != NULL)
			return true;
	}
	return false;
}

#endif
