/* See nat64_keys.h. */
#include "apps/nat64/nat64_keys.h"

#include "apps/translate/xlat_keys.h"
#include "kernel/config/config_types.h"
#include "kernel/lib/fmt.h"
#include "net/lib/wire.h"

/* Splits ADDRESS:PORT at its last colon, and takes the brackets off an IPv6 address, which must
 * have them. */
static bool parse_endpoint(struct slice text, struct addr *a, uint16_t *port)
{
	size_t colon = text.len;
	while (colon > 0 && text.at[colon - 1] != ':')
		colon--;
	if (colon < 2)
		return false;
	struct slice host = {text.at, colon - 1};
	uint32_t n;
	if (!addr_u32(text.at + colon, text.len - colon, &n) || n > 65535 || n == 0)
		return false;
	bool brackets = host.len > 2 && host.at[0] == '[' && host.at[host.len - 1] == ']';
	if (brackets)
		host = (struct slice){host.at + 1, host.len - 2};
	*port = (uint16_t)n;
	return addr_any(host.at, host.len, a) && a->is6 == brackets;
}

#define FORWARD_FORM "tcp|udp|icmp IPV4:PORT [IPV6]:PORT or IPV4:PORT"

/* The NAT44 gives identifiers of ICMP to requests of the inside alone. */
static bool parse_forward(const struct config_source *s, struct slice text, void *out)
{
	struct nat64_config_forward *f = out;
	struct slice proto = config_word(&text), outer = config_word(&text);
	struct slice inner = config_word(&text);
	struct addr outer_address;
	f->proto = config_word_is(proto, "tcp")   ? PROTO_TCP
	           : config_word_is(proto, "udp") ? PROTO_UDP
	                                          : PROTO_ICMP;
	if ((f->proto == PROTO_ICMP && !config_word_is(proto, "icmp")) ||
	    !parse_endpoint(outer, &outer_address, &f->public_port) || outer_address.is6 ||
	    !parse_endpoint(inner, &f->inside, &f->inside_port) ||
	    (f->proto == PROTO_ICMP && !f->inside.is6) ||
	    (ip4_raw(outer_address.v4) && config_not_unicast(&outer_address)) ||
	    config_not_unicast(&f->inside) || config_word(&text).len > 0)
		return CONFIG_BAD(s, "%s: expected " FORWARD_FORM ", such as %s", s->key->name,
		                  "tcp 192.0.2.1:80 [fd00::10]:80");
	f->public = outer_address.v4;
	return true;
}

static bool print_forward(const struct config_key *key, const void *value, char *buf, size_t room)
{
	const struct nat64_config_forward *f = value;
	char outer[FMT_IP4], inner[FMT_IP6];
	bool six = f->inside.is6;
	(void)key;
	return fmt(buf, room, "%s %s:%u %s%s%s:%u",
	           f->proto == PROTO_TCP   ? "tcp"
	           : f->proto == PROTO_UDP ? "udp"
	                                   : "icmp",
	           fmt_ip4(outer, f->public), f->public_port, six ? "[" : "",
	           addr_text(inner, &f->inside), six ? "]" : "", f->inside_port) > 0;
}

static const struct config_type forward =
        CONFIG_TYPE(struct nat64_config_forward, parse_forward, print_forward, FORWARD_FORM);

static const char *const host_length[] = {[NAT64_HOST_64] = "64", [NAT64_HOST_128] = "128"};

#define ONE(field)           CONFIG_ONE(struct nat64_config, field)
#define LIST(field, counter) CONFIG_LIST(struct nat64_config, field, counter)
#define FLAG(field)          CONFIG_FLAG(struct nat64_config, field)
#define TIMEOUT              CONFIG_RANGE(1, CONFIG_LONGEST)

