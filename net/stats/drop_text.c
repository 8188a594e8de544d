/* See drop_text.h. The bytes may be anything, so each header is read only where it is whole. Left
 * out on purpose: IPv6 extension headers other than the fragment header. */
#include "net/stats/drop_text.h"

#include "kernel/lib/fmt.h"
#include "net/lib/wire.h"

static const char *const labels[] = {
        [DROP_NONE] = "none",
#define DROP(name, label, text) [DROP_##name] = label,
#include "build/drops.def"
#undef DROP
};

static const char *const meanings[] = {
        [DROP_NONE] = "",
#define DROP(name, label, text) [DROP_##name] = text,
#include "build/drops.def"
#undef DROP
};

const char *drop_label(enum drop reason)
{
	return labels[reason];
}

const char *drop_meaning(enum drop reason)
{
	return meanings[reason];
}

/* What is left of the bytes, and of the text that they become. */
struct reader {
	const uint8_t *at;
	uint32_t left;
	char *buf;
	size_t size, n;
};

/* Takes the next `len` bytes; NULL when there are fewer. */
static const void *take(struct reader *r, uint32_t len)
{
	const void *at = r->at;
	if (r->left < len)
		return NULL;
	r->at += len;
	r->left -= len;
	return at;
}

static void PRINTF_LIKE(2, 3) say(struct reader *r, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	r->n += fmt_v(r->buf + r->n, r->size - r->n, format, args);
	va_end(args);
}

/* Both addresses, each with its port where there is one (`ports` not NULL). */
static void endpoints(struct reader *r, const char *from, const char *to, bool six,
                      const struct udp_hdr *ports)
{
	const char *open = six && ports ? "[" : "", *close = six && ports ? "]" : "";
	if (!ports) {
		say(r, " %s > %s", from, to);
		return;
	}
	say(r, " %s%s%s:%u > %s%s%s:%u", open, from, close, be16_get(ports->from), open, to, close,
	    be16_get(ports->to));
}

static void tcp_flags(struct reader *r, uint8_t flags)
{
	static const char *const name[] = {"FIN", "SYN", "RST", "PSH", "ACK", "URG"};
	const char *before = " ";
	for (unsigned i = 0; i < ARRAY_SIZE(name); i++) {
		if (!(flags >> i & 1))
			continue;
		say(r, "%s%s", before, name[i]);
		before = ",";
	}
}

/* The transport header; the reader is at its first byte unless the packet is a `later` fragment. */
static void transport(struct reader *r, uint8_t proto, const char *from, const char *to, bool six,
                      bool later)
{
	const uint8_t *l4 = r->at;
	bool ports = proto == PROTO_TCP || proto == PROTO_UDP;
	const struct udp_hdr *udp =
	        ports && !later && r->left >= 4 ? (const struct udp_hdr *)(const void *)l4 : NULL;
	if (ports)
		say(r, proto == PROTO_TCP ? "tcp" : "udp");
	else if (proto == PROTO_ICMP || proto == PROTO_ICMP6)
		say(r, proto == PROTO_ICMP ? "icmp" : "icmpv6");
	else
		say(r, "proto-%u", proto);
	endpoints(r, from, to, six, udp);
	if (later)
		return;
	if (proto == PROTO_TCP && r->left > offsetof(struct tcp_hdr, flags))
		tcp_flags(r, l4[offsetof(struct tcp_hdr, flags)]);
	if ((proto == PROTO_ICMP || proto == PROTO_ICMP6) && r->left >= 2)
		say(r, " type %u/%u", l4[0], l4[1]);
}

static void ip4_text(struct reader *r)
{
	const struct ip4_hdr *h = take(r, sizeof *h);
	uint32_t options = h ? (h->version_ihl & 15u) * 4 - IP4_MIN : 0;
	char from[FMT_IP4], to[FMT_IP4];
	if (!h || h->version_ihl >> 4 != 4 || (h->version_ihl & 15) < 5) {
		say(r, "ipv4 damaged");
		return;
	}
	uint32_t frag = be16_get(h->frag);
	fmt_ip4(from, h->from);
	fmt_ip4(to, h->to);
	if (!take(r, options))
		r->left = 0;
	transport(r, h->proto, from, to, false, frag & IP4_OFFSET);
	say(r, " ttl %u", h->ttl);
	if (frag & IP4_DF)
		say(r, " DF");
	if (frag & (IP4_MF | IP4_OFFSET))
		say(r, " fragment %u%s", (frag & IP4_OFFSET) * 8, frag & IP4_MF ? "+" : "");
}

static void ip6_text(struct reader *r)
{
	const struct ip6_hdr *h = take(r, sizeof *h);
	const struct ip6_frag *f = NULL;
	char from[FMT_IP6], to[FMT_IP6];
	if (!h || h->first.b[0] >> 4 != 6) {
		say(r, "ipv6 damaged");
		return;
	}
	if (h->next == PROTO_FRAGMENT)
		f = take(r, sizeof *f);
	uint32_t offset = f ? be16_get(f->offset) : 0;
	fmt_ip6(from, &h->from);
	fmt_ip6(to, &h->to);
	transport(r, f ? f->next : h->next, from, to, true, offset & IP6_OFFSET);
	say(r, " hops %u", h->hops);
	if (f)
		say(r, " fragment %u%s", offset & IP6_OFFSET, offset & IP6_MF ? "+" : "");
}

static void arp_text(struct reader *r)
{
	const struct arp_hdr *a = take(r, sizeof *a);
	char from[FMT_IP4], to[FMT_IP4], hw[FMT_MAC];
	if (!a) {
		say(r, "arp damaged");
		return;
	}
	uint16_t operation = be16_get(a->operation);
	say(r, "arp %s %s (%s) > %s",
	    operation == ARP_REQUEST ? "request"
	    : operation == ARP_REPLY ? "reply"
	                             : "odd",
	    fmt_ip4(from, a->sender_ip), fmt_mac(hw, &a->sender_mac), fmt_ip4(to, a->target_ip));
}

static void ethernet_text(struct reader *r)
{
	const struct eth_hdr *h = take(r, sizeof *h);
	char from[FMT_MAC], to[FMT_MAC];
	if (!h) {
		say(r, "runt");
		return;
	}
	uint16_t type = be16_get(h->type);
	if (type == ETH_IP4)
		ip4_text(r);
	else if (type == ETH_IP6)
		ip6_text(r);
	else if (type == ETH_ARP)
		arp_text(r);
	else
		say(r, "ethertype 0x%04x %s > %s", type, fmt_mac(from, &h->from),
		    fmt_mac(to, &h->to));
}

size_t drop_text(const uint8_t *bytes, uint32_t n, bool ethernet, char *buf, size_t size)
{
	struct reader r = {bytes, n, buf, size, 0};
	buf[0] = '\0';
	if (ethernet)
		ethernet_text(&r);
	else if (n && bytes[0] >> 4 == 6)
		ip6_text(&r);
	else
		ip4_text(&r);
	return r.n;
}
