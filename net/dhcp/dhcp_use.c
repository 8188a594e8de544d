/* See dhcp_use.h. */
#include "net/dhcp/dhcp_use.h"

#include "kernel/lib/fmt.h"
#include "kernel/lib/log.h"
#include "net/autoconf/autoconf_solicit.h"
#include "net/setup/gw_change.h"
#include "net/setup/gw_setup.h"

/* --- what speaks against it --------------------------------------------------------------------
 */

/* The network of the inside that has addresses of this one, or is part of it; NULL when none. */
static const struct interface *inside_with(const struct gw *gw, ip4 net, uint8_t len)
{
	for (uint32_t i = 0; i < gw->n_iface; i++)
		for (uint32_t k = 0; interface_is_inside(i) && k < gw->iface[i].n_addr; k++) {
			const struct address4 *own = &gw->iface[i].addr[k];
			uint8_t both = (uint8_t)min_u32(own->len, len);
			if (!((ip4_get(own->addr) ^ ip4_get(net)) & addr_mask4(both)))
				return &gw->iface[i];
		}
	return NULL;
}

const char *dhcp_use_refuses(const struct gw *gw, const struct dhcp_lease *lease)
{
	const struct interface *lan = inside_with(gw, lease->addr, lease->len);
	char text[FMT_IP4];
	if (lan)
		return gw_setup_fail("its network and that of %s.address %s have addresses in "
		                     "common: please change %s.address",
		                     lan->name, fmt_ip4(text, lan->addr[0].addr), lan->name);
	if (route4_claimed(&gw->routes4, lease->addr) && !gw->forwarder->claims_again)
		return "its address stands for another host";
	return NULL;
}

/* --- routes ------------------------------------------------------------------------------------
 */

static bool same_route(const struct dhcp_route *a, const struct dhcp_route *b)
{
	return a->len == b->len && ip4_eq(a->net, b->net) && ip4_eq(a->via, b->via);
}

static bool has_route(const struct dhcp_route *list, uint32_t n, const struct dhcp_route *r)
{
	for (uint32_t i = 0; i < n; i++)
		if (same_route(&list[i], r))
			return true;
	return false;
}

/* Removes the routes that the list does not have. */
static void drop_routes(struct gw *gw, const struct dhcp_route *list, uint32_t n)
{
	struct dhcp_client *c = &gw->dhcp;
	uint32_t kept = 0;
	for (uint32_t i = 0; i < c->n_routes; i++) {
		const struct dhcp_route *r = &c->route[i];
		const struct prefix to = {.addr = {.v4 = r->net}, .len = r->len};
		const struct addr via = {.v4 = r->via};
		if (has_route(list, n, r))
			c->route[kept++] = *r;
		else
			gw_change_del_route(gw, &to, &via);
	}
	c->n_routes = kept;
}

/* The network of the inside that a route would take packets from: one as long as its own, or
 * longer. A shorter one takes none: the longest prefix counts. */
static const struct interface *inside_of_route(const struct gw *gw, const struct dhcp_route *r)
{
	for (uint32_t i = 0; i < gw->n_iface; i++)
		for (uint32_t k = 0; interface_is_inside(i) && k < gw->iface[i].n_addr; k++) {
			const struct address4 *own = &gw->iface[i].addr[k];
			if (r->len >= own->len &&
			    !((ip4_get(own->addr) ^ ip4_get(r->net)) & addr_mask4(own->len)))
				return &gw->iface[i];
		}
	return NULL;
}

/* Adds what is not there yet. What the lease before had too, and could not be used, is said once.
 */