/* clang-format off */
static const struct config_key key[] = {
	{"nat64.prefix", &xlat_type_prefix6, "64:ff9b::/96", LIST(prefix, n_prefix),
	 .about = "IPv6 prefix that stands for IPv4 addresses (RFC 6052), of 32, 40, 48, 56, 64 or "
	          "96 bits; the first one is for flows from outside."},
	{"nat64.pool", &nat_type_pool, NULL, LIST(nat.pool, nat.n_pool),
	 .about = "Outer addresses of the translator, 1024 at most in all; an inside host keeps one "
	          "of them while it has sessions.",
	 .without = "the first IPv4 wan.address"},
	{"nat64.sessions", &config_number, "100000", ONE(nat.sessions), CONFIG_RANGE(1, 16000000),
	 .about = "Size of the session table and of the binding table."},
	{"nat64.host-limit", &config_number, "0", ONE(nat.host_limit), CONFIG_RANGE(0, 16000000),
	 .live = true,
	 .about = "Sessions that one inside host may hold; 0 means no limit."},
	{"nat64.host-length", &config_choice, "64", ONE(host_length), CONFIG_WORDS(host_length),
	 .about = "Leading bits of an inside address that name one host, for limits and shares."},
	{"nat64.filtering", &config_choice, "address-dependent", ONE(nat.filtering),
	 CONFIG_WORDS(nat_filter_words),
	 .live = true,
	 .about = "Which hosts outside may use the binding of an inside host: any, any port of a "
	          "host that it talks to, or that port only."},
	{"nat64.udp-timeout", &config_seconds, "300", ONE(nat.udp_timeout_ms), TIMEOUT,
	 .live = true,
	 .about = "Seconds without a packet after which a UDP session ends."},
	{"nat64.tcp-timeout", &config_seconds, "7440", ONE(nat.tcp_timeout_ms), TIMEOUT,
	 .live = true,
	 .about = "Seconds without a packet after which an open TCP connection is probed, and ends "
	          "without an answer."},
	{"nat64.tcp-transitory-timeout", &config_seconds, "240", ONE(nat.tcp_transitory_timeout_ms),
	 TIMEOUT,
	 .live = true,
	 .about = "Seconds without a packet after which a TCP connection ends that is opening, "
	          "closed or reset."},
	{"nat64.icmp-timeout", &config_seconds, "60", ONE(nat.icmp_timeout_ms), TIMEOUT,
	 .live = true,
	 .about = "Seconds without a packet after which an echo session (ping) ends."},
	{"nat64.fragment-timeout", &config_seconds, "2", ONE(fragment_timeout_ms),
	 CONFIG_RANGE(2, 60),
	 .about = "Seconds that fragments wait for the others of their packet."},
	{"nat64.forward", &forward, NULL, LIST(forward, n_forward),
	 .about = "A static binding: an outer endpoint belongs to an inside one, for everybody "
	          "outside; to one with IPv4 by nat64.nat."},
	{"nat64.hairpin", &config_on_off, "on", ONE(nat.hairpin),
	 .live = true,
	 .about = "Inside hosts reach each other by the outer address."},
	{"nat64.log", &config_choice, "off", ONE(nat.log), CONFIG_WORDS(nat_log_words),
	 .about = "What the servers of syslog and ipfix hear of the NAT: sessions, as they begin and "
	          "end, without remote addresses; or the blocks of ports that hosts get."},
	{"nat64.blocks", &config_number, "0", ONE(nat.blocks), CONFIG_RANGE(0, NAT_BLOCK_PORTS),
	 .about = "Ports of the block of outer ports that each inside host has for itself; 0 means "
	          "that hosts share all ports."},
	{"nat64.nat", &config_on_off, NULL, ONE(nat44), FLAG(has_nat44),
	 .about = "Inside hosts that still have IPv4 share the outer addresses too (NAT44), with the "
	          "same ports, sessions and limits.",
	 .without = "on where the LAN has an IPv4 address"},
	{"nat64.lowest-ipv6-mtu", &config_number, "1280", ONE(lowest_ipv6_mtu), CONFIG_RANGE(1280,
	 65535),
	 .about = "IPv4 packets that may be split are split so that they fit into this many bytes "
	          "of IPv6, or into lan.mtu."},
	{"nat64.mss-clamp", &config_number, "0", ONE(mss_clamp), CONFIG_RANGE(0, 65535),
	 .about = "Largest MSS that a translated TCP SYN may offer, in bytes; 0 leaves it "
	          "unchanged."},
	{"nat64.tos", &xlat_type_tos, "copy", ONE(tos),
	 .about = "Type of service and traffic class of translated packets: that of the packet, "
	          "zero, or this number."},
};
/* clang-format on */

const struct config_section nat64_section = CONFIG_SECTION(struct nat64_config, key);
