/* See dhcp_keys.h. */
#include "net/dhcp/dhcp_keys.h"

/* PREFIX, or one address. */
static bool parse_servers(const struct config_source *s, struct slice text, void *out)
{
	struct prefix *p = out;
	p->len = 32;
	if ((addr_prefix(text.at, text.len, p) || addr_any(text.at, text.len, &p->addr)) &&
	    !p->addr.is6)
		return true;
	return CONFIG_BAD(s, "%s: expected an IPv4 address or prefix, such as 192.168.100.0/24",
	                  s->key->name);
}

static const struct config_type servers = CONFIG_TYPE(
        struct prefix, parse_servers, config_print_prefix, "IPv4 address or ADDRESS/LENGTH");

static const char *const client_id[] = {[DHCP_ID_DUID] = "duid", [DHCP_ID_MAC] = "mac"};

#define ONE(field)           CONFIG_ONE(struct dhcp_config, field)
#define LIST(field, counter) CONFIG_LIST(struct dhcp_config, field, counter)

/* clang-format off */
static const struct config_key key[] = {
	{"wan.dhcp-probe", &config_on_off, "on", ONE(probe), .live = true,
	 .about = "Looks for some seconds whether another station has the address of a lease, "
	          "before the address is used (RFC 5227)."},
	{"wan.dhcp-client-id", &config_choice, "duid", ONE(client_id), CONFIG_WORDS(client_id),
	 .about = "How a DHCP server knows the gateway again: by a DUID (RFC 4361), or by the MAC "
	          "address, which some providers want."},
	{"wan.dhcp-reject", &servers, NULL, LIST(reject, n_reject), .live = true,
	 .about = "DHCP servers whose leases are not taken, such as a modem that has a lease of its "
	          "own while its line is down."},
};
/* clang-format on */

const struct config_section dhcp_section = CONFIG_SECTION(struct dhcp_config, key);
