/* IPv4 routes, and the addresses that the application claims. */
#ifndef NET_IP4_ROUTE4_H
#define NET_IP4_ROUTE4_H

#include "net/interface.h"

#define ROUTES4 (NET_ROUTES + NET_GATEWAYS + 2u * INTERFACES * NET_ADDRESSES)
#define CLAIMS4 32u

/* A route. Sorted by falling length, so the first match is the longest. */
struct route4 {
	uint32_t net, mask; /* host order */
	uint32_t via;       /* next hop, raw; 0: the destination itself */
	uint32_t own;       /* our address in a connected network, host order; 0: none */
	uint8_t len;
	uint8_t iface;
};

/* Addresses on an interface's network that the application claims, host order: the gateway answers
 * ARP requests for them, and packets of our own to them are hairpinned. */
struct claim4 {
	uint32_t first, last;
	uint8_t iface;
};

struct route4_table {
	struct route4 entry[ROUTES4];
	uint32_t n;
	struct claim4 claim[CLAIMS4];
	uint32_t n_claims;
};

/* Adds a route, in its place by its length; of two to the same network the earlier one wins. `net`
 * and `own` are in host order, `via` is raw. False when there are too many. */
bool route4_add(struct route4_table *t, uint32_t net, uint8_t len, uint32_t via, uint32_t own,
                uint8_t iface) MUST_USE;

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

/* Claims the addresses from `first` to `last`, in host order, for the application; false when
 * there are too many ranges. From an application's init. */
bool route4_claim(struct route4_table *t, uint32_t iface, uint32_t first, uint32_t last) MUST_USE;

/* The claim that an address falls under, NULL when the application does not own the address. */
const struct claim4 *route4_claimed(const struct route4_table *t, ip4 a);

#endif
