/* See net_keys.h. */
#include "net/setup/net_keys.h"

#include "kernel/config/config_types.h"
#include "kernel/lib/fmt.h"
#include "kernel/lib/log.h"

/* --- network cards ------------------------------------------------------------------ */

static bool parse_station(const struct config_source *s, struct slice text, mac *out)
{
	static const mac zero;
	if (!addr_mac(text.at, text.len, out))
		return CONFIG_BAD(s, "%s: expected a MAC address, such as 52:54:00:12:34:56",
		                  s->key->name);
	if (mac_is_group(out) || mac_eq(out, &zero))
		return CONFIG_BAD(s, "%s: the MAC address is not that of one station",
		                  s->key->name);
	return true;
}

/* Takes the number of a VLAN off the end of *text, where there is one. */
static bool parse_vlan(const struct config_source *s, struct slice *text, uint16_t *out)
{
	size_t dot = 0;
	uint32_t n;
	while (dot < text->len && text->at[dot] != '.')
		dot++;
	if (dot == text->len)
		return true;
	if (!addr_u32(text->at + dot + 1, text->len - dot - 1, &n) || n < 1 || n > NET_VLAN_LAST)
		return CONFIG_BAD(s, "%s: expected a VLAN from 1 to %u behind the point",
		                  s->key->name, NET_VLAN_LAST);
	*out = (uint16_t)n;
	text->len = dot;
	return true;
}

static bool parse_card(const struct config_source *s, struct slice text, void *out)
{
	struct net_config_card *card = out;
	uint32_t index;
	mac address;
	if (!parse_vlan(s, &text, &card->vlan))
		return false;
	if (text.len > 3 && memcmp(text.at, "nic", 3) == 0 &&
	    addr_u32(text.at + 3, text.len - 3, &index) && index <= UINT8_MAX) {
		card->index = (uint8_t)index;
		return true;
	}
	if (!addr_mac(text.at, text.len, &address))
		return CONFIG_BAD(s, "%s: expected nic0, nic1, ... or a MAC address such as %s",
		                  s->key->name, "52:54:00:12:34:56");
	card->by_mac = true;
	return parse_station(s, text, &card->address);
}

static bool print_card(const struct config_key *key, const void *value, char *buf, size_t room)
{
	const struct net_config_card *card = value;
	char address[FMT_MAC];
	(void)key;
	size_t n = card->by_mac ? fmt(buf, room, "%s", fmt_mac(address, &card->address))
	                        : fmt(buf, room, "nic%u", card->index);
	if (card->vlan)
		n += fmt(buf + n, room - n, ".%u", card->vlan);
	return n > 0;
}

bool net_same_card(const struct net_config_card *a, const struct net_config_card *b)
{
	if (a->by_mac != b->by_mac)
		return false; /* main.c compares the cards that they name */
	return a->by_mac ? mac_eq(&a->address, &b->address) : a->index == b->index;
}

const char *const net_interface_name[NET_INTERFACES] = {"lan",  "wan",  "lan2", "lan3",
                                                        "lan4", "lan5", "lan6", "lan7"};

uint32_t net_interfaces(const struct config *c)
{
	uint32_t n = NET_LAN2;
	while (n < NET_INTERFACES && net_config(c)->iface[n].has_card)
		n++;
	return n;
}

bool net_has_dhcp(const struct config *c)
{
	const struct net_config_interface *wan = &net_config(c)->iface[NET_WAN];
	for (uint32_t i = 0; i < wan->n_address; i++)
		if (net_is_dhcp(&wan->address[i]))
			return true;
	return false;
}

/* Of lan2 to lan7 each follows on the one before, and one without a card has no other keys. */
static bool check_given(struct config *c, uint32_t i)
{
	const struct net_config_interface *iface = &net_config(c)->iface[i];
	const char *name = net_interface_name[i];
	char keys[8];
	if (iface->has_card && i > NET_LAN2 && !iface[-1].has_card) {
		config_fail(c, config_where(c, name), "%s: there is no %s before it", name,
		            net_interface_name[i - 1]);
		return false;
	}
	fmt(keys, sizeof keys, "%s.", name);
	const char *key = iface->has_card ? NULL : config_given_under(c, keys);
	if (!key)
		return true;
	config_fail(c, config_where(c, key), "%s: %s names no NIC, such as nic%u", key, name, i);
	return false;
}

