/* The application `nat64`: inside hosts with IPv6 reach IPv4 hosts outside, through one IPv4
 * address or a few (RFC 6146). This file sets it up and decides which packets are translated. See
 * nat64.h. */
#include "apps/nat64/nat64.h"

#include "apps/apps.h"
#include "apps/translate/embed_keys.h"
#include "kernel/lib/alloc.h"
#include "kernel/lib/log.h"
#include "net/dhcp6/dhcp6_keys.h"
#include "net/gw_address.h"
#include "net/ip6/icmp6.h"
#include "net/ip6/ip6_address.h"
#include "net/ra/ra.h"
#include "net/setup/gw_setup.h"
#include "net/setup/gw_setup6.h"

/* --- start: prefixes -------------------------------------------------------------------------- */

static const char *set_prefixes(struct gw *gw, struct nat64 *n)
{
	const struct nat64_config *c = nat64_config(gw->config);
	n->n_prefixes = c->n_prefix;
	for (uint32_t i = 0; i < n->n_prefixes; i++) {
		const struct prefix *p = &c->prefix[i];
		const char *bad = embed_set_up(&n->prefix[i].form, p, false);
		if (bad)
			return gw_setup_fail("nat64.prefix %s", bad);
		for (uint32_t k = 0; k < i; k++)
			if (c->prefix[k].len == p->len && addr_eq(&c->prefix[k].addr, &p->addr))
				return "nat64.prefix: a prefix is given twice";
		n->prefix[i].strict =
		        embed_keys_strict(gw->config, &n->prefix[i].form, "nat64.prefix");
	}
	return NULL;
}

static const char *set_routes(struct gw *gw, const struct nat64 *n)
{
	for (uint32_t i = 0; i < n->n_prefixes; i++) {
		const struct prefix *p = &nat64_config(gw->config)->prefix[i];
		if (!gw_add_route6(gw, &p->addr.v6, p->len, NULL, IF_APP))
			return "nat64.prefix: too many routes";
	}
	return NULL;
}

/* --- start: static bindings ------------------------------------------------------------------- */

/* A host on a network of the inside. With lan.prefix delegated the network may come later: until
 * then, and after it, packets to the host are dropped (nat64_route_in). */
static bool is_inside6(const struct gw *gw, const struct nat64 *n, const ip6 *a)
{
	const struct route6 *r = route6_for(&gw->routes6, a);
	bool inside = r && interface_is_inside(r->iface);
	return (inside || dhcp6_wants_prefix(gw->config)) && !ip6_is_special(a) &&
	       nat64_prefix_of(n, a) == NAT64_NO_PREFIX && !(r && route6_own(r, a));
}

/* The number by which the tables know the inside host of a static binding: its IPv4 address, or
 * that of its IPv6 address. What is wrong (static) or NULL. */
static const char *number_of(struct gw *gw, struct nat64 *n, const struct addr *inside,
                             uint32_t *number)
{
	*number = NAT_INSIDE_NONE;
	if (!inside->is6 && !n->nat44)
		return "nat64.forward: an inside IPv4 address needs nat64.nat";
	if (inside->is6 ? !is_inside6(gw, n, &inside->v6) : !nat_may_be_inside(gw, inside->v4))
		return "nat64.forward: the inside address is not on the LAN side, or no host's";
	*number = inside->is6 ? nat_inside_get(&n->inside, &inside->v6) : ip4_raw(inside->v4);
	return NULL;
}

