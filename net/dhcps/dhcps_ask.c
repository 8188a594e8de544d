/* See dhcps_ask.h. */
#include "net/dhcps/dhcps_ask.h"

#include "net/dhcps/dhcps_table.h"
#include "net/ip4/ip4.h"

/* RFC 2131 section 4.2, RFC 2132 section 9.14. */
static void read_id(struct dhcps_ask *ask)
{
	struct dhcps_id *id = &ask->id;
	uint32_t len;
	id->second = false;
	if (dhcp_message_get(&ask->m, DHCP_CLIENT_ID, id->bytes, sizeof id->bytes, &len) &&
	    len >= 2 && len <= sizeof id->bytes) {
		id->len = (uint8_t)len;
		return;
	}
	id->len = 1 + sizeof(mac);
	id->bytes[0] = 1;
	memcpy(id->bytes + 1, &ask->m.hdr->chaddr, sizeof(mac));
}

/* The network of the interface. A relay agent has an address in it too: the networks with pools are
 * our own, and a station of one has no business in the pool of another. */
static bool find_net(struct gw *gw, struct dhcps_ask *ask, uint32_t iface)
{
	struct dhcps_net *net = &gw->dhcps->net[iface];
	const ip4 agent = ask->m.hdr->giaddr;
	ask->net = net;
	ask->c = &dhcps_config(gw->config)->net[iface];
	ask->own = net->on ? interface_on_link4(&gw->iface[iface], ip4_of(net->first)) : NULL;
	if (!ask->own)
		return false;
	return !ask->relayed ||
	       (!((ip4_get(agent) ^ ip4_get(ask->own->addr)) & addr_mask4(ask->own->len)) &&
	        !ip4_eq(agent, ask->own->addr));
}

static bool is_in_force(const struct dhcps_ask *ask, uint32_t i)
{
	return i != DHCPS_NONE && dhcps_table_state(ask->net, i, ask->now) != DHCPS_FREE;
}

/* An identifier is easily known and not always one host's alone: while a client at another station
 * has a lease with it, this one counts as another client. */
static void tell_apart(const struct gw *gw, struct dhcps_ask *ask)
{
	struct dhcps_id other = ask->id;
	other.len = (uint8_t)min_u32(other.len, sizeof other.bytes - sizeof ask->who);
	other.second = true;
	memcpy(other.bytes + other.len, &ask->who, sizeof ask->who);
	other.len = (uint8_t)(other.len + sizeof ask->who);
	uint32_t had = dhcps_table_of(gw, ask->net, &ask->id);
	if (is_in_force(ask, dhcps_table_of(gw, ask->net, &other)) ||
	    (is_in_force(ask, had) && !dhcps_table_is_of(ask->net, had, &ask->who)))
		ask->id = other;
}

enum drop dhcps_ask_read(struct gw *gw, struct dhcps_ask *ask, uint32_t iface, const uint8_t *data,
                         uint32_t len, ip4 from, const mac *station)
{
	ask->wrong = dhcp_message_read(&ask->m, data, len);
	const struct dhcp_hdr *h = ask->m.hdr;
	ask->relayed = false;
	ask->conflicts = 0;
	if (!ask->wrong && (h->op != DHCP_BOOTREQUEST || mac_is_group(&h->chaddr)))
		ask->wrong = "it is no client's";
	if (ask->wrong)
		return DROP_DHCPS_BAD;
	ask->who = (struct dhcps_who){.client = h->chaddr, .agent = *station};
	ask->from = from;
	ask->relayed = ip4_raw(h->giaddr) != 0;
	ask->now = dhcps_now(gw);
	/* A station asks for itself: else one could take the whole pool. */
	if (!ask->relayed && !mac_eq(&h->chaddr, station)) {
		ask->wrong = "it is for another station, and from no relay agent";
		return DROP_DHCPS_BAD;
	}
	if (!find_net(gw, ask, iface))
		return DROP_DHCPS_NOT_OURS;
	read_id(ask);
	tell_apart(gw, ask);
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
