/* The configuration keys of the DHCP client of the WAN. */
#ifndef NET_DHCP_DHCP_KEYS_H
#define NET_DHCP_DHCP_KEYS_H

#include "kernel/config/config_types.h"
#include "kernel/lib/addr.h"

#define DHCP_REJECTS 8u

/* wan.dhcp-client-id. */
enum { DHCP_ID_DUID, DHCP_ID_MAC };

struct dhcp_config {
	bool probe;                         /* RFC 5227 before an address is used */
	uint32_t client_id;                 /* DHCP_ID_… */
	struct prefix reject[DHCP_REJECTS]; /* servers whose offers are not taken */
	uint32_t n_reject;
};

extern const struct config_section dhcp_section;

/* The values in force; they live as long as *c. */
static inline const struct dhcp_config *dhcp_config(const struct config *c)
{
	return config_values(c, &dhcp_section);
}

#endif
