/* The configuration keys of the service `pcp`. */
#ifndef APPS_PCP_PCP_KEYS_H
#define APPS_PCP_PCP_KEYS_H

#include "kernel/config/config_types.h"

struct pcp_config {
	uint32_t limit; /* mappings of one host */
};

extern const struct config_section pcp_section;

/* The values in force; they live as long as *c. */
static inline const struct pcp_config *pcp_config(const struct config *c)
{
	return config_values(c, &pcp_section);
}

#endif
