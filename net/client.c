/* See client.h. */
#include "net/client.h"

#include "net/ip4/ip4.h"
#include "net/ip6/ip6.h"

/* Hashed with each address, so that clients of different kinds have different numbers. */
enum { BY_IP4 = 4, BY_IP6 = 6, BY_MAC = 0x100, BY_LINK = 0x200 };

void client_init(struct gw *gw)
{
	for (unsigned i = 0; i < ARRAY_SIZE(gw->client_key.k); i++)
		gw->client_key.k[i] = rng_u32(gw->rng);
}

/* The interface on whose network an address is; INTERFACES when on none. */
static uint32_t link_of(const struct gw *gw, uint32_t link, const struct addr *a)
{
	if (!a->is6) {
		const struct route4 *r = route4_for(&gw->routes4, a->v4);
		return r && r->via == 0 ? r->iface : INTERFACES;
	}
	if (ip6_is_link_local(&a->v6))
		return link;
	const struct route6 *r = route6_for(&gw->routes6, &a->v6);
	return r && r->hop == 0 ? r->iface : INTERFACES;
}

uint32_t client_station(const struct gw *gw, uint32_t iface, const mac *station)
{
	return hash_three(&gw->client_key, load32(station->b), load16(station->b + 4),
	                  BY_MAC + iface);
}

uint32_t client_beyond(const struct gw *gw, const struct addr *a)
{
	const struct hash_key *key = &gw->client_key;
	return a->is6 ? hash_three(key, ip6_word(&a->v6, 0), ip6_word(&a->v6, 1), BY_IP6)
	              : hash_three(key, ip4_raw(a->v4), 0, BY_IP4);
}

uint32_t client_nobody(const struct gw *gw, uint32_t iface)
{
	return hash_three(&gw->client_key, iface, 0, BY_LINK);
}

uint32_t client_find(struct gw *gw, uint32_t link, const struct addr *a, bool *known)
{
	uint32_t iface = link_of(gw, link, a);
	*known = true;
	if (iface >= INTERFACES)
		return client_beyond(gw, a);
	const struct neigh *n = a->is6 ? neigh_find6(&gw->neigh, iface, &a->v6)
	                               : neigh_find4(&gw->neigh, iface, ip4_raw(a->v4));
	*known = n && neigh_usable(n);
	return *known ? client_station(gw, iface, &n->eth.to) : client_nobody(gw, iface);
}

uint32_t client_of(struct gw *gw, uint32_t link, const struct addr *a)
{
	bool known;
	return client_find(gw, link, a, &known);
}
