/* The configuration keys of the NAT (nat.…). */
#ifndef APPS_NAT_NAT_KEYS_H
#define APPS_NAT_NAT_KEYS_H

#include "kernel/config/config.h"

#define NAT_BLOCK_FIRST 1024u /* the first port of the first block of an address */
#define NAT_BLOCK_PORTS (65536u - NAT_BLOCK_FIRST)

#define NAT_POOLS    16u
#define NAT_FORWARDS 64u

/* Which remote endpoints may use a mapping (RFC 4787 section 5). */
enum nat_filtering {
	NAT_FILTER_ENDPOINT_INDEPENDENT,
	NAT_FILTER_ADDRESS_DEPENDENT,
	NAT_FILTER_ADDRESS_AND_PORT_DEPENDENT,
	NAT_FILTERS
};
extern const char *const nat_filter_words[NAT_FILTERS];

/* External IPv4 addresses from `first` to `last`. */
struct nat_config_pool {
	ip4 first, last;
};

/* A struct nat_config_pool. */
extern const struct config_type nat_type_pool;

/* A port of the external address that belongs to an inside endpoint. Ports are in host
 * order. */
struct nat_config_forward {
	bool tcp; /* else UDP */
	uint16_t public_port, inside_port;
	ip4 inside;
};

/* What is told of sessions to the receivers of `syslog` and `ipfix`. */
enum nat_log { NAT_LOG_OFF, NAT_LOG_SESSIONS, NAT_LOG_BLOCKS, NAT_LOGS };
extern const char *const nat_log_words[NAT_LOGS];

struct nat_config {
	struct nat_config_pool pool[NAT_POOLS];
	uint32_t n_pool;
	struct nat_config_forward forward[NAT_FORWARDS];
	uint32_t n_forward;
	uint32_t host_limit; /* sessions of one inside host; 0: no limit */
	bool has_protocol41;
	ip4 protocol41;
	uint32_t sessions;
	uint32_t filtering; /* enum nat_filtering */
	uint32_t udp_timeout_ms;
	uint32_t tcp_timeout_ms;
	uint32_t tcp_transitory_timeout_ms;
	bool has_tcp_opening_timeout;    /* else the transitory one */
	uint32_t tcp_opening_timeout_ms; /* RFC 7857 section 2.1 */
	uint32_t icmp_timeout_ms;
	bool hairpin;
	uint32_t log;    /* enum nat_log */
	uint32_t blocks; /* ports of the block of an inside host (nat_blocks.h); 0: no blocks */
};

extern const struct config_section nat_section;

/* The values in force; they live as long as *c. */
static inline const struct nat_config *nat_config(const struct config *c)
{
	return config_values(c, &nat_section);
}

#endif
