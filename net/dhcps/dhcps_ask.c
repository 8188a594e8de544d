/* See dhcps_ask.h. */
#include "net/dhcps/dhcps_ask.h"

#include "net/ip4/ip4.h"

/* RFC 2131 section 4.2, RFC 2132 section 9.14. */
static void read_id(struct dhcps_ask *ask)
{
	struct dhcps_id *id = &ask->id;
	uint32_t len;
	if (dhcp_message_get(&ask->m, DHCP_CLIENT_ID, id->bytes, sizeof id->bytes, &len) &&
	    len >= 2 && len <= sizeof id->bytes) {
		id->len = (uint8_t)len;
		return;
	}
	id->len = 1 + sizeof(mac);
	id->bytes[0] = 1;
	memcpy(id->bytes + 1, &ask->m.hdr->chaddr, sizeof(mac));
}

/* The network whose pool counts: that of the relay agent, or that of the interface (RFC 2131
 * section 4.3.1). */
static bool find_net(struct gw *gw, struct dhcps_ask *ask, uint32_t iface)
{
	for (uint32_t i = 0; i < gw->n_iface; i++) {
		struct dhcps_net *net = &gw->dhcps->net[i];
		const struct address4 *own =
		        net->on ? interface_on_link4(&gw->iface[i], ip4_of(net->first)) : NULL;
		bool is_it = ask->relayed
		                     ? own && !((ip4_get(ask->m.hdr->giaddr) ^ ip4_get(own->addr)) &
		                                addr_mask4(own->len))
		                     : i == iface;
		if (!own || !is_it)
			continue;
		ask->net = net;
		ask->own = own;
		ask->c = &dhcps_config(gw->config)->net[i];
		return true;
	}
	return false;
}

enum drop dhcps_ask_read(struct gw *gw, struct dhcps_ask *ask, uint32_t iface, const uint8_t *data,
                         uint32_t len, ip4 from, const mac *station)
{
	const char *bad = dhcp_message_read(&ask->m, data, len);
	const struct dhcp_hdr *h = ask->m.hdr;
	if (bad || h->op != DHCP_BOOTREQUEST || mac_is_group(&h->chaddr))
		return DROP_DHCPS_BAD;
	ask->station = *station;
	ask->from = from;
	ask->relayed = ip4_raw(h->giaddr) != 0;
	ask->now = (uint32_t)(gw->clock.us / 1000000) + 1; /* 0 has passed */
	/* A station asks for itself: else one could take the whole pool. */
	if (!ask->relayed && !mac_eq(&h->chaddr, station))
		return DROP_DHCPS_BAD;
	if (!find_net(gw, ask, iface))
		return DROP_DHCPS_NOT_OURS;
	read_id(ask);
	ask->has_server = dhcp_message_get_ip4(&ask->m, DHCP_SERVER_ID, &ask->server);
	ask->wanted = h->ciaddr;
	if (ip4_raw(h->ciaddr) == 0)
		(void)!dhcp_message_get_ip4(&ask->m, DHCP_ADDRESS, &ask->wanted);
	return DROP_NONE;
}

bool dhcps_ask_wants(const struct dhcps_ask *ask, enum dhcp_code code)
{
	uint8_t codes[255];
	uint32_t n;
	if (!dhcp_message_get(&ask->m, DHCP_PARAMETERS, codes, sizeof codes, &n))
		return true;
	for (uint32_t i = 0; i < min_u32(n, sizeof codes); i++)
		if (codes[i] == code)
			return true;
	return false;
}
