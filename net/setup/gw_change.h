/* Addresses and routes that come and go while the gateway runs: from the console, from a lease.
 * Each function makes the change, or gives the text of why not (static, valid until the next call)
 * and changes nothing. Then the generation (gw->changes) is another, and the forwarder, the
 * services and TCP are informed: what followed from the address or route is gone.
 *
 * Called between packets, from a tick too (of a forwarder or service as well), or from the handler
 * of a datagram to us. Never from a forwarder's function that has a packet, nor from what is
 * informed of a change (`changed`). A tick that calls them keeps no session, route or address of an
 * interface (struct address6) over the call: these may be gone or at another place then. */
#ifndef NET_SETUP_GW_CHANGE_H
#define NET_SETUP_GW_CHANGE_H

#include "net/gw.h"

/* Adds an address and its network to an interface. An IPv4 address is announced (RFC 5227 section
 * 2.3); an IPv6 address is tentative until no other station has objected (RFC 4862 section 5.4). */
const char *gw_change_add_address(struct gw *gw, uint32_t iface, const struct prefix *own);

/* Removes an address of an interface and its network. Routes to next hops on that network stay
 * given, and count again when it is back. */
const char *gw_change_del_address(struct gw *gw, uint32_t iface, const struct addr *own);

/* Why this address of an interface may neither come nor go; NULL: it may. For a caller that makes
 * several changes or none. */
const char *gw_change_stays(const struct gw *gw, uint32_t iface, const struct addr *own);

/* Adds a route to a next hop, which must be on a network of ours. */
const char *gw_change_add_route(struct gw *gw, const struct prefix *to, const struct addr *via);

/* Removes the routes to exactly this network, those to the next hop *via only where via is not
 * NULL. */
const char *gw_change_del_route(struct gw *gw, const struct prefix *to, const struct addr *via);

/* As gw_change_add_route and gw_change_del_route, for a route that a router of an interface
 * advertised: its next hop is link-local. These two and the next inform nobody;
 * gw_change_inform_of_loss does so when all of them are made. False when there are too many
 * routes. */
bool gw_change_add_hop6(struct gw *gw, uint32_t iface, const ip6 *net, uint8_t len,
                        const ip6 *via) MUST_USE;
void gw_change_del_hop6(struct gw *gw, const ip6 *net, uint8_t len, const ip6 *via);

/* As gw_change_add_hop6 and gw_change_del_hop6, for the rest of a delegated prefix, which leads
 * nowhere. */
bool gw_change_add_rest6(struct gw *gw, const ip6 *net, uint8_t len) MUST_USE;
void gw_change_del_rest6(struct gw *gw, const ip6 *net, uint8_t len);

/* Sets the prefixes of an interface whose hosts are on the link, beside the networks of our
 * addresses; INTERFACE_ON_LINK6 at most. True when they were others. */
bool gw_change_set_on_link6(struct gw *gw, uint32_t iface, const struct on_link6 *list, uint32_t n);

/* Carries out a change in words, as the console takes it: `address add|del INTERFACE
 * ADDRESS/LENGTH` (interface and address in either order; `del` needs no length) or `route add|del
 * PREFIX [via ADDRESS]` (`default`: all of the family of the next hop). Gives NULL, or what is
 * wrong, as above. */
const char *gw_change_text(struct gw *gw, const char *text);

/* Begins a new generation and informs all parts: an address or a route has changed. The functions
 * above do it themselves. */
void gw_change_inform(struct gw *gw);

/* As gw_change_inform; something is gone, or packets that wait may have another way now. */
void gw_change_inform_of_loss(struct gw *gw);

#endif
