/* The configuration keys of the receivers of logs and of events. */
#ifndef NET_EXPORT_EXPORT_KEYS_H
#define NET_EXPORT_EXPORT_KEYS_H

#include "kernel/config/config_types.h"
#include "kernel/lib/addr.h"

#define EXPORT_RECEIVERS 4u /* of each of both kinds */

struct export_config_receiver {
	struct addr addr;
	uint16_t port; /* host order */
	bool tcp;      /* else UDP */
};

struct export_config {
	struct export_config_receiver syslog[EXPORT_RECEIVERS], ipfix[EXPORT_RECEIVERS];
	uint32_t n_syslog, n_ipfix;
};

extern const struct config_section export_section;

/* The values in force; they live as long as *c. */
static inline const struct export_config *export_config(const struct config *c)
{
	return config_values(c, &export_section);
}

#endif
