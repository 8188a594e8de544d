/* See config_types.h. The functions check the form of a value. Whether an application has
 * all that it needs, and whether a network card is there, is checked by others. */
#include "kernel/config/config_types.h"

#include "kernel/lib/fmt.h"

/* --- names -------------------------------------------------------------------------- */

static bool is_alnum(char c)
{
	char lower = c | 0x20;
	return (c >= '0' && c <= '9') || (lower >= 'a' && lower <= 'z');
}

static bool parse_name(const struct config_source *s, struct slice text, void *out)
{
	bool ok = text.len < CONFIG_NAME;
	for (size_t i = 0; ok && i < text.len; i++) {
		char c = text.at[i];
		bool inside = i > 0 && i < text.len - 1;
		ok = is_alnum(c) || (inside && (c == '-' || c == '.'));
	}
	if (!ok)
		return CONFIG_BAD(
		        s, "%s: expected letters, digits, - and . (at most %u), such as gateway",
		        s->key->name, CONFIG_NAME - 1);
	memcpy(out, text.at, text.len);
	return true;
}

/* Labels of 1 to 63 characters with dots between (RFC 1035 section 2.3.1). */
static bool is_domain(struct slice text)
{
	size_t label = 0;
	for (size_t i = 0; i < text.len; i++) {
		char c = text.at[i];
		bool end = i + 1 == text.len || text.at[i + 1] == '.';
		bool good = is_alnum(c) || c == '-' || c == '_';
		if (c == '.') {
			if (label == 0 || i + 1 == text.len)
				return false;
			label = 0;
		} else if (!good || ++label > 63 || (c == '-' && (label == 1 || end))) {
			return false;
		}
	}
	return true;
}

static bool parse_domain(const struct config_source *s, struct slice text, void *out)
{
	if (text.len > 1 && text.at[text.len - 1] == '.') /* the root may be written out */
		text.len--;
	if (text.len >= CONFIG_DOMAIN || !is_domain(text))
		return CONFIG_BAD(s, "%s: expected a domain name, such as example.com",
		                  s->key->name);
	memcpy(out, text.at, text.len);
	return true;
}

static bool print_text(const struct config_key *key, const void *value, char *buf, size_t room)
{
	(void)key;
	return fmt(buf, room, "%s", (const char *)value) > 0;
}

/* --- numbers and words ---------------------------------------------------------------- */

static bool parse_number(const struct config_source *s, struct slice text, void *out)
{
	const struct config_key *k = s->key;
	uint32_t n;
	if (!addr_u32(text.at, text.len, &n) || n < k->min || n > k->max)
		return CONFIG_BAD(s, "%s: expected a number from %u to %u", k->name, k->min,
		                  k->max);
	*(uint32_t *)out = n;
	return true;
}

static bool print_number(const struct config_key *key, const void *value, char *buf, size_t room)
{
	(void)key;
	return fmt(buf, room, "%u", *(const uint32_t *)value) > 0;
}

static bool in_range(const struct config_key *k, uint32_t ms)
{
	return ms >= k->min * 1000 && ms <= k->max * 1000;
}

static bool parse_seconds(const struct config_source *s, struct slice text, void *out)
{
	const struct config_key *k = s->key;
	uint32_t ms;
	if (!addr_ms(text.at, text.len, &ms) || !in_range(k, ms))
		return CONFIG_BAD(s, "%s: expected seconds from %u to %u, such as %s", k->name,
		                  k->min, k->max, "2.5");
	*(uint32_t *)out = ms;
	return true;
}

static bool parse_seconds_or_off(const struct config_source *s, struct slice text, void *out)
{
	const struct config_key *k = s->key;
	uint32_t ms;
	if (!addr_ms(text.at, text.len, &ms) || (ms != 0 && !in_range(k, ms)))
		return CONFIG_BAD(s, "%s: expected 0 (off) or seconds from %u to %u", k->name,
		                  k->min, k->max);
	*(uint32_t *)out = ms;
	return true;
}

/* Without zeros at the end of the decimals. */
static bool print_seconds(const struct config_key *key, const void *value, char *buf, size_t room)
{
	uint32_t all = *(const uint32_t *)value, ms = all % 1000;
	size_t n = fmt(buf, room, "%u", all / 1000);
	(void)key;
	if (ms)
		n += fmt(buf + n, room - n, ".%03u", ms);
	while (ms && n > 0 && buf[n - 1] == '0')
		buf[--n] = '\0';
	return n > 0;
}

static bool parse_on_off(const struct config_source *s, struct slice text, void *out)
{
	bool on = config_word_is(text, "on");
	if (!on && !config_word_is(text, "off"))
		return CONFIG_BAD(s, "%s: expected on or off", s->key->name);
	*(bool *)out = on;
	return true;
}

static bool print_on_off(const struct config_key *key, const void *value, char *buf, size_t room)
{
	(void)key;
	return fmt(buf, room, "%s", *(const bool *)value ? "on" : "off") > 0;
}

static bool parse_choice(const struct config_source *s, struct slice text, void *out)
{
	const struct config_key *k = s->key;
	char list[80];
	size_t used = 0;
	for (uint32_t i = 0; i < k->max; i++) {
		if (config_word_is(text, k->words[i])) {
			*(uint32_t *)out = i;
			return true;
		}
		used += fmt(list + used, sizeof list - used, "%s%s",
		            i == 0            ? ""
		            : i == k->max - 1 ? " or "
		                              : ", ",
		            k->words[i]);
	}
	return CONFIG_BAD(s, "%s: expected %s", k->name, list);
}

static bool print_choice(const struct config_key *key, const void *value, char *buf, size_t room)
{
	return fmt(buf, room, "%s", key->words[*(const uint32_t *)value]) > 0;
}

