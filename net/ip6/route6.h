/* IPv6 routes: the table that packets are looked up in, and the routes that were given, from which
 * and from the interfaces' addresses it is made. */
#ifndef NET_IP6_ROUTE6_H
#define NET_IP6_ROUTE6_H

#include "net/interface.h"

#define ROUTES6_APP   320u /* that a forwarder may add */
#define ROUTES6_LATER 33u  /* that may be given beside those of the configuration */
#define ROUTES6_GIVEN (NET_ROUTES + NET_GATEWAYS + ROUTES6_LATER + ROUTES6_APP)
#define ROUTES6       (ROUTES6_GIVEN + INTERFACES * (2u * INTERFACE_ADDRESSES6 + INTERFACE_ON_LINK6))

/* A route. Sorted by falling length, so the first match is the longest; words are raw. */
struct route6 {
	uint32_t net[4], mask[4];
	uint32_t own[4]; /* our address in a connected network; all zero: none */
	ip6 via;         /* next hop, where hop is not 0 */
	uint32_t hop;    /* what ip6_route notes in p->hop */
	uint16_t routed; /* PKT_ROUTED where the interface has a card, else 0 */
	uint8_t len;
	uint8_t iface; /* may be IF_APP or IF_NONE */
};

/* A route that was added (route6_add). One to a next hop is in the table while that is on a network
 * of the interface. */
struct route6_given {
	ip6 net, via;
	uint8_t len;
	uint8_t iface; /* where there is no next hop, or a link-local one */
	bool has_via;
	bool app;    /* the forwarder added it */
	bool silent; /* the next hop does not answer: another route to the same network wins */
};

struct route6_table {
	struct route6 entry[ROUTES6 + 1]; /* behind the last: to IF_NONE, for all addresses */
	uint32_t n;
	struct route6_given given[ROUTES6_GIVEN];
	uint32_t n_given;
};

/* The route for an address, NULL when there is none. */
const struct route6 *route6_for(const struct route6_table *t, const ip6 *to);

/* The next hop to a destination, by the field `hop` of struct pkt (ip6_route in ip6.h). */
static inline const ip6 *route6_hop(const struct route6_table *t, uint32_t hop, const ip6 *to)
{
	return LIKELY(hop == 0) ? to : &t->entry[hop - 1].via;
}

/* True when `to` is our address in the connected network of r, or that network's
 * subnet-router anycast address (RFC 4291 section 2.6.1). */
bool route6_own(const struct route6 *r, const ip6 *to);

/* Makes the table from the addresses of all interfaces (`all` is the first of INTERFACES) and the
 * given routes. False when there are too many routes. */
bool route6_rebuild(struct route6_table *t, const struct interface *all) MUST_USE;

/* Adds a route to a next hop, by the configuration or while the gateway runs; `iface` is that of a
 * link-local one. Our own addresses inside the network stay ours. False, and the table as before,
 * when there are too many. */
bool route6_add_hop(struct route6_table *t, const struct interface *all, const ip6 *net,
                    uint8_t len, const ip6 *via, uint32_t iface) MUST_USE;

/* Adds a route to IF_NONE for a delegated prefix, so that what no interface has of it leads
 * nowhere; as route6_add_hop. route6_del_rest removes it. */
bool route6_add_rest(struct route6_table *t, const struct interface *all, const ip6 *net,
                     uint8_t len) MUST_USE;
void route6_del_rest(struct route6_table *t, const struct interface *all, const ip6 *net,
                     uint8_t len);

/* True when exactly this route was added by route6_add_hop. */
bool route6_has(const struct route6_table *t, const ip6 *net, uint8_t len, const ip6 *via);

/* Adds a route of the forwarder: to a next hop on an interface (`via`), to IF_APP, or to IF_NONE.
 * Our own addresses inside the network stay ours. False, and the table as before, when there are
 * too many. */
bool route6_add(struct route6_table *t, const struct interface *all, const ip6 *net, uint8_t len,
                const ip6 *via, uint32_t iface) MUST_USE;

/* True when the forwarder takes all packets to this network itself (a route to IF_APP). */
bool route6_is_app(const struct route6_table *t, const ip6 *net, uint8_t len);

/* Notes whether the next hop of default routes answers. Gives true, and the table is another, when
 * that was not known. */
bool route6_silence(struct route6_table *t, const struct interface *all, const ip6 *via,
                    bool silent);

/* True when a default route leads to a next hop on an interface. */
bool route6_has_default(const struct route6_table *t);

/* Removes the routes to exactly this network that route6_add_hop added, those to the next hop *via
 * only where via is not NULL; a connected network keeps its own route. False when there was none.
 */
bool route6_del(struct route6_table *t, const struct interface *all, const ip6 *net, uint8_t len,
                const ip6 *via);

/* Removes all routes of the forwarder, so that it can add them again. */
void route6_del_app(struct route6_table *t, const struct interface *all);

#endif
