/* See autoconf.h. */
#include "net/autoconf/autoconf.h"

#include "kernel/lib/fmt.h"
#include "kernel/lib/log.h"
#include "net/autoconf/autoconf_solicit.h"
#include "net/autoconf/autoconf_table.h"
#include "net/neigh/neigh.h"
#include "net/setup/gw_change.h"

#define SAY_MS 60000u

/* --- routers ------------------------------------------------------------------------------ */

/* Asks the routers whether they are there, where there are several (RFC 4861 section 6.3.6). A
 * router answers while its neighbour entry is usable and does not once it has failed; in between
 * nothing new is known. */
static void watch(struct gw *gw)
{
	struct autoconf *a = &gw->autoconf;
	for (uint32_t i = 0; a->n_routers > 1 && i < a->n_routers; i++) {
		struct autoconf_router *r = &a->router[i];
		neigh_watch6(gw, IF_WAN, &r->addr);
		const struct neigh *n = neigh_find6(&gw->neigh, IF_WAN, &r->addr);
		if (n && n->state == NEIGH_FAILED)
			r->silent = true;
		else if (n && neigh_usable(n))
			r->silent = false;
	}
}

/* --- routes -------------------------------------------------------------------------------- */

static bool same_hop(const struct autoconf_hop *a, const struct autoconf_hop *b)
{
	return a->len == b->len && ip6_eq(&a->net, &b->net) && ip6_eq(&a->via, &b->via);
}

static bool has_hop(const struct autoconf_hop *list, uint32_t n, const struct autoconf_hop *h)
{
	for (uint32_t i = 0; i < n; i++)
		if (same_hop(&list[i], h))
			return true;
	return false;
}

/* Why what lies in this network is not behind the WAN, whatever a router says: the network of an
 * inside interface, or one that the forwarder takes itself, contains it. NULL when none does. */
static const char *not_behind(const struct gw *gw, const ip6 *net, uint8_t len)
{
	for (uint32_t i = 0; i < gw->n_iface; i++)
		for (uint32_t k = 1; interface_is_inside(i) && k < gw->iface[i].n_addr6; k++) {
			const struct address6 *own = &gw->iface[i].addr6[k];
			if (own->len <= len && addr_in6(net, &own->addr, own->len))
				return "it is inside";
		}
	return route6_is_app(&gw->routes6, net, len) ? "it is translated or tunnelled here" : NULL;
}

/* Says, seldom, that something advertised is not taken. */
static void refuse(struct gw *gw, const ip6 *net, uint8_t len, const char *why)
{
	char text[FMT_IP6];
	log_limited(&gw->autoconf.refused_us, SAY_MS, "wan: %s/%u is advertised and not used: %s",
	            fmt_ip6(text, net), len, why);
}

/* Brings the routes in line with the table. True when one is gone or new. */
static bool follow_routes(struct gw *gw)
{
	struct autoconf *a = &gw->autoconf;
	struct autoconf_hop want[ARRAY_SIZE(a->hop)];
	uint32_t n = autoconf_table_hops(a, want), kept = 0;
	bool changed = false;
	char text[FMT_IP6];
	/* Routers that come and go by turns change the routes once a second at most. */
	for (uint32_t i = 0; i < a->n_hops; i++)
		if (has_hop(want, n, &a->hop[i]) ||
		    (!changed && !autoconf_table_may_change(a, gw->clock.us))) {
			a->hop[kept++] = a->hop[i];
		} else {
			gw_change_del_hop6(gw, &a->hop[i].net, a->hop[i].len, &a->hop[i].via);
			changed = true;
		}
	a->n_hops = kept;
	for (uint32_t i = 0; i < n; i++) {
		if (has_hop(a->hop, kept, &want[i]))
			continue;
		const char *bad = not_behind(gw, &want[i].net, want[i].len);
		if (bad) {
			refuse(gw, &want[i].net, want[i].len, bad);
			continue;
		}
		if (!changed && !autoconf_table_may_change(a, gw->clock.us))
			break;
		if (!gw_change_add_hop6(gw, IF_WAN, &want[i].net, want[i].len, &want[i].via)) {
			refuse(gw, &want[i].net, want[i].len, "too many routes");
			continue;
		}
		a->hop[a->n_hops++] = want[i];
		changed = true;
		if (want[i].len == 0)
			log_limited(&a->router_us, SAY_MS / 6, "wan: the default router is now %s",
			            fmt_ip6(text, &want[i].via));
	}
	return changed;
}

