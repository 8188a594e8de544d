/* See route4.h. */
#include "net/ip4/route4.h"

#include "kernel/lib/addr.h"

bool route4_add(struct route4_table *t, uint32_t net, uint8_t len, uint32_t via, uint32_t own,
                uint8_t iface)
{
	if (t->n == ROUTES4)
		return false;
	uint32_t i = t->n++;
	for (; i > 0 && t->entry[i - 1].len < len; i--)
		t->entry[i] = t->entry[i - 1];
	t->entry[i] = (struct route4){
	        .net = net & addr_mask4(len),
	        .mask = addr_mask4(len),
	        .via = via,
	        .own = own,
	        .len = len,
	        .iface = iface,
	};
	return true;
}

const struct route4 *route4_for(const struct route4_table *t, ip4 to)
{
	return route4_find(t, ip4_get(to));
}

bool route4_claim(struct route4_table *t, uint32_t iface, uint32_t first, uint32_t last)
{
	if (t->n_claims == CLAIMS4)
		return false;
	t->claim[t->n_claims++] = (struct claim4){first, last, (uint8_t)iface};
	return true;
}

const struct claim4 *route4_claimed(const struct route4_table *t, ip4 a)
{
	for (uint32_t i = 0; i < t->n_claims; i++)
		if (ip4_get(a) >= t->claim[i].first && ip4_get(a) <= t->claim[i].last)
			return &t->claim[i];
	return NULL;
}
