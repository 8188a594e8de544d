/* Our IPv6 side: the address that the LAN's IPv4 packets have in IPv6. */
#include "apps/clat/clat.h"

#include "kernel/lib/fmt.h"
#include "kernel/lib/log.h"
#include "net/gw_address.h"
#include "net/ip6/ip6_address.h"
#include "net/setup/gw_change.h"
#include "net/setup/gw_setup6.h"

#define TRIES_MOST 3u /* addresses that another station has, on one network */
#define SAY_MS     60000u

/* Packets of the gateway itself have another address, where there is one (RFC 6724 section 5, rule
 * 3): what answers them from the provider's prefix would be translated. */
static void keep_apart(struct gw *gw, const ip6 *own)
{
	struct address6 *a = interface_address6(&gw->iface[IF_WAN], own);
	if (a)
		a->deprecated = true;
}

const char *clat_address_start(struct gw *gw, struct clat *c)
{
	const struct clat_config *k = clat_config(gw->config);
	if (!k->has_address)
		return NULL;
	c->routed = k->address.len == 64;
	if (!c->routed) {
		c->own = k->address.addr.v6;
		if (gw_address6(gw, IF_WAN, &c->own)) /* it is one of wan.address */
			return NULL;
		const char *bad = gw_add_address6(gw, IF_WAN, &c->own, 128);
		keep_apart(gw, &c->own);
		return bad;
	}
	struct prefix hosts = {.addr = k->address.addr, .len = 96};
	return embed_set_up(&c->hosts, &hosts, false) ? "clat.address: not a network of hosts"
	                                              : NULL;
}

/* True when stations of the WAN may have addresses in the /64 of an address of ours: the network is
 * its own, or that of the prefix in which it was made, or one that a router says is on the link. */
static bool has_room(const struct interface *wan, const struct address6 *a)
{
	if (a->len <= 64 || a->by_router)
		return true;
	for (uint32_t i = 0; i < wan->n_on_link6; i++)
		if (wan->on_link6[i].len <= 64 &&
		    addr_in6(&a->addr, &wan->on_link6[i].net, wan->on_link6[i].len))
			return true;
	return false;
}

/* How good the network of an address is for ours: a unique local one (RFC 4193) reaches no
 * provider, as a rule, and a deprecated one will end. */
static uint32_t worth(const struct address6 *a)
{
	return ((a->addr.b[0] & 0xfe) != 0xfc ? 2u : 0u) + !a->deprecated;
}

/* The address of ours in whose network the WAN has the best room for another one; NULL when there
 * is none. */
static const struct address6 *network(const struct gw *gw, const struct clat *c)
{
	const struct interface *wan = &gw->iface[IF_WAN];
	const struct address6 *best = NULL;
	for (uint32_t i = 1; i < wan->n_addr6; i++) {
		const struct address6 *a = &wan->addr6[i];
		if (a->state == ADDRESS6_VALID && !ip6_is_link_local(&a->addr) &&
		    !ip6_eq(&a->addr, &c->own) && has_room(wan, a) &&
		    (!best || worth(a) > worth(best)))
			best = a;
	}
	return best;
}

/* The same after each start: it is made of the MAC address, and differs from what SLAAC makes of
 * it. `n` is the number of the attempt. */
static ip6 address_in(const struct gw *gw, const struct address6 *net, uint32_t n)
{
	const mac *m = &gw->iface[IF_WAN].address;
	ip6 a = net->addr;
	memcpy(a.b + 8, m->b, 3);
	a.b[8] ^= 2;
	a.b[11] = 0xc1;
	a.b[12] = (uint8_t)(0xa7 + n);
	memcpy(a.b + 13, m->b + 3, 3);
	return a;
}

static void leave(struct gw *gw, struct clat *c)
{
	const struct addr own = {.is6 = true, .v6 = c->own};
	gw_change_del_address(gw, IF_WAN, &own);
	c->own = (ip6){{0}};
}

static void take(struct gw *gw, struct clat *c, const struct address6 *net)
{
	struct prefix own = {.addr = {.is6 = true, .v6 = address_in(gw, net, c->tries)},
	                     .len = 128};
	char text[FMT_IP6];
	const char *bad = gw_change_add_address(gw, IF_WAN, &own);
	if (bad)
		log_limited(&c->said_own_us, SAY_MS, "clat: no address %s: %s",
		            fmt_ip6(text, &own.addr.v6), bad);
	else
		c->own = own.addr.v6;
	keep_apart(gw, &own.addr.v6);
}

void clat_address_tick(struct gw *gw, struct clat *c)
{
	static const ip6 none;
	if (clat_config(gw->config)->has_address)
		return;
	const struct address6 *net = network(gw, c), *own = NULL;
	bool have = !ip6_eq(&c->own, &none);
	if (have)
		own = gw_address6(gw, IF_WAN, &c->own);
	bool other = have && (!net || !addr_in6(&c->own, &net->addr, 64));
	bool taken = own && own->state == ADDRESS6_DUPLICATE;
	if (taken)
		c->tries++;
	if (other)
		c->tries = 0;
	if (have && (!own || other || (taken && c->tries < TRIES_MOST))) {
		leave(gw, c);
		have = false;
		net = network(gw, c);
	}
	if (!have && net && c->tries < TRIES_MOST)
		take(gw, c, net);
}
