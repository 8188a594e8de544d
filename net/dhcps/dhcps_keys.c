/* See dhcps_keys.h. */
#include "net/dhcps/dhcps_keys.h"

#include "kernel/lib/fmt.h"
#include "net/dhcps/dhcps_option.h"

bool dhcps_name(const char *text, size_t len, char out[DHCPS_NAME])
{
	size_t n = 0;
	out[0] = '\0';
	while (n < len && text[n] != '.' && text[n] != '\0')
		n++;
	if (n == 0 || n >= DHCPS_NAME || text[0] == '-' || text[n - 1] == '-')
		return false;
	for (size_t i = 0; i < n; i++) {
		char c = text[i];
		bool upper = c >= 'A' && c <= 'Z';
		if (!upper && !(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != '-') {
			out[0] = '\0';
			return false;
		}
		out[i] = (char)(upper ? c | 32 : c);
	}
	out[n] = '\0';
	return true;
}

/* --- types -------------------------------------------------------------------------------------
 */

static bool parse_range(const struct config_source *s, struct slice text, void *out)
{
	struct dhcps_config_range *r = out;
	size_t dash = 0;
	while (dash < text.len && text.at[dash] != '-')
		dash++;
	if (dash == text.len || !addr_ip4(text.at, dash, &r->first) ||
	    !addr_ip4(text.at + dash + 1, text.len - dash - 1, &r->last))
		return CONFIG_BAD(s, "%s: expected FIRST-LAST, such as 192.168.1.100-192.168.1.199",
		                  s->key->name);
	if (ip4_get(r->first) > ip4_get(r->last))
		return CONFIG_BAD(s, "%s: the first address is behind the last", s->key->name);
	if (ip4_get(r->last) - ip4_get(r->first) >= DHCPS_POOL_MOST)
		return CONFIG_BAD(s, "%s: more than %u addresses", s->key->name, DHCPS_POOL_MOST);
	return true;
}

static bool print_range(const struct config_key *key, const void *value, char *buf, size_t room)
{
	const struct dhcps_config_range *r = value;
	char first[FMT_IP4], last[FMT_IP4];
	(void)key;
	return fmt(buf, room, "%s-%s", fmt_ip4(first, r->first), fmt_ip4(last, r->last)) > 0;
}

/* MAC ADDRESS [NAME]. */
static bool parse_static(const struct config_source *s, struct slice text, void *out)
{
	struct slice address = config_word(&text), addr = config_word(&text),
	             name = config_word(&text);
	struct dhcps_config_static *f = out;
	if (!addr_mac(address.at, address.len, &f->address) || mac_is_group(&f->address) ||
	    !addr_ip4(addr.at, addr.len, &f->addr) || config_word(&text).len > 0)
		return CONFIG_BAD(s, "%s: expected MAC ADDRESS [NAME], such as %s", s->key->name,
		                  "52:54:00:12:34:56 192.168.1.20 printer");
	for (size_t i = 0; i < name.len; i++)
		if (name.at[i] == '.')
			return CONFIG_BAD(s, "%s: a name has no dots", s->key->name);
	if (name.len > 0 && !dhcps_name(name.at, name.len, f->name))
		return CONFIG_BAD(s, "%s: a name has letters, digits and -, 63 at most",
		                  s->key->name);
	return true;
}

static bool print_static(const struct config_key *key, const void *value, char *buf, size_t room)
{
	const struct dhcps_config_static *f = value;
	char address[FMT_MAC], addr[FMT_IP4];
	(void)key;
	return fmt(buf, room, "%s %s%s%s", fmt_mac(address, &f->address), fmt_ip4(addr, f->addr),
	           f->name[0] ? " " : "", f->name) > 0;
}

/* CODE VALUE. */
static bool parse_option(const struct config_source *s, struct slice text, void *out)
{
	struct slice number = config_word(&text);
	struct dhcps_config_option *o = out;
	uint8_t bytes[DHCPS_OPTION_VALUE];
	uint32_t code, len;
	while (text.len > 0 && (*text.at == ' ' || *text.at == '\t')) {
		text.at++;
		text.len--;
	}
	if (!addr_u32(number.at, number.len, &code) || code == 0 || code >= 255 || text.len == 0)
		return CONFIG_BAD(s, "%s: expected CODE VALUE, such as 42 192.168.1.1",
		                  s->key->name);
	if (text.len >= DHCPS_OPTION_TEXT)
		return CONFIG_BAD(s, "%s: the value is longer than %u characters", s->key->name,
		                  DHCPS_OPTION_TEXT - 1);
	o->code = (uint8_t)code;
	memcpy(o->text, text.at, text.len);
	o->text[text.len] = '\0';
	const char *bad = dhcps_option_encode(o->code, o->text, bytes, &len);
	return !bad || CONFIG_BAD(s, "%s: %u: %s", s->key->name, code, bad);
}

static bool print_option(const struct config_key *key, const void *value, char *buf, size_t room)
{
	const struct dhcps_config_option *o = value;
	(void)key;
	return fmt(buf, room, "%u %s", o->code, o->text) > 0;
}

/* --- what must fit together --------------------------------------------------------------------
 */

static bool fail(struct config *c, uint32_t i, const char *key, const char *what)
{
	char name[32];
	fmt(name, sizeof name, "%s.%s", net_interface_name[i], key);
	config_fail(c, config_where(c, name), "%s: %s", name, what);
	return false;
}

/* The network of an IPv4 address of an interface in which `a` lies; NULL when in none. */
static const struct prefix *network_of(const struct config *c, uint32_t i, ip4 a)
{
	const struct net_config_interface *iface = &net_config(c)->iface[i];
	const struct addr addr = {.v4 = a};
	for (uint32_t k = 0; k < iface->n_address; k++)
		if (!net_is_dhcp(&iface->address[k]) && addr_in_prefix(&addr, &iface->address[k]))
			return &iface->address[k];
	return NULL;
}

static bool check_statics(struct config *c, uint32_t i, const struct prefix *net)
{
	const struct dhcps_config_net *n = &dhcps_config(c)->net[i];
	for (uint32_t k = 0; k < n->n_fixed; k++) {
		const struct dhcps_config_static *f = &n->fixed[k];
		struct prefix own = {.addr = {.v4 = f->addr}, .len = net->len};
		if (network_of(c, i, f->addr) != net || net_not_own(&own))
			return fail(c, i, "dhcp-static", "an address is no host's of the network");
		if (ip4_eq(f->addr, net->addr.v4))
			return fail(c, i, "dhcp-static", "an address is the gateway's own");
		for (uint32_t m = 0; m < k; m++) {
			if (mac_eq(&n->fixed[m].address, &f->address))
				return fail(c, i, "dhcp-static", "a MAC address is given twice");
			if (ip4_eq(n->fixed[m].addr, f->addr))
				return fail(c, i, "dhcp-static", "an address is given twice");
			if (f->name[0] && strcmp(n->fixed[m].name, f->name) == 0)
				return fail(c, i, "dhcp-static", "a name is given twice");
		}
	}
	return true;
}

static bool check_net(struct config *c, uint32_t i)
{
	const struct dhcps_config_net *n = &dhcps_config(c)->net[i];
	if (!n->on)
		return true;
	const struct prefix *net = network_of(c, i, n->range.first);
	if (!net || network_of(c, i, n->range.last) != net)
		return fail(c, i, "dhcp", "the range lies in no network of this interface");
	if (net->len > 30)
		return fail(c, i, "dhcp", "the network has no room for hosts");
	return check_statics(c, i, net);
}

static bool check(struct config *c)
{
	bool good = true;
	for (uint32_t i = 0; i < NET_INTERFACES; i++)
		good &= i == NET_WAN || check_net(c, i);
	return good;
}

/* --- the keys ----------------------------------------------------------------------------------
 */

static const struct config_type range =
        CONFIG_TYPE(struct dhcps_config_range, parse_range, print_range, "FIRST-LAST");
static const struct config_type fixed =
        CONFIG_TYPE(struct dhcps_config_static, parse_static, print_static, "MAC ADDRESS [NAME]");
static const struct config_type option =
        CONFIG_TYPE(struct dhcps_config_option, parse_option, print_option, "CODE VALUE");

#define ONE(field)           CONFIG_ONE(struct dhcps_config, field)
#define LIST(field, counter) CONFIG_LIST(struct dhcps_config, field, counter)

/* clang-format off */
#define KEYS(name, i, lease)                                                                      \
	{name ".dhcp", &range, NULL, ONE(net[i].range),                                          \
	 CONFIG_FLAG(struct dhcps_config, net[i].on), .without = "off",                          \
	 .about = "Hosts of this network get addresses from the first to the last by DHCP."},    \
	{name ".dhcp-lease", &config_number, lease, ONE(net[i].lease_s),                         \
	 CONFIG_FLAG(struct dhcps_config, net[i].has_lease), .without = "43200",                 \
	 CONFIG_RANGE(10, DHCPS_LEASE_S_MOST),                                                   \
	 .about = "Seconds that a host may use the address of a lease."},                        \
	{name ".dhcp-static", &fixed, NULL, LIST(net[i].fixed, net[i].n_fixed),                  \
	 .about = "The address, and the name, that the host with this MAC address always gets."},\
	{name ".domain", &config_domain, NULL, ONE(net[i].domain),                               \
	 .about = "Domain of the hosts of this network, which they learn by DHCP."},             \
	{name ".dhcp-option", &option, NULL, LIST(net[i].option, net[i].n_option),               \
	 .about = "An option for hosts that ask for it; it replaces one that the server makes."},\
	{name ".dhcp-v6only", &config_seconds_or_off, NULL, ONE(net[i].v6only_ms),               \
	 CONFIG_FLAG(struct dhcps_config, net[i].has_v6only), .without = "off",                  \
	 CONFIG_RANGE(1, CONFIG_LONGEST),                                                        \
	 .about = "Hosts that can do without IPv4 do so for this many seconds (RFC 8925)."}

static const struct config_key key[] = {
	KEYS("lan", NET_LAN, "43200"), KEYS("lan2", 2, NULL), KEYS("lan3", 3, NULL),
	KEYS("lan4", 4, NULL), KEYS("lan5", 5, NULL), KEYS("lan6", 6, NULL), KEYS("lan7", 7, NULL),
};
/* clang-format on */

const struct config_section dhcps_section = {
        .key = key,
        .n_keys = ARRAY_SIZE(key),
        .size = sizeof(struct dhcps_config),
        .check = check,
};
