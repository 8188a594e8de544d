/* The application `ivi`: stateless translation between IPv4 hosts on the WAN side and IPv6
 * hosts on the LAN side (RFC 6219, RFC 7915). This file sets up the translator and decides
 * which packets are translated; the translation is in xlat46.c and xlat64.c.
 *
 * Routes decide for most packets. Those of ivi.prefix and of mappings lead to IF_APP, and a
 * longer native route wins (RFC 7915 sections 4.6 and 5.6). For IPv4 the networks of IPv6
 * hosts are looked up first, because an IPv4 route table has a default route to the WAN
 * that would match everything.
 *
 * Not implemented on purpose: multicast (RFC 6219 section 5.1). */
#include "apps/translate/ivi.h"

#include "apps/apps.h"
#include "apps/translate/embed_keys.h"
#include "apps/translate/xlat_cache.h"
#include "kernel/lib/alloc.h"
#include "kernel/lib/log.h"
#include "kernel/lib/fmt.h"
#include "net/gw_address.h"
#include "net/setup/gw_setup6.h"
#include "net/ip4/icmp.h"
#include "net/ip6/icmp6.h"
#include "net/ra/ra.h"

static char wrong[128];

static const char *key_error(const char *what, const char *more)
{
	fmt(wrong, sizeof wrong, "%s %s", what, more);
	return wrong;
}

/* --- start: addresses that stand for IPv6 hosts ------------------------------------ */

static void add_net(struct translator *v, ip4 net, uint8_t len)
{
	struct xlat_net *n = &v->net[v->n_nets++];
	*n = (struct xlat_net){.net = ip4_raw(net), .mask = swap32(addr_mask4(len)), .len = len};
}

static const char *set_form(struct translator *v, const struct config *all)
{
	const struct ivi_config *c = ivi_config(all);
	v->has_form = c->has_prefix;
	if (!c->has_prefix)
		return c->n_ipv4 || c->n_share ? "ivi.prefix: required by ivi with ivi.ipv4" : NULL;
	const char *bad = embed_set_up(&v->form, &c->prefix, c->format == IVI_FORMAT_IVI);
	if (bad)
		return key_error("ivi.prefix", bad);
	v->well_known = embed_keys_strict(all, &v->form, "ivi.prefix");
	v->simple = !v->well_known && c->n_share == 0;
	if (c->n_share && v->form.set_at == 0)
		return "ivi.share: there is no room for the number of the set behind a /96";
	return NULL;
}

static const char *set_nets(struct translator *v, const struct ivi_config *c)
{
	for (uint32_t i = 0; i < c->n_ipv4; i++)
		add_net(v, c->ipv4[i].net, c->ipv4[i].len);
	for (uint32_t i = 0; i < c->n_share; i++) {
		const struct embed_sharing *s = &c->share[i];
		if (!xlat_net_of(v, ip4_raw(s->net)))
			add_net(v, s->net, s->len);
		for (uint32_t k = 0; k < i; k++)
			if (!((ip4_get(s->net) ^ ip4_get(c->share[k].net)) &
			      addr_mask4(s->len < c->share[k].len ? s->len : c->share[k].len)))
				return "ivi.share: an address is given twice";
		embed_share_set_up(&v->share[v->n_shares++], s);
	}
	return v->n_nets == 0 && c->n_map == 0
	               ? "ivi.ipv4: required by ivi, unless ivi.map names the IPv6 hosts"
	               : NULL;
}

static const char *set_maps(struct gw *gw, struct translator *v, const struct ivi_config *c)
{
	uint32_t mul[5];
	for (unsigned i = 0; i < ARRAY_SIZE(mul); i++)
		mul[i] = rng_u32(gw->rng) | 1;
	return embed_maps_set_up(&v->maps, c->map, c->n_map, mul);
}

/* --- start: routes ------------------------------------------------------------------------ */

/* The native IPv6 route on the LAN side for a network, NULL when there is none. Routes to
 * the application do not count. */
