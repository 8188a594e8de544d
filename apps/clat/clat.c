/* The application `clat`: IPv4 hosts of the LAN over a WAN that has IPv6 only (RFC 6877). This file
 * sets it up and decides which packets are translated. See clat.h.
 *
 * Not implemented on purpose: several prefixes at a time. */
#include "apps/clat/clat.h"

#include "apps/apps.h"
#include "apps/translate/embed_keys.h"
#include "kernel/lib/alloc.h"
#include "kernel/lib/fmt.h"
#include "kernel/lib/log.h"
#include "kernel/lib/when.h"
#include "net/gw_address.h"
#include "net/ip4/icmp.h"
#include "net/ra/ra.h"
#include "net/setup/gw_setup.h"
#include "net/setup/gw_setup6.h"

#define FOLLOW_MS   100u
#define FRAGMENT_MS 2000u /* fragments wait for the others (RFC 6146 section 4) */

/* --- the prefix ------------------------------------------------------------------------------- */

const char *clat_use_prefix(struct gw *gw, struct clat *c, const struct prefix *p, const char *from)
{
	char text[FMT_IP6 + 4];
	const char *bad = embed_set_up(&c->form, p, false);
	c->has_prefix = bad == NULL;
	if (bad)
		return bad;
	c->prefix = *p;
	log_line("clat: the prefix of the translator is %s, from %s", addr_prefix_text(text, p),
	         from);
	c->strict = embed_keys_strict(gw->config, &c->form, "clat.prefix");
	return NULL;
}

const char *clat_stopped(const struct gw *gw)
{
	const struct clat *c = clat_of(gw);
	if (!c->has_prefix)
		return "no-prefix";
	return c->routed || gw_is_own6(gw, IF_WAN, &c->own) ? NULL : "no-address";
}

/* --- start ------------------------------------------------------------------------------------ */

/* The NAT and our own sockets send IPv4 as if the WAN had it. */
static const char *set_uplink(struct gw *gw)
{
	const struct addr router = {.v4 = ip4_of(CLAT_ROUTER)};
	const char *bad = gw_setup_add_address4(gw, IF_WAN, ip4_of(CLAT_OWN), 29);
	return bad ? bad : gw_setup_add_route4(gw, "clat", NULL, &router);
}

static const char *set_routes(struct gw *gw, const struct clat *c)
{
	if (c->routed &&
	    !gw_add_route6(gw, &clat_config(gw->config)->address.addr.v6, 64, NULL, IF_APP))
		return "clat.address: too many routes";
	return ra_advertise_inside(gw, route6_has_default(&gw->routes6))
	               ? NULL
	               : "lan.address: more IPv6 prefixes than can be advertised";
}

/* The IPv6 side is the WAN. What may be split fits every path (RFC 7915 section 4.1). */
static void set_sizes(const struct gw *gw, struct clat *c)
{
	c->core.mtu6 = gw->iface[IF_WAN].mtu6;
	c->core.limit46 = min_u32(clat_config(gw->config)->lowest_ipv6_mtu, c->core.mtu6);
}

static const char *clat_init(struct gw *gw)
{
	const struct clat_config *k = clat_config(gw->config);
	struct clat *c = alloc(sizeof *c, 64);
	if (!c)
		return "not enough memory";
	gw->state = c;
	if (nat_config(gw->config)->n_pool)
		return "nat.pool: clat has one outer address";
	c->core = (struct xlat_core){.name = "clat", .errors = true, .compute_zero = true};
	c->core.mss = (uint16_t)k->mss_clamp;
	c->core.tos_mask = 0xff;
	set_sizes(gw, c);
	nat64_gather_init(&c->gathers, gw->rng, FRAGMENT_MS);
	const char *bad = set_uplink(gw);
	if (!bad)
		bad = clat_address_start(gw, c);
	if (!bad)
		bad = nat_start(gw);
	if (!bad)
		bad = filter6_init(gw, &c->filter);
	if (!bad)
		bad = set_routes(gw, c);
	return bad ? bad : clat_find_start(gw, c);
}

