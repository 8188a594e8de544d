/* See tun_keys.h. */
#include "apps/tunnel/tun_keys.h"

#include "kernel/config/config_types.h"
#include "kernel/lib/fmt.h"

bool tun_good_6rd(const struct prefix *p)
{
	return p->len >= 3 && p->len <= 64 && p->addr.v6.b[0] >> 5 == 1;
}

/* `dhcp` is a prefix of length 0. */
static bool parse_6rd_prefix(const struct config_source *s, struct slice text, void *out)
{
	struct prefix *p = out;
	if (config_word_is(text, "dhcp")) {
		*p = (struct prefix){.addr = {.is6 = true}, .len = 0};
		return true;
	}
	if (!config_parse_prefix6(text, p) || !tun_good_6rd(p))
		return CONFIG_BAD(s,
		                  "%s: expected dhcp or a global IPv6 PREFIX/LENGTH, such as "
		                  "2001:db8::/32",
		                  s->key->name);
	return true;
}

static bool print_6rd_prefix(const struct config_key *k, const void *value, char *buf, size_t room)
{
	const struct prefix *p = value;
	if (p->len > 0)
		return config_print_prefix(k, value, buf, room);
	return fmt(buf, room, "dhcp") > 0;
}

static const struct config_type rd_prefix = CONFIG_TYPE(
        struct prefix, parse_6rd_prefix, print_6rd_prefix, "dhcp or IPv6 PREFIX/LENGTH");

static const char *const native[] = {[TUN_NATIVE_RELAY] = "relay", [TUN_NATIVE_ANY] = "any"};
static const char *const field[] = {[TUN_COPY] = "copy", [TUN_ZERO] = "zero"};

#define ONE(field)  CONFIG_ONE(struct tun_config, field)
#define FLAG(field) CONFIG_FLAG(struct tun_config, field)

/* clang-format off */
static const struct config_key key[] = {
	{"6to4.address", &config_ip4, NULL, ONE(address), FLAG(has_address),
	 .about = "The public IPv4 address that the 2002::/16 prefix is made from; needed where "
	          "wan.address is private.",
	 .without = "the first IPv4 wan.address"},
	{"6to4.subnet", &config_number, "1", ONE(subnet), CONFIG_RANGE(0, 65535),
	 .about = "Number of the LAN's /64 in the prefix of the site; lan2 has the next one, and "
	          "so on."},
	{"6to4.relay", &config_ip4, NULL, ONE(relay), FLAG(has_relay),
	 .about = "IPv4 address of the relay that reaches native IPv6.",
	 .without = "none; native IPv6 is not reached"},
	{"6to4.native-from", &config_choice, "any", ONE(native_from), CONFIG_WORDS(native),
	 .about = "Whose tunnel packets may have native IPv6 sources: those of the relay only, or "
	          "of any router."},
	{"6to4.mtu", &config_number, "1280", ONE(mtu), CONFIG_RANGE(1280, 1480),
	 .about = "Largest IPv6 packet in the tunnel, in bytes."},
	{"6to4.mss-clamp", &config_number, "0", ONE(mss_clamp), CONFIG_RANGE(0, 65535),
	 .about = "Largest MSS that a TCP SYN through the tunnel may offer, in bytes; 0 leaves it "
	          "unchanged."},
	{"6to4.dscp", &config_choice, "copy", ONE(dscp), CONFIG_WORDS(field),
	 .about = "DSCP of the outer header: that of the inner header, or zero."},
	{"6to4.ecn", &config_choice, "copy", ONE(ecn), CONFIG_WORDS(field),
	 .about = "ECN field of the outer header: that of the inner header, or zero for far ends "
	          "that do not follow RFC 6040."},
	{"6to4.nat", &config_on_off, "on", ONE(nat),
	 .about = "A NAT for the LAN's IPv4 runs beside the tunnel."},
	{"6rd.prefix", &rd_prefix, NULL, ONE(rd.prefix), FLAG(rd.has_prefix),
	 .about = "The provider's IPv6 prefix (RFC 5969), which is used instead of 2002::/16; dhcp: that "
	          "of the WAN's lease, with its mask and relay.",
	 .without = "off: 6to4"},
	{"6rd.mask", &config_number, "0", ONE(rd.mask), CONFIG_RANGE(0, 32),
	 .about = "Leading bits that all IPv4 addresses of the 6rd domain share."},
	{"6rd.relay", &config_ip4, NULL, ONE(rd.relay), FLAG(rd.has_relay),
	 .about = "IPv4 address of the 6rd border relay."},
};
/* clang-format on */

const struct config_section tun_section = CONFIG_SECTION(struct tun_config, key);
