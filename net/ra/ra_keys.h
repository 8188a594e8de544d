/* The configuration keys of router advertisements on the LAN (lan.ra, lan.rdnss, …). */
#ifndef NET_RA_RA_KEYS_H
#define NET_RA_RA_KEYS_H

#include "kernel/config/config_types.h"

#define RA_SERVERS 4u
#define RA_DOMAINS 4u
#define RA_PREF64  4u

struct ra_config {
	bool on;
	ip6 rdnss[RA_SERVERS]; /* DNS servers (RFC 8106) */
	uint32_t n_rdnss;
	char dnssl[RA_DOMAINS][CONFIG_DOMAIN]; /* search domains (RFC 8106) */
	uint32_t n_dnssl;
	struct prefix pref64[RA_PREF64]; /* NAT64 prefixes (RFC 8781) */
	uint32_t n_pref64;
};

extern const struct config_section ra_section;

/* The values in force; they live as long as *c. */
static inline const struct ra_config *ra_config(const struct config *c)
{
	return config_values(c, &ra_section);
}

#endif
