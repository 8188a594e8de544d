/* libFuzzer: any IPv4 or IPv6 frame on any interface of the translator, while time passes. It works
 * as fuzz_gw.c does.
 *
 * Checked: each frame that leaves is well formed, its checksums are right if those of the incoming
 * frames were, and an IPv4 packet on the WAN has an allowed source; in the end, after a time
 * without traffic, every packet is free. */
#include "apps/translate/embed.h"
#include "kernel/lib/fmt.h"
#include "tests/fuzz/gateway.h"

#include <string.h>

#define IP4_L4   34u
#define IP6_L4   54u
#define HOSTS    0xc0000200u /* 192.0.2.0/24: IPv6 hosts */
#define MAPPED   0x01000000u /* 1.0.0.0/24: others, by mapping */
#define UNROUTED 0xcb007180u /* 203.0.113.128/25: routed to neither side */
#define ON_WAN   0xc6336480u /* 198.51.100.128/25: IPv6 hosts in the network of the WAN */
#define OWN      0xc6336401u
#define ROUTER   0xc6336402u
#define BEYOND   0xc0000240u /* 192.0.2.64/26: behind a router on the WAN if `beyond` is set */

static const char common[] = "wan.address 198.51.100.1/24\n"
                             "neighbour 198.51.100.2 52:52:52:52:52:52\n"
                             "ivi.icmp-source 203.0.113.8\n";

/* An address format, and the lines of the configuration that depend on it. */
static const struct {
	const char *prefix, *more;
	bool ivi;
} kinds[] = {
        {"2001:db8::/32",
         "lan.address 2001:db8:ffc0:2:fe00::/64\n"
         "neighbour 2001:db8:ffc0:2:a00:: 52:52:52:52:52:52\n",
         true},
        {"2001:db8:100::/40",
         "lan.address 2001:db8:1c0:2:fe::/64\n"
         "neighbour 2001:db8:1c0:2:a:: 52:52:52:52:52:52\n"
         "route 2001:db8:3::/120 via 2001:db8:1c0:2:a::\n"
         "ivi.map 1.0.0.0/24 2001:db8:3::/120\n"
         "ivi.map 203.0.113.128/25 2001:db8:4::/121\n"
         "ivi.icmp-interface on\n",
         false},
        {"2001:db8::/32",
         "lan.address 2001:db8:ffc0:2:fe00::/64\n"
         "neighbour 2001:db8:ffc0:2:a00:: 52:52:52:52:52:52\n"
         "ivi.share 192.0.2.8/29 16 64\n",
         true},
        {"64:ff9b::/96",
         "lan.address 2001:db8:3::1/64\n"
         "neighbour 2001:db8:3::a 52:52:52:52:52:52\n"
         "ivi.map 1.0.0.0/24 2001:db8:3::/120\n"
         "ivi.udp-zero-checksum drop\n"
         "ivi.mss-clamp 1220\n"
         "ivi.tos 46\n",
         false},
        /* Hosts in the network of the WAN, and mappings whose prefixes end within a byte. */
        {"2001:db8:100::/40",
         "lan.address 2001:db8:1c0:2:fe::/64\n"
         "neighbour 2001:db8:1c0:2:a:: 52:52:52:52:52:52\n"
         "ivi.ipv4 198.51.100.128/25\n"
         "ivi.share 192.0.2.8/30 16\n"
         "route 192.0.2.64/26 via 198.51.100.130\n"
         "ivi.map 1.0.0.0/24 2001:db8:3::/100\n"
         "ivi.map 1.0.0.16/28 2001:db8:1c0:5::/109\n"
         "route 2001:db8:4::/64 via 2001:db8:1c0:2:a::\n"
         "ivi.map 203.0.113.128/27 2001:db8:4::/64\n"
         "ivi.icmp-source 2001:db8:77::1\n"
         "ivi.icmp-interface on\n",
         false},
        /* No prefix, and no route except to the connected networks. */
        {NULL,
         "lan.address 2001:db8:3::1:1/64\n"
         "neighbour 2001:db8:3::8 52:52:52:52:52:52\n"
         "ivi.map 1.0.0.0/24 2001:db8:3::/120\n"
         "ivi.map 203.0.113.128/25 2001:db8:4::/121\n"
         "ivi.map 198.51.100.0/24 2001:db8:5::/120\n"
         "ivi.mss-clamp 1220\n"
         "ivi.icmp-source 2001:db8:77::1\n"
         "lan.ra off\n",
         false},
};
#define KINDS ((uint8_t)ARRAY_SIZE(kinds))

