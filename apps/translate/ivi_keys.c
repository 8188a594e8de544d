/* See ivi_keys.h. */
#include "apps/translate/ivi_keys.h"

#include "apps/translate/xlat_keys.h"
#include "kernel/config/config_types.h"
#include "kernel/lib/fmt.h"

/* --- prefixes -------------------------------------------------------------------------- */

static char *net4_text(char *buf, ip4 net, uint8_t len)
{
	struct prefix p = {.addr = {.v4 = net}, .len = len};
	return addr_prefix_text(buf, &p);
}

static bool parse_net4(const struct config_source *s, struct slice text, void *out)
{
	struct prefix p;
	if (!xlat_keys_net(text, false, &p))
		return CONFIG_BAD(s, "%s: expected an IPv4 PREFIX/LENGTH, such as 192.0.2.0/24",
		                  s->key->name);
	*(struct ivi_config_net *)out = (struct ivi_config_net){p.addr.v4, p.len};
	return true;
}

static bool print_net4(const struct config_key *key, const void *value, char *buf, size_t room)
{
	const struct ivi_config_net *net = value;
	char text[FMT_IP6 + 4];
	(void)key;
	return fmt(buf, room, "%s", net4_text(text, net->net, net->len)) > 0;
}

/* --- mappings ---------------------------------------------------------------------------- */

/* IPV4-PREFIX IPV6-PREFIX. */
static bool parse_map(const struct config_source *s, struct slice text, void *out)
{
	struct slice four = config_word(&text), six = config_word(&text);
	struct prefix p4, p6;
	if (!xlat_keys_net(four, false, &p4) || !xlat_keys_net(six, true, &p6) ||
	    config_word(&text).len > 0)
		return CONFIG_BAD(s, "%s: expected IPV4-PREFIX IPV6-PREFIX, such as %s",
		                  s->key->name, "192.0.2.0/28 2001:db8:1::/124");
	/* RFC 7757 section 3.2. */
	if (32u - p4.len > 128u - p6.len)
		return CONFIG_BAD(s, "%s: the IPv4 prefix leaves more bits than the IPv6 prefix",
		                  s->key->name);
	*(struct embed_pair *)out = (struct embed_pair){p4.addr.v4, p4.len, p6.len, p6.addr.v6};
	return true;
}

static bool print_map(const struct config_key *key, const void *value, char *buf, size_t room)
{
	const struct embed_pair *m = value;
	char four[FMT_IP6 + 4], six[FMT_IP6 + 4];
	struct prefix p6 = {.addr = {.is6 = true, .v6 = m->net6}, .len = m->len6};
	(void)key;
	return fmt(buf, room, "%s %s", net4_text(four, m->net4, m->len4),
	           addr_prefix_text(six, &p6)) > 0;
}

static bool parse_power(struct slice text, uint32_t *out)
{
	uint32_t n;
	if (!addr_u32(text.at, text.len, &n) || n == 0 || n > 65536 || (n & (n - 1)) != 0)
		return false;
	*out = n;
	return true;
}

/* IPV4-PREFIX RATIO [RUN]. */
static bool parse_share(const struct config_source *s, struct slice text, void *out)
{
	struct embed_sharing *h = out;
	struct slice net = config_word(&text), ratio = config_word(&text), run = config_word(&text);
	struct prefix p;
	h->run = 1;
	if (!xlat_keys_net(net, false, &p) || !parse_power(ratio, &h->ratio) ||
	    (run.len > 0 && !parse_power(run, &h->run)) || config_word(&text).len > 0)
		return CONFIG_BAD(s, "%s: expected IPV4-PREFIX RATIO [PORTS-IN-A-ROW], such as %s",
		                  s->key->name, "192.0.2.1/32 16 64 (powers of two)");
	if (h->ratio > 65536 / h->run)
		return CONFIG_BAD(s, "%s: ratio times ports in a row is more than 65536",
		                  s->key->name);
	h->net = p.addr.v4;
	h->len = p.len;
	return true;
}

static bool print_share(const struct config_key *key, const void *value, char *buf, size_t room)
{
	const struct embed_sharing *h = value;
	char net[FMT_IP6 + 4];
	(void)key;
	return fmt(buf, room, "%s %u %u", net4_text(net, h->net, h->len), h->ratio, h->run) > 0;
}

