/* The configuration keys of router advertisements on the networks of the inside (lan.ra,
 * lan2.rdnss, …). */
#ifndef NET_RA_RA_KEYS_H
#define NET_RA_RA_KEYS_H

#include "kernel/config/config_types.h"
#include "net/setup/net_keys.h"

#define RA_SERVERS 4u
#define RA_DOMAINS 4u
#define RA_PREF64  4u

/* Of one interface; that of the WAN has no keys. */
struct ra_config_interface {
	bool has_on, on;       /* on, unless has_on is true and on is false */
	ip6 rdnss[RA_SERVERS]; /* DNS servers (RFC 8106) */
	uint32_t n_rdnss;
	char dnssl[RA_DOMAINS][CONFIG_DOMAIN]; /* search domains (RFC 8106) */
	uint32_t n_dnssl;
	struct prefix pref64[RA_PREF64]; /* PREF64 (RFC 8781) */
	uint32_t n_pref64;
};

struct ra_config {
	struct ra_config_interface iface[NET_INTERFACES];
};

extern const struct config_section ra_section;

/* The values in force of an interface; they live as long as *c. */
static inline const struct ra_config_interface *ra_config(const struct config *c, uint32_t iface)
{
	return &((const struct ra_config *)config_values(c, &ra_section))->iface[iface];
}

/* True when the configuration wants advertisements on an interface. */
static inline bool ra_config_on(const struct config *c, uint32_t iface)
{
	return !ra_config(c, iface)->has_on || ra_config(c, iface)->on;
}

#endif
