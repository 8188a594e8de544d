/* Our IPv6 side: the address that the LAN's IPv4 packets have in IPv6. */
#include "apps/clat/clat.h"

#include "kernel/lib/fmt.h"
#include "kernel/lib/log.h"
#include "net/gw_address.h"
#include "net/setup/gw_change.h"
#include "net/setup/gw_setup6.h"

#define TRIES_MOST 3u /* addresses that another station has, on one network */
#define SAY_MS     60000u

const char *clat_address_start(struct gw *gw, struct clat *c)
{
	const struct clat_config *k = clat_config(gw->config);
	if (!k->has_address)
		return NULL;
	c->routed = k->address.len == 64;
	if (!c->routed) {
		c->own = k->address.addr.v6;
		/* It may be one of wan.address. */
		return gw_address6(gw, IF_WAN, &c->own) ? NULL
		                                        : gw_add_address6(gw, IF_WAN, &c->own, 128);
	}
	struct prefix hosts = {.addr = k->address.addr, .len = 96};
	return embed_set_up(&c->hosts, &hosts, false) ? "clat.address: not a network of hosts"
	                                              : NULL;
}

/* The same after each start: it is made of the MAC address, and differs from what SLAAC makes of
 * it. `n` is the number of the attempt. */
static ip6 address_in(const struct gw *gw, const ip6 *net, uint32_t n)
{
	const mac *m = &gw->iface[IF_WAN].address;
	ip6 a = *net;
	memcpy(a.b + 8, m->b, 3);
	a.b[8] ^= 2;
	a.b[11] = 0xc1;
	a.b[12] = (uint8_t)(0xa7 + n);
	memcpy(a.b + 13, m->b + 3, 3);
	return a;
}

/* An address of ours whose network of 64 bits is on the link of the WAN; NULL when there is none.
 */
static const ip6 *network(const struct gw *gw, const struct clat *c)
{
	const struct interface *wan = &gw->iface[IF_WAN];
	for (uint32_t i = 0; i < wan->n_addr6; i++) {
		const struct address6 *a = &wan->addr6[i];
		ip6 other = address_in(gw, &a->addr, TRIES_MOST);
		if (a->state == ADDRESS6_VALID && a->addr.b[0] != 0xfe &&
		    !ip6_eq(&a->addr, &c->own) && interface_on_link6(wan, &other))
			return &a->addr;
	}
	return NULL;
}

static void leave(struct gw *gw, struct clat *c)
{
	const struct addr own = {.is6 = true, .v6 = c->own};
	gw_change_del_address(gw, IF_WAN, &own);
	c->own = (ip6){{0}};
}

static void take(struct gw *gw, struct clat *c, const ip6 *net)
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
}

void clat_address_tick(struct gw *gw, struct clat *c)
{
	static const ip6 none;
	if (clat_config(gw->config)->has_address)
		return;
	const ip6 *net = network(gw, c);
	const struct address6 *own = NULL;
	bool have = !ip6_eq(&c->own, &none);
	if (have)
		own = gw_address6(gw, IF_WAN, &c->own);
	bool other = have && (!net || !addr_in6(&c->own, net, 64));
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
