/* The service `dns64`: a DNS64 server (RFC 6147) that asks upstream servers; and `dns`: the same
 * without synthesis. Here are their start and their timers. See dns64.h. */
#include "apps/dns64/dns64.h"

#include "apps/dns64/client/dns64_datagram.h"
#include "apps/dns64/client/dns64_known.h"
#include "apps/dns64/policy/dns64_ready.h"
#include "apps/translate/embed_keys.h"
#include "kernel/lib/alloc.h"
#include "kernel/lib/log.h"
#include "net/gw_address.h"
#include "net/ip4/ip4.h"
#include "net/ip6/ip6.h"
#include "net/ra/ra.h"
#include "net/setup/gw_setup.h"

#define TIMERS_PER_TICK    64u
#define EVICTIONS_PER_TICK 64u
#define MANY_FETCHES       64u
#define FEW_FRAMES         8u

/* --- timers -------------------------------------------------------------------------------- */

/* A query makes two answers of servers. While many fetches are under way fewer frames of clients
 * are taken in one burst, so that no answer is lost for want of room on its card. Under overload
 * the newest queries are then lost on their card, which costs nothing. */
static void set_bursts(struct gw *gw, const struct dns64 *d)
{
	for (uint32_t i = 0; i < gw->n_iface; i++)
		if (d->clients_only[i])
			gw->iface[i].burst = d->fetches.n > MANY_FETCHES ? FEW_FRAMES : 0;
}

/* Ends old fetches where room is short. True: there is more to do. */
static bool make_room(struct gw *gw)
{
	for (uint32_t i = 0; i < EVICTIONS_PER_TICK; i++)
		if (LIKELY(!dns64_fetch_evict(gw, dns64_pending_is_crowded(gw))))
			return false;
	return true;
}

static void timer_due(struct gw *gw, uint32_t node)
{
	if (node < DNS64_TIMER_PENDING)
		dns64_fetch_due(gw, node - DNS64_TIMER_FETCH);
	else if (node < DNS64_TIMER_PASSTHROUGH)
		dns64_pending_due(gw, node - DNS64_TIMER_PENDING);
	else
		dns64_passthrough_due(gw, node - DNS64_TIMER_PASSTHROUGH);
}

static bool dns64_tick(struct gw *gw)
{
	const struct dns64 *d = dns64_of(gw);
	struct wheel *wheel = dns64_wheel(gw);
	uint32_t now = dns64_now(gw);
	bool more = make_room(gw);
	dns64_server_follow(gw);
	set_bursts(gw, d);
	for (uint32_t i = 0; i < TIMERS_PER_TICK; i++) {
		uint32_t node = wheel_take(wheel, now);
		if (node == WHEEL_NONE)
			break;
		timer_due(gw, node);
		more |= i + 1 == TIMERS_PER_TICK;
	}
	uint64_t slot = 1u << WHEEL_SHIFT;
	if (wheel->n_set)
		gw_wake_at(gw, (gw->clock.us & ~(slot - 1)) + slot);
	return more;
}

/* --- start --------------------------------------------------------------------------------- */

static const char *check_servers(const struct gw *gw, const struct dns64 *d)
{
	for (uint32_t i = 0; i < d->servers.n; i++) {
		const struct addr *a = &d->servers.server[i].addr;
		if (a->is6 ? gw_address6(gw, IF_LAN, &a->v6) != NULL : gw_is_own(gw, a->v4))
			return "nameserver: one is the gateway's own address";
		if (a->is6 && ip6_is_link_local(&a->v6))
			return "nameserver: a link-local address does not say on which link";
	}
	return NULL;
}

/* Notes the interfaces that have clients behind them but no server. Beside a forwarder that routes
 * there are none: its packets are not to be lost for ours. */
static void note_interfaces(struct gw *gw, struct dns64 *d)
{
	bool server[INTERFACES] = {false}, any = false;
	for (uint32_t i = 0; i < d->servers.n && gw->forwarder->is_host; i++) {
		const struct addr *a = &d->servers.server[i].addr;
		const struct route4 *r4 = a->is6 ? NULL : route4_for(&gw->routes4, a->v4);
		const struct route6 *r6 = a->is6 ? route6_for(&gw->routes6, &a->v6) : NULL;
		uint32_t iface = r4 ? r4->iface : r6 ? r6->iface : INTERFACES;
		if (iface < INTERFACES)
			any = server[iface] = true;
	}
	for (uint32_t i = 0; i < gw->n_iface; i++)
		d->clients_only[i] = any && !server[i];
}

/* Router advertisements tell hosts of the inside our address as DNS server and the DNS64 prefixes.
 * Where the forwarder advertises nothing, we are no router. */
static void advertise(struct gw *gw, const struct dns64 *d)
{
	/* A translator beside us needs an IPv4 address outside. */
	bool works = !gw->forwarder->prefix64 || gw->iface[IF_WAN].n_addr > 0;
	for (uint32_t i = 0; i < gw->n_iface; i++) {
		const ip6 *own = interface_is_inside(i) ? interface_global6(&gw->iface[i]) : NULL;
		if (own && !gw->ra[i].on)
			ra_start(gw, i, 0, 0, 0);
		if (own || gw->ra[i].on)
			ra_set_dns(gw, i, own);
		if (own || gw->ra[i].on)
			ra_set_pref64(gw, i, d->pref64, own ? d->n_pref64 : 0, works);
	}
}