static const struct route6 *native6(const struct gw *gw, const ip6 *net, uint8_t len)
{
	for (uint32_t i = 0; i < gw->routes6.n; i++) {
		const struct route6 *r = &gw->routes6.entry[i];
		ip6 to;
		memcpy(&to, r->net, sizeof to);
		if (r->len <= len && addr_in6(net, &to, r->len) && r->iface < INTERFACES)
			return interface_is_inside(r->iface) ? r : NULL;
	}
	return NULL;
}

/* The native IPv4 route on the WAN side for a network (host order), NULL when there is
 * none. */
static const struct route4 *native4(const struct gw *gw, uint32_t net, uint8_t len)
{
	for (uint32_t i = 0; i < gw->routes4.n; i++) {
		const struct route4 *r = &gw->routes4.entry[i];
		if (r->len <= len && (net & r->mask) == r->net)
			return r->iface == IF_WAN ? r : NULL;
	}
	return NULL;
}

/* Adds a native route for IPv6 hosts whose addresses lie under a route to the application.
 * Without a native route the network becomes unreachable. False when the table of routes is
 * full. */
static bool keep_native(struct gw *gw, const ip6 *net, uint8_t len, uint8_t app_len)
{
	const struct route6 *r = native6(gw, net, len);
	if (r && r->len > app_len)
		return true;
	if (!r)
		return gw_add_route6(gw, net, len, NULL, IF_NONE);
	ip6 via = r->via;
	return gw_add_route6(gw, net, len, &via, r->iface);
}

/* Decides whether a mapping names IPv4 or IPv6 hosts. When no route decides it, the mapping
 * is taken for IPv6 hosts if these can be reached at all. */
static bool set_map_side(struct gw *gw, struct translator *v, uint32_t i)
{
	const struct embed_pair *c = &ivi_config(gw->config)->map[i];
	const struct route6 *r6 = native6(gw, &c->net6, c->len6);
	const struct route4 *r4 = native4(gw, ip4_get(c->net4), c->len4);
	const struct xlat_net *n = xlat_net_of(v, ip4_raw(c->net4));
	v->map_is6[i] = (n && n->len <= c->len4) || (r6 && r6->len > 0);
	v->map_is4[i] = !v->map_is6[i] && r4 && r4->len > 0;
	bool app = !v->map_is6[i] && (v->map_is4[i] || !r6);
	return !app || gw_add_route6(gw, &c->net6, c->len6, NULL, IF_APP);
}

static const char *set_routes(struct gw *gw, struct translator *v)
{
	const struct ivi_config *c = ivi_config(gw->config);
	_Static_assert(EMBED_MAPS + XLAT_NETS + 1 <= ROUTES6_APP, "room for all");
	bool ok = true;
	for (uint32_t i = 0; i < c->n_map; i++)
		ok = ok && set_map_side(gw, v, i);
	if (v->has_form) {
		ip6 net;
		memcpy(&net, v->form.prefix, sizeof net);
		for (uint32_t i = 0; i < v->n_nets && ok; i++) {
			ip6 hosts;
			embed_to6(&v->form, v->net[i].net, &hosts);
			ok = keep_native(gw, &hosts, v->form.end[v->net[i].len], v->form.len);
		}
		for (uint32_t i = 0; i < c->n_map && ok; i++)
			if (v->map_is6[i] && addr_in6(&c->map[i].net6, &net, v->form.len))
				ok = keep_native(gw, &c->map[i].net6, c->map[i].len6, v->form.len);
		ok = ok && gw_add_route6(gw, &net, v->form.len, NULL, IF_APP);
	}
	return ok ? NULL : "ivi.map: too many routes";
}

/* --- start: IPv4 addresses ---------------------------------------------------------------- */

static void add_reserved(struct translator *v, uint32_t a)
{
	if (v->n_reserved < XLAT_RESERVED && !xlat_is_reserved(v, swap32(a)))
		v->reserved[v->n_reserved++] = swap32(a);
}

/* Reserves our own addresses and those that no host of our networks may have: network and
 * broadcast address. A /31 has hosts only (RFC 3021). */