static void add_routes(struct gw *gw, const struct dhcp_lease *lease,
                       const struct dhcp_lease *before)
{
	struct dhcp_client *c = &gw->dhcp;
	char text[FMT_IP6 + 4], hop[FMT_IP4];
	for (uint32_t i = 0; i < lease->n_routes; i++) {
		const struct dhcp_route *r = &lease->route[i];
		const struct prefix to = {.addr = {.v4 = r->net}, .len = r->len};
		const struct addr via = {.v4 = r->via};
		if (has_route(c->route, c->n_routes, r))
			continue;
		const struct interface *lan = inside_of_route(gw, r);
		const char *bad = NULL;
		if (lan)
			bad = gw_setup_fail("it has addresses of %s", lan->name);
		else if (!interface_on_link4(&gw->iface[IF_WAN], r->via))
			bad = "its router is not on the network of the lease";
		else
			bad = gw_change_add_route(gw, &to, &via);
		if (!bad)
			c->route[c->n_routes++] = *r;
		else if (!has_route(before->route, before->n_routes, r))
			log_line("wan: route %s via %s of the lease is not used: %s",
			         addr_prefix_text(text, &to), fmt_ip4(hop, r->via), bad);
	}
}

/* --- the whole ----------------------------------------------------------------------------------
 */

uint32_t dhcp_use_mtu_most(const struct gw *gw)
{
	const struct net_config_interface *wan = &net_config(gw->config)->iface[NET_WAN];
	return wan->has_mtu ? wan->mtu : NET_MTU;
}

/* The MTU of the lease, 0: it has none. */
static void set_mtu(struct gw *gw, uint32_t of_lease)
{
	struct interface *at = &gw->iface[IF_WAN];
	uint32_t mtu = of_lease ? of_lease : dhcp_use_mtu_most(gw);
	if (mtu == at->mtu)
		return;
	log_line("wan: the MTU is now %u", mtu);
	at->mtu6 = min_u32(at->mtu6 == at->mtu ? mtu : at->mtu6, mtu);
	at->mtu = mtu;
	gw_change_inform(gw);
}

static bool same_servers(const struct dhcp_lease *a, const struct dhcp_lease *b)
{
	return a->n_dns == b->n_dns && memcmp(a->dns, b->dns, a->n_dns * sizeof a->dns[0]) == 0;
}

static void drop_address(struct gw *gw)
{
	const struct addr own = {.v4 = gw->dhcp.lease.addr};
	gw_change_del_address(gw, IF_WAN, &own);
}

/* The new address comes before the old one goes, so that sessions move once. */
static const char *change_address(struct gw *gw, const struct dhcp_lease *lease)
{
	const struct dhcp_client *c = &gw->dhcp;
	const struct prefix own = {.addr = {.v4 = lease->addr}, .len = lease->len};
	bool same = c->in_force && ip4_eq(c->lease.addr, lease->addr);
	if (same && c->lease.len == lease->len)
		return NULL;
	if (same)
		drop_address(gw);
	const char *bad = gw_change_add_address(gw, IF_WAN, &own);
	if (c->in_force && !same)
		drop_address(gw);
	return bad;
}

const char *dhcp_use(struct gw *gw, const struct dhcp_lease *lease)
{
	struct dhcp_client *c = &gw->dhcp;
	bool other = !c->in_force || !same_servers(&c->lease, lease);
	bool other_rd = memcmp(&c->rd, &lease->rd, sizeof c->rd) != 0;
	drop_routes(gw, lease->route, lease->n_routes);
	c->rd = lease->rd;
	const char *bad = change_address(gw, lease);
	if (bad) {
		c->in_force = false;
		dhcp_use_no_more(gw);
		return bad;
	}
	const struct dhcp_lease none = {.n_routes = 0}, before = c->in_force ? c->lease : none;
	c->in_force = true;
	c->lease = *lease;
	c->servers_changed += other;
	add_routes(gw, lease, &before);
	set_mtu(gw, lease->mtu);
	if (other_rd)
		gw_change_inform(gw);
	return NULL;
}

void dhcp_use_no_more(struct gw *gw)
{
	struct dhcp_client *c = &gw->dhcp;
	bool had = c->in_force;
	drop_routes(gw, NULL, 0);
	c->in_force = false;
	c->rd = (struct dhcp_6rd){.len = 0};
	if (had)
		drop_address(gw);
	c->servers_changed++;
	set_mtu(gw, 0);
}