/* True when an inside interface has an address that can be answered from outside: none of RFC 4193,
 * which begin with fc00::/7. */
static bool has_inside_global6(const struct gw *gw)
{
	for (uint32_t i = 0; i < gw->n_iface; i++)
		for (uint32_t k = 1; interface_is_inside(i) && k < gw->iface[i].n_addr6; k++)
			if ((gw->iface[i].addr6[k].addr.b[0] & 0xfe) != 0xfc)
				return true;
	return false;
}

/* Without a way out and back for IPv6 a name's own AAAA records lead nowhere. */
static void follow_routes(struct gw *gw, struct dns64 *d)
{
	bool always =
	        d->auto_always && !(route6_has_default(&gw->routes6) && has_inside_global6(gw));
	if (!d->auto_always || d->policy.always == always)
		return;
	d->policy.always = always;
	dns64_ready_switch(&d->policy);
	log_line("dns64: AAAA records are made %s",
	         always ? "for all names: IPv6 has no way out" : "where there are none");
}

static bool has_inside_address(const struct gw *gw)
{
	for (uint32_t i = 0; i < gw->n_iface; i++)
		if (interface_is_inside(i) &&
		    (gw->iface[i].n_addr > 0 || interface_global6(&gw->iface[i]) != NULL))
			return true;
	return false;
}

static void dns64_changed(struct gw *gw)
{
	struct dns64 *d = dns64_of(gw);
	for (uint32_t i = 0; i < gw->n_iface; i++)
		gw->iface[i].burst = 0; /* set again in the next tick */
	note_interfaces(gw, d);
	dns64_follow_prefix(gw, d);
	advertise(gw, d);
	follow_routes(gw, d);
	if (!has_inside_address(gw))
		log_line("dns64: no inside address: nobody is served");
}

/* Lets the parts find each other. */
static void join_parts(struct dns64 *d)
{
	struct dns64_parts *p = &d->part;
	p->cache = d->policy.cache = &d->cache;
	p->policy = &d->policy;
	p->servers = &d->servers;
	p->conns = &d->conns;
	p->attempts = &d->attempts;
	p->fetches = &d->fetches;
	p->limits = &d->limits;
	p->pendings = &d->pendings;
	p->passthroughs = &d->passthroughs;
	p->clients = &d->clients;
	p->paths = &d->paths;
	p->streams = &d->streams;
}

static const char *start(struct gw *gw, bool plain)
{
	if (!has_inside_address(gw))
		return gw_setup_fail("lan.address: an address is required by %s",
		                     plain ? "dns" : "dns64");
	struct dns64 *d = alloc(sizeof *d, 64);
	if (!d || !udp_init(gw))
		return "not enough memory";
	gw->service_state[SERVICE_dns64] = d;
	join_parts(d);
	d->plain = plain;
	const char *bad = dns64_set_up(gw, d);
	if (!bad)
		bad = check_servers(gw, d);
	if (bad)
		return bad;
	if (!wheel_init(&d->part.wheel, DNS64_TIMERS, dns64_now(gw)) ||
	    !dns64_pending_init(&d->pendings) || !dns64_passthrough_init(gw, &d->passthroughs))
		return "not enough memory";
	bad = dns64_fetch_init(gw, &d->fetches, &dns64_pending_of_fetches);
	if (bad)
		return bad;
	uint32_t records = max_u32(dns64_config(gw->config)->cache, DNS64_RECORDS_MIN);
	uint32_t most = dns64_cache_most(records);
	if (most < records || !dns64_cache_init(&d->cache, records, gw->rng))
		return gw_setup_fail("dns64.cache: not enough memory for so many records; %u fit",
		                     most);
	dns64_path_init(gw, &d->paths);
	if (!dns64_datagram_init(gw, d->clients.port))
		return "port: another service has it";
	bad = dns64_stream_init(gw, &d->streams, d->clients.port);
	if (bad)
		return bad;
	note_interfaces(gw, d);
	advertise(gw, d);
	follow_routes(gw, d);
	return NULL;
}

static const char *dns64_init(struct gw *gw)
{
	return start(gw, false);
}

static const char *dns_init(struct gw *gw)
{
	return start(gw, true);
}

const struct service service_dns64 = {
        .keys = {&dns64_section, &embed_section},
        .counts = {&dns64_counts},
        .init = dns64_init,
        .frame = dns64_known,
        .changed = dns64_changed,
        .tick = dns64_tick,
        .show = dns64_show,
};

/* The same server, for which every client is one of dns64.skip-client. Its state is that of dns64.
 */
const struct service service_dns = {
        .covered_by = &service_dns64,
        .keys = {&dns64_section, &embed_section},
        .counts = {&dns64_counts},
        .init = dns_init,
        .frame = dns64_known,
        .changed = dns64_changed,
        .tick = dns64_tick,
        .show = dns64_show,
};
