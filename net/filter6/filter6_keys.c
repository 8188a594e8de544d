/* See filter6_keys.h. */
#include "net/filter6/filter6_keys.h"

#include "kernel/config/config_word.h"
#include "kernel/lib/fmt.h"
#include "net/lib/wire.h"

/* [ADDRESS]:PORT. */
static bool parse_endpoint(struct slice text, ip6 *addr, uint16_t *port)
{
	uint32_t number;
	size_t end = 1;
	while (end < text.len && text.at[end] != ']')
		end++;
	if (text.len < 4 || text.at[0] != '[' || end + 2 >= text.len || text.at[end + 1] != ':' ||
	    !addr_ip6(text.at + 1, end - 1, addr) ||
	    !addr_u32(text.at + end + 2, text.len - end - 2, &number) || number == 0 ||
	    number > 65535)
		return false;
	*port = (uint16_t)number;
	return true;
}

static bool parse_rule(const struct config_source *s, struct slice text, void *out)
{
	struct slice proto = config_word(&text), to = config_word(&text);
	struct filter6_rule *r = out;
	*r = (struct filter6_rule){.proto = config_word_is(proto, "tcp")   ? PROTO_TCP
	                                    : config_word_is(proto, "udp") ? PROTO_UDP
	                                                                   : 0};
	bool good = r->proto ? parse_endpoint(to, &r->addr, &r->port)
	                     : config_word_is(proto, "all") && addr_ip6(to.at, to.len, &r->addr);
	if (!good || to.len == 0 || config_word(&text).len > 0)
		return CONFIG_BAD(s,
		                  "%s: expected tcp|udp [ADDRESS]:PORT or all ADDRESS, such as "
		                  "tcp [2001:db8::10]:443",
		                  s->key->name);
	const struct addr host = {.is6 = true, .v6 = r->addr};
	const char *what = config_not_unicast(&host);
	char shown[FMT_IP6];
	if (what)
		return CONFIG_BAD(s, "%s: %s is %s", s->key->name, fmt_ip6(shown, &r->addr), what);
	return true;
}

static bool print_rule(const struct config_key *key, const void *value, char *buf, size_t room)
{
	const struct filter6_rule *r = value;
	char text[FMT_IP6];
	(void)key;
	fmt_ip6(text, &r->addr);
	if (r->proto == 0)
		return fmt(buf, room, "all %s", text) > 0;
	return fmt(buf, room, "%s [%s]:%u", r->proto == PROTO_TCP ? "tcp" : "udp", text, r->port) >
	       0;
}

static const struct config_type rule = CONFIG_TYPE(struct filter6_rule, parse_rule, print_rule,
                                                   "tcp|udp [ADDRESS]:PORT, or all ADDRESS");

static const char *const filter[] = {[FILTER6_STATEFUL] = "stateful", [FILTER6_OFF] = "off"};

/* clang-format off */
static const struct config_key key[] = {
	{"lan.filter", &config_choice, "stateful", CONFIG_ONE(struct filter6_config, filter),
	 CONFIG_WORDS(filter), .live = true,
	 .about = "What native IPv6 may come in from the WAN: answers to inside hosts and what "
	          "forward6 allows, or everything."},
	{"forward6", &rule, NULL, CONFIG_LIST(struct filter6_config, rule, n_rule), .live = true,
	 .about = "An inside address and port, or all of an address, that may be reached from the "
	          "WAN by native IPv6."},
};
/* clang-format on */

const struct config_section filter6_section = CONFIG_SECTION(struct filter6_config, key);
