/* See clat_keys.h. */
#include "apps/clat/clat_keys.h"

#include "kernel/lib/fmt.h"

/* `auto` is a prefix of length 0. */
static bool parse_prefix(const struct config_source *s, struct slice text, void *out)
{
	struct prefix *p = out;
	if (config_word_is(text, "auto")) {
		*p = (struct prefix){.addr = {.is6 = true}, .len = 0};
		return true;
	}
	if (!config_parse_prefix6(text, p))
		return CONFIG_BAD(s, "%s: expected auto or an IPv6 PREFIX/LENGTH, such as %s",
		                  s->key->name, "64:ff9b::/96");
	return config_has_room4(s, p);
}

static bool print_prefix(const struct config_key *key, const void *value, char *buf, size_t room)
{
	const struct prefix *p = value;
	return p->len ? config_print_prefix(key, value, buf, room) : fmt(buf, room, "auto") > 0;
}

/* An address, or a network of 64 bits. */
static bool parse_address(const struct config_source *s, struct slice text, void *out)
{
	struct prefix *p = out;
	bool one = addr_any(text.at, text.len, &p->addr) && p->addr.is6;
	if (one)
		p->len = 128;
	if ((one || (config_parse_prefix6(text, p) && p->len == 64)) && p->addr.v6.b[0] != 0xff &&
	    p->addr.v6.b[0] != 0xfe && p->addr.v6.b[0] != 0)
		return true;
	return CONFIG_BAD(s, "%s: expected an IPv6 address, or PREFIX/64", s->key->name);
}

static bool print_address(const struct config_key *key, const void *value, char *buf, size_t room)
{
	const struct prefix *p = value;
	char text[FMT_IP6];
	return p->len == 128 ? fmt(buf, room, "%s", fmt_ip6(text, &p->addr.v6)) > 0
	                     : config_print_prefix(key, value, buf, room);
}

static const struct config_type prefix_type =
        CONFIG_TYPE(struct prefix, parse_prefix, print_prefix, "auto or IPv6 PREFIX/LENGTH");
static const struct config_type address_type =
        CONFIG_TYPE(struct prefix, parse_address, print_address, "IPv6 address or PREFIX/64");

#define ONE(field)  CONFIG_ONE(struct clat_config, field)
#define FLAG(field) CONFIG_FLAG(struct clat_config, field)

/* clang-format off */
static const struct config_key key[] = {
	{"clat.prefix", &prefix_type, "auto", ONE(prefix),
	 .about = "The prefix by which the provider's NAT64 is reached; auto: as its routers "
	          "advertise it (PREF64), or as its DNS servers tell for ipv4only.arpa."},
	{"clat.address", &address_type, NULL, ONE(address), FLAG(has_address),
	 .about = "The IPv6 address that the LAN's IPv4 packets leave with, or a network of 64 "
	          "bits that the provider routes here: then each host has an address in it.",
	 .without = "made in the first network of the WAN"},
	{"clat.lowest-ipv6-mtu", &config_number, "1280", ONE(lowest_ipv6_mtu), CONFIG_RANGE(1280,
	 65535),
	 .about = "IPv4 packets that may be split are split so that they fit into this many bytes "
	          "of IPv6, or into wan.mtu."},
	{"clat.mss-clamp", &config_number, "0", ONE(mss_clamp), CONFIG_RANGE(0, 65535),
	 .about = "Largest MSS that a TCP SYN of the LAN may offer, in bytes; 0 leaves it "
	          "unchanged."},
};
/* clang-format on */

const struct config_section clat_section = CONFIG_SECTION(struct clat_config, key);
