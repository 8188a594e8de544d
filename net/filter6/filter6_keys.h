/* The configuration keys of the filter for native IPv6: lan.filter, forward6. */
#ifndef NET_FILTER6_FILTER6_KEYS_H
#define NET_FILTER6_FILTER6_KEYS_H

#include "kernel/config/config_types.h"

#define FILTER6_RULES 64u

/* What may be reached from the WAN. */
struct filter6_rule {
	uint8_t proto; /* TCP or UDP; 0: all */
	uint16_t port; /* host order, where proto is not 0 */
	ip6 addr;
};

enum { FILTER6_STATEFUL, FILTER6_OFF };

struct filter6_config {
	uint32_t filter; /* FILTER6_STATEFUL or FILTER6_OFF */
	struct filter6_rule rule[FILTER6_RULES];
	uint32_t n_rule;
};

extern const struct config_section filter6_section;

/* The values in force; they live as long as *c. */
static inline const struct filter6_config *filter6_config(const struct config *c)
{
	return config_values(c, &filter6_section);
}

#endif