static struct embed_form form_of_hosts;
static bool beyond; /* in the configuration that runs */

/* True when an IPv4 packet on the WAN may have its source: an IPv6 host's address or our own. A
 * packet from one host of the WAN to another, or to a network behind one, may have any source. */
static bool may_leave(const uint8_t *ip)
{
	ip4 a, b;
	memcpy(&a, ip + 12, 4);
	memcpy(&b, ip + 16, 4);
	uint32_t from = ip4_get(a), to = ip4_get(b);
	return from >> 8 == HOSTS >> 8 || from >> 8 == MAPPED >> 8 || from >> 7 == UNROUTED >> 7 ||
	       from == OWN || from >> 7 == ON_WAN >> 7 || from == 0xcb007108 ||
	       to >> 8 == OWN >> 8 || (beyond && to >> 6 == BEYOND >> 6);
}

static void seen(struct rig *r, uint32_t iface, const uint8_t *frame, uint32_t len)
{
	(void)r;
	note(iface, frame, len);
	const char *bad = check(iface, frame, len);
	if (!bad && run.payloads)
		bad = frame_payload(frame, len, run.quotes);
	if (bad)
		fail(bad, frame, len);
	if (iface == IF_WAN && frame[12] == 8 && frame[13] == 0 && !may_leave(frame + ETH))
		fail("a source that may not be on the WAN", frame, len);
}

/* True where dns64 runs beside the translator. */
static bool serves(uint8_t choice)
{
	return (choice & 0x78) == 0x28;
}

static void start(uint8_t choice)
{
	unsigned kind = choice % 8 % KINDS;
	const char *prefix = kinds[kind].prefix;
	char more[300];
	size_t n =
	        prefix ? fmt(more, sizeof more,
	                     "ivi.prefix %s\nivi.ipv4 192.0.2.0/24\ngateway 198.51.100.2\n", prefix)
	               : 0;
	n += fmt(more + n, sizeof more - n, "ivi.format %s\nwan.mtu %u\nlan.mtu %u\n%s",
	         kinds[kind].ivi ? "ivi" : "rfc6052", choice & 8 ? 1280u : 1500u,
	         choice & 16 ? 1280u : 1500u,
	         choice & 32 ? "ivi.errors off\n" : "ivi.lowest-ipv6-mtu 1400\n");
	configure(common, sizeof common - 1);
	configure(more, n);
	configure(kinds[kind].more, strlen(kinds[kind].more));
	if (serves(choice))
		serve("198.51.100.9");
	start_app("ivi", choice & 64 ? 12 : 64);
	rig_advance(&rig, 4000000); /* the addresses are in use */
}

/* How a configuration embeds IPv4 addresses in IPv6 addresses. */
static void set_form(unsigned kind)
{
	struct prefix prefix;
	const char *text = kinds[kind].prefix ? kinds[kind].prefix : "64:ff9b::/96";
	if (!addr_prefix(text, strlen(text), &prefix) ||
	    embed_set_up(&form_of_hosts, &prefix, kinds[kind].ivi))
		fail("no form", NULL, 0);
	beyond = strstr(kinds[kind].more, "route 192.0.2.64/26 ") != NULL;
}

/* --- frames -------------------------------------------------------------------------- */