/* --- addresses ------------------------------------------------------------------------- */

const char *config_not_unicast4(ip4 a)
{
	switch (a.b[0]) {
	case 0:
		return "not a host's address";
	case 127:
		return "a loopback address";
	default:
		break;
	}
	if (ip4_get(a) == 0xffffffff)
		return "the broadcast address";
	return a.b[0] >= 240 ? "a reserved address" : a.b[0] >= 224 ? "a multicast address" : NULL;
}

const char *config_not_unicast(const struct addr *a)
{
	static const uint8_t zeros[15], mapped[12] = {[10] = 0xff, [11] = 0xff};
	if (!a->is6)
		return config_not_unicast4(a->v4);
	if (a->v6.b[0] == 0xff)
		return "a multicast address";
	if (memcmp(a->v6.b, mapped, sizeof mapped) == 0)
		return "an IPv4 address in IPv6 form";
	if (memcmp(a->v6.b, zeros, sizeof zeros) != 0 || a->v6.b[15] > 1)
		return NULL;
	return a->v6.b[15] ? "the loopback address" : "not a host's address";
}

static bool check_unicast(const struct config_source *s, const struct addr *a)
{
	char shown[FMT_IP6];
	const char *what = config_not_unicast(a);
	return !what || CONFIG_BAD(s, "%s: %s is %s", s->key->name, addr_text(shown, a), what);
}

bool config_parse_addr(const struct config_source *s, struct slice text, struct addr *out)
{
	if (!addr_any(text.at, text.len, out))
		return CONFIG_BAD(s, "%s: expected an address, such as 192.0.2.1 or 2001:db8::1",
		                  s->key->name);
	return check_unicast(s, out);
}

static bool parse_addr(const struct config_source *s, struct slice text, void *out)
{
	return config_parse_addr(s, text, out);
}

static bool print_addr(const struct config_key *key, const void *value, char *buf, size_t room)
{
	char text[FMT_IP6];
	(void)key;
	return fmt(buf, room, "%s", addr_text(text, value)) > 0;
}

static bool parse_ip4(const struct config_source *s, struct slice text, void *out)
{
	struct addr a = {.is6 = false};
	if (!addr_ip4(text.at, text.len, &a.v4))
		return CONFIG_BAD(s, "%s: expected an IPv4 address, such as 192.0.2.1",
		                  s->key->name);
	*(ip4 *)out = a.v4;
	return check_unicast(s, &a);
}

static bool print_ip4(const struct config_key *key, const void *value, char *buf, size_t room)
{
	char text[FMT_IP4];
	(void)key;
	return fmt(buf, room, "%s", fmt_ip4(text, *(const ip4 *)value)) > 0;
}

static bool parse_ip6(const struct config_source *s, struct slice text, void *out)
{
	struct addr a = {.is6 = true};
	if (!addr_ip6(text.at, text.len, &a.v6))
		return CONFIG_BAD(s, "%s: expected an IPv6 address, such as 2001:db8::53",
		                  s->key->name);
	*(ip6 *)out = a.v6;
	return check_unicast(s, &a);
}

static bool print_ip6(const struct config_key *key, const void *value, char *buf, size_t room)
{
	char text[FMT_IP6];
	(void)key;
	return fmt(buf, room, "%s", fmt_ip6(text, value)) > 0;
}

/* --- prefixes ---------------------------------------------------------------------------- */

bool config_parse_prefix6(struct slice text, struct prefix *out)
{
	if (!addr_prefix(text.at, text.len, out) || !out->addr.is6)
		return false;
	for (unsigned bit = out->len; bit < 128; bit++)
		if (out->addr.v6.b[bit / 8] & 0x80 >> bit % 8)
			return false;
	return true;
}

bool config_has_room4(const struct config_source *s, const struct prefix *p)
{
	if (p->len == 96 || (p->len >= 32 && p->len <= 64 && p->len % 8 == 0))
		return true;
	return CONFIG_BAD(s, "%s: the prefix length is not 32, 40, 48, 56, 64 or 96", s->key->name);
}

bool config_print_prefix(const struct config_key *key, const void *value, char *buf, size_t room)
{
	char text[FMT_IP6 + 4];
	(void)key;
	return fmt(buf, room, "%s", addr_prefix_text(text, value)) > 0;
}

const struct config_type config_name =
        CONFIG_TYPE(char[CONFIG_NAME], parse_name, print_text,
                    "letters, digits, - and . (at most 63 characters)");
const struct config_type config_domain = CONFIG_TYPE(char[CONFIG_DOMAIN], parse_domain, print_text,
                                                     "domain name such as example.com");
const struct config_type config_number =
        CONFIG_TYPE_RANGED(uint32_t, parse_number, print_number, "number");
const struct config_type config_seconds =
        CONFIG_TYPE_RANGED(uint32_t, parse_seconds, print_seconds, "seconds");
const struct config_type config_seconds_or_off =
        CONFIG_TYPE_RANGED(uint32_t, parse_seconds_or_off, print_seconds, "0 (off), or seconds");
const struct config_type config_on_off = CONFIG_TYPE(bool, parse_on_off, print_on_off, "on or off");
const struct config_type config_choice = CONFIG_TYPE(uint32_t, parse_choice, print_choice, NULL);
const struct config_type config_addr =
        CONFIG_TYPE(struct addr, parse_addr, print_addr, "IPv4 or IPv6 address");
const struct config_type config_ip4 = CONFIG_TYPE(ip4, parse_ip4, print_ip4, "IPv4 address");
const struct config_type config_ip6 = CONFIG_TYPE(ip6, parse_ip6, print_ip6, "IPv6 address");