static bool check(struct config *c)
{
	const struct net_config_interface *iface = net_config(c)->iface;
	bool good = true;
	for (uint32_t i = NET_LAN2; i < NET_INTERFACES; i++)
		good &= check_given(c, i);
	for (uint32_t i = 1; i < NET_INTERFACES; i++)
		for (uint32_t k = 0; k < i && iface[i].has_card; k++) {
			const char *a = net_interface_name[k], *b = net_interface_name[i];
			if (!iface[k].has_card || !net_same_card(&iface[k].card, &iface[i].card) ||
			    iface[k].card.vlan != iface[i].card.vlan)
				continue;
			config_fail(c, config_where_later(c, a, b), "%s and %s name the same %s", a,
			            b, iface[i].card.vlan ? "VLAN" : "NIC");
			good = false;
		}
	return good;
}

/* --- our own addresses --------------------------------------------------------------- */

/* What is wrong with the bits behind the prefix length, NULL when a host may have them. */
static const char *bad_host_part(const struct prefix *p)
{
	if (p->len == 0)
		return "a prefix length of 0 leaves no network";
	if (!p->addr.is6) {
		uint32_t mask = addr_mask4(p->len), host = ip4_get(p->addr.v4) & ~mask;
		if (p->len >= 31)
			return NULL;
		if (host == 0)
			return "the host part is zero: the address names the network";
		return host == ~mask ? "the host part is all ones: the broadcast address" : NULL;
	}
	if (p->len >= 127)
		return NULL;
	uint8_t host = p->addr.v6.b[p->len / 8] & (uint8_t)(0xff >> p->len % 8);
	for (unsigned i = p->len / 8u + 1; i < 16; i++)
		host |= p->addr.v6.b[i];
	return host == 0 ? "the host part is zero: the address of any router" : NULL;
}

const char *net_not_own(const struct prefix *p)
{
	const char *bad = config_not_unicast(&p->addr);
	return bad ? bad : bad_host_part(p);
}

static bool parse_own(const struct config_source *s, struct slice text, void *out)
{
	struct prefix *p = out;
	char shown[FMT_IP6 + 4];
	if (!addr_prefix(text.at, text.len, p))
		return CONFIG_BAD(s, "%s: expected ADDRESS/LENGTH, such as 192.168.1.1/24",
		                  s->key->name);
	const char *what = config_not_unicast(&p->addr);
	if (what)
		return CONFIG_BAD(s, "%s: %s is %s", s->key->name, addr_text(shown, &p->addr),
		                  what);
	what = bad_host_part(p);
	if (what)
		return CONFIG_BAD(s, "%s: %s: %s", s->key->name, addr_prefix_text(shown, p), what);
	return true;
}

/* On the WAN, also the words `auto` and `dhcp`. */
static bool parse_own_wan(const struct config_source *s, struct slice text, void *out)
{
	struct prefix *p = out;
	bool is_auto = config_word_is(text, "auto");
	if (!is_auto && !config_word_is(text, "dhcp"))
		return parse_own(s, text, out);
	*p = (struct prefix){.addr = {.is6 = is_auto}};
	return true;
}

static bool print_own_wan(const struct config_key *key, const void *value, char *buf, size_t room)
{
	if (net_is_auto(value))
		return fmt(buf, room, "auto") > 0;
	if (net_is_dhcp(value))
		return fmt(buf, room, "dhcp") > 0;
	return config_print_prefix(key, value, buf, room);
}

/* --- routes, neighbours, servers ----------------------------------------------------- */

/* Sets the bits behind the length of a prefix to zero, with a line in the log. */
static void cut_host_bits(const struct config_source *s, struct prefix *p)
{
	struct prefix net = *p;
	char was[FMT_IP6 + 4], is[FMT_IP6 + 4];
	if (p->addr.is6)
		net.addr.v6 = addr_net6(&p->addr.v6, p->len);
	else
		net.addr.v4 = ip4_of(ip4_get(p->addr.v4) & addr_mask4(p->len));
	if (addr_eq(&net.addr, &p->addr))
		return;
	log_line("%s: %s: %s means %s", s->where, s->key->name, addr_prefix_text(was, p),
	         addr_prefix_text(is, &net));
	*p = net;
}

