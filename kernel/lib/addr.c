/* See addr.h. Every parser reads each character at most twice. It writes its result only
 * after the whole text has matched. */
#include "kernel/lib/addr.h"

#include "kernel/lib/fmt.h"

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Gives the value of a hexadecimal digit, or 16 for any other character. */
static unsigned hex_value(char c)
{
	if (is_digit(c))
		return (unsigned)(c - '0');
	if (c >= 'a' && c <= 'f')
		return (unsigned)(c - 'a') + 10;
	if (c >= 'A' && c <= 'F')
		return (unsigned)(c - 'A') + 10;
	return 16;
}

bool addr_ip4(const char *text, size_t len, ip4 *out)
{
	ip4 a;
	size_t i = 0;
	for (unsigned part = 0; part < 4; part++) {
		if (part > 0 && (i == len || text[i++] != '.'))
			return false;
		size_t first = i;
		unsigned v = 0;
		for (; i < len && i - first < 3 && is_digit(text[i]); i++)
			v = v * 10 + (unsigned)(text[i] - '0');
		/* A leading zero could mean an octal number. */
		if (i == first || v > 255 || (text[first] == '0' && i - first > 1))
			return false;
		a.b[part] = (uint8_t)v;
	}
	if (i != len)
		return false;
	*out = a;
	return true;
}

/* The groups of an IPv6 address while it is parsed. */
struct groups {
	uint8_t b[16];
	size_t n;     /* bytes parsed so far */
	size_t gap;   /* position of the "::" */
	bool has_gap; /* there was a "::" */
};

/* Parses one group, or an IPv4 address at the end. Gives the number of characters used, or
 * 0 when the text is neither. */
static size_t ip6_group(struct groups *g, const char *text, size_t len)
{
	size_t digits = 0;
	unsigned v = 0;
	while (digits < len && digits < 4 && hex_value(text[digits]) < 16)
		v = v << 4 | hex_value(text[digits++]);
	if (digits < len && digits > 0 && text[digits] == '.') {
		ip4 end;
		if (g->n > 12 || !addr_ip4(text, len, &end))
			return 0;
		memcpy(g->b + g->n, end.b, 4);
		g->n += 4;
		return len;
	}
	if (digits == 0 || g->n > 14)
		return 0;
	g->b[g->n++] = (uint8_t)(v >> 8);
	g->b[g->n++] = (uint8_t)v;
	return digits;
}

bool addr_ip6(const char *text, size_t len, ip6 *out)
{
	struct groups g = {.n = 0};
	size_t i = 0;
	if (len == 0)
		return false;
	while (i < len) {
		if (len - i >= 2 && text[i] == ':' && text[i + 1] == ':') {
			if (g.has_gap)
				return false;
			g.has_gap = true;
			g.gap = g.n;
			i += 2;
			continue;
		}
		if (g.n > 0 && !(g.has_gap && g.gap == g.n) && text[i++] != ':')
			return false;
		size_t used = ip6_group(&g, text + i, len - i);
		if (used == 0)
			return false;
		i += used;
	}
	/* "::" stands for at least one group. */
	if (g.has_gap ? g.n > 14 : g.n != 16)
		return false;
	memset(out, 0, sizeof *out);
	size_t front = g.has_gap ? g.gap : 16;
	memcpy(out->b, g.b, front);
	if (g.has_gap)
		memcpy(out->b + 16 - (g.n - front), g.b + front, g.n - front);
	return true;
}

bool addr_any(const char *text, size_t len, struct addr *out)
{
	struct addr a;
	memset(&a, 0, sizeof a);
	a.is6 = memchr(text, ':', len) != NULL;
	if (!(a.is6 ? addr_ip6(text, len, &a.v6) : addr_ip4(text, len, &a.v4)))
		return false;
	*out = a;
	return true;
}

bool addr_prefix(const char *text, size_t len, struct prefix *out)
{
	const char *slash = memchr(text, '/', len);
	if (!slash)
		return false;
	size_t front = (size_t)(slash - text);
	size_t digits = len - front - 1;
	struct prefix p;
	uint32_t bits;
	memset(&p, 0, sizeof p);
	if (!addr_any(text, front, &p.addr) || !addr_u32(slash + 1, digits, &bits))
		return false;
	if (bits > (p.addr.is6 ? 128u : 32u) || (slash[1] == '0' && digits > 1))
		return false;
	p.len = (uint8_t)bits;
	*out = p;
	return true;
}

bool addr_mac(const char *text, size_t len, mac *out)
{
	mac a;
	if (len != 17 || (text[2] != ':' && text[2] != '-'))
		return false;
	for (unsigned i = 0; i < 6; i++) {
		unsigned high = hex_value(text[3 * i]), low = hex_value(text[3 * i + 1]);
		if (high > 15 || low > 15 || (i < 5 && text[3 * i + 2] != text[2]))
			return false;
		a.b[i] = (uint8_t)(high << 4 | low);
	}
	*out = a;
	return true;
}

bool addr_u32(const char *text, size_t len, uint32_t *out)
{
	uint32_t v = 0;
	if (len == 0)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (!is_digit(text[i]))
			return false;
		uint32_t digit = (uint32_t)(text[i] - '0');
		if (v > UINT32_MAX / 10 || digit > UINT32_MAX - v * 10)
			return false;
		v = v * 10 + digit;
	}
	*out = v;
	return true;
}

bool addr_ms(const char *text, size_t len, uint32_t *out)
{
	const char *point = memchr(text, '.', len);
	size_t whole = point ? (size_t)(point - text) : len;
	uint32_t seconds, ms = 0;
	if (!addr_u32(text, whole, &seconds))
		return false;
	if (point) {
		size_t digits = len - whole - 1;
		if (digits > 3 || !addr_u32(point + 1, digits, &ms))
			return false;
		for (; digits < 3; digits++)
			ms *= 10;
	}
	if (seconds > UINT32_MAX / 1000 || ms > UINT32_MAX - seconds * 1000)
		return false;
	*out = seconds * 1000 + ms;
	return true;
}

bool addr_eq(const struct addr *a, const struct addr *b)
{
	if (a->is6 != b->is6)
		return false;
	return a->is6 ? ip6_eq(&a->v6, &b->v6) : ip4_eq(a->v4, b->v4);
}

char *addr_text(char *buf, const struct addr *a)
{
	return a->is6 ? fmt_ip6(buf, &a->v6) : fmt_ip4(buf, a->v4);
}

char *addr_prefix_text(char *buf, const struct prefix *p)
{
	addr_text(buf, &p->addr);
	fmt(buf + strlen(buf), 5, "/%u", p->len);
	return buf;
}