static const char *set_forwards(struct gw *gw, struct nat64 *n)
{
	const struct nat64_config *c = nat64_config(gw->config);
	for (uint32_t i = 0; i < c->n_forward; i++) {
		const struct nat64_config_forward *f = &c->forward[i];
		/* 0.0.0.0: the WAN's own address, whichever it has. */
		bool own = ip4_raw(f->public) == 0 && c->nat.n_pool == 0;
		uint32_t external = own ? 0 : nat_external_find(&n->nat.table, ip4_raw(f->public));
		if (external == NAT_NONE)
			return "nat64.forward: the outer address is none of nat64.pool";
		uint32_t number;
		const char *bad = number_of(gw, n, &f->inside, &number);
		if (bad)
			return bad;
		if (number == NAT_INSIDE_NONE ||
		    !nat_mapping_static(&n->nat.table, nat_proto_of(f->proto), external,
		                        swap16(f->public_port), number, swap16(f->inside_port)))
			return "nat64.forward: an outer or an inside endpoint is given twice";
	}
	return NULL;
}

/* --- start ------------------------------------------------------------------------------------ */

static bool has_inside6(const struct gw *gw)
{
	for (uint32_t i = 0; i < gw->n_iface; i++)
		if (interface_is_inside(i) && interface_global6(&gw->iface[i]))
			return true;
	return false;
}

/* Hosts of the inside make their addresses themselves in each of our networks of 64 bits, and learn
 * the first prefix, for which hosts of the outside may use another one. Without an IPv4 address
 * outside it leads nowhere. */
static const char *advertise(struct gw *gw)
{
	const struct nat64_config *c = nat64_config(gw->config);
	bool works = gw->iface[IF_WAN].n_addr > 0;
	bool all = ra_advertise_inside(gw, works || route6_has_default(&gw->routes6));
	for (uint32_t i = 0; i < gw->n_iface; i++)
		if (interface_is_inside(i) && gw->ra[i].on)
			ra_set_pref64(gw, i, c->prefix, 1, works);
	return all ? NULL : "lan.address: too many IPv6 networks to advertise";
}

/* Our own queries are never translated. */
static const char *check_servers(const struct gw *gw, const struct nat64 *n)
{
	const struct net_config *c = net_config(gw->config);
	for (uint32_t i = 0; i < c->n_server; i++)
		if (!c->server[i].lease && c->server[i].addr.is6 &&
		    nat64_prefix_of(n, &c->server[i].addr.v6) != NAT64_NO_PREFIX)
			return "nameserver: one lies under nat64.prefix, but the gateway itself is "
			       "not "
			       "translated";
	return NULL;
}

static const char *nat64_init(struct gw *gw)
{
	const struct nat64_config *c = nat64_config(gw->config);
	if (!has_inside6(gw) && !dhcp6_wants_prefix(gw->config))
		return "lan.address: an IPv6 address is required by nat64";
	if (gw->iface[IF_WAN].n_addr == 0 && !net_has_dhcp(gw->config))
		return "wan.address: an IPv4 address is required by nat64";
	struct nat64 *n = alloc(sizeof *n, 64);
	if (!n)
		return "not enough memory";
	gw->state = n;
	gw->app_mtu = gw->iface[IF_WAN].mtu + IP6_MIN - IP4_MIN;
	n->core = (struct xlat_core){.name = "nat64", .errors = true, .compute_zero = true};
	xlat_core_set_up(gw, &n->core, c->lowest_ipv6_mtu, c->mss_clamp, c->tos);
	nat64_gather_init(&n->gathers, gw->rng, c->fragment_timeout_ms);
	const char *bad = set_prefixes(gw, n);
	if (!bad)
		bad = nat_core_start(gw, &n->nat, "nat64", &c->nat);
	if (!bad && !nat_inside_init(&n->inside, c->nat.sessions,
	                             c->host_length == NAT64_HOST_64 ? 64 : 128, gw->rng))
		bad = "nat64.sessions: not enough memory";
	if (bad)
		return bad;
	n->nat.table.inside6 = &n->inside;
	n->recent_key = flow_key(gw->rng);
	n->nat.table.lingers = nat64_probe;
	n->nat.table.lingers_of = gw;
	bad = nat64_nat44_follow(gw, n);
	if (!bad)
		bad = filter6_init(gw, &n->filter);
	if (!bad)
		bad = check_servers(gw, n);
	if (!bad)
		bad = set_forwards(gw, n);
	if (!bad)
		bad = set_routes(gw, n);
	return bad ? bad : advertise(gw);
}

