/* The configuration keys of the application `nat64` (nat64.…). */
#ifndef APPS_NAT64_NAT64_KEYS_H
#define APPS_NAT64_NAT64_KEYS_H

#include "apps/nat/nat_keys.h"
#include "kernel/config/config.h"
#include "kernel/lib/addr.h"

#define NAT64_PREFIXES 8u
#define NAT64_FORWARDS 64u

/* A static entry of a binding table: an external endpoint that belongs to an inside one. Ports are
 * in host order; for ICMP they are identifiers. */
struct nat64_config_forward {
	uint8_t proto; /* an IP protocol: PROTO_TCP, PROTO_UDP or PROTO_ICMP */
	uint16_t public_port, inside_port;
	ip4 public;
	struct addr inside;
};

/* What counts as one host. */
enum nat64_host_length { NAT64_HOST_64, NAT64_HOST_128 };

struct nat64_config {
	struct nat_config nat; /* pool, sessions, limits, timeouts; its other keys are not there */
	struct prefix prefix[NAT64_PREFIXES];
	uint32_t n_prefix;
	struct nat64_config_forward forward[NAT64_FORWARDS];
	uint32_t n_forward;
	bool has_nat44, nat44; /* else where the inside has an IPv4 address */
	uint32_t host_length;  /* enum nat64_host_length */
	uint32_t fragment_timeout_ms;
	uint32_t lowest_ipv6_mtu;
	uint32_t mss_clamp; /* 0: off */
	uint32_t tos;       /* of xlat_type_tos */
};

extern const struct config_section nat64_section;

/* The values in force; they live as long as *c. */
static inline const struct nat64_config *nat64_config(const struct config *c)
{
	return config_values(c, &nat64_section);
}

#endif
