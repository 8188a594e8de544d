/* libFuzzer: any IPv4 or IPv6 frame on any interface of the NAT64, while time passes. It works as
 * fuzz_gw.c does.
 *
 * Checked: each frame that leaves is well formed, its checksums are right if those of the incoming
 * frames were, an IPv4 packet on the WAN has an external source, and no address under a prefix
 * leaves by it; the tables are consistent, also where hosts with IPv4 share them; in the end, after
 * a time without traffic, every packet is free. */
#include "apps/nat64/nat64.h"
#include "kernel/lib/fmt.h"
#include "tests/fuzz/gateway.h"
#include "tests/host/nat_check.h"

#include <string.h>

#define IP4_L4 34u
#define IP6_L4 54u
#define OWN    0xc6336401u /* 198.51.100.1 */
#define ROUTER 0xc6336402u
#define POOL   0xcb007108u /* 203.0.113.8 to .11 */

static const char common[] = "lan.address 2001:db8:1::1/64\n"
                             "wan.address 198.51.100.1/24\n"
                             "gateway 198.51.100.2\n"
                             "neighbour 198.51.100.2 52:52:52:52:52:52\n"
                             "neighbour 2001:db8:1::a 52:52:52:52:52:52\n"
                             "neighbour 2001:db8:1::b 52:52:52:52:52:53\n"
                             "nat64.sessions 16\n";

/* What the configurations differ in. */
static const char *const kinds[] = {
        "wkp-strict off\n",
        "nat64.pool 203.0.113.8-203.0.113.11\nwkp-strict off\nnat64.host-length 128\n",
        "nat64.prefix 2001:db8:100::/40\nnat64.prefix 64:ff9b::/96\nnat64.host-limit 4\n",
        ("wkp-strict off\nnat64.filtering endpoint-independent\nnat64.mss-clamp 1220\n"
         "nat64.forward tcp 198.51.100.1:80 [2001:db8:1::a]:80\n"
         "nat64.forward icmp 198.51.100.1:9 [2001:db8:1::b]:9\n"),
        "wkp-strict off\nnat64.hairpin off\nlan.mtu 1280\nnat64.tos 7\n",
        ("wkp-strict off\nwan.mtu 1280\nnat64.filtering address-and-port-dependent\n"
         "nat64.lowest-ipv6-mtu 1500\n"),
        ("lan.address 192.168.1.1/24\nwkp-strict off\nnat64.host-length 128\nlan.ra off\n"
         "neighbour 192.168.1.10 52:52:52:52:52:52\nneighbour 192.168.1.11 52:52:52:52:52:52\n"
         "nat64.filtering endpoint-independent\n"),
        ("wkp-strict off\nlan2.address 2001:db8:2::1/64\nlan2 nic2\nlan.address 192.168.1.1/24\n"
         "wan.address 2001:db8:3::1/64\ngateway 2001:db8:3::2\nnat64.hairpin off\n"
         "neighbour 2001:db8:3::2 52:52:52:52:52:52\n"),
};

static void seen(struct rig *r, uint32_t iface, const uint8_t *frame, uint32_t len)
{
	(void)r;
	note(iface, frame, len);
	const char *bad = check(iface, frame, len);
	if (!bad && run.payloads)
		bad = frame_payload(frame, len, run.quotes);
	if (bad)
		fail(bad, frame, len);
	if (iface != IF_WAN)
		return;
	if (frame[12] == 0x86) {
		ip6 ends[2];
		memcpy(ends, frame + ETH + 8, sizeof ends);
		for (uint32_t i = 0; i < 2; i++)
			if (nat64_prefix_of(nat64_of(&rig.gw), &ends[i]) != NAT64_NO_PREFIX)
				fail("an address of our prefix on the WAN", frame, len);
		return;
	}
	ip4 from;
	memcpy(&from, frame + ETH + 12, 4);
	if (frame[12] == 8 && frame[13] == 0 && ip4_get(from) != OWN &&
	    ip4_get(from) >> 2 != POOL >> 2)
		fail("a source that may not be on the WAN", frame, len);
}

static void start(uint8_t choice)
{
	const char *more = kinds[choice % 8];
	configure(common, sizeof common - 1);
	configure(more, strlen(more));
	if (choice & 8)
		serve("198.51.100.9");
	start_app("nat64", choice & 16 ? 12 : 64);
	rig_advance(&rig, 4000000); /* the addresses are in use */
}

/* --- frames -------------------------------------------------------------------------- */

static uint32_t address4(uint8_t n)
{
	static const uint32_t odd[] = {ROUTER,     0x7f000001, 0xe0000001, 0xffffffff,
	                               0x00000000, 0xc63364ff, 0x0a000001, 0xc0a80101};
	switch (n & 7) {
	case 0:
		return odd[n >> 3 & 7];
	case 1:
	case 2:
		return OWN;
	case 3:
		return POOL + (n >> 3 & 3);
	default:
		return 0x08080808u + (n >> 6);
	}
}