/* --- while it runs ---------------------------------------------------------------------------- */

static void nat64_changed(struct gw *gw)
{
	struct nat64 *n = nat64_of(gw);
	gw_forget_routes6(gw);
	const char *bad = set_routes(gw, n);
	if (!bad)
		bad = advertise(gw);
	if (bad)
		log_line("%s", bad);
	if (!has_inside6(gw) && !dhcp6_wants_prefix(gw->config))
		log_line("nat64: no IPv6 address inside: nothing is translated");
	bad = nat64_nat44_follow(gw, n);
	if (bad)
		log_line("%s", bad);
	nat_core_changed(gw, &n->nat, nat64_config(gw->config)->nat.n_pool > 0);
}

static void nat64_tune(struct gw *gw)
{
	nat_core_tune(&nat64_of(gw)->nat, &nat64_config(gw->config)->nat);
}

static bool nat64_tick(struct gw *gw)
{
	struct nat64 *n = nat64_of(gw);
	nat64_gather_tick(gw, &n->gathers);
	filter6_tick(gw, &n->filter);
	return nat_core_tick(gw, &n->nat);
}

/* --- which packets are translated ------------------------------------------------------------- */

static enum verdict nat64_ip4(struct gw *gw, struct pkt *p)
{
	struct nat64 *n = nat64_of(gw);
	return nat64_nat44_takes(n, p) ? nat_ip4(gw, p) : nat64_in(gw, n, p);
}

static bool nat64_concerns4(const struct gw *gw, const struct pkt *p)
{
	const struct nat64 *n = nat64_of(gw);
	ip4 to = ip4_to(p);
	return interface_has4(&gw->iface[p->iface], to) ||
	       (interface_is_inside(p->iface) ? n->nat44 : nat_is_external(&n->nat, to));
}

/* A prefix is ours: a packet to it from outside is not translated, and one from inside does not
 * leave, whatever longer route there is (RFC 6052 section 5.1). */
static enum verdict nat64_ip6(struct gw *gw, struct pkt *p)
{
	struct nat64 *n = nat64_of(gw);
	if (LIKELY(p->out == IF_APP && p->iface != IF_WAN))
		return nat64_out(gw, n, p);
	if (p->out != IF_APP && nat64_prefix_of(n, &ip6_header(p)->to) == NAT64_NO_PREFIX)
		return filter6_forward(gw, &n->filter, p);
	if (p->iface == IF_WAN)
		return gw_drop(gw, p, DROP_FOREIGN);
	icmp6_error(gw, p, ICMP6_UNREACHABLE, ICMP6_NO_ROUTE, 0);
	return gw_drop(gw, p, DROP_NO_ROUTE);
}

static bool nat64_prefix64(const struct gw *gw, struct prefix *p, bool *octet)
{
	*p = nat64_config(gw->config)->prefix[0];
	*octet = false;
	return true;
}

const struct forwarder forwarder_nat64 = {
        .opens_ports = true,
        .takes_source_routes = true,
        .keys = {&nat64_section, &embed_section, &filter6_section},
        .counts = {&nat64_counts, &nat64_filter_counts},
        .init = nat64_init,
        .frames = nat64_flow_frames,
        .partial = nat64_flow_partial,
        .ip4 = nat64_ip4,
        .concerns4 = nat64_concerns4,
        .ip6 = nat64_ip6,
        .no_neighbour = nat64_no_neighbour,
        .port_take = nat_own_port_take,
        .port_give = nat_own_port_give,
        .prefix64 = nat64_prefix64,
        .changed = nat64_changed,
        .inside_stays = nat_blocks_stay,
        .tune = nat64_tune,
        .tick = nat64_tick,
        .timings = &nat_timings,
        .show = nat64_show,
        .host = nat_show_host,
};
