/* See gw_address.h. */
#include "net/gw_address.h"

#include "net/ip6/ip6_address.h"

bool gw_is_own(const struct gw *gw, ip4 a)
{
	for (uint32_t i = 0; i < gw->n_iface; i++)
		if (interface_has4(&gw->iface[i], a))
			return true;
	return false;
}

const struct address6 *gw_address6(const struct gw *gw, uint32_t iface, const ip6 *a)
{
	for (uint32_t i = 0; i < gw->n_iface; i++) {
		if (ip6_is_link_local(a) && i != iface)
			continue;
		for (uint32_t k = 0; k < gw->iface[i].n_addr6; k++)
			if (ip6_eq(&gw->iface[i].addr6[k].addr, a))
				return &gw->iface[i].addr6[k];
	}
	return NULL;
}

bool gw_is_own6(const struct gw *gw, uint32_t iface, const ip6 *a)
{
	const struct address6 *own = gw_address6(gw, iface, a);
	return own && own->state == ADDRESS6_VALID;
}

const ip6 *gw_own_address6(const struct gw *gw, uint32_t iface, const ip6 *peer)
{
	uint32_t bits = 0, most = 0;
	const ip6 *best =
	        iface < INTERFACES ? interface_best6(&gw->iface[iface], peer, &bits) : NULL;
	if (best || ip6_is_link_local(peer))
		return best;
	for (uint32_t i = 0; i < gw->n_iface; i++) {
		const ip6 *a = interface_best6(&gw->iface[i], peer, &bits);
		if (a && (!best || bits > most)) {
			best = a;
			most = bits;
		}
	}
	return best;
}
