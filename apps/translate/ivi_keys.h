/* The configuration keys of the translator (ivi.…). */
#ifndef APPS_TRANSLATE_IVI_KEYS_H
#define APPS_TRANSLATE_IVI_KEYS_H

#include "apps/translate/xlat.h"
#include "kernel/config/config.h"

enum ivi_format { IVI_FORMAT_IVI, IVI_FORMAT_RFC6052 };
enum ivi_zero { IVI_ZERO_DROP, IVI_ZERO_COMPUTE };

struct ivi_config_net {
	ip4 net;
	uint8_t len;
};

struct ivi_config {
	bool has_prefix;
	struct prefix prefix;
	uint32_t format; /* enum ivi_format */
	struct ivi_config_net ipv4[XLAT_PREFIXES];
	uint32_t n_ipv4;
	struct embed_pair map[EMBED_MAPS];
	uint32_t n_map;
	struct embed_sharing share[XLAT_SHARES];
	uint32_t n_share;
	struct addr icmp_source[XLAT_SOURCES];
	uint32_t n_icmp_source;
	bool icmp_interface; /* RFC 5837 object in errors from sources that have no mapping */
	uint32_t lowest_ipv6_mtu;
	uint32_t udp_zero_checksum; /* enum ivi_zero */
	uint32_t mss_clamp;         /* 0: off */
	uint32_t tos;               /* of xlat_type_tos */
	bool errors;
};

extern const struct config_section ivi_section;

/* The values in force; they live as long as *c. */
static inline const struct ivi_config *ivi_config(const struct config *c)
{
	return config_values(c, &ivi_section);
}

#endif