/* --- the keys ----------------------------------------------------------------------------- */

static const struct config_type net4 =
        CONFIG_TYPE(struct ivi_config_net, parse_net4, print_net4, "IPv4 PREFIX/LENGTH or address");
static const struct config_type map =
        CONFIG_TYPE(struct embed_pair, parse_map, print_map, "IPV4-PREFIX IPV6-PREFIX");
static const struct config_type share =
        CONFIG_TYPE(struct embed_sharing, parse_share, print_share,
                    "IPV4-PREFIX RATIO [M], RATIO and M powers of two");

static const char *const format[] = {[IVI_FORMAT_IVI] = "ivi", [IVI_FORMAT_RFC6052] = "rfc6052"};
static const char *const zero[] = {[IVI_ZERO_DROP] = "drop", [IVI_ZERO_COMPUTE] = "compute"};

#define ONE(field)           CONFIG_ONE(struct ivi_config, field)
#define LIST(field, counter) CONFIG_LIST(struct ivi_config, field, counter)
#define FLAG(field)          CONFIG_FLAG(struct ivi_config, field)

/* clang-format off */
static const struct config_key key[] = {
	{"ivi.prefix", &xlat_type_prefix6, NULL, ONE(prefix), FLAG(has_prefix),
	 .about = "IPv6 prefix behind which the translator puts IPv4 addresses; bits behind its "
	          "length are zero.",
	 .without = "none; needed unless ivi.map covers all addresses"},
	{"ivi.format", &config_choice, "ivi", ONE(format), CONFIG_WORDS(format),
	 .about = "How an IPv6 address contains an IPv4 address: with the octet 0xff in front "
	          "(RFC 6219), or as RFC 6052 says."},
	{"ivi.ipv4", &net4, NULL, LIST(ipv4, n_ipv4),
	 .about = "IPv4 addresses that stand for IPv6 hosts.",
	 .without = "none; needed unless ivi.map names them all"},
	{"ivi.map", &map, NULL, LIST(map, n_map),
	 .about = "An IPv4 prefix and the IPv6 prefix that stands for it (RFC 7757); the longest "
	          "match wins, before ivi.prefix."},
	{"ivi.share", &share, NULL, LIST(share, n_share),
	 .about = "RATIO hosts share each of these addresses, each with its own ports in runs of "
	          "M (RFC 7597); M is 1 unless given."},
	{"ivi.icmp-source", &config_addr, NULL, LIST(icmp_source, n_icmp_source),
	 .about = "Source of ICMP errors whose own source has no mapping: IPv4 for one direction, "
	          "IPv6 for the other.",
	 .without = "the gateway's own address on that side"},
	{"ivi.icmp-interface", &config_on_off, "off", ONE(icmp_interface),
	 .about = "Such an ICMP error also carries its IPv6 source (RFC 5837)."},
	{"ivi.lowest-ipv6-mtu", &config_number, "1280", ONE(lowest_ipv6_mtu), CONFIG_RANGE(1280,
	 65535),
	 .about = "IPv4 packets that may be split are split so that they fit into this many bytes "
	          "of IPv6, or into lan.mtu."},
	{"ivi.udp-zero-checksum", &config_choice, "compute", ONE(udp_zero_checksum),
	 CONFIG_WORDS(zero),
	 .about = "What happens to an IPv4 UDP packet without a checksum: it is dropped, or gets "
	          "one."},
	{"ivi.errors", &config_on_off, "on", ONE(errors),
	 .about = "The gateway sends ICMP errors about packets that cannot be translated."},
	{"ivi.mss-clamp", &config_number, "0", ONE(mss_clamp), CONFIG_RANGE(0, 65535),
	 .about = "Largest MSS that a translated TCP SYN may offer, in bytes; 0 leaves it "
	          "unchanged."},
	{"ivi.tos", &xlat_type_tos, "copy", ONE(tos),
	 .about = "Type of service and traffic class of translated packets: that of the packet, "
	          "zero, or this number."},
};
/* clang-format on */

const struct config_section ivi_section = CONFIG_SECTION(struct ivi_config, key);