/* --- while it runs ---------------------------------------------------------------------------- */

static void clat_changed(struct gw *gw)
{
	gw_forget_routes6(gw);
	const char *bad = set_routes(gw, clat_of(gw));
	if (bad)
		log_line("%s", bad);
	nat_changed(gw);
}

static bool clat_tick(struct gw *gw)
{
	struct clat *c = clat_of(gw);
	if (when_again(gw->clock.ms, &c->follow_ms, FOLLOW_MS)) {
		set_sizes(gw, c); /* routers may change them */
		clat_find_tick(gw, c);
		clat_address_tick(gw, c);
	}
	nat64_gather_tick(gw, &c->gathers);
	filter6_tick(gw, &c->filter);
	return nat_tick(gw);
}

/* --- which packets are translated ------------------------------------------------------------- */

/* True for a packet that came in from the WAN's wire: IPv4 comes out of the translation alone. */
static bool is_native4(const struct pkt *p)
{
	return p->iface == IF_WAN && !(p->flags & PKT_ROUNDS);
}

/* Forwards a packet of a host that has an IPv6 address of its own, without a NAT. */
static enum verdict forward4(struct gw *gw, struct pkt *p)
{
	ip4 to = ip4_to(p);
	enum drop bad = ip4_bad_destination(gw, p);
	if (bad != DROP_NONE)
		return gw_drop(gw, p, bad);
	if (gw_is_own(gw, to))
		return V_LOCAL;
	if (ip4_bad_source(gw, p))
		return gw_drop(gw, p, DROP_MARTIAN_SOURCE);
	if (!ip4_route(gw, p, to)) {
		icmp_error(gw, p, ICMP_UNREACHABLE, ICMP_NET, 0);
		return gw_drop(gw, p, DROP_NO_ROUTE);
	}
	if (p->iface == IF_WAN && p->out == IF_WAN)
		return gw_drop(gw, p, DROP_FOREIGN);
	if (ip4_may_forward(gw, p) != V_SEND)
		return V_DROP;
	ip4_hop(ip4_header(p), 0);
	return V_SEND;
}

static enum verdict clat_ip4(struct gw *gw, struct pkt *p)
{
	if (is_native4(p))
		return gw_drop(gw, p, DROP_IPV4);
	return clat_of(gw)->routed ? forward4(gw, p) : nat_ip4(gw, p);
}

static bool clat_concerns4(const struct gw *gw, const struct pkt *p)
{
	return !is_native4(p) && nat_concerns4(gw, p);
}

static enum verdict clat_local6(struct gw *gw, struct pkt *p)
{
	struct clat *c = clat_of(gw);
	return c->routed ? V_LOCAL6 : clat_down(gw, c, p);
}

static enum verdict clat_ip6(struct gw *gw, struct pkt *p)
{
	struct clat *c = clat_of(gw);
	return p->out == IF_APP ? clat_down(gw, c, p) : filter6_forward(gw, &c->filter, p);
}

static bool clat_prefix64(const struct gw *gw, struct prefix *p, bool *octet)
{
	const struct clat *c = clat_of(gw);
	*p = c->has_prefix ? c->prefix : (struct prefix){.addr = {.is6 = true}, .len = 0};
	*octet = false;
	return true;
}

const struct forwarder forwarder_clat = {
        .no_wan4 = true,
        .keys = {&nat_section, &clat_section, &embed_section, &filter6_section},
        .counts = {&nat_counts, &clat_counts, &clat_filter_counts},
        .init = clat_init,
        .ip4 = clat_ip4,
        .concerns4 = clat_concerns4,
        .ip6 = clat_ip6,
        .uplink4 = clat_up,
        .local6 = clat_local6,
        .prefix64 = clat_prefix64,
        .stopped = clat_stopped,
        .changed = clat_changed,
        .inside_stays = nat_blocks_stay,
        .tune = nat_tune,
        .port_take = nat_own_port_take,
        .port_give = nat_own_port_give,
        .tick = clat_tick,
        .timings = &clat_timings,
        .show = clat_show,
        .host = clat_show_host,
};
