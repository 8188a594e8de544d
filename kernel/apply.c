/* See apply.h. Old addresses and routes go before new ones come: an address may move to another
 * network, and a route may get another router. */
#include "kernel/apply.h"

#include "net/autoconf/autoconf_solicit.h"
#include "net/dhcp/dhcp_client.h"
#include "net/dhcp/dhcp_start.h"
#include "net/setup/gw_change.h"
#include "net/setup/net_keys.h"

static bool differs(const struct config *a, const struct config *b, uint32_t i)
{
	return a->entry[i].key->live && !config_same(a, b, i);
}

uint32_t apply_count(const struct gw *gw, const struct config *to)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < to->n_entries; i++)
		n += differs(gw->config, to, i);
	return n;
}

static bool same_prefix(const struct prefix *a, const struct prefix *b)
{
	return a->len == b->len && addr_eq(&a->addr, &b->addr);
}

/* --- routes ---------------------------------------------------------------------------------- */

static struct net_config_route route_at(const struct net_config *c, uint32_t i)
{
	struct net_config_route r = {.via = {.is6 = false}};
	if (i >= c->n_gateway)
		return c->route[i - c->n_gateway];
	r.via = c->gateway[i];
	r.to.addr.is6 = r.via.is6;
	return r;
}

static bool has_route(const struct net_config *c, const struct net_config_route *r)
{
	for (uint32_t i = 0; i < c->n_gateway + c->n_route; i++) {
		struct net_config_route other = route_at(c, i);
		if (same_prefix(&other.to, &r->to) && addr_eq(&other.via, &r->via))
			return true;
	}
	return false;
}

/* Removes, or with `add` adds, the routes of *c that *other does not have. */
static const char *change_routes(struct gw *gw, const struct net_config *c,
                                 const struct net_config *other, bool add)
{
	const char *wrong = NULL;
	for (uint32_t i = 0; i < c->n_gateway + c->n_route && !wrong; i++) {
		struct net_config_route r = route_at(c, i);
		if (has_route(other, &r))
			continue;
		if (add)
			wrong = gw_change_add_route(gw, &r.to, &r.via);
		else
			gw_change_del_route(gw, &r.to, &r.via); /* it may be gone already */
	}
	return wrong;
}

/* --- addresses ------------------------------------------------------------------------------- */

static bool has_address(const struct net_config_interface *c, const struct prefix *p)
{
	for (uint32_t i = 0; i < c->n_address; i++)
		if (same_prefix(&c->address[i], p))
			return true;
	return false;
}

/* As change_routes, for the addresses of all interfaces that run. */
static const char *change_addresses(struct gw *gw, const struct net_config *c,
                                    const struct net_config *other, bool add)
{
	const char *wrong = NULL;
	for (uint32_t k = 0; k < gw->n_iface; k++) {
		const struct net_config_interface *f = &c->iface[k];
		for (uint32_t i = 0; i < f->n_address && !wrong; i++) {
			if (has_address(&other->iface[k], &f->address[i]))
				continue;
			if (net_is_auto(&f->address[i]))
				(add ? autoconf_start : autoconf_stop)(gw);
			else if (net_is_dhcp(&f->address[i]))
				(add ? dhcp_start : dhcp_stop)(gw);
			else if (add)
				wrong = gw_change_add_address(gw, k, &f->address[i]);
			else
				gw_change_del_address(gw, k, &f->address[i].addr);
		}
	}
	return wrong;
}

/* Why one of the addresses that *c has and *other does not may not change. */
static const char *stays(const struct gw *gw, const struct net_config *c,
                         const struct net_config *other)
{
	const char *why = NULL;
	for (uint32_t k = 0; k < gw->n_iface; k++)
		for (uint32_t i = 0; i < c->iface[k].n_address && !why; i++) {
			const struct prefix *own = &c->iface[k].address[i];
			if (!has_address(&other->iface[k], own))
				why = gw_change_stays(gw, k, &own->addr);
		}
	return why;
}

const char *apply(struct gw *gw, struct config *running, const struct config *to)
{
	struct net_config *was = config_values_of(running, &net_section);
	const struct net_config *now = net_config(to);
	const char *no = stays(gw, was, now);
	if (!no)
		no = stays(gw, now, was);
	if (no)
		return no;
	change_routes(gw, was, now, false);
	change_addresses(gw, was, now, false);
	const char *wrong = change_addresses(gw, now, was, true);
	if (!wrong)
		wrong = change_routes(gw, now, was, true);
	/* Also after an error: the way back begins with what was tried. */
	for (uint32_t i = 0; i < to->n_entries; i++)
		if (differs(running, to, i))
			config_take(running, to, i);
	if (gw->forwarder->tune)
		gw->forwarder->tune(gw);
	return wrong;
}
