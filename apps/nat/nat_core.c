/* What every application with the sessions of a NAT has in common, whatever the addresses of its
 * inside hosts: the external addresses, the ports that sockets of the gateway itself use, limits,
 * lifetimes and timers. See nat.h. */
#include "apps/nat/nat.h"

#include "kernel/lib/fmt.h"
#include "kernel/lib/log.h"
#include "net/export/export.h"
#include "net/setup/gw_setup.h"

#define KEPT_PORTS    256u
#define TICK_SESSIONS 64u /* sessions visited in one tick */

/* --- limits and lifetimes --------------------------------------------------------------- */

static uint32_t seconds(uint32_t ms)
{
	return (ms + 999) / 1000;
}

static void set_lifetimes(struct nat *n, const struct nat_config *c)
{
	for (unsigned s = 0; s < NAT_STATES; s++) {
		n->life_s[NAT_UDP][s] = n->life_s[NAT_OTHER][s] = seconds(c->udp_timeout_ms);
		n->life_s[NAT_ICMP][s] = seconds(c->icmp_timeout_ms);
		n->life_s[NAT_TCP][s] =
		        seconds(nat_tcp_is_open((uint8_t)s) ? c->tcp_timeout_ms
		                                            : c->tcp_transitory_timeout_ms);
	}
	if (c->has_tcp_opening_timeout)
		n->life_s[NAT_TCP][NAT_INIT] = seconds(c->tcp_opening_timeout_ms);
	n->table.linger_s = n->life_s[NAT_TCP][NAT_TRANS];
}

void nat_core_tune(struct nat *n, const struct nat_config *c)
{
	n->filtering = c->filtering;
	n->host_limit = c->host_limit;
	n->hairpin = c->hairpin;
	set_lifetimes(n, c);
}

/* --- external addresses ------------------------------------------------------------------- */

/* True when a network of the interface has an address from first to last (host order). */
static bool overlaps(const struct interface *iface, uint32_t first, uint32_t last)
{
	for (uint32_t i = 0; i < iface->n_addr; i++) {
		uint32_t mask = addr_mask4(iface->addr[i].len);
		uint32_t net = ip4_get(iface->addr[i].addr) & mask;
		if (first <= (net | ~mask) && net <= last)
			return true;
	}
	return false;
}

/* Checks a range of the pool (host order), except for its size. Gives NULL, or what is
 * wrong. */
static const char *bad_range(const struct gw *gw, const char *name, uint32_t first, uint32_t last)
{
	for (uint32_t i = 0; i < gw->iface[IF_WAN].n_addr; i++) {
		const struct address4 *wan = &gw->iface[IF_WAN].addr[i];
		uint32_t mask = addr_mask4(wan->len), net = ip4_get(wan->addr) & mask;
		uint32_t all = net | ~mask;
		if (wan->len <= 30 &&
		    ((first <= net && net <= last) || (first <= all && all <= last)))
			return gw_setup_fail("%s.pool: holds the network or broadcast address of "
			                     "wan.address",
			                     name);
	}
	for (uint32_t i = 0; i < gw->routes4.n_claims; i++)
		if (gw->routes4.claim[i].first <= last && first <= gw->routes4.claim[i].last)
			return gw_setup_fail("%s.pool: an address is given twice", name);
	for (uint32_t i = 0; i < gw->n_iface; i++)
		if (interface_is_inside(i) && overlaps(&gw->iface[i], first, last))
			return gw_setup_fail(
			        "%s.pool: an address lies in the network of lan.address", name);
	return NULL;
}

/* The first address of a range (host order) that is one of our next hops; `last` + 1 when
 * there is none. A router keeps its address even when the pool includes it. */
static uint64_t next_hop_in(const struct gw *gw, uint32_t first, uint32_t last)
{
	uint64_t found = (uint64_t)last + 1;
	for (uint32_t i = 0; i < gw->routes4.n; i++) {
		uint32_t via = swap32(gw->routes4.entry[i].via);
		if (via >= first && via < found)
			found = via;
	}
	return found;
}

