/* See nat_keys.h. */
#include "apps/nat/nat_keys.h"

#include "kernel/config/config_types.h"
#include "kernel/lib/fmt.h"

static bool parse_host(struct slice text, ip4 *out)
{
	return addr_ip4(text.at, text.len, out) && !config_not_unicast4(*out);
}

/* FIRST or FIRST-LAST. */
static bool parse_pool(const struct config_source *s, struct slice text, void *out)
{
	struct nat_config_pool *p = out;
	size_t dash = 0;
	while (dash < text.len && text.at[dash] != '-')
		dash++;
	struct slice first = {text.at, dash};
	struct slice last =
	        dash < text.len ? (struct slice){text.at + dash + 1, text.len - dash - 1} : first;
	if (!parse_host(first, &p->first) || !parse_host(last, &p->last) ||
	    ip4_get(p->first) > ip4_get(p->last))
		return CONFIG_BAD(s, "%s: expected an IPv4 address or a range, such as %s",
		                  s->key->name, "203.0.113.10-203.0.113.20");
	return true;
}

static bool print_pool(const struct config_key *key, const void *value, char *buf, size_t room)
{
	const struct nat_config_pool *p = value;
	char first[FMT_IP4], last[FMT_IP4];
	(void)key;
	fmt_ip4(first, p->first);
	if (ip4_eq(p->first, p->last))
		return fmt(buf, room, "%s", first) > 0;
	return fmt(buf, room, "%s-%s", first, fmt_ip4(last, p->last)) > 0;
}

static bool parse_port(struct slice text, uint16_t *out)
{
	uint32_t n;
	if (!addr_u32(text.at, text.len, &n) || n < 1 || n > 65535)
		return false;
	*out = (uint16_t)n;
	return true;
}

/* tcp|udp PUBLIC-PORT INSIDE-ADDRESS:PORT. */
static bool parse_forward(const struct config_source *s, struct slice text, void *out)
{
	struct nat_config_forward *f = out;
	struct slice proto = config_word(&text), port = config_word(&text);
	struct slice inside = config_word(&text);
	size_t colon = 0;
	while (colon < inside.len && inside.at[colon] != ':')
		colon++;
	f->tcp = config_word_is(proto, "tcp");
	if ((!f->tcp && !config_word_is(proto, "udp")) || !parse_port(port, &f->public_port) ||
	    colon == inside.len || !parse_host((struct slice){inside.at, colon}, &f->inside) ||
	    !parse_port((struct slice){inside.at + colon + 1, inside.len - colon - 1},
	                &f->inside_port) ||
	    config_word(&text).len > 0)
		return CONFIG_BAD(s, "%s: expected tcp|udp PORT ADDRESS:PORT, such as %s",
		                  s->key->name, "tcp 8080 192.168.1.10:80");
	return true;
}

static bool print_forward(const struct config_key *key, const void *value, char *buf, size_t room)
{
	const struct nat_config_forward *f = value;
	char inside[FMT_IP4];
	(void)key;
	return fmt(buf, room, "%s %u %s:%u", f->tcp ? "tcp" : "udp", f->public_port,
	           fmt_ip4(inside, f->inside), f->inside_port) > 0;
}

static bool parse_inside(const struct config_source *s, struct slice text, void *out)
{
	if (!parse_host(text, out))
		return CONFIG_BAD(s, "%s: expected an inside IPv4 address, such as 192.168.1.6",
		                  s->key->name);
	return true;
}

static bool print_inside(const struct config_key *key, const void *value, char *buf, size_t room)
{
	char text[FMT_IP4];
	(void)key;
	return fmt(buf, room, "%s", fmt_ip4(text, *(const ip4 *)value)) > 0;
}

const struct config_type nat_type_pool = CONFIG_TYPE(struct nat_config_pool, parse_pool, print_pool,
                                                     "IPv4 address or range FIRST-LAST");
static const struct config_type forward =
        CONFIG_TYPE(struct nat_config_forward, parse_forward, print_forward,
                    "tcp|udp PUBLIC-PORT INSIDE-ADDRESS:PORT");
static const struct config_type inside =
        CONFIG_TYPE(ip4, parse_inside, print_inside, "inside IPv4 address");

