/* See interface.h. */
#include "net/interface.h"

#include "kernel/lib/addr.h"
#include "net/ip6/ip6_address.h"

const struct address4 *interface_on_link4(const struct interface *iface, ip4 peer)
{
	for (uint32_t i = 0; i < iface->n_addr; i++) {
		uint32_t mask = addr_mask4(iface->addr[i].len);
		if (((ip4_get(peer) ^ ip4_get(iface->addr[i].addr)) & mask) == 0)
			return &iface->addr[i];
	}
	return NULL;
}

const ip6 *interface_global6(const struct interface *iface)
{
	for (uint32_t i = 0; i < iface->n_addr6; i++)
		if (!ip6_is_link_local(&iface->addr6[i].addr))
			return &iface->addr6[i].addr;
	return NULL;
}

const struct address4 *interface_own4(const struct interface *iface, ip4 peer)
{
	const struct address4 *near = interface_on_link4(iface, peer);
	return near || iface->n_addr == 0 ? near : &iface->addr[0];
}

bool interface_has4(const struct interface *iface, ip4 a)
{
	for (uint32_t i = 0; i < iface->n_addr; i++)
		if (ip4_eq(iface->addr[i].addr, a))
			return true;
	return false;
}

bool interface_is_broadcast4(const struct interface *iface, ip4 a)
{
	/* The first address of a network ends in 00, the last one in 11. */
	uint32_t last = a.b[3] & 3u;
	if (last == 1 || last == 2)
		return false;
	for (uint32_t i = 0; i < iface->n_addr; i++) {
		uint32_t mask = addr_mask4(iface->addr[i].len);
		if (iface->addr[i].len > 30 || ((ip4_get(a) ^ ip4_get(iface->addr[i].addr)) & mask))
			continue;
		uint32_t host = ip4_get(a) & ~mask;
		if (host == 0 || host == ~mask)
			return true;
	}
	return false;
}

struct address6 *interface_address6(struct interface *iface, const ip6 *a)
{
	for (uint32_t i = 0; i < iface->n_addr6; i++)
		if (ip6_eq(&iface->addr6[i].addr, a))
			return &iface->addr6[i];
	return NULL;
}

static uint32_t common_bits(const ip6 *a, const ip6 *b)
{
	for (uint32_t i = 0; i < sizeof *a; i++) {
		uint32_t differ = a->b[i] ^ b->b[i];
		if (differ)
			return 8 * i + (uint32_t)__builtin_clz(differ) - 24;
	}
	return 128;
}

const ip6 *interface_best6(const struct interface *iface, const ip6 *peer, uint32_t *bits)
{
	const struct address6 *best = NULL;
	for (uint32_t i = 0; i < iface->n_addr6; i++) {
		const struct address6 *a = &iface->addr6[i];
		if (a->state != ADDRESS6_VALID ||
		    ip6_is_link_local(&a->addr) != ip6_is_link_local(peer))
			continue;
		uint32_t n = common_bits(&a->addr, peer);
		bool better =
		        !best || (a->deprecated != best->deprecated ? best->deprecated : n > *bits);
		if (better) {
			best = a;
			*bits = n;
		}
	}
	return best ? &best->addr : NULL;
}

const ip6 *interface_own6(const struct interface *iface, const ip6 *peer)
{
	uint32_t bits;
	const ip6 *best = interface_best6(iface, peer, &bits);
	if (best)
		return best;
	return iface->n_addr6 && iface->addr6[0].state == ADDRESS6_VALID ? &iface->addr6[0].addr
	                                                                 : NULL;
}

bool interface_on_link6(const struct interface *iface, const ip6 *a)
{
	if (ip6_is_link_local(a))
		return true;
	for (uint32_t i = 0; i < iface->n_addr6; i++)
		if (addr_in6(a, &iface->addr6[i].addr, iface->addr6[i].len))
			return !ip6_is_special(a);
	for (uint32_t i = 0; i < iface->n_on_link6; i++)
		if (addr_in6(a, &iface->on_link6[i].net, iface->on_link6[i].len))
			return !ip6_is_special(a);
	return false;
}
