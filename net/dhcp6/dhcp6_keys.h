/* The configuration keys of DHCPv6. */
#ifndef NET_DHCP6_DHCP6_KEYS_H
#define NET_DHCP6_DHCP6_KEYS_H

#include "kernel/config/config_types.h"
#include "net/setup/net_keys.h"

struct dhcp6_config {
	/* Of lan.prefix …; that of the WAN is never set. */
	struct {
		bool delegated;
		uint32_t word;
	} iface[NET_INTERFACES];
	uint32_t prefix_length; /* that is asked for */
};

extern const struct config_section dhcp6_section;

/* The values in force; they live as long as *c. */
static inline const struct dhcp6_config *dhcp6_config(const struct config *c)
{
	return config_values(c, &dhcp6_section);
}

/* True when an interface has `prefix delegated`. */
static inline bool dhcp6_delegated(const struct config *c, uint32_t iface)
{
	return dhcp6_config(c)->iface[iface].delegated;
}

/* True when some interface that the configuration has does. */
bool dhcp6_wants_prefix(const struct config *c);

#endif
