/* The kinds of value that only the NAT's keys have. See config_keys.h. */
#include "kernel/config/config_keys.h"

#include "kernel/lib/fmt.h"

#define BAD CONFIG_BAD

static bool parse_host(struct slice text, ip4 *out)
{
	return addr_ip4(text.at, text.len, out) && !config_not_unicast4(*out);
}

/* FIRST or FIRST-LAST. */
static bool parse_pool(const struct config_source *s, struct slice text, union config_value *out)
{
	struct config_pool *p = &out->pool;
	size_t dash = 0;
	while (dash < text.len && text.at[dash] != '-')
		dash++;
	struct slice first = {text.at, dash};
	struct slice last =
	        dash < text.len ? (struct slice){text.at + dash + 1, text.len - dash - 1} : first;
	if (!parse_host(first, &p->first) || !parse_host(last, &p->last) ||
	    ip4_get(p->first) > ip4_get(p->last))
		return BAD(s, "%s: expected an IPv4 address or a range, such as %s", s->key->name,
		           "203.0.113.10-203.0.113.20");
	return true;
}

static bool print_pool(const union config_value *v, char *buf, size_t size)
{
	char first[FMT_IP4], last[FMT_IP4];
	fmt_ip4(first, v->pool.first);
	if (ip4_eq(v->pool.first, v->pool.last))
		return fmt(buf, size, "%s", first) > 0;
	return fmt(buf, size, "%s-%s", first, fmt_ip4(last, v->pool.last)) > 0;
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
static bool parse_forward(const struct config_source *s, struct slice text, union config_value *out)
{
	struct config_forward *f = &out->forward;
	struct slice proto = config_word(&text), port = config_word(&text);
	struct slice inside = config_word(&text);
	size_t colon = 0;
	while (colon < inside.len && inside.at[colon] != ':')
		colon++;
	f->tcp = config_slice_is(proto, "tcp");
	if ((!f->tcp && !config_slice_is(proto, "udp")) || !parse_port(port, &f->public_port) ||
	    colon == inside.len || !parse_host((struct slice){inside.at, colon}, &f->inside) ||
	    !parse_port((struct slice){inside.at + colon + 1, inside.len - colon - 1},
	                &f->inside_port) ||
	    config_word(&text).len > 0)
		return BAD(s, "%s: expected tcp|udp PORT ADDRESS:PORT, such as %s", s->key->name,
		           "tcp 8080 192.168.1.10:80");
	return true;
}

static bool print_forward(const union config_value *v, char *buf, size_t size)
{
	char inside[FMT_IP4];
	const struct config_forward *f = &v->forward;
	return fmt(buf, size, "%s %u %s:%u", f->tcp ? "tcp" : "udp", f->public_port,
	           fmt_ip4(inside, f->inside), f->inside_port) > 0;
}

static const char *const filtering[] = {
        [NAT_FILTER_ENDPOINT_INDEPENDENT] = "endpoint-independent",
        [NAT_FILTER_ADDRESS_DEPENDENT] = "address-dependent",
        [NAT_FILTER_ADDRESS_AND_PORT_DEPENDENT] = "address-and-port-dependent",
};

static bool parse_filtering(const struct config_source *s, struct slice text,
                            union config_value *out)
{
	return config_choice(s, text, filtering, ARRAY_SIZE(filtering), &out->number);
}

static bool print_filtering(const union config_value *v, char *buf, size_t size)
{
	return fmt(buf, size, "%s", filtering[v->number]) > 0;
}

static bool parse_inside(const struct config_source *s, struct slice text, union config_value *out)
{
	if (!parse_host(text, &out->v4))
		return BAD(s, "%s: expected an inside IPv4 address, such as 192.168.1.6",
		           s->key->name);
	return true;
}

static bool print_inside(const union config_value *v, char *buf, size_t size)
{
	char text[FMT_IP4];
	return fmt(buf, size, "%s", fmt_ip4(text, v->v4)) > 0;
}

const struct config_type config_pool = {sizeof(struct config_pool), parse_pool, print_pool};
const struct config_type config_forward = {sizeof(struct config_forward), parse_forward,
                                           print_forward};
const struct config_type config_filtering = {sizeof(uint32_t), parse_filtering, print_filtering};
const struct config_type config_inside = {sizeof(ip4), parse_inside, print_inside};
