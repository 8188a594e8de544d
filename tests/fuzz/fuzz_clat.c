/* libFuzzer: any IPv4 or IPv6 frame on any interface of the customer-side translator, answers about
 * the provider's prefix among them, while time passes. It works as fuzz_gw.c does.
 *
 * Checked: each frame that leaves is well formed, its checksums are right if those of the incoming
 * frames were; neither IPv4 nor ARP is on the WAN; what goes to the provider's prefix has our
 * address or one of the hosts'; no host of the LAN sees an address that stands for the translation;
 * the tables are consistent; in the end, after a time without traffic, every packet is free. */
#include "apps/clat/clat.h"
#include "tests/fuzz/gateway.h"
#include "tests/host/nat_check.h"

#include <string.h>

#define IP4_L4 34u
#define IP6_L4 54u
#define HOST   0xc0a8010au /* 192.168.1.10 */
#define FAR    0xc6336407u /* 198.51.100.7 */

static const char common[] = "lan.address 192.168.1.1/24\n"
                             "wan.address 2001:db8:2::2/64\n"
                             "gateway 2001:db8:2::1\n"
                             "nameserver 2001:db8:2::1\n"
                             "neighbour 192.168.1.10 52:52:52:52:52:52\n"
                             "neighbour 192.168.1.11 52:52:52:52:52:52\n"
                             "neighbour 2001:db8:2::1 52:52:52:52:52:52\n"
                             "wkp-strict off\n"
                             "nat.sessions 16\n";

static const char *const kinds[] = {
        "clat.prefix 2001:db8:64::/96\nclat.address 2001:db8:2::464\n",
        "clat.prefix 2001:db8:64::/96\nclat.address 2001:db8:c1a7::/64\n",
        "clat.prefix 2001:db8:100::/40\nnat.filtering endpoint-independent\nwan.mtu 1280\n",
        "clat.address 2001:db8:2::464\n",
        ("clat.prefix 64:ff9b::/96\nclat.mss-clamp 1220\nclat.lowest-ipv6-mtu 1500\n"
         "nat.forward tcp 80 192.168.1.10:80\n"),
        ("clat.prefix 2001:db8:64::/64\nclat.address 2001:db8:c1a7::/64\nlan.mtu 1280\n"
         "lan.address 2001:db8:1::1/64\nneighbour 2001:db8:1::a 52:52:52:52:52:52\n"),
        "wan.address auto\nnat.filtering endpoint-independent\nnat.host-limit 4\n",
        ("clat.prefix 2001:db8:64::/48\nlan2 nic2\nlan2.address 192.168.2.1/24\n"
         "neighbour 192.168.2.10 52:52:52:52:52:52\n"),
};

/* --- what leaves ---------------------------------------------------------------------------- */

static const struct clat *clat(void)
{
	return clat_of(&rig.gw);
}

static bool is_near(const uint8_t *a) /* 192.0.0.0/29 */
{
	return a[0] == 192 && a[1] == 0 && a[2] == 0 && a[3] < 8;
}

static void seen_on_wan(const uint8_t *frame, uint32_t len)
{
	static const ip6 native = {{0x20, 1, 0x0d, 0xb8, 0, 1}};
	ip6 from, to;
	uint32_t ignored;
	if (frame[12] == 8)
		fail("IPv4 or ARP on the WAN", frame, len);
	memcpy(&from, frame + ETH + 8, sizeof from);
	memcpy(&to, frame + ETH + 24, sizeof to);
	/* An ICMPv6 error about a packet from there is the gateway's own; and a host with IPv6 may
	 * use the provider's translator itself. */
	if (!addr_in6(&from, &native, 64) && clat()->has_prefix && embed_has(&clat()->form, &to) &&
	    frame[ETH + 6] != PROTO_ICMP6 && !clat_to4(clat(), &from, &ignored))
		fail("a foreign source goes to the prefix", frame, len);
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
	if (iface == IF_WAN)
		seen_on_wan(frame, len);
	else if (frame[12] == 8 && frame[13] == 0 && is_near(frame + ETH + 16))
		fail("the near end of the translation on the LAN", frame, len);
}

