/* IPv4 routes: the table that packets are looked up in, and the routes that were given, from which
 * and from the interfaces' addresses it is made; and the addresses that the forwarder claims. */
#ifndef NET_IP4_ROUTE4_H
#define NET_IP4_ROUTE4_H

#include "net/interface.h"

#define ROUTES4_LATER 16u /* that may be given beside those of the configuration */
#define ROUTES4_GIVEN (NET_ROUTES + NET_GATEWAYS + ROUTES4_LATER)
#define ROUTES4       (ROUTES4_GIVEN + 2u * INTERFACES * NET_ADDRESSES)
#define CLAIMS4       32u

/* A route. Sorted by falling length, so the first match is the longest. */
struct route4 {
	uint32_t net, mask; /* host order */
	uint32_t via;       /* next hop, raw; 0: the destination itself */
	uint32_t own;       /* our address in a connected network, host order; 0: none */
	uint8_t len;
	uint8_t iface;
};

/* A route that was added (route4_add): to a next hop. It is in the table while that is on a network
 * of ours. */
struct route4_given {
	uint32_t net; /* host order */
	ip4 via;
	uint8_t len;
	bool silent; /* the next hop does not answer: another route to the same network wins */
};

/* Addresses on an interface's network that the forwarder claims, host order: the gateway answers
 * ARP requests for them, and packets of our own to them are hairpinned. */
struct claim4 {
	uint32_t first, last;
	uint8_t iface;
};

struct route4_table {
	struct route4 entry[ROUTES4];
	uint32_t n;
	struct route4_given given[ROUTES4_GIVEN];
	uint32_t n_given;
	struct claim4 claim[CLAIMS4];
	uint32_t n_claims;
};

/* Makes the table from the addresses of all interfaces (`all` is the first of INTERFACES) and the
 * given routes. It has room for all of them. */
void route4_rebuild(struct route4_table *t, const struct interface *all);

/* Adds a route to a next hop; of two to the same network the earlier one wins. `net` is in host
 * order. Our own addresses inside the network stay ours. False when there are too many. */
bool route4_add(struct route4_table *t, const struct interface *all, uint32_t net, uint8_t len,
                ip4 via) MUST_USE;

/* Notes whether the next hop of default routes answers. Gives true, and the table is another, when
 * that was not known. */
bool route4_silence(struct route4_table *t, const struct interface *all, ip4 via, bool silent);

/* True when exactly this route was added. */
bool route4_has(const struct route4_table *t, uint32_t net, uint8_t len, ip4 via);

/* Removes the routes to exactly this network that were added, those to the next hop *via only where
 * via is not NULL. False when there was none. */
bool route4_del(struct route4_table *t, const struct interface *all, uint32_t net, uint8_t len,
                const ip4 *via);

/* The route for an address, NULL when there is none. An address of our own has the route of its
 * network. route4_find is the same, inline and for an address in host order. */
const struct route4 *route4_for(const struct route4_table *t, ip4 to);
static inline const struct route4 *route4_find(const struct route4_table *t, uint32_t addr)
{
	for (const struct route4 *r = t->entry, *end = r + t->n; r < end; r++)
		if ((addr & r->mask) == r->net)
			return r;
	return NULL;
}

/* Claims the addresses from `first` to `last`, in host order, for the forwarder; false when
 * there are too many ranges. From a forwarder's init or changed. */
bool route4_claim(struct route4_table *t, uint32_t iface, uint32_t first, uint32_t last) MUST_USE;

/* The claim that an address falls under, NULL when the forwarder does not own the address. */
const struct claim4 *route4_claimed(const struct route4_table *t, ip4 a);

#endif
