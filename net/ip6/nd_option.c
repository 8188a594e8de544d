/* See nd_option.h. */
#include "net/ip6/nd_option.h"

#include "net/lib/wire.h"

bool nd_option_address(const struct pkt *p, uint32_t fixed, uint8_t kind, const mac **address)
{
	*address = NULL;
	for (uint32_t at = fixed; at < p->l4_len;) {
		const struct nd_opt_mac *o =
		        (const struct nd_opt_mac *)pkt_at(p, p->l4 + at, sizeof *o);
		if (!o || o->len == 0 || o->len * 8u > p->l4_len - at)
			return false;
		if (o->type == kind && o->len == 1)
			*address = &o->address;
		at += o->len * 8u;
	}
	return !*address || !mac_is_group(*address);
}
