/* Makes a gateway from a configuration: interfaces, routes, neighbours, and checks that they fit
 * together. See gw_init in gw.h; addresses and routes are in gw_setup4.c and
 * gw_setup6.c. */
#include "net/setup/gw_setup.h"

#include "kernel/lib/fmt.h"
#include "net/autoconf/autoconf_solicit.h"
#include "net/client.h"
#include "net/dhcp/dhcp_start.h"
#include "net/dhcp6/dhcp6_keys.h"
#include "net/dhcp6/dhcp6_start.h"
#include "net/dhcps/dhcps_start.h"
#include "net/ether/arp.h"
#include "net/gw_address.h"
#include "net/ip4/frag.h"
#include "net/ip6/mld.h"
#include "net/ip6/nd.h"
#include "net/ra/ra.h"
#include "net/neigh/neigh.h"
#include "net/sntp/sntp.h"
#include "net/stats/timing.h"
#include "net/export/export.h"
#include "net/vlan/vlan.h"

static char wrong[128];

const char *gw_setup_fail(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	fmt_v(wrong, sizeof wrong, format, args);
	va_end(args);
	return wrong;
}

static const char *start_services(struct gw *gw)
{
	for (uint32_t i = 0; i < SERVICES_MAX; i++) {
		const struct service *s = gw->service[i];
		const char *bad = s ? s->init(gw) : NULL;
		if (bad)
			return bad;
		if (s && s->frame)
			gw->frame_hook[gw->n_frame_hooks++] = s->frame;
	}
	return NULL;
}

/* True when the configuration has an IPv6 address for an interface, or wants one. */
static bool has_own6(const struct gw *gw)
{
	for (uint32_t i = 0; i < gw->n_iface; i++) {
		const struct net_config_interface *c = &net_config(gw->config)->iface[i];
		for (uint32_t k = 0; k < c->n_address; k++)
			if (c->address[k].addr.is6)
				return true;
	}
	return dhcp6_wants_prefix(gw->config);
}

static void start_autoconf(struct gw *gw)
{
	const struct net_config_interface *wan = &net_config(gw->config)->iface[NET_WAN];
	for (uint32_t i = 0; i < wan->n_address; i++)
		if (net_is_auto(&wan->address[i]))
			autoconf_start(gw);
	if (net_has_dhcp(gw->config))
		dhcp_start(gw);
	dhcp6_start(gw);
}

const char *gw_init(struct gw *gw)
{
	gw->ids.mul = rng_u32(gw->rng) | 1;
	rng_bytes(gw->rng, gw->ids.next, sizeof gw->ids.next);
	client_init(gw);
	gw->app_mtu = IP6_MTU_MIN;
	gw->pool->reserve = gw->pool->n_free / 4; /* the cards have filled their rings */
	gw->n_iface = net_interfaces(gw->config);
	gw->ip6 = gw->forwarder->ip6 && (!gw->forwarder->ip6_if_given || has_own6(gw));
	frag_init(gw);
	gw->changes = 1;
	neigh_init(gw);
	const char *bad = vlan_init(gw);
	for (uint32_t i = 0; i < gw->n_iface && !bad; i++) {
		const struct net_config_interface *c = &net_config(gw->config)->iface[i];
		gw->iface[i].name = net_interface_name[i];
		autoconf_set_defaults(&gw->iface[i], c->has_mtu ? c->mtu : NET_MTU);
		bad = gw_setup_iface4(gw, i);
		if (!bad && gw_has_ip6(gw, i))
			bad = gw_setup_iface6(gw, i);
	}
	if (!bad)
		bad = gw_setup_routes4(gw);
	if (!bad)
		bad = gw_setup_neighbours4(gw);
	if (!bad && gw->ip6)
		bad = gw_setup_routes6(gw);
	if (!bad && gw->ip6)
		bad = gw_setup_neighbours6(gw);
	if (!bad)
		start_autoconf(gw);
	timing_init(gw);
	if (!bad)
		bad = gw->forwarder->init(gw);
	if (!bad)
		bad = dhcps_start(gw);
	if (!bad)
		bad = sntp_start(gw);
	if (!bad)
		bad = export_start(gw);
	return bad ? bad : start_services(gw);
}

void gw_carrier_up(struct gw *gw, uint32_t iface)
{
	gw->iface[iface].up_us = gw->clock.us;
	if (gw->forwarder->promiscuous)
		return; /* a bridge has no addresses */
	for (uint32_t i = 0; i < gw->iface[iface].n_addr && gw_has_ip4(gw, iface); i++)
		if (!dhcp_announces(gw, iface, gw->iface[iface].addr[i].addr))
			arp_announce(gw, iface, gw->iface[iface].addr[i].addr);
	dhcp_carrier_up(gw, iface);
	if (gw->ip6) {
		nd_carrier_up(gw, iface);
		mld_announce(gw, iface);
		autoconf_carrier_up(gw, iface);
		dhcp6_carrier_up(gw, iface);
	}
}

void gw_stop(struct gw *gw)
{
	ra_stop(gw);
}
