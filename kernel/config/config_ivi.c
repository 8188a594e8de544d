/* The kinds of value that only the translator's keys (ivi.…) have. See
 * config_keys.h. */
#include "kernel/config/config_keys.h"

#include "kernel/lib/fmt.h"

#define BAD CONFIG_BAD

/* --- prefixes -------------------------------------------------------------------------- */

/* PREFIX/LENGTH, or an address, which is a prefix of full length; no bits behind
 * the length. */
static bool parse_net(struct slice text, bool is6, struct prefix *out)
{
	struct prefix p = {.len = is6 ? 128 : 32};
	bool bare = text.len == 0 || !memchr(text.at, '/', text.len);
	if (bare ? !addr_any(text.at, text.len, &p.addr) : !addr_prefix(text.at, text.len, &p))
		return false;
	if (p.addr.is6 != is6)
		return false;
	const uint8_t *b = is6 ? p.addr.v6.b : p.addr.v4.b;
	for (unsigned bit = p.len; bit < (is6 ? 128u : 32u); bit++)
		if (b[bit / 8] & 0x80 >> bit % 8)
			return false;
	*out = p;
	return true;
}

static char *net4_text(char *buf, ip4 net, uint8_t len)
{
	struct prefix p = {.addr = {.v4 = net}, .len = len};
	return addr_prefix_text(buf, &p);
}

static bool parse_net6(const struct config_source *s, struct slice text, union config_value *out)
{
	if (!parse_net(text, true, &out->prefix))
		return BAD(s, "%s: expected an IPv6 PREFIX/LENGTH, such as 2001:db8::/32",
		           s->key->name);
	return true;
}

static bool print_net6(const union config_value *v, char *buf, size_t size)
{
	char text[FMT_IP6 + 4];
	return fmt(buf, size, "%s", addr_prefix_text(text, &v->prefix)) > 0;
}

static bool parse_net4(const struct config_source *s, struct slice text, union config_value *out)
{
	struct prefix p;
	if (!parse_net(text, false, &p))
		return BAD(s, "%s: expected an IPv4 PREFIX/LENGTH, such as 192.0.2.0/24",
		           s->key->name);
	out->net4 = (struct config_net4){p.addr.v4, p.len};
	return true;
}

static bool print_net4(const union config_value *v, char *buf, size_t size)
{
	char text[FMT_IP6 + 4];
	return fmt(buf, size, "%s", net4_text(text, v->net4.net, v->net4.len)) > 0;
}

/* --- mappings ---------------------------------------------------------------------------- */

/* IPV4-PREFIX IPV6-PREFIX. */
static bool parse_map(const struct config_source *s, struct slice text, union config_value *out)
{
	struct slice four = config_word(&text), six = config_word(&text);
	struct prefix p4, p6;
	if (!parse_net(four, false, &p4) || !parse_net(six, true, &p6) ||
	    config_word(&text).len > 0)
		return BAD(s, "%s: expected IPV4-PREFIX IPV6-PREFIX, such as %s", s->key->name,
		           "192.0.2.0/28 2001:db8:1::/124");
	/* RFC 7757 section 3.2. */
	if (32u - p4.len > 128u - p6.len)
		return BAD(s, "%s: the IPv4 prefix leaves more bits than the IPv6 prefix",
		           s->key->name);
	out->map = (struct config_map){p4.addr.v4, p4.len, p6.len, p6.addr.v6};
	return true;
}

