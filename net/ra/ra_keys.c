/* See ra_keys.h. */
#include "net/ra/ra_keys.h"

/* The lengths of RFC 6052 are all that an option of RFC 8781 can say. */
static bool parse_pref64(const struct config_source *s, struct slice text, void *out)
{
	if (!config_parse_prefix6(text, out))
		return CONFIG_BAD(s, "%s: expected an IPv6 PREFIX/LENGTH, such as 64:ff9b::/96",
		                  s->key->name);
	return config_has_room4(s, out);
}

static const struct config_type pref64 =
        CONFIG_TYPE(struct prefix, parse_pref64, config_print_prefix,
                    "IPv6 prefix of length 32, 40, 48, 56, 64 or 96");

#define LIST(i, field, counter) CONFIG_LIST(struct ra_config, iface[i].field, iface[i].counter)
#define ON(i) \
	CONFIG_ONE(struct ra_config, iface[i].on), CONFIG_FLAG(struct ra_config, iface[i].has_on)
#define RA_ABOUT                                                                                  \
	.about = "Sends router advertisements on this interface, if the application has an IPv6 " \
	         "prefix there."
#define RDNSS_ABOUT \
	.about = "DNS server that the router advertisements name (RFC 8106).", .live = true
#define DNSSL_ABOUT \
	.about = "Search domain that the router advertisements name (RFC 8106).", .live = true
#define PREF64_ABOUT                                                                               \
	.about = "PREF64: prefix of a translator that the router advertisements name (RFC 8781).", \
	.live = true
#define KEYS(name, i, initial)                                                               \
	{name ".ra", &config_on_off, initial, ON(i), RA_ABOUT, .without = "on"},             \
	        {name ".rdnss", &config_ip6, NULL, LIST(i, rdnss, n_rdnss), RDNSS_ABOUT},    \
	        {name ".dnssl", &config_domain, NULL, LIST(i, dnssl, n_dnssl), DNSSL_ABOUT}, \
	{                                                                                    \
		name ".pref64", &pref64, NULL, LIST(i, pref64, n_pref64), PREF64_ABOUT       \
	}

/* clang-format off */
static const struct config_key key[] = {
	KEYS("lan", NET_LAN, "on"),
	KEYS("lan2", 2, NULL),
	KEYS("lan3", 3, NULL),
	KEYS("lan4", 4, NULL),
	KEYS("lan5", 5, NULL),
	KEYS("lan6", 6, NULL),
	KEYS("lan7", 7, NULL),
};
/* clang-format on */

const struct config_section ra_section = CONFIG_SECTION(struct ra_config, key);
