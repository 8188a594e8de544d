/* The configuration keys of the DHCP server: lan.dhcp and others, of each inside interface. */
#ifndef NET_DHCPS_DHCPS_KEYS_H
#define NET_DHCPS_DHCPS_KEYS_H

#include "kernel/config/config_types.h"
#include "net/setup/net_keys.h"

#define DHCPS_STATICS      64u   /* of one interface */
#define DHCPS_OPTIONS      16u   /* of one interface */
#define DHCPS_OPTION_TEXT  128u  /* characters of a value, and NUL */
#define DHCPS_NAME         64u   /* characters of a host's name, and NUL (RFC 1035 section 2.3.4) */
#define DHCPS_POOL_MOST    4096u /* addresses of one pool */
#define DHCPS_LEASE_S      43200u
#define DHCPS_LEASE_S_MOST 31536000u

struct dhcps_config_range {
	ip4 first, last;
};

/* An address that one station has for itself. */
struct dhcps_config_static {
	mac address;
	ip4 addr;
	char name[DHCPS_NAME]; /* in lower case; empty: that of the station itself */
};

/* An option and its value as text (dhcps_option.h). */
struct dhcps_config_option {
	uint8_t code;
	char text[DHCPS_OPTION_TEXT];
};

struct dhcps_config_net {
	bool on; /* range is given */
	struct dhcps_config_range range;
	uint32_t lease_s; /* where has_lease is true */
	bool has_lease, has_v6only;
	struct dhcps_config_static fixed[DHCPS_STATICS];
	uint32_t n_fixed;
	char domain[CONFIG_DOMAIN];
	struct dhcps_config_option option[DHCPS_OPTIONS];
	uint32_t n_option;
	uint32_t v6only_ms; /* 0: off */
};

/* By interface; that of the WAN has no keys. */
struct dhcps_config {
	struct dhcps_config_net net[NET_INTERFACES];
};

extern const struct config_section dhcps_section;

/* Seconds of a lease. */
static inline uint32_t dhcps_lease_s(const struct dhcps_config_net *c)
{
	return c->has_lease ? c->lease_s : DHCPS_LEASE_S;
}

/* The values in force; they live as long as *c. */
static inline const struct dhcps_config *dhcps_config(const struct config *c)
{
	return config_values(c, &dhcps_section);
}

/* Makes a host's name of what a client says: the first label, in lower case, if it is one of RFC
 * 1123 section 2.1. False, and *out is empty, when it is not. */
bool dhcps_name(const char *text, size_t len, char out[DHCPS_NAME]);

#endif
