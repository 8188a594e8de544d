/* See route6.h. */
#include "net/ip6/route6.h"

#include "kernel/lib/addr.h"
#include "net/ip6/ip6_address.h"

static inline bool same_words(const uint32_t w[4], const ip6 *a)
{
	return w[3] == ip6_word(a, 3) && w[2] == ip6_word(a, 2) && w[1] == ip6_word(a, 1) &&
	       w[0] == ip6_word(a, 0);
}

bool route6_own(const struct route6 *r, const ip6 *to)
{
	if ((r->own[0] | r->own[1] | r->own[2] | r->own[3]) == 0)
		return false;
	/* RFC 6164 section 5: /127 has no anycast address. */
	return same_words(r->own, to) || (r->len <= 126 && same_words(r->net, to));
}

const struct route6 *route6_for(const struct route6_table *t, const ip6 *to)
{
	for (uint32_t i = 0; i < t->n; i++) {
		const struct route6 *r = &t->entry[i];
		bool in = true;
		for (unsigned k = 0; k < 4; k++)
			in &= (ip6_word(to, k) & r->mask[k]) == r->net[k];
		if (in)
			return r;
	}
	return NULL;
}

static const struct route6 nowhere = {.iface = IF_NONE};

/* Keeps the table sorted by falling prefix length; among equals the earlier one
 * wins. */
static bool insert(struct route6_table *t, const ip6 *net, uint8_t len, const ip6 *via,
                   const ip6 *own, uint32_t iface)
{
	if (t->n == ROUTES6)
		return false;
	uint32_t i = t->n++;
	t->entry[i + 1] = nowhere;
	for (; i > 0 && t->entry[i - 1].len < len; i--)
		t->entry[i] = t->entry[i - 1];
	struct route6 *r = &t->entry[i];
	*r = (struct route6){.len = len, .iface = (uint8_t)iface};
	for (unsigned k = 0; k < 4; k++) {
		uint32_t bits = len <= 32 * k ? 0 : min_u32(len - 32 * k, 32);
		r->mask[k] = swap32(addr_mask4((uint8_t)bits));
		r->net[k] = ip6_word(net, k) & r->mask[k];
		r->own[k] = own ? ip6_word(own, k) : 0;
	}
	if (via)
		r->via = *via;
	r->routed = iface < INTERFACES ? PKT_ROUTED : 0;
	return true;
}

/* True when an address of ours needs a route of its own: an earlier one in its
 * network has that network's route, or a longer route leads elsewhere. */
static bool needs_own_route(const struct route6_table *t, const struct interface *at, uint32_t k)
{
	const struct address6 *a = &at->addr6[k];
	for (uint32_t i = 0; i < k; i++) {
		const struct address6 *b = &at->addr6[i];
		if (b->len == a->len && addr_in6(&a->addr, &b->addr, a->len))
			return true;
	}
	for (uint32_t i = 0; i < t->n_given; i++)
		if (t->given[i].len > a->len &&
		    addr_in6(&a->addr, &t->given[i].net, t->given[i].len))
			return true;
	return false;
}

static bool add_connected(struct route6_table *t, const struct interface *at, uint32_t iface,
                          uint32_t k)
{
	const struct address6 *a = &at->addr6[k];
	if (ip6_is_link_local(&a->addr))
		return true; /* its link is known from the packet */
	bool own_route = needs_own_route(t, at, k);
	if (own_route && !insert(t, &a->addr, 128, NULL, &a->addr, iface))
		return false;
	for (uint32_t i = 0; i < k; i++)
		if (at->addr6[i].len == a->len && addr_in6(&a->addr, &at->addr6[i].addr, a->len))
			return true; /* the network has its route */
	return insert(t, &a->addr, a->len, NULL, &a->addr, iface);
}

/* The interface of a route's next hop; IF_NONE when that is on none of our networks, or is our own
 * address. */
static uint32_t iface_of(const struct interface *all, const struct route6_given *g)
{
	uint32_t found = IF_NONE;
	int len = -1; /* of the smallest network that has it */
	if (!g->has_via || ip6_is_unspecified(&g->via) || ip6_is_link_local(&g->via))
		return g->iface;
	for (uint32_t i = 0; i < INTERFACES; i++)
		for (uint32_t k = 1; k < all[i].n_addr6; k++) {
			const struct address6 *a = &all[i].addr6[k];
			if (ip6_eq(&a->addr, &g->via))
				return IF_NONE;
			if (a->len > len && !ip6_is_link_local(&a->addr) &&
			    addr_in6(&g->via, &a->addr, a->len)) {
				found = i;
				len = a->len;
			}
		}
	return found;
}

/* Adds the given routes whose next hops answer, or those whose next hops do not. False when there
 * is no room. */
static bool add_given(struct route6_table *t, const struct interface *iface, bool silent)
{
	for (uint32_t i = 0; i < t->n_given; i++) {
		const struct route6_given *g = &t->given[i];
		uint32_t at = iface_of(iface, g);
		if (g->silent != silent || (g->has_via && at == IF_NONE))
			continue;
		if (!insert(t, &g->net, g->len, g->has_via ? &g->via : NULL, NULL, at))
			return false;
	}
	return true;
}

/* Connected networks come first, so that they win among equals; then routes whose next hops answer.
 */