static void address6(uint8_t n, uint8_t m, uint8_t out[16])
{
	static const ip6 host = {{0x20, 1, 0x0d, 0xb8, 0, 1}};
	static const ip6 other[] = {
	        {{0x20, 1, 0x0d, 0xb8, 0, 2}}, {{0xfe, 0x80}}, {{0xff, 2}}, {{0x40}}};
	const struct nat64 *g = nat64_of(&rig.gw);
	ip6 a = host;
	if (n & 1)
		embed_to6(&g->prefix[n >> 1 & 1 ? g->n_prefixes - 1 : 0].form, swap32(address4(m)),
		          &a);
	else if ((n & 14) == 14)
		a = other[n >> 4 & 3];
	if (!(n & 1))
		a.b[15] = n & 128 ? m : (uint8_t)(10 + (n >> 4 & 3));
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
	uint32_t host = 0xc0a8010au + (from >> 7); /* 192.168.1.10 and .11 */
	frame_ip4(head, mac_of(iface), iface == IF_LAN && from & 1 ? host : address4(from),
	          how & 8 ? address4(to) : OWN, proto, 0);
	if (how & 2)
		m = make_piece4(in, head + ETH);
	head[20] |= how & 0x40;
	head[22] = how & 16 ? 1 : 64;
	head[14] = (uint8_t)(0x45 + options / 4);
	memcpy(f, head, sizeof head);
	memset(f + IP4_L4, 1, options);
	if (options) { /* a source route, completed or not */
		f[IP4_L4] = how & 32 ? 131 : 7;
		f[IP4_L4 + 1] = 7;
		f[IP4_L4 + 2] = how & 1 ? 8 : 4;
	}
	uint32_t at = IP4_L4 + options;
	uint32_t n = at + make_transport(in, f + at, FRAME_MAX - at, proto, &m);
	f[16] = (uint8_t)((n - ETH) >> 8);
	f[17] = (uint8_t)(n - ETH);
	return n;
}

static uint32_t make6(struct input *in, uint8_t *f, uint32_t iface)
{
	uint8_t how = input_u8(in), from[16], to[16], next;
	uint8_t a = input_u8(in), b = input_u8(in), c = input_u8(in), proto = make_proto(in, true);
	struct middle m = {0};
	uint32_t head = 0;
	not_headers(proto);
	address6(how & 2 ? a : a & 0xf0, a, from);
	address6(b | 1, c, to);
	if (how & 8)
		address6(b, c, to);
	next = proto;
	if (how & 1)
		head = make_chain(in, f + IP6_L4, FRAME_MAX - IP6_L4 - 24, &next, proto, &m);
	uint32_t at = IP6_L4 + head, n = make_transport(in, f + at, FRAME_MAX - at, proto, &m);
	return frame6_ip(f, mac_of(iface), from, to, next, how & 64 ? 1 : 64, head + n);
}

/* An ICMP error about the last packet that left an interface. */
static uint32_t make_error(struct input *in, uint8_t *f, uint32_t iface)
{
	static const uint8_t types4[] = {3, 11, 12, 3}, types6[] = {1, 2, 3, 4};
	uint8_t a = input_u8(in), b = input_u8(in), *last = run.last[iface];
	bool is6 = run.last_len[iface] > ETH && last[12] == 0x86;
	uint32_t quote = run.last_len[iface] > ETH ? run.last_len[iface] - ETH : 0;
	uint8_t *icmp = f + (is6 ? IP6_L4 : IP4_L4);
	quote = min_u32(quote, a & 128 ? 28 + (a & 63) : 1000);
	memset(icmp, 0, 1400);
	icmp[0] = is6 ? types6[a >> 4 & 3] : types4[a >> 4 & 3];
	icmp[1] = a & 15;
	icmp[6] = b & 7;
	icmp[7] = b;
	memcpy(icmp + 8, last + ETH, quote);
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

static void frame(struct input *in, uint8_t op)
{
	uint8_t f[FRAME_MAX + 64];
	uint32_t iface = op >> 7, len;
	memset(f, 0, sizeof f);
	switch (op & 7) {
	case 0:
		len = iface == IF_LAN ? make4(in, f, iface) : make6(in, f, iface);
		break;
	case 1:
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
	if (op & 64) {
		uint8_t how = input_u8(in);
		len = bend(in, how, f, len, 120);
		if (how & 16)
			run.sums = false;
	}
	if (run.sums && len > ETH && f[12] == 0x86)
		frame6_repair(f + ETH, len - ETH);
	if (run.sums)
		frame_repair(f, len);
	(void)rig_input(&rig, iface, f, len); /* false: no packet is free, which may happen */
	if (op & 32 && (op & 7) < 3)
		flood(in, f, len, iface);
}

/* --- start, end and operations ------------------------------------------------------- */

static bool holds_syns(void)
{
	return nat64_of(&rig.gw)->nat.syns.n_held > 0;
}

static void one_input(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	begin(input_u8(&in) & 31, SERVE_MEMORY, start, seen);
	play(&in, frame);
	const char *bad = nat_check(&nat64_of(&rig.gw)->nat.table, &rig.gw);
	if (bad)
		fail(bad, NULL, 0);
	/* The longest wait for a neighbour, and for the one to which the error about it goes;
	 * stored SYNs wait for six seconds, and then for the limit of errors. */
	waits = holds_syns;
	silence(120000000);
}