/* PREFIX via ADDRESS. */
static bool parse_route(const struct config_source *s, struct slice text, void *out)
{
	struct slice to = config_word(&text), via = config_word(&text), router = config_word(&text);
	struct net_config_route *r = out;
	char shown[FMT_IP6 + 4], via_shown[FMT_IP6];
	if (!addr_prefix(to.at, to.len, &r->to) || !config_word_is(via, "via") || router.len == 0 ||
	    config_word(&text).len > 0)
		return CONFIG_BAD(
		        s, "%s: expected PREFIX via ADDRESS, such as 10.0.0.0/8 via 192.0.2.1",
		        s->key->name);
	if (!config_parse_addr(s, router, &r->via))
		return false;
	if (r->to.addr.is6 != r->via.is6)
		return CONFIG_BAD(s, "%s: prefix and router are of different address families",
		                  s->key->name);
	cut_host_bits(s, &r->to);
	const struct net_config_route *other = net_config(s->c)->route;
	for (uint32_t n = net_config(s->c)->n_route; n > 0; n--, other++)
		if (other->to.len == r->to.len && addr_in_prefix(&other->to.addr, &r->to))
			return CONFIG_BAD(s, "%s: %s has a router already, %s", s->key->name,
			                  addr_prefix_text(shown, &r->to),
			                  addr_text(via_shown, &other->via));
	return true;
}

static bool print_route(const struct config_key *key, const void *value, char *buf, size_t room)
{
	const struct net_config_route *r = value;
	char to[FMT_IP6 + 4], via[FMT_IP6];
	(void)key;
	return fmt(buf, room, "%s via %s", addr_prefix_text(to, &r->to), addr_text(via, &r->via)) >
	       0;
}

/* ADDRESS MAC. */
static bool parse_neighbour(const struct config_source *s, struct slice text, void *out)
{
	struct slice address = config_word(&text), station = config_word(&text);
	struct net_config_neighbour *n = out;
	if (station.len == 0 || config_word(&text).len > 0)
		return CONFIG_BAD(s,
		                  "%s: expected ADDRESS MAC, such as 192.0.2.1 52:54:00:12:34:56",
		                  s->key->name);
	return config_parse_addr(s, address, &n->addr) && parse_station(s, station, &n->address);
}

static bool print_neighbour(const struct config_key *key, const void *value, char *buf, size_t room)
{
	const struct net_config_neighbour *n = value;
	char address[FMT_IP6], station[FMT_MAC];
	(void)key;
	return fmt(buf, room, "%s %s", addr_text(address, &n->addr),
	           fmt_mac(station, &n->address)) > 0;
}

/* An address, or the word `default` (mtd64-ng also takes `defaults`). */
static bool parse_server(const struct config_source *s, struct slice text, void *out)
{
	struct net_config_server *v = out;
	char shown[FMT_IP6];
	if (config_word_is(text, "default") || config_word_is(text, "defaults")) {
		v->lease = true;
		return true;
	}
	if (!addr_any(text.at, text.len, &v->addr))
		return CONFIG_BAD(
		        s, "%s: expected an address, such as 192.0.2.1 or 2001:db8::1, or %s",
		        s->key->name, "default");
	const char *what = config_not_unicast(&v->addr);
	if (what)
		return CONFIG_BAD(s, "%s: %s is %s", s->key->name, addr_text(shown, &v->addr),
		                  what);
	return true;
}

static bool print_server(const struct config_key *key, const void *value, char *buf, size_t room)
{
	const struct net_config_server *v = value;
	char text[FMT_IP6];
	(void)key;
	return fmt(buf, room, "%s", v->lease ? "default" : addr_text(text, &v->addr)) > 0;
}

/* --- the keys -------------------------------------------------------------------------- */

static const struct config_type card =
        CONFIG_TYPE(struct net_config_card, parse_card, print_card,
                    "nic0, nic1, ... or MAC address; with a point and a VLAN (nic0.20) that VLAN");