static void set_reserved(const struct gw *gw, struct translator *v)
{
	for (uint32_t i = 0; i < gw->n_iface; i++)
		for (uint32_t k = 0; k < gw->iface[i].n_addr; k++) {
			const struct address4 *a = &gw->iface[i].addr[k];
			uint32_t own = ip4_get(a->addr), mask = addr_mask4(a->len);
			add_reserved(v, own);
			if (a->len > 30)
				continue;
			add_reserved(v, own & mask);
			add_reserved(v, own | ~mask);
		}
}

/* True when a network (host order) contains an own address, a router's address or a longer
 * native route. */
static bool has_native4(const struct gw *gw, uint32_t net, uint8_t len)
{
	uint32_t mask = addr_mask4(len);
	for (uint32_t i = 0; i < gw->routes4.n; i++) {
		const struct route4 *r = &gw->routes4.entry[i];
		if ((r->len > len && (r->net & mask) == net) ||
		    (r->own && (r->own & mask) == net) ||
		    (r->via && (swap32(r->via) & mask) == net))
			return true;
	}
	return false;
}

/* The first address (host order) from `from` on that no IPv6 host may have, whatever
 * network it lies in: a router's, our own or a broadcast address. 2^32 when there is none. */
static uint64_t next_excluded(const struct gw *gw, const struct translator *v, uint32_t from)
{
	uint64_t found = 1ull << 32;
	for (uint32_t i = 0; i < v->n_reserved; i++) {
		uint32_t a = swap32(v->reserved[i]);
		if (a >= from && a < found)
			found = a;
	}
	for (uint32_t i = 0; i < gw->routes4.n; i++) {
		uint32_t via = swap32(gw->routes4.entry[i].via);
		if (via >= from && via < found)
			found = via;
	}
	return found;
}

/* Makes the gateway answer ARP on the WAN for the part of a network of IPv6 hosts that lies
 * in the WAN's own networks, except for routers. */
static const char *answer_arp(struct gw *gw, const struct translator *v, uint32_t net, uint8_t len)
{
	const struct interface *wan = &gw->iface[IF_WAN];
	uint64_t first = net, last = net | ~addr_mask4(len);
	bool on_link = false;
	for (uint32_t i = 0; i < wan->n_addr; i++)
		on_link |= !((ip4_get(wan->addr[i].addr) ^ net) &
		             addr_mask4(len < wan->addr[i].len ? len : wan->addr[i].len));
	for (uint64_t end; on_link && first <= last; first = end + 1) {
		end = next_excluded(gw, v, (uint32_t)first);
		if (end > last)
			end = last + 1;
		if (end > first &&
		    !route4_claim(&gw->routes4, IF_WAN, (uint32_t)first, (uint32_t)end - 1))
			return "ivi.map: too many ranges in the networks of wan.address";
	}
	return NULL;
}

static const char *set_addresses(struct gw *gw, struct translator *v)
{
	const struct ivi_config *c = ivi_config(gw->config);
	const char *bad = NULL;
	set_reserved(gw, v);
	for (uint32_t i = 0; i < v->n_nets && !bad; i++) {
		struct xlat_net *n = &v->net[i];
		n->native_inside = has_native4(gw, swap32(n->net), n->len);
		bad = answer_arp(gw, v, swap32(n->net), n->len);
	}
	for (uint32_t i = 0; i < c->n_map && !bad; i++) {
		v->map_native[i] = has_native4(gw, ip4_get(c->map[i].net4), c->map[i].len4);
		if (v->map_is6[i])
			bad = answer_arp(gw, v, ip4_get(c->map[i].net4), c->map[i].len4);
	}
	return bad;
}

static void set_icmp_sources(struct translator *v, const struct ivi_config *c)
{
	for (uint32_t i = 0; i < c->n_icmp_source; i++) {
		if (c->icmp_source[i].is6)
			v->icmp6[v->n_icmp6++] = c->icmp_source[i].v6;
		else
			v->icmp4[v->n_icmp4++] = c->icmp_source[i].v4;
	}
}

/* Hosts get addresses of the mapped form and cannot make them up themselves. So the
 * prefixes are advertised as on-link, without the flag for address configuration (RFC 6219
 * section 6.1; A = 0). */
