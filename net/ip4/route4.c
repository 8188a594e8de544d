/* See route4.h. */
#include "net/ip4/route4.h"

#include "kernel/lib/addr.h"

/* Puts a route into its place by its length; among equals the earlier one wins. */
static void insert(struct route4_table *t, uint32_t net, uint8_t len, uint32_t via, uint32_t own,
                   uint32_t iface)
{
	uint32_t i = t->n++;
	for (; i > 0 && t->entry[i - 1].len < len; i--)
		t->entry[i] = t->entry[i - 1];
	t->entry[i] = (struct route4){
	        .net = net & addr_mask4(len),
	        .mask = addr_mask4(len),
	        .via = via,
	        .own = own,
	        .len = len,
	        .iface = (uint8_t)iface,
	};
}

/* True when a network (host order) contains an address. */
static bool in_net(uint32_t net, uint8_t len, uint32_t a)
{
	return ((net ^ a) & addr_mask4(len)) == 0;
}

/* The interface on whose network a next hop is; INTERFACES when on none, or when it is our own
 * address. */
static uint32_t iface_of(const struct interface *all, ip4 via)
{
	uint32_t found = INTERFACES;
	int len = -1; /* of the smallest network that has it */
	for (uint32_t i = 0; i < INTERFACES; i++) {
		const struct address4 *own = interface_on_link4(&all[i], via);
		if (interface_has4(&all[i], via))
			return INTERFACES;
		if (own && own->len > len) {
			found = i;
			len = own->len;
		}
	}
	return found;
}

/* True when an address of ours needs a route of its own: an earlier one in its network has that
 * network's route, or a longer route leads elsewhere. */
static bool needs_own_route(const struct route4_table *t, const struct interface *at, uint32_t k)
{
	const struct address4 *a = &at->addr[k];
	for (uint32_t i = 0; i < k; i++)
		if (in_net(ip4_get(at->addr[i].addr), at->addr[i].len, ip4_get(a->addr)))
			return true;
	for (uint32_t i = 0; i < t->n_given; i++)
		if (t->given[i].len > a->len &&
		    in_net(t->given[i].net, t->given[i].len, ip4_get(a->addr)))
			return true;
	return false;
}

static void add_connected(struct route4_table *t, const struct interface *at, uint32_t iface,
                          uint32_t k)
{
	uint32_t own = ip4_get(at->addr[k].addr);
	if (needs_own_route(t, at, k))
		insert(t, own, 32, 0, own, iface);
	for (uint32_t i = 0; i < k; i++)
		if (in_net(ip4_get(at->addr[i].addr), at->addr[i].len, own))
			return; /* the network has its route */
	insert(t, own, at->addr[k].len, 0, own, iface);
}

/* Adds the given routes whose next hops answer, or those whose next hops do not. */
static void add_given(struct route4_table *t, const struct interface *all, bool silent)
{
	for (uint32_t i = 0; i < t->n_given; i++) {
		const struct route4_given *g = &t->given[i];
		uint32_t iface = iface_of(all, g->via);
		if (g->silent == silent && iface != INTERFACES)
			insert(t, g->net, g->len, ip4_raw(g->via), 0, iface);
	}
}

/* Connected networks come first, so that they win among equals; then routes whose next hops answer.
 */
void route4_rebuild(struct route4_table *t, const struct interface *all)
{
	t->n = 0;
	for (uint32_t i = 0; i < INTERFACES; i++)
		for (uint32_t k = 0; k < all[i].n_addr; k++)
			add_connected(t, &all[i], i, k);
	add_given(t, all, false);
	add_given(t, all, true);
}

bool route4_silence(struct route4_table *t, const struct interface *all, ip4 via, bool silent)
{
	bool changed = false;
	for (uint32_t i = 0; i < t->n_given; i++) {
		struct route4_given *g = &t->given[i];
		if (g->len > 0 || !ip4_eq(g->via, via) || g->silent == silent)
			continue;
		g->silent = silent;
		changed = true;
	}
	if (changed)
		route4_rebuild(t, all);
	return changed;
}

bool route4_add(struct route4_table *t, const struct interface *all, uint32_t net, uint8_t len,
                ip4 via)
{
	if (t->n_given == ROUTES4_GIVEN)
		return false;
	t->given[t->n_given++] = (struct route4_given){net & addr_mask4(len), via, len, false};
	route4_rebuild(t, all);
	return true;
}

bool route4_has(const struct route4_table *t, uint32_t net, uint8_t len, ip4 via)
{
	for (uint32_t i = 0; i < t->n_given; i++)
		if (t->given[i].net == (net & addr_mask4(len)) && t->given[i].len == len &&
		    ip4_eq(t->given[i].via, via))
			return true;
	return false;
}

bool route4_del(struct route4_table *t, const struct interface *all, uint32_t net, uint8_t len,
                const ip4 *via)
{
	uint32_t n = 0, had = t->n_given;
	for (uint32_t i = 0; i < had; i++) {
		const struct route4_given *g = &t->given[i];
		if (g->net != (net & addr_mask4(len)) || g->len != len ||
		    (via && !ip4_eq(g->via, *via)))
			t->given[n++] = *g;
	}
	t->n_given = n;
	route4_rebuild(t, all);
	return n != had;
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
