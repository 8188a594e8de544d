/* See dns64_keys.h. */
#include "apps/dns64/dns64_keys.h"

#include "kernel/lib/fmt.h"

/* --- debugging, timeout-time ------------------------------------------------------------ */

/* To mtd64-ng every word but "yes" means no. */
static bool parse_yes(const struct config_source *s, struct slice text, void *out)
{
	(void)s;
	*(bool *)out = config_word_is(text, "yes");
	return true;
}

static bool print_yes(const struct config_key *key, const void *value, char *buf, size_t room)
{
	(void)key;
	return fmt(buf, room, "%s", *(const bool *)value ? "yes" : "no") > 0;
}

/* Seconds with any number of decimals (the files of mtd64-ng have six), kept in
 * milliseconds. The range of the key is in milliseconds. Less than one becomes one. */
static bool parse_timeout(const struct config_source *s, struct slice text, void *out)
{
	size_t point = 0;
	while (point < text.len && text.at[point] != '.')
		point++;
	bool digits = point < text.len || point > 0, some = false;
	for (size_t i = point + 1; i < text.len; i++) {
		digits = digits && text.at[i] >= '0' && text.at[i] <= '9';
		some |= text.at[i] > '0';
	}
	/* addr_ms takes three decimals at most, and at least one behind a point. */
	size_t len = text.len > point + 4 ? point + 4 : text.len;
	uint32_t ms;
	if (!digits || !addr_ms(text.at, len, &ms) || ms > s->key->max || (ms == 0 && !some))
		return CONFIG_BAD(s, "%s: expected seconds, more than 0 and up to %u, such as 2.5",
		                  s->key->name, s->key->max / 1000);
	*(uint32_t *)out = max_u32(ms, s->key->min);
	return true;
}

static bool print_timeout(const struct config_key *key, const void *value, char *buf, size_t room)
{
	uint32_t ms = *(const uint32_t *)value;
	(void)key;
	return fmt(buf, room, "%u.%03u", ms / 1000, ms % 1000) > 0;
}

/* --- prefixes ------------------------------------------------------------------------------- */

/* Clears the bits behind the prefix length. */
static void cut_host(struct prefix *p)
{
	if (p->addr.is6)
		p->addr.v6 = addr_net6(&p->addr.v6, p->len);
	else
		p->addr.v4 = ip4_of(ip4_get(p->addr.v4) & addr_mask4(p->len));
}

static bool parse_net(const struct config_source *s, struct slice text, void *out)
{
	if (!addr_prefix(text.at, text.len, out))
		return CONFIG_BAD(s, "%s: expected PREFIX/LENGTH, such as 192.168.1.0/24 or %s",
		                  s->key->name, "2001:db8::/32");
	cut_host(out);
	return true;
}

static bool parse_net6(const struct config_source *s, struct slice text, void *out)
{
	struct prefix *p = out;
	if (!addr_prefix(text.at, text.len, p) || !p->addr.is6)
		return CONFIG_BAD(s, "%s: expected an IPv6 PREFIX/LENGTH, such as ::ffff:0:0/96",
		                  s->key->name);
	cut_host(p);
	return true;
}

/* A prefix with room for an IPv4 address (RFC 6052 section 2.2). */
static bool parse_prefix64(const struct config_source *s, struct slice text, void *out)
{
	struct prefix *p = out;
	if (!addr_prefix(text.at, text.len, p) || !p->addr.is6)
		return CONFIG_BAD(s, "%s: expected an IPv6 PREFIX/LENGTH, such as 64:ff9b::/96",
		                  s->key->name);
	cut_host(p);
	return config_has_room4(s, p);
}

/* IPV4-PREFIX IPV6-PREFIX, or IPV4-PREFIX none. */
static bool parse_map(const struct config_source *s, struct slice text, void *out)
{
	struct slice from = config_word(&text), to = config_word(&text);
	struct dns64_config_map *m = out;
	if (!addr_prefix(from.at, from.len, &m->from) || m->from.addr.is6 || to.len == 0 ||
	    config_word(&text).len > 0)
		return CONFIG_BAD(s, "%s: expected IPV4-PREFIX and IPV6-PREFIX or none, such as %s",
		                  s->key->name, "10.0.0.0/8 none");
	cut_host(&m->from);
	m->none = config_word_is(to, "none");
	return m->none || parse_prefix64(s, to, &m->to);
}

static bool print_map(const struct config_key *key, const void *value, char *buf, size_t room)
{
	char from[FMT_IP6 + 4], to[FMT_IP6 + 4];
	const struct dns64_config_map *m = value;
	(void)key;
	return fmt(buf, room, "%s %s", addr_prefix_text(from, &m->from),
	           m->none ? "none" : addr_prefix_text(to, &m->to)) > 0;
}

/* --- the keys --------------------------------------------------------------------------- */

static const struct config_type yes = CONFIG_TYPE(bool, parse_yes, print_yes, "yes or no");
static const struct config_type timeout =
        CONFIG_TYPE(uint32_t, parse_timeout, print_timeout, "seconds, more than 0 and up to 32767");
static const struct config_type net =
        CONFIG_TYPE(struct prefix, parse_net, config_print_prefix, "PREFIX/LENGTH, IPv4 or IPv6");
