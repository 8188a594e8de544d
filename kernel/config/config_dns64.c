/* The kinds of value that only the keys of the DNS64 server have, among them those
 * of mtd64-ng, whose files are taken as they are. See config_keys.h. */
#include "kernel/config/config_keys.h"

#include "kernel/lib/fmt.h"

#define BAD CONFIG_BAD

/* --- nameserver ------------------------------------------------------------------------ */

static bool parse_server(const struct config_source *s, struct slice text, union config_value *out)
{
	struct config_server *v = &out->server;
	char shown[FMT_IP6];
	if (config_slice_is(text, "default") || config_slice_is(text, "defaults")) {
		v->lease = true;
		return true;
	}
	if (!addr_any(text.at, text.len, &v->addr))
		return BAD(s, "%s: expected an address, such as 192.0.2.1 or 2001:db8::1, or %s",
		           s->key->name, "default");
	const char *what = config_not_unicast(&v->addr);
	if (what)
		return BAD(s, "%s: %s is %s", s->key->name, addr_text(shown, &v->addr), what);
	return true;
}

static bool print_server(const union config_value *v, char *buf, size_t size)
{
	char text[FMT_IP6];
	return fmt(buf, size, "%s",
	           v->server.lease ? "default" : addr_text(text, &v->server.addr)) > 0;
}

/* --- words -------------------------------------------------------------------------------- */

static const char *const selection[] = {
        [DNS64_RANDOM] = "random",
        [DNS64_ROUND_ROBIN] = "round-robin",
};
static const char *const on_error[] = {
        [DNS64_SYNTHESISE] = "synthesise",
        [DNS64_SERVFAIL] = "servfail",
};

static bool parse_selection(const struct config_source *s, struct slice text,
                            union config_value *out)
{
	return config_choice(s, text, selection, ARRAY_SIZE(selection), &out->number);
}

static bool print_selection(const union config_value *v, char *buf, size_t size)
{
	return fmt(buf, size, "%s", selection[v->number]) > 0;
}

static bool parse_on_error(const struct config_source *s, struct slice text,
                           union config_value *out)
{
	return config_choice(s, text, on_error, ARRAY_SIZE(on_error), &out->number);
}

static bool print_on_error(const union config_value *v, char *buf, size_t size)
{
	return fmt(buf, size, "%s", on_error[v->number]) > 0;
}

/* To mtd64-ng whatever is not "yes" is no. */
static bool parse_yes(const struct config_source *s, struct slice text, union config_value *out)
{
	(void)s;
	out->on = config_slice_is(text, "yes");
	return true;
}

static bool print_yes(const union config_value *v, char *buf, size_t size)
{
	return fmt(buf, size, "%s", v->on ? "yes" : "no") > 0;
}

/* --- timeout-time ---------------------------------------------------------------------------- */

/* Seconds with any number of decimals (mtd64-ng's files have six), kept in
 * milliseconds; the range is in milliseconds. What is shorter becomes one. */
static bool parse_try(const struct config_source *s, struct slice text, union config_value *out)
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
	if (!digits || !addr_ms(text.at, len, &out->number) || out->number > s->key->max ||
	    (out->number == 0 && !some))
		return BAD(s, "%s: expected seconds, more than 0 and up to %u, such as 2.5",
		           s->key->name, s->key->max / 1000);
	out->number = max_u32(out->number, s->key->min);
	return true;
}

static bool print_try(const union config_value *v, char *buf, size_t size)
{
	return fmt(buf, size, "%u.%03u", v->number / 1000, v->number % 1000) > 0;
}

/* --- prefixes ------------------------------------------------------------------------------- */

/* What stands behind the prefix length is no part of the prefix. */
static void cut_host(struct prefix *p)
{
	if (!p->addr.is6) {
		p->addr.v4 = ip4_of(ip4_get(p->addr.v4) & addr_mask4(p->len));
		return;
	}
	for (unsigned i = 0; i < 16; i++) {
		unsigned left = p->len > 8 * i ? p->len - 8 * i : 0;
		if (left < 8)
			p->addr.v6.b[i] &= (uint8_t) ~(0xff >> left);
	}
}

