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
        CONFIG_TYPE(struct prefix, parse_pref64, config_print_prefix);

#define LIST(field, counter) CONFIG_LIST(struct ra_config, field, counter)

static const struct config_key key[] = {
        {"lan.ra", &config_on_off, "on", CONFIG_ONE(struct ra_config, on)},
        {"lan.rdnss", &config_ip6, NULL, LIST(rdnss, n_rdnss)},
        {"lan.dnssl", &config_domain, NULL, LIST(dnssl, n_dnssl)},
        {"lan.pref64", &pref64, NULL, LIST(pref64, n_pref64)},
};

const struct config_section ra_section = CONFIG_SECTION(struct ra_config, key);
