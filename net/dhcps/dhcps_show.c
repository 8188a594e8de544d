/* The server's lines in listings, and its counters. See dhcps.h. */
#include "kernel/lib/fmt.h"
#include "net/dhcp/dhcp_client.h"
#include "net/dhcps/dhcps.h"
#include "net/dhcps/dhcps_table.h"

static uint32_t seconds(const struct dhcps *d)
{
	return (uint32_t)(d->clock->us / 1000000) + 1;
}

/* --- leases ------------------------------------------------------------------------------------
 */

static void lease_line(const struct gw *gw, const struct dhcps_net *net, uint32_t i, char *buf,
                       size_t size)
{
	static const char *const word[] = {
	        [DHCPS_FREE] = "ended",
	        [DHCPS_OFFERED] = "offered",
	        [DHCPS_BOUND] = "bound",
	        [DHCPS_DECLINED] = "declined",
	};
	const struct dhcps_config_net *c = &dhcps_config(gw->config)->net[net->iface];
	const struct dhcps_client *client = &net->client[i];
	uint32_t now = seconds(gw->dhcps);
	enum dhcps_state state = dhcps_table_state(net, i, now);
	char addr[FMT_IP4], who[FMT_MAC];
	size_t n = fmt(buf, size, "%s lease %s %s", gw->iface[net->iface].name,
	               fmt_ip4(addr, dhcps_table_address(net, c, i)), word[state]);
	if (net->slot[i].known)
		n += fmt(buf + n, size - n, " %s%s%s", fmt_mac(who, &client->address),
		         client->name[0] ? " " : "", client->name);
	if (state != DHCPS_FREE)
		fmt(buf + n, size - n, ", %u s", net->slot[i].end - now);
}

#define LOOKED 256u /* places of a call */

bool dhcps_show_leases(struct gw *gw, uint32_t *cursor, char *buf, size_t size)
{
	uint32_t at = 1, looked = 0;
	if (*cursor == 0 && dhcp_show_leases(gw, cursor, buf, size))
		return true;
	*cursor = *cursor ? *cursor : 1;
	for (uint32_t k = 0; gw->dhcps && k < gw->n_iface; k++) {
		const struct dhcps_net *net = &gw->dhcps->net[k];
		for (uint32_t i = net->on && *cursor > at ? *cursor - at : 0; net->on && i < net->n;
		     i++) {
			bool free = !net->slot[i].known &&
			            dhcps_table_state(net, i, seconds(gw->dhcps)) == DHCPS_FREE;
			if (free && ++looked < LOOKED)
				continue;
			buf[0] = '\0';
			if (!free)
				lease_line(gw, net, i, buf, size);
			*cursor = at + i + 1;
			return true;
		}
		at += net->n;
	}
	return false;
}

/* --- counters ----------------------------------------------------------------------------------
 */

static uint64_t bound(const void *of)
{
	const struct dhcps *d = of;
	uint64_t n = 0;
	for (uint32_t i = 0; i < INTERFACES; i++)
		n += dhcps_table_bound(&d->net[i], seconds(d));
	return n;
}

static uint64_t bound_most(const void *d)
{
	uint64_t n = 0;
	for (uint32_t i = 0; i < INTERFACES; i++)
		n += ((const struct dhcps *)d)->net[i].n;
	return n;
}

static const struct count count[] = {
        COUNT(struct dhcps, "dhcps_messages", messages),
        COUNT(struct dhcps, "dhcps_offers", offers),
        COUNT(struct dhcps, "dhcps_acks", acks),
        COUNT(struct dhcps, "dhcps_naks", naks),
        COUNT(struct dhcps, "dhcps_declines", declines),
        COUNT(struct dhcps, "dhcps_releases", releases),
        COUNT(struct dhcps, "dhcps_informs", informs),
        COUNT(struct dhcps, "dhcps_conflicts", conflicts),
        COUNT(struct dhcps, "dhcps_unprobed", unprobed),
        COUNT(struct dhcps, "dhcps_limited", limited),
        COUNT(struct dhcps, "dhcps_full", full),
        COUNT(struct dhcps, "dhcps_rogue_answers", rogues),
        COUNT(struct dhcps, "dhcps_offers_evicted", offers_evicted),
        COUNT_FILL_OF("dhcps_leases", bound, bound_most),
};

static const void *state(const struct gw *gw)
{
	return gw->dhcps;
}

const struct count_table dhcps_counts = COUNT_TABLE(count, state);
