/* See pcp_keys.h. */
#include "apps/pcp/pcp_keys.h"

/* clang-format off */
static const struct config_key key[] = {
	{"pcp.limit", &config_number, "64", CONFIG_ONE(struct pcp_config, limit),
	 CONFIG_RANGE(1, 4096), .live = true,
	 .about = "Ports that one inside host may have opened by PCP and NAT-PMP."},
};
/* clang-format on */

const struct config_section pcp_section = CONFIG_SECTION(struct pcp_config, key);
