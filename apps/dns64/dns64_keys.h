/* The configuration keys of the DNS64 server: dns64.…, and keys of mtd64-ng, whose files
 * are read as they are. The upstream servers are net_config.server. */
#ifndef APPS_DNS64_DNS64_KEYS_H
#define APPS_DNS64_DNS64_KEYS_H

#include "apps/dns64/shared/dns64_sizes.h"
#include "kernel/config/config_types.h"

/* Which prefix stands in front of a range of IPv4 addresses; none: addresses of the range
 * are not translated. */
struct dns64_config_map {
	struct prefix from;
	bool none;
	struct prefix to; /* where none is false */
};

enum dns64_selection { DNS64_RANDOM, DNS64_ROUND_ROBIN };
/* Whether AAAA records are made where there are some: while there is no default route for IPv6,
 * with DNS64_AUTO. */
enum dns64_always { DNS64_NEVER, DNS64_ALWAYS, DNS64_AUTO };
enum dns64_on_error { DNS64_SYNTHESISE, DNS64_SERVFAIL };

struct dns64_config {
	uint32_t selection; /* enum dns64_selection */
	bool debugging;
	uint32_t timeout_ms; /* of one attempt */
	uint32_t resend;     /* attempts after the first one */
	bool has_max_length;
	uint32_t max_length; /* bytes of a UDP answer */
	uint32_t port;
	bool has_threads;
	uint32_t threads; /* of mtd64-ng; there are none here */
	struct prefix prefix[DNS64_PREFIXES];
	uint32_t n_prefix;
	struct prefix exclude[DNS64_RANGES];
	uint32_t n_exclude;
	bool has_always; /* else DNS64_AUTO beside a forwarder that routes IPv6 and translates */
	uint32_t always; /* enum dns64_always */
	struct prefix client[DNS64_CLIENTS];
	uint32_t n_client;
	uint32_t cache; /* records */
	struct dns64_config_map map[DNS64_RANGES];
	uint32_t n_map;
	char skip_name[DNS64_RANGES][CONFIG_DOMAIN];
	uint32_t n_skip_name;
	struct prefix skip_client[DNS64_CLIENTS];
	uint32_t n_skip_client;
	bool reverse;
	uint32_t on_error; /* enum dns64_on_error */
	uint32_t stale_ms;
	uint32_t rate; /* answers a second; 0: no limit */
};

extern const struct config_section dns64_section;

/* The values in force; they live as long as *c. */
static inline const struct dns64_config *dns64_config(const struct config *c)
{
	return config_values(c, &dns64_section);
}

#endif
