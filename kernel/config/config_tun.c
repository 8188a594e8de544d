/* The kinds of value that only the keys of router advertisements (lan.…) and of
 * the tunnels (6to4.…, 6rd.…) have. See config_keys.h. */
#include "kernel/config/config_keys.h"

#include "kernel/lib/fmt.h"

#define BAD CONFIG_BAD

/* --- router advertisements ------------------------------------------------------------ */

/* A DNS server; it may be link-local (RFC 8106 section 5.1). */
static bool parse_server6(const struct config_source *s, struct slice text, union config_value *out)
{
	struct addr a = {.is6 = true};
	char shown[FMT_IP6];
	if (!addr_ip6(text.at, text.len, &a.v6))
		return BAD(s, "%s: expected an IPv6 address, such as 2001:db8::53", s->key->name);
	const char *what = config_not_unicast(&a);
	if (what)
		return BAD(s, "%s: %s is %s", s->key->name, addr_text(shown, &a), what);
	out->v6 = a.v6;
	return true;
}

static bool print_server6(const union config_value *v, char *buf, size_t size)
{
	char text[FMT_IP6];
	return fmt(buf, size, "%s", fmt_ip6(text, &v->v6)) > 0;
}

static bool is_label_char(char c)
{
	char lower = c | 0x20;
	return (c >= '0' && c <= '9') || (lower >= 'a' && lower <= 'z') || c == '-' || c == '_';
}

/* Labels of 1 to 63 characters with dots between (RFC 1035 section 2.3.1). */
static bool is_domain(struct slice text)
{
	size_t label = 0;
	for (size_t i = 0; i < text.len; i++) {
		char c = text.at[i];
		bool end = i + 1 == text.len || text.at[i + 1] == '.';
		if (c == '.') {
			if (label == 0 || i + 1 == text.len)
				return false;
			label = 0;
		} else if (!is_label_char(c) || ++label > 63 || (c == '-' && (label == 1 || end))) {
			return false;
		}
	}
	return true;
}

static bool parse_domain(const struct config_source *s, struct slice text, union config_value *out)
{
	if (text.len > 1 && text.at[text.len - 1] == '.') /* the root may be written out */
		text.len--;
	if (text.len >= sizeof out->domain || !is_domain(text))
		return BAD(s, "%s: expected a domain name, such as example.com", s->key->name);
	memcpy(out->domain, text.at, text.len);
	return true;
}

static bool print_domain(const union config_value *v, char *buf, size_t size)
{
	return fmt(buf, size, "%s", v->domain) > 0;
}

/* An IPv6 prefix without bits behind its length. */
static bool parse_net6(struct slice text, struct prefix *out)
{
	if (!addr_prefix(text.at, text.len, out) || !out->addr.is6)
		return false;
	for (unsigned bit = out->len; bit < 128; bit++)
		if (out->addr.v6.b[bit / 8] & 0x80 >> bit % 8)
			return false;
	return true;
}

/* The lengths of RFC 6052, all that RFC 8781 can say. */
static bool parse_pref64(const struct config_source *s, struct slice text, union config_value *out)
{
	if (!parse_net6(text, &out->prefix))
		return BAD(s, "%s: expected an IPv6 PREFIX/LENGTH, such as 64:ff9b::/96",
		           s->key->name);
	uint8_t len = out->prefix.len;
	if (len != 96 && (len < 32 || len > 64 || len % 8 != 0))
		return BAD(s, "%s: the prefix length is not 32, 40, 48, 56, 64 or 96",
		           s->key->name);
	return true;
}

static bool print_prefix(const union config_value *v, char *buf, size_t size)
{
	char text[FMT_IP6 + 4];
	return fmt(buf, size, "%s", addr_prefix_text(text, &v->prefix)) > 0;
}

/* --- tunnels ---------------------------------------------------------------------------- */

static bool parse_host4(const struct config_source *s, struct slice text, union config_value *out)
{
	char shown[FMT_IP4];
	if (!addr_ip4(text.at, text.len, &out->v4))
		return BAD(s, "%s: expected an IPv4 address, such as 192.0.2.1", s->key->name);
	const char *what = config_not_unicast4(out->v4);
	if (what)
		return BAD(s, "%s: %s is %s", s->key->name, fmt_ip4(shown, out->v4), what);
	return true;
}

static bool print_host4(const union config_value *v, char *buf, size_t size)
{
	char text[FMT_IP4];
	return fmt(buf, size, "%s", fmt_ip4(text, v->v4)) > 0;
}

static const char *const native[] = {[TUN_NATIVE_RELAY] = "relay", [TUN_NATIVE_ANY] = "any"};
static const char *const field[] = {[TUN_COPY] = "copy", [TUN_ZERO] = "zero"};

static bool parse_native(const struct config_source *s, struct slice text, union config_value *out)
{
	return config_choice(s, text, native, ARRAY_SIZE(native), &out->number);
}

static bool print_native(const union config_value *v, char *buf, size_t size)
{
	return fmt(buf, size, "%s", native[v->number]) > 0;
}

static bool parse_field(const struct config_source *s, struct slice text, union config_value *out)
{
	return config_choice(s, text, field, ARRAY_SIZE(field), &out->number);
}

static bool print_field(const union config_value *v, char *buf, size_t size)
{
	return fmt(buf, size, "%s", field[v->number]) > 0;
}

/* Global unicast, and room for a site's bits in front of its /64s. */
static bool parse_6rd_prefix(const struct config_source *s, struct slice text,
                             union config_value *out)
{
	struct prefix *p = &out->prefix;
	if (!parse_net6(text, p) || p->len < 3 || p->len > 64 || p->addr.v6.b[0] >> 5 != 1)
		return BAD(s, "%s: expected a global IPv6 PREFIX/LENGTH, such as 2001:db8::/32",
		           s->key->name);
	return true;
}

const struct config_type config_server6 = {sizeof(ip6), parse_server6, print_server6};
const struct config_type config_domain = {CONFIG_DOMAIN, parse_domain, print_domain};
const struct config_type config_pref64 = {sizeof(struct prefix), parse_pref64, print_prefix};
const struct config_type config_host4 = {sizeof(ip4), parse_host4, print_host4};
const struct config_type config_native = {sizeof(uint32_t), parse_native, print_native};
const struct config_type config_field = {sizeof(uint32_t), parse_field, print_field};
const struct config_type config_6rd_prefix = {sizeof(struct prefix), parse_6rd_prefix,
                                              print_prefix};
