/* The configuration keys of the tunnels (6to4.…, 6rd.…). */
#ifndef APPS_TUNNEL_TUN_KEYS_H
#define APPS_TUNNEL_TUN_KEYS_H

#include "kernel/config/config.h"
#include "kernel/lib/addr.h"

enum tun_native { TUN_NATIVE_RELAY, TUN_NATIVE_ANY };
enum tun_field { TUN_COPY, TUN_ZERO }; /* of the inner traffic class into the outer header */

struct tun_config_6rd {
	bool has_prefix;      /* 6rd in place of 6to4 */
	struct prefix prefix; /* of length 0: the lease of the WAN has prefix, mask and relay */
	uint32_t mask;        /* leading bits that all IPv4 addresses of the domain share */
	bool has_relay;
	ip4 relay;
};

struct tun_config {
	bool has_address;
	ip4 address; /* the prefix is made from it */
	uint32_t subnet;
	bool has_relay;
	ip4 relay;
	uint32_t native_from; /* enum tun_native */
	uint32_t mtu;         /* of the tunnel, in bytes */
	uint32_t mss_clamp;   /* 0: off */
	uint32_t dscp, ecn;   /* enum tun_field */
	bool nat;
	struct tun_config_6rd rd;
};

extern const struct config_section tun_section;

/* The values in force; they live as long as *c. */
static inline const struct tun_config *tun_config(const struct config *c)
{
	return config_values(c, &tun_section);
}

/* True when a prefix is one of global unicast addresses that leaves room for the bits of a site in
 * front of its /64s. */
bool tun_good_6rd(const struct prefix *p);

#endif