bool route6_rebuild(struct route6_table *t, const struct interface *iface)
{
	t->n = 0;
	t->entry[0] = nowhere;
	for (uint32_t i = 0; i < INTERFACES; i++)
		for (uint32_t k = 0; k < iface[i].n_addr6; k++)
			if (!add_connected(t, &iface[i], i, k))
				return false;
	for (uint32_t i = 0; i < INTERFACES; i++)
		for (uint32_t k = 0; k < iface[i].n_on_link6; k++)
			if (!insert(t, &iface[i].on_link6[k].net, iface[i].on_link6[k].len, NULL,
			            NULL, i))
				return false;
	if (!add_given(t, iface, false) || !add_given(t, iface, true))
		return false;
	for (uint32_t i = 0; i < t->n; i++)
		t->entry[i].hop = ip6_is_unspecified(&t->entry[i].via) ? 0 : i + 1;
	return true;
}

static bool add(struct route6_table *t, const struct interface *all, const struct route6_given *g)
{
	if (t->n_given == ARRAY_SIZE(t->given))
		return false;
	t->given[t->n_given++] = *g;
	if (route6_rebuild(t, all))
		return true;
	t->n_given--;
	(void)!route6_rebuild(t, all); /* what fitted before fits again */
	return false;
}

bool route6_add(struct route6_table *t, const struct interface *all, const ip6 *net, uint8_t len,
                const ip6 *via, uint32_t iface)
{
	struct route6_given g = {.net = *net, .len = len, .iface = (uint8_t)iface, .app = true};
	g.has_via = via != NULL;
	if (via)
		g.via = *via;
	return add(t, all, &g);
}

/* Adds a route that is not of the forwarder, to which the rest of the table belongs. */
static bool add_given_one(struct route6_table *t, const struct interface *all,
                          const struct route6_given *g)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < t->n_given; i++)
		n += !t->given[i].app;
	return n < ROUTES6_GIVEN - ROUTES6_APP && add(t, all, g);
}

bool route6_add_hop(struct route6_table *t, const struct interface *all, const ip6 *net,
                    uint8_t len, const ip6 *via, uint32_t iface)
{
	const struct route6_given g = {
	        .net = *net, .via = *via, .len = len, .iface = (uint8_t)iface, .has_via = true};
	return add_given_one(t, all, &g);
}

bool route6_add_rest(struct route6_table *t, const struct interface *all, const ip6 *net,
                     uint8_t len)
{
	const struct route6_given g = {.net = *net, .len = len, .iface = IF_NONE};
	return add_given_one(t, all, &g);
}

void route6_del_rest(struct route6_table *t, const struct interface *all, const ip6 *net,
                     uint8_t len)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < t->n_given; i++) {
		const struct route6_given *g = &t->given[i];
		if (g->app || g->has_via || g->len != len || !addr_in6(&g->net, net, len))
			t->given[n++] = *g;
	}
	t->n_given = n;
	(void)!route6_rebuild(t, all); /* fewer than before */
}

bool route6_has(const struct route6_table *t, const ip6 *net, uint8_t len, const ip6 *via)
{
	for (uint32_t i = 0; i < t->n_given; i++) {
		const struct route6_given *g = &t->given[i];
		if (!g->app && g->len == len && addr_in6(&g->net, net, len) && ip6_eq(&g->via, via))
			return true;
	}
	return false;
}

bool route6_is_app(const struct route6_table *t, const ip6 *net, uint8_t len)
{
	for (uint32_t i = 0; i < t->n_given; i++) {
		const struct route6_given *g = &t->given[i];
		if (g->app && g->iface == IF_APP && g->len <= len && addr_in6(net, &g->net, g->len))
			return true;
	}
	return false;
}

/* The default routes of a table are its last ones. */
bool route6_has_default(const struct route6_table *t)
{
	return t->n > 0 && t->entry[t->n - 1].len == 0 && t->entry[t->n - 1].iface < INTERFACES;
}

bool route6_del(struct route6_table *t, const struct interface *all, const ip6 *net, uint8_t len,
                const ip6 *via)
{
	uint32_t n = 0, had = t->n_given;
	for (uint32_t i = 0; i < had; i++) {
		const struct route6_given *g = &t->given[i];
		if (g->app || !g->has_via || g->len != len || !addr_in6(&g->net, net, len) ||
		    (via && !(g->has_via && ip6_eq(&g->via, via))))
			t->given[n++] = *g;
	}
	t->n_given = n;
	(void)!route6_rebuild(t, all); /* fewer than before */
	return n != had;
}

bool route6_silence(struct route6_table *t, const struct interface *all, const ip6 *via,
                    bool silent)
{
	bool changed = false;
	for (uint32_t i = 0; i < t->n_given; i++) {
		struct route6_given *g = &t->given[i];
		if (g->len > 0 || !g->has_via || !ip6_eq(&g->via, via) || g->silent == silent)
			continue;
		g->silent = silent;
		changed = true;
	}
	if (changed)
		(void)!route6_rebuild(t, all); /* as many as before */
	return changed;
}

void route6_del_app(struct route6_table *t, const struct interface *all)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < t->n_given; i++)
		if (!t->given[i].app)
			t->given[n++] = t->given[i];
	t->n_given = n;
	(void)!route6_rebuild(t, all); /* fewer than before */
}