static const char *advertise(struct gw *gw, uint32_t iface)
{
	const struct interface *lan = &gw->iface[iface];
	if (!ra_config_on(gw->config, iface))
		return NULL;
	if (!gw->ra[iface].on)
		ra_start(gw, iface, RA_LIFETIME_S, RA_PREF_MEDIUM, lan->mtu < 1500 ? lan->mtu : 0);
	return ra_follow(gw, iface, ND_PREFIX_ON_LINK)
	               ? NULL
	               : "lan.address: too many IPv6 networks to advertise";
}

/* Sets up all that follows from routes and addresses of ours: at the start, and when one of them
 * has changed. */
static const char *follow(struct gw *gw, struct translator *v)
{
	gw_forget_routes6(gw);
	gw->routes4.n_claims = 0;
	v->n_reserved = 0;
	const char *bad = set_routes(gw, v);
	if (!bad)
		bad = set_addresses(gw, v);
	for (uint32_t i = 0; i < gw->n_iface && !bad; i++)
		if (interface_is_inside(i) && (interface_global6(&gw->iface[i]) || gw->ra[i].on))
			bad = advertise(gw, i);
	return bad;
}

static bool has_inside6(const struct gw *gw)
{
	for (uint32_t i = 0; i < gw->n_iface; i++)
		if (interface_is_inside(i) && interface_global6(&gw->iface[i]))
			return true;
	return false;
}

/* Where a table is too small for what there is now, the rest is not translated. */
static void ivi_changed(struct gw *gw)
{
	const char *bad = follow(gw, gw->state);
	if (bad)
		log_line("%s", bad);
	if (!has_inside6(gw) || gw->iface[IF_WAN].n_addr == 0)
		log_line("ivi: no IPv%u address %s: nothing is translated", has_inside6(gw) ? 4 : 6,
		         has_inside6(gw) ? "outside" : "inside");
}

static const char *ivi_init(struct gw *gw)
{
	const struct ivi_config *c = ivi_config(gw->config);
	if (!has_inside6(gw))
		return "lan.address: an IPv6 address is required by ivi";
	if (gw->iface[IF_WAN].n_addr == 0 && !net_has_dhcp(gw->config))
		return "wan.address: an IPv4 address is required by ivi";
	struct translator *v = alloc(sizeof *v, 64);
	if (!v || !(v->cache = alloc(sizeof *v->cache, 64)))
		return "not enough memory";
	gw->state = v;
	gw->app_mtu = gw->iface[IF_WAN].mtu + IP6_MIN - IP4_MIN;
	v->core = (struct xlat_core){
	        .name = "ivi",
	        .errors = c->errors,
	        .compute_zero = c->udp_zero_checksum == IVI_ZERO_COMPUTE,
	        .icmp_interface = c->icmp_interface,
	};
	xlat_core_set_up(gw, &v->core, c->lowest_ipv6_mtu, c->mss_clamp, c->tos);
	xlat_cache_set_up(gw, v->cache);
	const char *bad = set_form(v, gw->config);
	if (!bad)
		bad = set_nets(v, c);
	if (!bad)
		bad = set_maps(gw, v, c);
	if (!bad)
		set_icmp_sources(v, c);
	return bad ? bad : follow(gw, v);
}

/* --- which packets are translated -------------------------------------------------- */

/* True for a destination on the side that the packet came from, when a native route leads
 * there. */
static bool goes_back(const struct gw *gw, const struct pkt *p)
{
	const struct route4 *r = route4_for(&gw->routes4, ip4_to(p));
	return r && r->iface == p->iface && r->len > 0 && !gw_is_own(gw, ip4_to(p));
}

/* An IPv4 packet that is for no IPv6 host: it is for the gateway itself, or for a host on
 * the side that it came from. */
