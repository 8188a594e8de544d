/* The configuration keys of the application clat. */
#ifndef APPS_CLAT_CLAT_KEYS_H
#define APPS_CLAT_CLAT_KEYS_H

#include "kernel/config/config_types.h"
#include "kernel/lib/addr.h"

struct clat_config {
	struct prefix prefix; /* the provider's; of length 0: it is found out */
	bool has_address;
	struct prefix address; /* /128: one for all hosts; /64: one for each */
	uint32_t lowest_ipv6_mtu;
	uint32_t mss_clamp;
};

extern const struct config_section clat_section;

/* The values in force; they live as long as *c. */
static inline const struct clat_config *clat_config(const struct config *c)
{
	return config_values(c, &clat_section);
}

#endif
