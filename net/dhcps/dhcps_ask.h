/* A client's message, with what the server needs to judge it. */
#ifndef NET_DHCPS_DHCPS_ASK_H
#define NET_DHCPS_DHCPS_ASK_H

#include "net/dhcps/dhcps_state.h"

struct dhcps_ask {
	struct dhcp_message m;
	struct dhcps_net *net;
	const struct dhcps_config_net *c;
	const struct address4 *own; /* our address in the network of the pool */
	struct dhcps_id id;
	struct dhcps_who who;
	ip4 from;          /* source of the packet */
	uint8_t conflicts; /* addresses that another station had, since it came */
	bool relayed;      /* by a relay agent: giaddr is set */
	uint32_t now;      /* seconds since boot */
	ip4 wanted;        /* the address that it asks for or has; 0: none */
	bool has_server;
	ip4 server;        /* that it names, where has_server is true */
	const char *wrong; /* why it is malformed (static); NULL: nothing said */
};

/* Reads a message of `len` bytes that came in on an interface. The message must live as long as
 * *ask. Gives DROP_NONE, or why it is dropped; then *ask is not to be used. */
enum drop dhcps_ask_read(struct gw *gw, struct dhcps_ask *ask, uint32_t iface, const uint8_t *data,
                         uint32_t len, ip4 from, const mac *station);

/* True when the client wants the option: it names it, or names none. */
bool dhcps_ask_wants(const struct dhcps_ask *ask, enum dhcp_code code);

#endif
