/* See autoconf_solicit.h. */
#include "net/autoconf/autoconf_solicit.h"

#include "kernel/lib/log.h"
#include "net/autoconf/autoconf_table.h"
#include "net/ip6/icmp6.h"
#include "net/ip6/mld.h"

/* RFC 7559 section 2, RFC 4861 section 10. */
#define DELAY_MS 1000u /* random wait before the first one */
#define FIRST_MS 4000u
#define MOST_MS  3600000u

static void begin(struct gw *gw)
{
	struct autoconf *a = &gw->autoconf;
	a->solicit_wait_ms = 0;
	a->solicit_us = gw->clock.us + 1 + rng_below(gw->rng, DELAY_MS * 1000);
}

void autoconf_set_defaults(struct interface *iface, uint32_t mtu)
{
	iface->mtu = iface->mtu6 = mtu;
	iface->hops6 = IP6_HOPS;
	iface->reachable_ms = INTERFACE_REACHABLE_MS;
	iface->retrans_ms = INTERFACE_RETRANS_MS;
}

void autoconf_start(struct gw *gw)
{
	if (!gw->ip6 || gw->forwarder->no_wan6) {
		log_line("wan.address auto: this application has no IPv6 on the WAN");
		return;
	}
	gw->autoconf.on = true;
	begin(gw);
}

void autoconf_stop(struct gw *gw)
{
	gw->autoconf.on = false;
	gw->autoconf.solicit_us = 0;
	autoconf_table_clear(&gw->autoconf);
	autoconf_set_defaults(&gw->iface[IF_WAN], gw->iface[IF_WAN].mtu);
}

void autoconf_carrier_up(struct gw *gw, uint32_t iface)
{
	if (iface == IF_WAN && gw->autoconf.on)
		begin(gw);
}

/* A wait of `ms`, a tenth more or less (RFC 8415 section 15, which RFC 7559 names). */
static uint32_t spread(struct gw *gw, uint32_t ms)
{
	return ms - ms / 10 + rng_below(gw->rng, ms / 5 + 1);
}

static void send(struct gw *gw, const struct interface *at)
{
	void *message;
	struct pkt *p = icmp6_new(gw, sizeof(struct rs_msg) + sizeof(struct nd_opt_mac), &message);
	if (!p)
		return;
	struct rs_msg *m = message;
	struct nd_opt_mac *o = (struct nd_opt_mac *)(m + 1);
	m->type = ICMP6_RS;
	o->type = ND_OPT_SOURCE;
	o->len = 1;
	o->address = at->address;
	gw->autoconf.solicited++;
	icmp6_send(gw, IF_WAN, p, &at->addr6[0].addr, &mld_all_routers, NULL, IP6_ND_HOPS);
}

void autoconf_solicit_tick(struct gw *gw)
{
	struct autoconf *a = &gw->autoconf;
	const struct interface *at = &gw->iface[IF_WAN];
	if (!a->on || !at->carrier || at->n_addr6 == 0 || at->addr6[0].state != ADDRESS6_VALID)
		return;
	/* The last router is gone: another may be there that advertises rarely. */
	if (a->solicit_us == 0 && !autoconf_table_has_default(a))
		begin(gw);
	if (a->solicit_us == 0 || gw->clock.us < a->solicit_us)
		return;
	uint32_t last = a->solicit_wait_ms;
	uint32_t wait = last ? last + spread(gw, last) : spread(gw, FIRST_MS);
	if (wait > MOST_MS)
		wait = spread(gw, MOST_MS);
	a->solicit_wait_ms = wait;
	a->solicit_us = gw->clock.us + wait * 1000ull;
	send(gw, at);
}