static uint32_t address4(uint8_t n)
{
	static const uint32_t odd[] = {OWN,        ROUTER,     0x7f000001, 0xe0000001,
	                               0xffffffff, 0x00000000, 0xc63364ff, 0xc00002fe};
	switch (n & 7) {
	case 0:
		return odd[n >> 3 & 7];
	case 1:
		return MAPPED + (n >> 3);
	case 2:
		return UNROUTED + (n >> 3);
	case 3:
		return 0x08080808u + (n >> 6);
	case 4:
		return n & 128 ? ON_WAN + (n >> 3 & 15) : 0x08080808u + (n >> 6);
	default:
		return HOSTS + 8 + (n >> 4 & 7);
	}
}

static void address6(uint8_t n, uint8_t m, uint8_t out[16])
{
	static const ip6 other[] = {
	        {{0x20, 1, 0x0d, 0xb8, 0, 3}},
	        {{0x20, 1, 0x0d, 0xb8, 0, 4}},
	        {{0xfe, 0x80}},
	        {{0xff, 2}},
	        {{0x40}},
	        {{0}},
	        {{0x20, 1, 0x0d, 0xb8, 1, 0xc0, 0, 5}},
	        {{0x20, 1, 0x0d, 0xb8, 0, 5}},
	};
	ip6 a;
	if ((n & 7) < 6 && (n & 7) > 0) {
		embed_to6(&form_of_hosts, swap32(address4(m)), &a);
		if (n & 128 && form_of_hosts.set_at)
			embed_put_set(&form_of_hosts, n >> 3 & 15, &a);
	} else {
		a = other[n >> 3 & 7];
		a.b[15] = (uint8_t)(m >> 3);
	}
	memcpy(out, &a, 16);
}

/* An IPv4 packet, whole or a fragment, with options or without. */
static uint32_t make4(struct input *in, uint8_t *f, uint32_t iface)
{
	uint8_t how = input_u8(in), from = input_u8(in), to = input_u8(in);
	uint8_t proto = make_proto(in, false), head[ETH + 20];
	struct middle m = {0};
	uint32_t options = how & 4 ? 12 : 0;
	not_headers(proto);
	frame_ip4(head, mac_of(iface), address4(from), address4(to), proto, 0);
	if (how & 2)
		m = make_piece4(in, head + ETH);
	head[20] |= how & 0x40;
	head[22] = how & 16 ? 1 : 64;
	head[14] = (uint8_t)(0x45 + options / 4);
	memcpy(f, head, sizeof head);
	memset(f + IP4_L4, 1, options);
	if (options) { /* a source route, completed or not */
		f[IP4_L4] = how & 8 ? 131 : 7;
		f[IP4_L4 + 1] = 7;
		f[IP4_L4 + 2] = how & 1 ? 8 : 4;
	}
	uint32_t at = IP4_L4 + options;
	uint32_t n = at + make_transport(in, f + at, FRAME_MAX - at, proto, &m);
	f[16] = (uint8_t)((n - ETH) >> 8);
	f[17] = (uint8_t)(n - ETH);
	return n;
}

/* The addresses of a packet that is hairpinned (RFC 7757 section 4): `from` is the address of an
 * IPv6 host, `to` embeds the IPv4 address of another one. */
static void hairpin(uint8_t a, uint8_t b, uint8_t from[16], uint8_t to[16])
{
	ip6 x = {{0x20, 1, 0x0d, 0xb8, 0, 3, [15] = (uint8_t)(a & 31)}};
	if (a & 128)
		embed_to6(&form_of_hosts, swap32(HOSTS + 8 + (a & 7)), &x);
	memcpy(from, &x, 16);
	embed_to6(&form_of_hosts, swap32(MAPPED + (b & 31)), &x);
	memcpy(to, &x, 16);
}

static uint32_t make6(struct input *in, uint8_t *f, uint32_t iface)
{
	uint8_t how = input_u8(in), from[16], to[16], next;
	uint8_t a = input_u8(in), b = input_u8(in), c = input_u8(in), proto = make_proto(in, true);
	struct middle m;
	not_headers(proto);
	if (how & 32) {
		hairpin(a, c, from, to);
	} else {
		address6(how, a, from);
		address6(b, c, to);
	}
	uint32_t head = make_chain(in, f + IP6_L4, FRAME_MAX - IP6_L4 - 24, &next, proto, &m);
	uint32_t at = IP6_L4 + head, n = make_transport(in, f + at, FRAME_MAX - at, proto, &m);
	return frame6_ip(f, mac_of(iface), from, to, next, b & 64 ? 1 : 64, head + n);
}