static bool print_map(const union config_value *v, char *buf, size_t size)
{
	char four[FMT_IP6 + 4], six[FMT_IP6 + 4];
	struct prefix p6 = {.addr = {.is6 = true, .v6 = v->map.net6}, .len = v->map.len6};
	return fmt(buf, size, "%s %s", net4_text(four, v->map.net4, v->map.len4),
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
static bool parse_share(const struct config_source *s, struct slice text, union config_value *out)
{
	struct config_share *h = &out->share;
	struct slice net = config_word(&text), ratio = config_word(&text), run = config_word(&text);
	struct prefix p;
	h->run = 1;
	if (!parse_net(net, false, &p) || !parse_power(ratio, &h->ratio) ||
	    (run.len > 0 && !parse_power(run, &h->run)) || config_word(&text).len > 0)
		return BAD(s, "%s: expected IPV4-PREFIX RATIO [PORTS-IN-A-ROW], such as %s",
		           s->key->name, "192.0.2.1/32 16 64 (powers of two)");
	if (h->ratio > 65536 / h->run)
		return BAD(s, "%s: ratio times ports in a row is more than 65536", s->key->name);
	h->net = p.addr.v4;
	h->len = p.len;
	return true;
}

static bool print_share(const union config_value *v, char *buf, size_t size)
{
	char net[FMT_IP6 + 4];
	const struct config_share *h = &v->share;
	return fmt(buf, size, "%s %u %u", net4_text(net, h->net, h->len), h->ratio, h->run) > 0;
}

/* --- the rest ------------------------------------------------------------------------------ */

static bool parse_icmp(const struct config_source *s, struct slice text, union config_value *out)
{
	char shown[FMT_IP6];
	if (!addr_any(text.at, text.len, &out->addr))
		return BAD(s, "%s: expected an address, such as 192.0.2.1 or 2001:db8::1",
		           s->key->name);
	const char *what = config_not_unicast(&out->addr);
	if (what)
		return BAD(s, "%s: %s is %s", s->key->name, addr_text(shown, &out->addr), what);
	return true;
}

static bool print_icmp(const union config_value *v, char *buf, size_t size)
{
	char text[FMT_IP6];
	return fmt(buf, size, "%s", addr_text(text, &v->addr)) > 0;
}

static const char *const format[] = {[IVI_FORMAT_IVI] = "ivi", [IVI_FORMAT_RFC6052] = "rfc6052"};
static const char *const zero[] = {[IVI_ZERO_DROP] = "drop", [IVI_ZERO_COMPUTE] = "compute"};

static bool parse_format(const struct config_source *s, struct slice text, union config_value *out)
{
	return config_choice(s, text, format, ARRAY_SIZE(format), &out->number);
}

static bool print_format(const union config_value *v, char *buf, size_t size)
{
	return fmt(buf, size, "%s", format[v->number]) > 0;
}

static bool parse_zero(const struct config_source *s, struct slice text, union config_value *out)
{
	return config_choice(s, text, zero, ARRAY_SIZE(zero), &out->number);
}

static bool print_zero(const union config_value *v, char *buf, size_t size)
{
	return fmt(buf, size, "%s", zero[v->number]) > 0;
}

static bool parse_tos(const struct config_source *s, struct slice text, union config_value *out)
{
	uint32_t n = IVI_TOS_COPY;
	if (config_slice_is(text, "zero"))
		n = 0;
	else if (!config_slice_is(text, "copy") && (!addr_u32(text.at, text.len, &n) || n > 255))
		return BAD(s, "%s: expected copy, zero, or a number from 0 to 255", s->key->name);
	out->number = n;
	return true;
}

static bool print_tos(const union config_value *v, char *buf, size_t size)
{
	if (v->number == 0 || v->number == IVI_TOS_COPY)
		return fmt(buf, size, "%s", v->number ? "copy" : "zero") > 0;
	return fmt(buf, size, "%u", v->number) > 0;
}

const struct config_type config_net6 = {sizeof(struct prefix), parse_net6, print_net6};
const struct config_type config_net4 = {sizeof(struct config_net4), parse_net4, print_net4};
const struct config_type config_map = {sizeof(struct config_map), parse_map, print_map};
const struct config_type config_share = {sizeof(struct config_share), parse_share, print_share};
const struct config_type config_icmp = {sizeof(struct addr), parse_icmp, print_icmp};
const struct config_type config_format = {sizeof(uint32_t), parse_format, print_format};
const struct config_type config_zero = {sizeof(uint32_t), parse_zero, print_zero};
const struct config_type config_tos = {sizeof(uint32_t), parse_tos, print_tos};
