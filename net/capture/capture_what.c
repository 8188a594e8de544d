/* See capture_what.h. */
#include "net/capture/capture_what.h"

#include "kernel/lib/fmt.h"
#include "net/gw.h"
#include "net/lib/wire.h"

enum {
	EXTENSIONS = 8, /* IPv6 extension headers that are read */
	INNER = 2,      /* packets inside a packet that are read */
	ICMP_HEAD = 8,
};

/* --- text ------------------------------------------------------------------------------------- */

static bool parse_of(const struct gw *gw, const char *of, struct capture_what *out)
{
	out->of = strcmp(of, "drops") == 0 ? CAPTURE_DROPS : CAPTURE_ALL;
	if (out->of == CAPTURE_DROPS || !of[0] || strcmp(of, "all") == 0)
		return true;
	for (uint32_t i = 0; i < gw->n_iface; i++)
		if (strcmp(of, gw->iface[i].name) == 0) {
			out->of = CAPTURE_IFACE;
			out->iface = (uint8_t)i;
			return true;
		}
	return false;
}

static bool parse_end(const char *end, struct capture_what *out)
{
	size_t n = strlen(end), colon = n;
	out->has_end = n > 0;
	if (n == 0 || addr_any(end, n, &out->addr))
		return true;
	while (colon > 0 && end[colon - 1] != ':')
		colon--;
	if (colon-- == 0 || !addr_u32(end + colon + 1, n - colon - 1, &out->port) ||
	    out->port == 0 || out->port > 65535)
		return false;
	bool bracket = end[0] == '[';
	if (bracket && (colon < 2 || end[colon - 1] != ']'))
		return false;
	return addr_any(end + bracket, colon - 2 * bracket, &out->addr) && out->addr.is6 == bracket;
}

bool capture_what_parse(const struct gw *gw, const char *of, const char *end,
                        struct capture_what *out)
{
	struct capture_what what = {0};
	if (!parse_of(gw, of, &what) || !parse_end(end, &what))
		return false;
	*out = what;
	return true;
}

void capture_what_text(const struct gw *gw, const struct capture_what *what, char buf[CAPTURE_WHAT])
{
	const char *of = what->of == CAPTURE_DROPS   ? "drops"
	                 : what->of == CAPTURE_IFACE ? gw->iface[what->iface].name
	                                             : "all";
	char text[FMT_IP6] = "", port[16] = "";
	if (what->has_end)
		addr_text(text, &what->addr);
	if (what->port)
		fmt(port, sizeof port, "%s:%u", what->addr.is6 ? "]" : "", what->port);
	fmt(buf, CAPTURE_WHAT, "%s%s%s%s%s", of, what->has_end ? " of " : "",
	    what->port && what->addr.is6 ? "[" : "", text, port);
}

/* --- packets ---------------------------------------------------------------------------------- */

static bool ends4(const uint8_t *ip, uint32_t n, struct capture_ends *out)
{
	const struct ip4_hdr *h = (const struct ip4_hdr *)ip;
	uint32_t head = (h->version_ihl & 15u) * 4;
	if (head < IP4_MIN)
		return false;
	*out = (struct capture_ends){.proto = h->proto, .from = h->from.b, .to = h->to.b};
	if (head <= n && (be16_get(h->frag) & IP4_OFFSET) == 0) {
		out->l4 = ip + head;
		out->n_l4 = n - head;
	}
	return true;
}

static bool is_extension(uint8_t next)
{
	return next == PROTO_HOP_BY_HOP || next == PROTO_ROUTING || next == PROTO_DESTINATION ||
	       next == PROTO_FRAGMENT;
}

static bool ends6(const uint8_t *ip, uint32_t n, struct capture_ends *out)
{
	const struct ip6_hdr *h = (const struct ip6_hdr *)ip;
	uint32_t at = sizeof *h;
	uint8_t next = h->next;
	*out = (struct capture_ends){.is6 = true, .from = h->from.b, .to = h->to.b};
	for (uint32_t i = 0; i < EXTENSIONS && is_extension(next); i++) {
		if (at + 8 > n)
			return true;
		bool fragment = next == PROTO_FRAGMENT;
		if (fragment && (ip[at + 2] || ip[at + 3] & 0xf8))
			return true; /* a later one */
		next = ip[at];
		at += fragment ? 8 : (ip[at + 1] + 1u) * 8;
	}
	out->proto = next;
	if (at <= n) {
		out->l4 = ip + at;
		out->n_l4 = n - at;
	}
	return true;
}

bool capture_what_ends(const uint8_t *ip, uint32_t n, struct capture_ends *out)
{
	if (n >= sizeof(struct ip4_hdr) && ip[0] >> 4 == 4)
		return ends4(ip, n, out);
	if (n >= sizeof(struct ip6_hdr) && ip[0] >> 4 == 6)
		return ends6(ip, n, out);
	return false;
}

static bool has_ports(uint8_t proto)
{
	return proto == PROTO_TCP || proto == PROTO_UDP || proto == PROTO_SCTP ||
	       proto == PROTO_DCCP || proto == PROTO_UDPLITE;
}

static bool is_end(const struct capture_what *what, const struct capture_ends *e,
                   const uint8_t *addr, uint32_t port_at)
{
	if (e->is6 != what->addr.is6 ||
	    memcmp(addr, e->is6 ? what->addr.v6.b : what->addr.v4.b, e->is6 ? 16 : 4) != 0)
		return false;
	if (what->port == 0 || !e->l4)
		return true;
	return has_ports(e->proto) && e->n_l4 >= 4 &&
	       (e->l4[port_at] << 8 | e->l4[port_at + 1]) == (int)what->port;
}

/* The bytes in front of a packet that this one carries or quotes; 0: there is none. */
static uint32_t inner_at(const struct capture_ends *e)
{
	if (!e->l4 || e->n_l4 <= ICMP_HEAD)
		return 0;
	uint8_t type = e->l4[0];
	if (e->proto == PROTO_ICMP6 && e->is6)
		return type < ICMP6_ECHO ? ICMP_HEAD : 0;
	if (e->proto == PROTO_ICMP && !e->is6)
		return type == ICMP_UNREACHABLE || type == ICMP_QUENCH || type == ICMP_REDIRECT ||
		                       type == ICMP_TIME_EXCEEDED || type == ICMP_PARAMETER
		               ? ICMP_HEAD
		               : 0;
	return 0;
}

bool capture_what_has(const struct capture_what *what, const uint8_t *ip, uint32_t n)
{
	struct capture_ends e;
	for (uint32_t i = 0; i <= INNER && capture_what_ends(ip, n, &e); i++) {
		if (is_end(what, &e, e.from, 0) || is_end(what, &e, e.to, 2))
			return true;
		bool tunnel = e.proto == PROTO_IP6 || e.proto == PROTO_IP4;
		uint32_t at = inner_at(&e);
		if (!e.l4 || (!tunnel && at == 0))
			return false;
		ip = e.l4 + at;
		n = e.n_l4 - at;
	}
	return false;
}