static enum verdict not_translated(struct gw *gw, struct pkt *p)
{
	ip4 to = ip4_to(p);
	enum drop bad = ip4_bad_destination(gw, p);
	if (bad != DROP_NONE)
		return gw_drop(gw, p, bad);
	if (interface_has4(&gw->iface[p->iface], to))
		return V_LOCAL;
	if (!goes_back(gw, p))
		return gw_drop(gw, p, DROP_FOREIGN);
	if (ip4_bad_source(gw, p))
		return gw_drop(gw, p, DROP_MARTIAN_SOURCE);
	if (!ip4_route(gw, p, to) || ip4_may_forward(gw, p) != V_SEND)
		return V_DROP;
	ip4_hop(ip4_header(p), 0);
	return V_SEND;
}

/* True for the raw IPv4 address of an IPv6 host; *m is its mapping, NULL when it has none. */
ALWAYS_INLINE bool find_host6(const struct gw *gw, const struct translator *v, uint32_t to,
                              const struct embed_map **m)
{
	*m = embed_find4(&v->maps, to);
	if (UNLIKELY(*m != NULL)) {
		uint32_t i = (uint32_t)(*m - v->maps.map);
		return !v->map_is4[i] && !(v->map_native[i] && xlat_is_native4(gw, to, (*m)->len4));
	}
	return xlat_is_host6(gw, v, to);
}

static bool ivi_concerns4(const struct gw *gw, const struct pkt *p)
{
	const struct embed_map *m;
	return interface_has4(&gw->iface[p->iface], ip4_to(p)) || goes_back(gw, p) ||
	       (p->iface == IF_WAN && find_host6(gw, gw->state, ip4_raw(ip4_to(p)), &m));
}

/* Drops a packet with a source route that has hops left (RFC 7915 section 4.1). */
static enum verdict source_route(struct gw *gw, struct pkt *p)
{
	const struct translator *v = gw->state;
	return ivi_concerns4(gw, p)
	               ? xlat_refuse4_as(gw, &v->core, p, DROP_SOURCE_ROUTE, ICMP_SOURCE_ROUTE)
	               : gw_drop(gw, p, DROP_SOURCE_ROUTE);
}

static enum verdict ivi_ip4(struct gw *gw, struct pkt *p)
{
	struct translator *v = gw->state;
	uint32_t to = ip4_raw(ip4_to(p));
	if (UNLIKELY(p->flags & PKT_OPTIONS) && !ip4_route_done(p))
		return source_route(gw, p);
	if (UNLIKELY(p->iface != IF_WAN || p->flags & PKT_L2_GROUP))
		return not_translated(gw, p);
	const struct embed_map *m;
	if (UNLIKELY(!find_host6(gw, v, to, &m)))
		return not_translated(gw, p);
	if (UNLIKELY(!m && v->n_shares))
		return xlat_shared(gw, v, p);
	return xlat46(gw, v, p, m, XLAT_NO_PORT);
}

static enum verdict ivi_ip6(struct gw *gw, struct pkt *p)
{
	struct translator *v = gw->state;
	if (LIKELY(p->out == IF_APP))
		return xlat64(gw, v, p);
	if (interface_is_inside(p->out))
		return ip6_forward(gw, p);
	icmp6_error(gw, p, ICMP6_UNREACHABLE, ICMP6_NO_ROUTE, 0);
	return gw_drop(gw, p, DROP_NO_ROUTE);
}

static bool ivi_prefix64(const struct gw *gw, struct prefix *p, bool *ivi)
{
	const struct ivi_config *c = ivi_config(gw->config);
	*p = c->prefix;
	*ivi = c->format == IVI_FORMAT_IVI;
	return c->has_prefix;
}

const struct forwarder forwarder_ivi = {
        .no_wan6 = true,
        .claims_again = true,
        .takes_source_routes = true,
        .keys = {&ivi_section, &embed_section},
        .counts = {&ivi_counts},
        .init = ivi_init,
        .frames = xlat_cache_frames,
        .partial = xlat_cache_partial,
        .ip4 = ivi_ip4,
        .concerns4 = ivi_concerns4,
        .ip6 = ivi_ip6,
        .no_neighbour = xlat_no_neighbour,
        .prefix64 = ivi_prefix64,
        .changed = ivi_changed,
        .timings = &ivi_timings,
        .show = ivi_show,
};