/* Brings the prefixes of the link in line with the table. True when one is gone or new. */
static bool follow_link(struct gw *gw)
{
	const struct autoconf *a = &gw->autoconf;
	struct on_link6 want[INTERFACE_ON_LINK6];
	uint32_t n = 0;
	_Static_assert(INTERFACE_ON_LINK6 == AUTOCONF_PREFIXES, "room for all");
	for (uint32_t i = 0; i < a->n_prefixes; i++) {
		const struct autoconf_prefix *p = &a->prefix[i];
		if (p->on_link_us == 0)
			continue;
		const char *bad = not_behind(gw, &p->net, p->len);
		if (bad)
			refuse(gw, &p->net, p->len, bad);
		else
			want[n++] = (struct on_link6){.net = p->net, .len = p->len};
	}
	return gw_change_set_on_link6(gw, IF_WAN, want, n);
}

/* --- addresses ------------------------------------------------------------------------------ */

/* Our address in a prefix of 64 bits: the interface identifier is that of the link-local address,
 * made from the MAC address (RFC 4291 appendix A). */
static ip6 address_in(const struct gw *gw, const ip6 *net)
{
	ip6 a = *net;
	memcpy(a.b + 8, gw->iface[IF_WAN].addr6[0].addr.b + 8, 8);
	return a;
}

/* True when the table has a prefix for an address of ours. */
static bool is_wanted(const struct gw *gw, const ip6 *own)
{
	const struct autoconf *a = &gw->autoconf;
	for (uint32_t i = 0; i < a->n_prefixes; i++)
		if (a->prefix[i].valid_us && a->prefix[i].len == 64 &&
		    addr_in6(own, &a->prefix[i].net, 64))
			return true;
	return false;
}

static void drop_addresses(struct gw *gw)
{
	struct interface *wan = &gw->iface[IF_WAN];
	for (uint32_t i = wan->n_addr6; i-- > 1;) {
		struct address6 *own = &wan->addr6[i];
		const struct addr gone = {.is6 = true, .v6 = own->addr};
		if (own->by_router && !is_wanted(gw, &own->addr))
			gw_change_del_address(gw, IF_WAN, &gone);
	}
}

/* Makes the address of a prefix unless it is there. NULL when it cannot be had. */
static struct address6 *own_address(struct gw *gw, struct autoconf_prefix *p)
{
	struct interface *wan = &gw->iface[IF_WAN];
	struct prefix own = {.addr = {.is6 = true, .v6 = address_in(gw, &p->net)}, .len = 128};
	struct address6 *at = interface_address6(wan, &own.addr.v6);
	if (at || p->refused)
		return at;
	const char *bad = not_behind(gw, &p->net, 64);
	if (!bad)
		bad = gw_change_add_address(gw, IF_WAN, &own);
	p->refused = bad != NULL;
	if (bad) {
		refuse(gw, &p->net, 64, bad);
		return NULL;
	}
	at = interface_address6(wan, &own.addr.v6);
	if (at)
		at->by_router = true;
	return at;
}

static void follow_address(struct gw *gw, struct autoconf_prefix *p)
{
	struct address6 *own = own_address(gw, p);
	bool deprecated = p->preferred_us <= gw->clock.us;
	char text[FMT_IP6];
	if (!own || !own->by_router || own->deprecated == deprecated ||
	    !autoconf_table_may_change(&gw->autoconf, gw->clock.us))
		return;
	own->deprecated = deprecated;
	log_limited(&p->said_us, SAY_MS, "wan: address %s is %s", fmt_ip6(text, &own->addr),
	            deprecated ? "deprecated" : "preferred again");
	gw_change_inform(gw);
}

/* --- the whole ------------------------------------------------------------------------------- */

void autoconf_tick(struct gw *gw)
{
	struct autoconf *a = &gw->autoconf;
	if (gw->iface[IF_WAN].n_addr6 == 0)
		return;
	autoconf_table_expire(a, gw->clock.us);
	watch(gw);
	bool changed = follow_link(gw);
	changed |= follow_routes(gw);
	if (changed)
		gw_change_inform_of_loss(gw);
	drop_addresses(gw);
	for (uint32_t i = 0; i < a->n_prefixes; i++)
		if (a->prefix[i].valid_us)
			follow_address(gw, &a->prefix[i]);
	autoconf_solicit_tick(gw);
}
