/* The configuration keys of the network: cards, addresses, routes, neighbours and name
 * servers. The values are as the text says; gw_init checks what must fit together. */
#ifndef NET_SETUP_NET_KEYS_H
#define NET_SETUP_NET_KEYS_H

#include "kernel/config/config.h"
#include "kernel/lib/addr.h"

#define NET_ADDRESSES  8u
#define NET_GATEWAYS   4u
#define NET_ROUTES     64u
#define NET_NEIGHBOURS 64u
#define NET_SERVERS    16u

/* Interfaces: the LAN, the WAN, and further networks of the inside, lan2 to lan7. */
#define NET_INTERFACES 8u
enum { NET_LAN, NET_WAN, NET_LAN2 };

/* The name of an interface, as in the configuration. */
extern const char *const net_interface_name[NET_INTERFACES];

/* The network card of an interface: the one with the MAC address, or else the index-th. Interfaces
 * may share one when their VLANs differ. */
struct net_config_card {
	uint16_t vlan; /* 1 to NET_VLAN_LAST (802.1Q); 0: the frames without a tag */
	bool by_mac;
	uint8_t index;
	mac address;
};

struct net_config_interface {
	struct net_config_card card;
	bool has_card; /* of lan2 to lan7: the interface exists */
	struct prefix address[NET_ADDRESSES];
	uint32_t n_address;
	uint32_t mtu; /* bytes of an IP packet, where has_mtu is true; else NET_MTU */
	bool has_mtu;
};

#define NET_MTU       1500u
#define NET_VLAN_LAST 4094u

/* `to` and `via` are of the same address family. */
struct net_config_route {
	struct prefix to;
	struct addr via;
};

struct net_config_neighbour {
	struct addr addr;
	mac address;
};

/* A DNS server, or the word `default`: the servers that the lease and the routers of the WAN name.
 */
struct net_config_server {
	bool lease;
	struct addr addr; /* where lease is false */
};

struct net_config {
	struct net_config_interface iface[NET_INTERFACES];
	struct addr gateway[NET_GATEWAYS];
	uint32_t n_gateway;
	struct net_config_route route[NET_ROUTES];
	uint32_t n_route;
	struct net_config_neighbour neighbour[NET_NEIGHBOURS];
	uint32_t n_neighbour;
	struct net_config_server server[NET_SERVERS];
	uint32_t n_server;
};

extern const struct config_section net_section;

/* True for the word `auto` in wan.address: addresses as routers advertise them (net/autoconf). It
 * stands in the list as an IPv6 prefix of no bits, which no address of ours can have. */
static inline bool net_is_auto(const struct prefix *p)
{
	return p->addr.is6 && p->len == 0;
}

/* True for the word `dhcp` in wan.address: an address as a DHCP server gives it (net/dhcp). It
 * stands in the list as an IPv4 prefix of no bits. */
static inline bool net_is_dhcp(const struct prefix *p)
{
	return !p->addr.is6 && p->len == 0;
}

/* The values in force; they live as long as *c. */
static inline const struct net_config *net_config(const struct config *c)
{
	return config_values(c, &net_section);
}

/* What is wrong with an address and prefix length as one of our own; NULL: nothing. Static. */
const char *net_not_own(const struct prefix *p);

/* True when the configuration has `wan.address dhcp`: the WAN may have no IPv4 address at the
 * start. */
bool net_has_dhcp(const struct config *c);

/* True when both name the same card in the same way, whatever the VLANs. */
bool net_same_card(const struct net_config_card *a, const struct net_config_card *b);

/* How many interfaces the configuration has: lan, wan and those of lan2 to lan7 that are given. */
uint32_t net_interfaces(const struct config *c);

#endif
