/* See export_keys.h. */
#include "net/export/export_keys.h"

#include "kernel/lib/fmt.h"

#define SYSLOG_PORT 514u  /* RFC 5426 section 3.3; over TCP there is no other either */
#define IPFIX_PORT  4739u /* RFC 7011 section 10.3.4 */

/* ADDRESS or ADDRESS:PORT; an IPv6 address in front of a port needs brackets. */
static bool parse_end(struct slice text, struct export_config_receiver *r)
{
	size_t end = text.len;
	uint32_t port;
	if (addr_any(text.at, text.len, &r->addr))
		return !config_not_unicast(&r->addr);
	while (end > 0 && text.at[end - 1] != ':' && text.at[end - 1] != ']')
		end--;
	if (end > 1 && text.at[end - 1] == ':') {
		if (!addr_u32(text.at + end, text.len - end, &port) || port == 0 || port > 65535)
			return false;
		r->port = (uint16_t)port;
		end--;
	}
	bool brackets = end > 2 && text.at[0] == '[' && text.at[end - 1] == ']';
	size_t begin = brackets ? 1 : 0;
	return addr_any(text.at + begin, end - 2 * begin, &r->addr) && r->addr.is6 == brackets &&
	       !config_not_unicast(&r->addr);
}

static bool begins(struct slice *text, const char *word, size_t n)
{
	if (text->len < n || memcmp(text->at, word, n) != 0)
		return false;
	*text = (struct slice){text->at + n, text->len - n};
	return true;
}

static bool parse_syslog(const struct config_source *s, struct slice text, void *out)
{
	struct export_config_receiver *r = out;
	r->port = SYSLOG_PORT;
	r->tcp = begins(&text, "tcp:", 4);
	if (!r->tcp)
		(void)begins(&text, "udp:", 4);
	if (!parse_end(text, r))
		return CONFIG_BAD(s,
		                  "%s: expected [udp:|tcp:]ADDRESS[:PORT], such as 192.0.2.5 or "
		                  "tcp:[2001:db8::5]:601",
		                  s->key->name);
	return true;
}

static bool parse_ipfix(const struct config_source *s, struct slice text, void *out)
{
	struct export_config_receiver *r = out;
	r->port = IPFIX_PORT;
	if (!parse_end(text, r))
		return CONFIG_BAD(s, "%s: expected ADDRESS[:PORT], such as 192.0.2.5:4739",
		                  s->key->name);
	return true;
}

static bool print_receiver(const struct config_key *key, const void *value, char *buf, size_t room)
{
	const struct export_config_receiver *r = value;
	char text[FMT_IP6];
	(void)key;
	return fmt(buf, room, "%s%s%s%s:%u", r->tcp ? "tcp:" : "", r->addr.is6 ? "[" : "",
	           addr_text(text, &r->addr), r->addr.is6 ? "]" : "", r->port) > 0;
}

static const struct config_type syslog = CONFIG_TYPE(struct export_config_receiver, parse_syslog,
                                                     print_receiver, "[udp:|tcp:]ADDRESS[:PORT]");
static const struct config_type ipfix =
        CONFIG_TYPE(struct export_config_receiver, parse_ipfix, print_receiver, "ADDRESS[:PORT]");

/* clang-format off */
static const struct config_key key[] = {
	{"syslog", &syslog, NULL, CONFIG_LIST(struct export_config, syslog, n_syslog),
	 .about = "Server that gets the log, and the sessions of a translator, as syslog messages.",
	 .without = "none: the log stays here"},
	{"ipfix", &ipfix, NULL, CONFIG_LIST(struct export_config, ipfix, n_ipfix),
	 .about = "Collector that gets the sessions of a translator as IPFIX records, over UDP.",
	 .without = "none"},
};
/* clang-format on */

const struct config_section export_section = CONFIG_SECTION(struct export_config, key);