/* An ICMP error about the last packet that left an interface, with extensions or without. */
static uint32_t make_error(struct input *in, uint8_t *f, uint32_t iface)
{
	static const uint8_t types4[] = {3, 11, 12, 3}, types6[] = {1, 2, 3, 4};
	uint8_t a = input_u8(in), b = input_u8(in), *last = run.last[iface];
	bool is6 = run.last_len[iface] > ETH && last[12] == 0x86;
	uint32_t quote = run.last_len[iface] > ETH ? run.last_len[iface] - ETH : 0;
	uint8_t *icmp = f + (is6 ? IP6_L4 : IP4_L4);
	quote = min_u32(quote, b & 128 ? 128 + (a & 63) : a & 128 ? 40 + (a & 63) : 1000);
	memset(icmp, 0, 1400);
	icmp[0] = is6 ? types6[a >> 4 & 3] : types4[a >> 4 & 3];
	icmp[1] = a & 15;
	icmp[6] = b & 7;
	icmp[7] = b;
	memcpy(icmp + 8, last + ETH, quote);
	if (b & 128) { /* extensions after 128 bytes or more; some types have no length */
		run.quotes = false;
		quote = max_u32(quote, 128) & (is6 ? ~7u : ~3u);
		icmp[is6 ? 4 : 5] = (uint8_t)(quote / (is6 ? 8 : 4) - (b & 1));
		quote += (b >> 2 & 31) * 8u;
	}
	if (is6) {
		uint8_t from[16], to[16];
		address6(a, b, from);
		memcpy(from, b & 64 ? from : last + ETH + 24, 16);
		memcpy(to, last + ETH + 8, 16);
		return frame6_ip(f, mac_of(iface), from, to, 58, 64, 8 + quote);
	}
	ip4 to;
	memcpy(&to, last + ETH + 12, 4);
	return frame_ip4(f, mac_of(iface), b & 64 ? address4(a) : ROUTER, ip4_get(to), 1,
	                 8 + quote);
}

/* Overwrites some bytes, or truncates the frame. */
static uint32_t spoil(struct input *in, uint8_t *f, uint32_t len)
{
	uint8_t how = input_u8(in);
	len = bend(in, how, f, len, 120);
	if (how & 16)
		run.sums = false;
	return len;
}

static void frame(struct input *in, uint8_t op)
{
	uint8_t f[FRAME_MAX + 64];
	uint32_t iface = op >> 7, len;
	memset(f, 0, sizeof f);
	switch (op & 7) {
	case 0:
		len = make4(in, f, iface);
		break;
	case 1:
		len = make6(in, f, iface);
		break;
	case 2:
		len = iface == IF_LAN ? make6(in, f, iface) : make4(in, f, iface);
		break;
	case 3:
		len = make_answer(f, iface);
		break;
	case 4:
		len = make_error(in, f, iface);
		break;
	case 5:
		len = make_query6(in, f, iface);
		len = len ? len : make_raw(in, f, iface);
		break;
	default:
		len = make_raw(in, f, iface);
	}
	if (op & 64)
		len = spoil(in, f, len);
	if (run.sums && len > ETH && f[12] == 0x86)
		frame6_repair(f + ETH, len - ETH);
	if (run.sums)
		frame_repair(f, len);
	run.sums &= !is_sealed(f, len);
	arrive(iface, f, len);
	if (op & 32 && (op & 7) < 3)
		flood(in, f, len, iface);
}

/* --- start, end and operations ------------------------------------------------------- */

static void one_input(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	uint8_t choice = input_u8(&in);
	set_form(choice % 8 % KINDS);
	begin(choice & 127, SERVE_MEMORY, start, seen);
	play(&in, frame);
	/* The longest wait for a neighbour, and for the one to which the error about it goes. */
	silence(12000000);
}
