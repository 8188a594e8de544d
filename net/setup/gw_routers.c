/* See gw_routers.h. A router answers while its neighbour entry is usable and does not once it has
 * failed; in between nothing new is known. */
#include "net/setup/gw_routers.h"

#include "kernel/lib/fmt.h"
#include "kernel/lib/log.h"
#include "net/neigh/neigh.h"
#include "net/setup/gw_change.h"

/* True when the neighbour entry of a router (NULL: there is none) and its interface show another
 * state than is known. */
static bool has_changed(const struct interface *at, const struct neigh *n, bool silent)
{
	bool cut = !at->carrier && at->up_us; /* the carrier was lost */
	return silent ? n && neigh_usable(n) : cut || (n && n->state == NEIGH_FAILED);
}

/* The default routes of a table are its last ones. The first of them, n when there is none. */
static uint32_t first_default4(const struct route4_table *t)
{
	uint32_t i = t->n;
	while (i > 0 && t->entry[i - 1].len == 0)
		i--;
	return i;
}

static uint32_t first_default6(const struct route6_table *t)
{
	uint32_t i = t->n;
	while (i > 0 && t->entry[i - 1].len == 0)
		i--;
	return i;
}

static void say(const struct gw *gw, uint32_t iface, const struct addr *router)
{
	char text[FMT_IP6];
	if (iface < INTERFACES) /* a forwarder's default route has no router */
		log_line("%s: the default router is now %s", gw->iface[iface].name,
		         addr_text(text, router));
}

static bool watch4(struct gw *gw)
{
	struct route4_table *t = &gw->routes4;
	uint32_t first = first_default4(t);
	if (t->n - first < 2)
		return false;
	uint32_t used = t->entry[first].via;
	bool changed = false;
	/* By the given routes: those of the table move. */
	for (uint32_t i = 0; i < t->n_given; i++) {
		const struct route4_given g = t->given[i];
		const struct route4 *on = route4_for(t, g.via);
		if (g.len > 0 || !on || on->via)
			continue;
		neigh_watch4(gw, on->iface, g.via);
		if (has_changed(&gw->iface[on->iface],
		                neigh_find4(&gw->neigh, on->iface, ip4_raw(g.via)), g.silent))
			changed |= route4_silence(t, gw->iface, g.via, !g.silent);
	}
	const struct route4 *now = &t->entry[first_default4(t)];
	const struct addr a = {.v4 = ip4_from_raw(now->via)};
	if (now->via != used)
		say(gw, now->iface, &a);
	return changed;
}

static bool watch6(struct gw *gw)
{
	struct route6_table *t = &gw->routes6;
	uint32_t first = first_default6(t);
	if (t->n - first < 2)
		return false;
	ip6 used = t->entry[first].via;
	bool changed = false;
	for (uint32_t i = 0; i < t->n_given; i++) {
		const struct route6_given g = t->given[i];
		const struct route6 *on = g.has_via ? route6_for(t, &g.via) : NULL;
		if (g.len > 0 || !on || on->hop || on->iface >= INTERFACES)
			continue;
		neigh_watch6(gw, on->iface, &g.via);
		if (has_changed(&gw->iface[on->iface], neigh_find6(&gw->neigh, on->iface, &g.via),
		                g.silent))
			changed |= route6_silence(t, gw->iface, &g.via, !g.silent);
	}
	const struct route6 *now = &t->entry[first_default6(t)];
	const struct addr a = {.is6 = true, .v6 = now->via};
	if (!ip6_eq(&now->via, &used))
		say(gw, now->iface, &a);
	return changed;
}

void gw_routers_tick(struct gw *gw)
{
	bool changed = watch4(gw);
	if (gw->ip6)
		changed |= watch6(gw);
	if (changed)
		gw_change_inform(gw);
}
