/* The configuration keys of the time client. */
#ifndef NET_SNTP_SNTP_KEYS_H
#define NET_SNTP_SNTP_KEYS_H

#include "kernel/config/config_types.h"
#include "kernel/lib/addr.h"

#define SNTP_SERVERS 4u

struct sntp_config {
	struct addr server[SNTP_SERVERS];
	uint32_t n_server;
};

extern const struct config_section sntp_section;

/* The values in force; they live as long as *c. */
static inline const struct sntp_config *sntp_config(const struct config *c)
{
	return config_values(c, &sntp_section);
}

#endif