/* Sets the external addresses: the pool, or the WAN's first address when there is none. */
static const char *set_externals(struct gw *gw, struct nat *n, const struct nat_config *c)
{
	struct nat_range range[NAT_RANGES];
	uint32_t own = ip4_get(gw->iface[IF_WAN].addr[0].addr), n_ranges = 0; /* 0: not yet */
	_Static_assert(NAT_RANGES == CLAIMS4 && CLAIMS4 > NAT_POOLS, "room for the pool");
	for (uint32_t i = 0; i < c->n_pool; i++) {
		uint64_t first = ip4_get(c->pool[i].first);
		uint32_t last = ip4_get(c->pool[i].last);
		const char *bad = bad_range(gw, n->name, (uint32_t)first, last);
		if (bad)
			return bad;
		for (uint64_t end; first <= last; first = end + 1) {
			end = next_hop_in(gw, (uint32_t)first, last);
			if (end == first)
				continue;
			if (!route4_claim(&gw->routes4, IF_WAN, (uint32_t)first, (uint32_t)end - 1))
				return gw_setup_fail("%s.pool: too many ranges", n->name);
			range[n_ranges++] =
			        (struct nat_range){(uint32_t)first, (uint32_t)end - 1, 0};
		}
	}
	if (c->n_pool && n_ranges == 0)
		return gw_setup_fail("%s.pool: holds nothing but routers", n->name);
	if (n_ranges == 0)
		range[n_ranges++] = (struct nat_range){own, own, 0};
	return nat_table_init(&n->table, n->name, c->sessions, range, n_ranges, gw->rng);
}

/* Sockets of ours on our own addresses use ports that no mapping has. For services, which open
 * many, the NAT leaves some of its ports. */
static void keep_ports(const struct gw *gw, struct nat *n)
{
	const struct interface *wan = &gw->iface[IF_WAN];
	bool serves = false;
	for (uint32_t i = 0; i < SERVICES_MAX; i++)
		serves |= gw->service[i] != NULL;
	/* Before the first lease the external address is 0. */
	for (uint32_t i = 0; i < max_u32(wan->n_addr, 1); i++) {
		uint32_t external = nat_external_find(&n->table, ip4_raw(wan->addr[i].addr));
		if (external == NAT_NONE)
			continue;
		n->table.external[external].n_kept = serves ? KEPT_PORTS : 0;
		n->own[n->n_own++] = external;
	}
}

static const char *keep_events(struct gw *gw, struct nat *n, const struct nat_config *c)
{
	if (!export_has_receivers(gw))
		return gw_setup_fail("%s.log: needs a receiver, syslog or ipfix", n->name);
	struct export_ring *events = export_events(gw);
	if (!events)
		return gw_setup_fail("%s.log: not enough memory", n->name);
	if (c->log == NAT_LOG_SESSIONS)
		n->table.events = events;
	else
		n->table.blocks.events = events;
	return NULL;
}

/* Blocks of ports, fixed ones for all addresses that hosts on the networks of the inside can
 * have. */
static const char *set_blocks(const struct gw *gw, struct nat *n, const struct nat_config *c)
{
	struct nat_block_net net[NAT_BLOCK_NETS];
	uint32_t n_nets = 0;
	if (c->blocks == 0)
		return c->log == NAT_LOG_BLOCKS
		               ? gw_setup_fail("%s.log: blocks needs %s.blocks", n->name, n->name)
		               : NULL;
	for (uint32_t i = 0; i < gw->n_iface; i++)
		for (uint32_t k = 0; interface_is_inside(i) && k < gw->iface[i].n_addr; k++) {
			const struct address4 *a = &gw->iface[i].addr[k];
			uint32_t mask = addr_mask4(a->len), first = ip4_get(a->addr) & mask;
			uint32_t ends = a->len <= 30; /* which are no host's */
			net[n_nets++] = (struct nat_block_net){.first = first + ends,
			                                       .last = (first | ~mask) - ends};
		}
	return nat_blocks_init(&n->table, c->blocks, net, n_nets);
}

/* What a log must keep so that it can be computed later whose a port was (RFC 7422 section 4). A
 * lease that brings another outer address has a line of its own. */