static bool parse_net(const struct config_source *s, struct slice text, union config_value *out)
{
	if (!addr_prefix(text.at, text.len, &out->prefix))
		return BAD(s, "%s: expected PREFIX/LENGTH, such as 192.168.1.0/24 or %s",
		           s->key->name, "2001:db8::/32");
	cut_host(&out->prefix);
	return true;
}

static bool parse_net6(const struct config_source *s, struct slice text, union config_value *out)
{
	if (!addr_prefix(text.at, text.len, &out->prefix) || !out->prefix.addr.is6)
		return BAD(s, "%s: expected an IPv6 PREFIX/LENGTH, such as ::ffff:0:0/96",
		           s->key->name);
	cut_host(&out->prefix);
	return true;
}

/* A prefix with room for an IPv4 address (RFC 6052 section 2.2). */
static bool parse_prefix64(const struct config_source *s, struct slice text,
                           union config_value *out)
{
	struct prefix *p = &out->prefix;
	if (!addr_prefix(text.at, text.len, p) || !p->addr.is6)
		return BAD(s, "%s: expected an IPv6 PREFIX/LENGTH, such as 64:ff9b::/96",
		           s->key->name);
	if (p->len != 96 && (p->len < 32 || p->len > 64 || p->len % 8 != 0))
		return BAD(s, "%s: the prefix length is not 32, 40, 48, 56, 64 or 96",
		           s->key->name);
	cut_host(p);
	return true;
}

static bool print_prefix(const union config_value *v, char *buf, size_t size)
{
	char text[FMT_IP6 + 4];
	return fmt(buf, size, "%s", addr_prefix_text(text, &v->prefix)) > 0;
}

/* IPV4-PREFIX IPV6-PREFIX, or IPV4-PREFIX none. */
static bool parse_map64(const struct config_source *s, struct slice text, union config_value *out)
{
	struct slice from = config_word(&text), to = config_word(&text);
	struct config_map64 m;
	union config_value v;
	memset(&m, 0, sizeof m);
	memset(&v, 0, sizeof v);
	if (!addr_prefix(from.at, from.len, &m.from) || m.from.addr.is6 || to.len == 0 ||
	    config_word(&text).len > 0)
		return BAD(s, "%s: expected IPV4-PREFIX and IPV6-PREFIX or none, such as %s",
		           s->key->name, "10.0.0.0/8 none");
	cut_host(&m.from);
	m.none = config_slice_is(to, "none");
	if (!m.none && !parse_prefix64(s, to, &v))
		return false;
	m.to = v.prefix;
	out->map64 = m;
	return true;
}

static bool print_map64(const union config_value *v, char *buf, size_t size)
{
	char from[FMT_IP6 + 4], to[FMT_IP6 + 4];
	const struct config_map64 *m = &v->map64;
	return fmt(buf, size, "%s %s", addr_prefix_text(from, &m->from),
	           m->none ? "none" : addr_prefix_text(to, &m->to)) > 0;
}

const struct config_type config_server = {sizeof(struct config_server), parse_server, print_server};
const struct config_type config_selection = {sizeof(uint32_t), parse_selection, print_selection};
const struct config_type config_on_error = {sizeof(uint32_t), parse_on_error, print_on_error};
const struct config_type config_yes = {sizeof(bool), parse_yes, print_yes};
const struct config_type config_try = {sizeof(uint32_t), parse_try, print_try};
const struct config_type config_cut = {sizeof(struct prefix), parse_net, print_prefix};
const struct config_type config_cut6 = {sizeof(struct prefix), parse_net6, print_prefix};
const struct config_type config_prefix64 = {sizeof(struct prefix), parse_prefix64, print_prefix};
const struct config_type config_map64 = {sizeof(struct config_map64), parse_map64, print_map64};
