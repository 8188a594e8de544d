/* The names of the hosts that have leases, for a name server. */
#ifndef NET_DHCPS_DHCPS_NAMES_H
#define NET_DHCPS_DHCPS_NAMES_H

#include "net/dhcps/dhcps_keys.h"
#include "net/gw.h"

struct dhcps_host {
	ip4 addr;
	uint32_t left_s;    /* of the lease */
	const char *name;   /* one label in lower case, as long as the lease is not changed */
	const char *domain; /* of its network, as the configuration has it, without a final dot */
};

/* Finds a host by its whole name, in lower case and without a final dot: NAME.DOMAIN, DOMAIN being
 * lan.domain, lan2.domain … False when no lease in force has it. */
bool dhcps_by_name(const struct gw *gw, const char *name, struct dhcps_host *out);

/* Finds a host by its address. False when it has no lease in force, or the lease no name, or its
 * network no domain. */
bool dhcps_by_address(const struct gw *gw, ip4 addr, struct dhcps_host *out);

#endif