static const struct config_type own =
        CONFIG_TYPE(struct prefix, parse_own, config_print_prefix, "ADDRESS/LENGTH, IPv4 or IPv6");
static const struct config_type own_wan =
        CONFIG_TYPE(struct prefix, parse_own_wan, print_own_wan,
                    "ADDRESS/LENGTH, IPv4 or IPv6, or dhcp (IPv4), or auto: as routers advertise "
                    "it (IPv6)");
static const struct config_type route =
        CONFIG_TYPE(struct net_config_route, parse_route, print_route, "PREFIX via ADDRESS");
static const struct config_type neighbour =
        CONFIG_TYPE(struct net_config_neighbour, parse_neighbour, print_neighbour, "ADDRESS MAC");
static const struct config_type server = CONFIG_TYPE(
        struct net_config_server, parse_server, print_server, "IPv4 or IPv6 address, or default");

#define ONE(field)           CONFIG_ONE(struct net_config, field)
#define LIST(field, counter) CONFIG_LIST(struct net_config, field, counter)
#define ADDRESSES(i)         LIST(iface[i].address, iface[i].n_address)

#define CARD(i) ONE(iface[i].card), CONFIG_FLAG(struct net_config, iface[i].has_card)
#define MTU(i)                                                               \
	ONE(iface[i].mtu), CONFIG_FLAG(struct net_config, iface[i].has_mtu), \
	        CONFIG_RANGE(1280, NET_MTU)
#define CARD_ABOUT                                                                                \
	.about = "Which card this interface has: its number in the order of the PCI bus, or its " \
	         "MAC address; and which VLAN of it (802.1Q)."
#define ADDRESS_ABOUT                                                                       \
	.about = "Address of the gateway on this interface, with the prefix length of its " \
	         "network.",                                                                \
	.live = true
#define MTU_ABOUT .about = "Largest IP packet on this interface, in bytes."
#define MORE_LAN(name, i)                                                                    \
	{name, &card, NULL, CARD(i), CARD_ABOUT, .without = "the interface does not exist"}, \
	        {name ".address", &own, NULL, ADDRESSES(i), ADDRESS_ABOUT},                  \
	{                                                                                    \
		name ".mtu", &config_number, NULL, MTU(i), MTU_ABOUT, .without = "1500"      \
	}

/* clang-format off */
static const struct config_key key[] = {
	{"lan", &card, "nic0", CARD(NET_LAN), CARD_ABOUT},
	{"wan", &card, "nic1", CARD(NET_WAN), CARD_ABOUT},
	{"lan.address", &own, NULL, ADDRESSES(NET_LAN), ADDRESS_ABOUT,
	 .without = "none; all applications but a bridge need one"},
	{"wan.address", &own_wan, NULL, ADDRESSES(NET_WAN), ADDRESS_ABOUT,
	 .without = "none; all forwarders but a bridge need one"},
	{"lan.mtu", &config_number, "1500", MTU(NET_LAN), MTU_ABOUT},
	{"wan.mtu", &config_number, "1500", MTU(NET_WAN), MTU_ABOUT},
	MORE_LAN("lan2", 2),
	MORE_LAN("lan3", 3),
	MORE_LAN("lan4", 4),
	MORE_LAN("lan5", 5),
	MORE_LAN("lan6", 6),
	MORE_LAN("lan7", 7),
	{"gateway", &config_addr, NULL, LIST(gateway, n_gateway), .live = true,
	 .about = "Default router, in a network of ours; of several of one family the first that "
	          "answers is used."},
	{"route", &route, NULL, LIST(route, n_route), .live = true,
	 .about = "A network behind another router; the router is in a network of ours."},
	{"neighbour", &neighbour, NULL, LIST(neighbour, n_neighbour),
	 .about = "The MAC address of a host of our networks, which is then not asked for."},
	{"nameserver", &server, NULL, LIST(server, n_server),
	 .about = "Upstream DNS server that is asked on port 53; default means none here.",
	 .without = "none; a DNS server needs one"},
};
/* clang-format on */

const struct config_section net_section = {
        .key = key,
        .n_keys = ARRAY_SIZE(key),
        .size = sizeof(struct net_config),
        .check = check,
};
