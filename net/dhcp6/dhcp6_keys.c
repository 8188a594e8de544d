/* See dhcp6_keys.h. */
#include "net/dhcp6/dhcp6_keys.h"

static const char *const source[] = {"delegated"};

bool dhcp6_wants_prefix(const struct config *c)
{
	for (uint32_t i = 0; i < net_interfaces(c); i++)
		if (dhcp6_delegated(c, i))
			return true;
	return false;
}

#define PREFIX(name, i)                                                                          \
	{                                                                                        \
		name ".prefix", &config_choice, NULL,                                            \
		        CONFIG_ONE(struct dhcp6_config, iface[i].word),                          \
		        CONFIG_FLAG(struct dhcp6_config, iface[i].delegated),                    \
		        CONFIG_WORDS(source),                                                    \
		        .about = "A network of 64 bits for this interface, cut from the prefix " \
		                 "that "                                                         \
		                 "DHCPv6 delegates to the WAN.",                                 \
		        .without = "none"                                                        \
	}

/* clang-format off */
static const struct config_key key[] = {
	PREFIX("lan", NET_LAN),
	PREFIX("lan2", 2),
	PREFIX("lan3", 3),
	PREFIX("lan4", 4),
	PREFIX("lan5", 5),
	PREFIX("lan6", 6),
	PREFIX("lan7", 7),
	{"wan.prefix-length", &config_number, "60", CONFIG_ONE(struct dhcp6_config, prefix_length),
	 CONFIG_RANGE(32, 64), .live = true,
	 .about = "Length of the prefix that DHCPv6 asks for; the server may delegate another."},
};
/* clang-format on */

const struct config_section dhcp6_section = CONFIG_SECTION(struct dhcp6_config, key);
