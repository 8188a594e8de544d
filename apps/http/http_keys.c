/* See http_keys.h. */
#include "apps/http/http_keys.h"

static bool parse_net(const struct config_source *s, struct slice text, void *out)
{
	struct prefix *p = out;
	if (!addr_prefix(text.at, text.len, p))
		return CONFIG_BAD(s, "%s: expected PREFIX/LENGTH, such as 192.168.1.0/24 or %s",
		                  s->key->name, "2001:db8::/32");
	if (p->addr.is6)
		p->addr.v6 = addr_net6(&p->addr.v6, p->len);
	else
		p->addr.v4 = ip4_of(ip4_get(p->addr.v4) & addr_mask4(p->len));
	return true;
}

static const struct config_type net =
        CONFIG_TYPE(struct prefix, parse_net, config_print_prefix, "PREFIX/LENGTH");

static const struct config_key key[] = {
        {"http.client", &net, NULL, CONFIG_LIST(struct http_config, client, n_client),
         .about = "Clients that may look at the status page and the metrics.",
         .without = "the networks of our addresses, beside a forwarder those of the LAN"},
        {"http.capture", &config_on_off, "off", CONFIG_ONE(struct http_config, capture),
         .about = "Keeps the last packets, which clients of the status page may download."},
};

const struct config_section http_section = CONFIG_SECTION(struct http_config, key);

const struct http_config *http_config(const struct config *c)
{
	return config_values(c, &http_section);
}