static const struct config_type net6 =
        CONFIG_TYPE(struct prefix, parse_net6, config_print_prefix, "IPv6 PREFIX/LENGTH");
static const struct config_type prefix64 =
        CONFIG_TYPE(struct prefix, parse_prefix64, config_print_prefix,
                    "IPv6 prefix of length 32, 40, 48, 56, 64 or 96");
static const struct config_type map = CONFIG_TYPE(struct dns64_config_map, parse_map, print_map,
                                                  "IPV4-PREFIX IPV6-PREFIX, or IPV4-PREFIX none");

static const char *const selection[] = {
        [DNS64_RANDOM] = "random",
        [DNS64_ROUND_ROBIN] = "round-robin",
};
static const char *const always[] = {
        [DNS64_NEVER] = "off",
        [DNS64_ALWAYS] = "on",
        [DNS64_AUTO] = "auto",
};
static const char *const on_error[] = {
        [DNS64_SYNTHESISE] = "synthesise",
        [DNS64_SERVFAIL] = "servfail",
};

#define ONE(field)           CONFIG_ONE(struct dns64_config, field)
#define LIST(field, counter) CONFIG_LIST(struct dns64_config, field, counter)
#define FLAG(field)          CONFIG_FLAG(struct dns64_config, field)

/* clang-format off */
static const struct config_key key[] = {
	{"selection-mode", &config_choice, "random", ONE(selection), CONFIG_WORDS(selection),
	 .about = "Which upstream server gets the next query."},
	{"dns64-prefix", &prefix64, "64:ff9b::/96", LIST(prefix, n_prefix),
	 .about = "Prefix in front of the IPv4 addresses in the AAAA records that are made (RFC "
	          "6052).",
	 .without = "that of the translator beside it, or else 64:ff9b::/96"},
	{"debugging", &yes, "no", ONE(debugging),
	 .about = "More lines in the log; every word but yes means no."},
	{"timeout-time", &timeout, "1.000", ONE(timeout_ms), CONFIG_RANGE(1, 32767999),
	 .about = "Seconds that one attempt with an upstream server may take."},
	{"resend-attempts", &config_number, "2", ONE(resend), CONFIG_RANGE(0, 32767),
	 .about = "Attempts with upstream servers after the first one."},
	{"response-maxlength", &config_number, NULL, ONE(max_length), FLAG(has_max_length),
	 CONFIG_RANGE(0, 65535),
	 .about = "Bytes of the longest UDP answer to a client; it counts as 512 at least and "
	          "1800 at most.",
	 .without = "1232"},
	{"port", &config_number, "53", ONE(port), CONFIG_RANGE(1, 65535),
	 .about = "UDP and TCP port of the DNS server."},
	{"num-threads", &config_number, NULL, ONE(threads), FLAG(has_threads), CONFIG_RANGE(0,
	 UINT32_MAX),
	 .about = "A key of mtd64-ng that has no effect here."},
	{"dns64.exclude", &net6, "::ffff:0.0.0.0/96", LIST(exclude, n_exclude),
	 .about = "AAAA records with addresses of this prefix count as absent.",
	 .without = "::ffff:0:0/96"},
	{"dns64.always", &config_choice, NULL, ONE(always), FLAG(has_always), CONFIG_WORDS(always),
	 .about = "Makes AAAA records from A records also where AAAA records exist: never, always, "
	          "or while there is no default route for IPv6.",
	 .without = "auto beside nat64, else off"},
	{"dns64.client", &net, NULL, LIST(client, n_client),
	 .about = "Clients that are served; all others are refused.",
	 .without = "the networks of our addresses, beside a forwarder those of the LAN"},
	{"dns64.cache", &config_number, "65536", ONE(cache), CONFIG_RANGE(0, 16000000),
	 .about = "Records that are kept, of 112 bytes on average; there is always room for 8192."},
	{"dns64.map", &map, NULL, LIST(map, n_map),
	 .about = "Which prefix is put in front of these IPv4 addresses, if any; the longest "
	          "match counts."},
	{"dns64.skip-name", &config_domain, NULL, LIST(skip_name, n_skip_name),
	 .about = "Domain for which no AAAA records are made."},
	{"dns64.skip-client", &net, NULL, LIST(skip_client, n_skip_client),
	 .about = "Clients for which no AAAA records are made."},
	{"dns64.reverse", &config_on_off, "on", ONE(reverse),
	 .about = "Reverse names of made addresses lead to the names of the IPv4 addresses."},
	{"dns64.on-error", &config_choice, "synthesise", ONE(on_error), CONFIG_WORDS(on_error),
	 .about = "What happens when AAAA records could not be fetched: they are made from A "
	          "records, or the answer is SERVFAIL."},
	{"dns64.stale", &config_seconds, "86400", ONE(stale_ms), CONFIG_RANGE(0, CONFIG_LONGEST),
	 .about = "Seconds that an expired record may still serve while it cannot be fetched; 0 "
	          "means not at all."},
	{"dns64.rate", &config_number, "0", ONE(rate), CONFIG_RANGE(0, 1000000),
	 .about = "Answers a second that one client may get; 0 means no limit."},
};
/* clang-format on */

const struct config_section dns64_section = CONFIG_SECTION(struct dns64_config, key);