static void start(uint8_t choice)
{
	const char *more = kinds[choice % 8];
	configure(common, sizeof common - 1);
	configure(more, strlen(more));
	run.payloads = strstr(more, "clat.prefix") != NULL; /* those of our questions are others */
	start_app("clat", choice & 8 ? 12 : 64);
	rig_advance(&rig, 6000000); /* the addresses are in use; questions are asked */
}

/* --- frames -------------------------------------------------------------------------------- */

static uint32_t address4(uint8_t n)
{
	static const uint32_t odd[] = {0xc0a80101, 0x7f000001, 0xe0000001, 0xffffffff,
	                               0x00000000, CLAT_OWN,   0x0a000001, CLAT_DUMMY};
	switch (n & 7) {
	case 0:
		return odd[n >> 3 & 7];
	case 1:
		return HOST + (n >> 3 & 1);
	default:
		return FAR + (n >> 6);
	}
}

/* An address behind the prefix; one of a router where no prefix is known. */
static void beyond(uint32_t four, uint8_t out[16])
{
	static const ip6 router = {{0x20, 1, 0x0d, 0xb8, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};
	ip6 a = router;
	if (clat()->has_prefix)
		embed_to6(&clat()->form, swap32(four), &a);
	memcpy(out, &a, 16);
}

static void near6(uint32_t four, uint8_t out[16])
{
	ip6 a = {{0}};
	(void)clat_to6(clat(), swap32(four), &a);
	memcpy(out, &a, 16);
}

/* An IPv6 address: mostly one of the translation. */
static void address6(uint8_t n, uint8_t m, uint8_t out[16])
{
	static const ip6 other[] = {{{0x20, 1, 0x0d, 0xb8, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}},
	                            {{0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}},
	                            {{0x20, 1, 0x0d, 0xb8, 0xff}},
	                            {{0x20, 1, 0x0d, 0xb8, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10}}};
	if (n & 1)
		beyond(address4(m), out);
	else if (n & 6)
		near6(address4(m), out);
	else
		memcpy(out, &other[n >> 3 & 3], 16);
}

/* An IPv4 packet, whole or a fragment, with options or without. */
static uint32_t make4(struct input *in, uint8_t *f, uint32_t iface)
{
	uint8_t how = input_u8(in), from = input_u8(in), to = input_u8(in);
	uint8_t proto = make_proto(in, false), head[ETH + 20];
	struct middle m = {0};
	uint32_t options = how & 4 ? 12 : 0;
	not_headers(proto);
	frame_ip4(head, mac_of(iface), how & 8 ? address4(from) : HOST + (from >> 7),
	          how & 32 ? address4(to) : FAR + (to >> 6), proto, 0);
	if (how & 2)
		m = make_piece4(in, head + ETH);
	head[20] |= how & 0x40;
	head[22] = how & 16 ? 1 : 64;
	head[14] = (uint8_t)(0x45 + options / 4);
	memcpy(f, head, sizeof head);
	memset(f + IP4_L4, 1, options);
	if (options) { /* a record of the route */
		f[IP4_L4] = 7;
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
	uint8_t a = input_u8(in), b = input_u8(in), proto = make_proto(in, true);
	struct middle m = {0};
	uint32_t head = 0;
	not_headers(proto);
	beyond(how & 2 ? address4(a) : FAR + (a >> 6), from);
	near6(HOST, to);
	if (how & 4)
		address6(a, b, from);
	if (how & 8)
		address6(b, a, to);
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
	return frame_ip4(f, mac_of(iface), b & 64 ? address4(a) : HOST, ip4_get(to), 1, 8 + quote);
}

/* An answer to the last question for ipv4only.arpa: records with a well-known address behind a
 * prefix, or with any bytes. 0 when the last frame was no question. */
static uint32_t make_prefix_answer(struct input *in, uint8_t *f)
{
	const uint8_t *last = run.last[IF_WAN];
	uint32_t len = run.last_len[IF_WAN], n = 1 + input_u8(in) % 3;
	if (len < IP6_L4 + 8 + 12 || last[12] != 0x86 || last[20] != PROTO_UDP ||
	    load16(last + IP6_L4 + 2) != swap16(53))
		return 0;
	memcpy(f, last, len);
	uint8_t *m = f + IP6_L4 + 8, how = input_u8(in);
	m[2] |= 0x80;
	m[3] = how & 15 ? 0 : 3; /* NXDOMAIN */
	m[7] = (uint8_t)n;
	for (uint32_t i = 0; i < n; i++, len += 28) {
		static const uint8_t record[12] = {0xc0, 12, 0, 28, 0, 1, 0, 0, 0, 0, 0, 16};
		uint8_t *at = f + len, k = input_u8(in);
		static const uint8_t lengths[] = {96, 64, 56, 48, 40, 32, 96, 96};
		struct prefix p = {.addr = {.is6 = true, .v6 = {{0x20, 1, 0x0d, 0xb8}}},
		                   .len = lengths[k & 7]};
		struct embed_form form;
		ip6 a;
		memcpy(at, record, sizeof record);
		at[8] = input_u8(in);
		(void)embed_set_up(&form, &p, false);
		embed_to6(&form, swap32(0xc00000aa + (k >> 3 & 1)), &a);
		if (k & 128)
			a.b[k >> 3 & 15] = input_u8(in);
		memcpy(at + 12, &a, 16);
	}
	uint32_t udp = len - IP6_L4;
	store16(f + IP6_L4 + 4, swap16((uint16_t)udp));
	store16(f + 18, swap16((uint16_t)udp));
	uint8_t ends[32];
	memcpy(ends, f + 22, 32);
	memcpy(f + 22, ends + 16, 16);
	memcpy(f + 38, ends, 16);
	uint16_t ports[2] = {load16(f + IP6_L4), load16(f + IP6_L4 + 2)};
	store16(f + IP6_L4, ports[1]);
	store16(f + IP6_L4 + 2, ports[0]);
	memcpy(f, mac_of(IF_WAN), 6);
	store16(f + IP6_L4 + 6, 0);
	uint16_t sum = csum_plus(csum_sum(f + IP6_L4, udp),
	                         csum_pseudo6((const ip6 *)(f + 22), (const ip6 *)(f + 38),
	                                      PROTO_UDP, (uint16_t)udp));
	store16(f + IP6_L4 + 6, sum == 0xffff ? 0xffff : (uint16_t)~sum);
	return len;
}

static void frame(struct input *in, uint8_t op)
{
	uint8_t f[FRAME_MAX + 64];
	uint32_t iface = op >> 7, len;
	memset(f, 0, sizeof f);
	switch (op & 7) {
	case 0:
		len = iface == IF_LAN ? make6(in, f, iface) : make4(in, f, iface);
		break;
	case 1:
	case 2:
		len = iface == IF_LAN ? make4(in, f, iface) : make6(in, f, iface);
		break;
	case 3:
		len = make_answer(f, iface);
		break;
	case 4:
		len = make_error(in, f, iface);
		break;
	default:
		iface = IF_WAN;
		len = make_prefix_answer(in, f);
		len = len ? len : make_raw(in, f, iface);
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
	if (is_sealed(f, len))
		run.sums = run.payloads = false;
	arrive(iface, f, len);
	if (op & 32 && (op & 7) < 3)
		flood(in, f, len, iface);
}

/* --- start, end and operations --------------------------------------------------------------- */

static bool holds_syns(void)
{
	return clat()->nat.syns.n_held > 0;
}

static void one_input(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	begin(input_u8(&in) & 15, 4u << 20, start, seen);
	play(&in, frame);
	const char *bad = nat_check(&clat()->nat.table, &rig.gw);
	if (bad)
		fail(bad, NULL, 0);
	waits = holds_syns;
	silence(120000000);
}
