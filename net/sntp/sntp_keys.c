/* See sntp_keys.h. */
#include "net/sntp/sntp_keys.h"

/* clang-format off */
static const struct config_key key[] = {
	{"time-server", &config_addr, NULL, CONFIG_LIST(struct sntp_config, server, n_server),
	 .live = true,
	 .about = "SNTP server that is asked for the time of day, which log lines then have.",
	 .without = "those that the lease of wan.address dhcp names"},
};
/* clang-format on */

const struct config_section sntp_section = CONFIG_SECTION(struct sntp_config, key);