const char *const nat_filter_words[NAT_FILTERS] = {
        [NAT_FILTER_ENDPOINT_INDEPENDENT] = "endpoint-independent",
        [NAT_FILTER_ADDRESS_DEPENDENT] = "address-dependent",
        [NAT_FILTER_ADDRESS_AND_PORT_DEPENDENT] = "address-and-port-dependent",
};

const char *const nat_log_words[NAT_LOGS] = {
        [NAT_LOG_OFF] = "off",
        [NAT_LOG_SESSIONS] = "sessions",
        [NAT_LOG_BLOCKS] = "blocks",
};

#define ONE(field)           CONFIG_ONE(struct nat_config, field)
#define LIST(field, counter) CONFIG_LIST(struct nat_config, field, counter)
#define FLAG(field)          CONFIG_FLAG(struct nat_config, field)
#define TIMEOUT              CONFIG_RANGE(1, CONFIG_LONGEST)

/* clang-format off */
static const struct config_key key[] = {
	{"nat.pool", &nat_type_pool, NULL, LIST(pool, n_pool),
	 .about = "Outer addresses of the NAT, 1024 at most in all; an inside host keeps one of "
	          "them while it has sessions.",
	 .without = "the first IPv4 wan.address"},
	{"nat.sessions", &config_number, "100000", ONE(sessions), CONFIG_RANGE(1, 16000000),
	 .about = "Size of the session table and of the mapping table."},
	{"nat.host-limit", &config_number, "0", ONE(host_limit), CONFIG_RANGE(0, 16000000),
	 .live = true,
	 .about = "Sessions that one inside host may hold; 0 means no limit."},
	{"nat.filtering", &config_choice, "address-dependent", ONE(filtering),
	 CONFIG_WORDS(nat_filter_words),
	 .live = true,
	 .about = "Which hosts outside may use the mapping of an inside host: any, any port of a "
	          "host that it talks to, or that port only."},
	{"nat.udp-timeout", &config_seconds, "300", ONE(udp_timeout_ms), TIMEOUT,
	 .live = true,
	 .about = "Seconds without a packet after which a UDP session ends."},
	{"nat.tcp-timeout", &config_seconds, "7440", ONE(tcp_timeout_ms), TIMEOUT,
	 .live = true,
	 .about = "Seconds without a packet after which an open TCP connection ends."},
	{"nat.tcp-transitory-timeout", &config_seconds, "240", ONE(tcp_transitory_timeout_ms),
	 TIMEOUT,
	 .live = true,
	 .about = "Seconds without a packet after which a TCP connection ends that is opening, "
	          "closed or reset."},
	{"nat.tcp-opening-timeout", &config_seconds, NULL, ONE(tcp_opening_timeout_ms),
	 FLAG(has_tcp_opening_timeout), TIMEOUT,
	 .live = true,
	 .about = "Seconds without a packet after which a TCP connection that is opening ends.",
	 .without = "nat.tcp-transitory-timeout"},
	{"nat.icmp-timeout", &config_seconds, "60", ONE(icmp_timeout_ms), TIMEOUT,
	 .live = true,
	 .about = "Seconds without a packet after which an echo session (ping) ends."},
	{"nat.forward", &forward, NULL, LIST(forward, n_forward),
	 .about = "Port forwarding: a port of the first outer address belongs to a host and port "
	          "on the LAN side, for everybody outside."},
	{"nat.protocol41", &inside, NULL, ONE(protocol41), FLAG(has_protocol41),
	 .about = "The 6to4 router on the LAN side, the only host that may use IP protocol 41.",
	 .without = "the first inside host that sends it"},
	{"nat.hairpin", &config_on_off, "on", ONE(hairpin),
	 .live = true,
	 .about = "Inside hosts reach each other by the outer address."},
	{"nat.log", &config_choice, "off", ONE(log), CONFIG_WORDS(nat_log_words),
	 .about = "What the servers of syslog and ipfix hear of the NAT: sessions, as they begin and "
	          "end, without remote addresses; or the blocks of ports that hosts get."},
	{"nat.blocks", &config_number, "0", ONE(blocks), CONFIG_RANGE(0, NAT_BLOCK_PORTS),
	 .about = "Ports of the block of outer ports that each inside host has for itself; 0 means "
	          "that hosts share all ports."},
};
/* clang-format on */

const struct config_section nat_section = CONFIG_SECTION(struct nat_config, key);