static void tell_blocks(const struct nat *n)
{
	const struct nat_blocks *b = &n->table.blocks;
	char first[FMT_IP4], last[FMT_IP4];
	log_line("%s: blocks of %u ports, %u of each outer address", n->name, b->size, b->each);
	for (uint32_t i = 0; i < n->table.n_ranges; i++) {
		const struct nat_range *r = &n->table.range[i];
		if (r->first == 0)
			continue;
		log_line("%s: outer addresses %s to %s have blocks %u to %u", n->name,
		         fmt_ip4(first, ip4_of(r->first)), fmt_ip4(last, ip4_of(r->last)),
		         r->index * b->each, (r->index + r->last - r->first + 1) * b->each - 1);
	}
	for (uint32_t i = 0; i < b->n_nets; i++) {
		const struct nat_block_net *net = &b->net[i];
		log_line("%s: inside addresses %s to %s have blocks %u to %u", n->name,
		         fmt_ip4(first, ip4_of(net->first)), fmt_ip4(last, ip4_of(net->last)),
		         net->number, net->number + net->last - net->first);
	}
}

const char *nat_core_start(struct gw *gw, struct nat *n, const char *name,
                           const struct nat_config *c)
{
	n->name = name;
	nat_syn_init(&n->syns, gw->rng);
	const char *bad = set_externals(gw, n, c);
	nat_core_tune(n, c); /* behind the table's start, which empties the lifetimes */
	if (!bad)
		bad = set_blocks(gw, n, c);
	if (!bad && c->log != NAT_LOG_OFF)
		bad = keep_events(gw, n, c);
	if (!bad)
		keep_ports(gw, n);
	if (!bad && n->table.blocks.size)
		tell_blocks(n);
	return bad;
}

/* A host's block follows from its address and the networks of the inside, for as long as the
 * gateway runs: an answer that tools/whohad gives from the file must be the right one. */
const char *nat_blocks_stay(const struct gw *gw)
{
	const struct nat *n = nat_of(gw);
	return n->table.blocks.size
	               ? gw_setup_fail("%s.blocks: the IPv4 addresses of the inside count from the "
	                               "next start on, after `save`",
	                               n->name)
	               : NULL;
}

/* Without a pool the first address of the WAN is the external one. */
void nat_core_changed(struct gw *gw, struct nat *n, bool has_pool)
{
	const struct interface *wan = &gw->iface[IF_WAN];
	uint32_t ip = wan->n_addr ? ip4_raw(wan->addr[0].addr) : 0;
	char text[FMT_IP4];
	nat_session_forget_routes(&n->table);
	if (has_pool || ip == n->table.first_external)
		return;
	uint64_t before = n->table.renumbered;
	nat_external_move(&n->table, 0, ip);
	nat_syn_forget(&n->syns);
	log_line("%s: the outer address is %s; %llu sessions of the old one ended", n->name,
	         ip ? fmt_ip4(text, ip4_from_raw(ip)) : "gone",
	         (unsigned long long)(n->table.renumbered - before));
}

bool nat_core_tick(struct gw *gw, struct nat *n)
{
	nat_syn_tick(gw, &n->syns);
	return nat_session_tick(&n->table, gw->clock.s, TICK_SESSIONS);
}

/* --- own ports ------------------------------------------------------------------------------ */

/* A socket may use any address of ours, so its port is taken on all of them. */
bool nat_own_port_take(struct gw *gw, uint8_t ip_proto, uint16_t port)
{
	struct nat *n = nat_of(gw);
	uint8_t proto = nat_proto_of(ip_proto);
	for (uint32_t i = 0; i < n->n_own && proto != NAT_OTHER; i++) {
		if (nat_port_take(&n->table, n->own[i], proto, port))
			continue;
		while (i-- > 0)
			nat_port_give(&n->table, n->own[i], proto, port);
		return false;
	}
	return true;
}

void nat_own_port_give(struct gw *gw, uint8_t ip_proto, uint16_t port)
{
	struct nat *n = nat_of(gw);
	uint8_t proto = nat_proto_of(ip_proto);
	for (uint32_t i = 0; i < n->n_own && proto != NAT_OTHER; i++)
		nat_port_give(&n->table, n->own[i], proto, port);
}
