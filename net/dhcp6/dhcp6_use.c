/* See dhcp6_use.h. */
#include "net/dhcp6/dhcp6_use.h"

#include "kernel/lib/fmt.h"
#include "kernel/lib/log.h"
#include "net/setup/gw_change.h"

/* The lease of an address; NULL when there is none. */
static struct dhcp6_held *lease_of(struct gw *gw, const ip6 *own)
{
	struct dhcp6_binding *b = &gw->dhcp6.bound[DHCP6_NA];
	for (uint32_t i = 0; i < b->n; i++)
		if (ip6_eq(&b->held[i].addr, own))
			return &b->held[i];
	return NULL;
}

static void drop_addresses(struct gw *gw)
{
	struct interface *wan = &gw->iface[IF_WAN];
	for (uint32_t i = wan->n_addr6; i-- > 1;) {
		const struct addr gone = {.is6 = true, .v6 = wan->addr6[i].addr};
		if (wan->addr6[i].by_dhcp && !lease_of(gw, &gone.v6))
			gw_change_del_address(gw, IF_WAN, &gone);
	}
}

/* Makes the address of a lease ours unless it is. NULL when it cannot be had, and the log has said
 * so. */
static struct address6 *own_address(struct gw *gw, struct dhcp6_held *h)
{
	const struct prefix own = {.addr = {.is6 = true, .v6 = h->addr}, .len = 128};
	struct address6 *at = interface_address6(&gw->iface[IF_WAN], &h->addr);
	char text[FMT_IP6];
	if (at || h->refused)
		return at;
	const char *bad = gw_change_add_address(gw, IF_WAN, &own);
	h->refused = bad != NULL;
	if (bad) {
		log_line("wan: DHCPv6 lease of %s is not used: %s", fmt_ip6(text, &h->addr), bad);
		return NULL;
	}
	at = interface_address6(&gw->iface[IF_WAN], &h->addr);
	if (at)
		at->by_dhcp = true;
	return at;
}

void dhcp6_use_follow(struct gw *gw)
{
	struct dhcp6_binding *b = &gw->dhcp6.bound[DHCP6_NA];
	drop_addresses(gw);
	for (uint32_t i = 0; i < b->n; i++) {
		struct address6 *own = own_address(gw, &b->held[i]);
		bool deprecated = b->held[i].preferred_us <= gw->clock.us;
		if (!own || !own->by_dhcp || own->deprecated == deprecated)
			continue;
		own->deprecated = deprecated;
		gw_change_inform(gw);
	}
	dhcp6_delegate_follow(gw);
}

uint32_t dhcp6_use_duplicate(struct gw *gw)
{
	struct dhcp6_binding *b = &gw->dhcp6.bound[DHCP6_NA];
	for (uint32_t i = 0; i < b->n; i++) {
		const struct address6 *own =
		        interface_address6(&gw->iface[IF_WAN], &b->held[i].addr);
		if (!own || !own->by_dhcp)
			continue;
		if (own->state == ADDRESS6_VALID)
			gw->dhcp6.conflicts = 0;
		if (own->state == ADDRESS6_DUPLICATE)
			return i;
	}
	return DHCP6_NO_LEASE;
}
