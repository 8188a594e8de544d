/* libFuzzer: any frame on any interface of a 6to4 (or 6rd) router, with its NAT and without, while
 * time passes. It works as fuzz_gw.c does.
 *
 * Checked: each frame that leaves is well formed; a frame that leaves by the WAN is IPv4 from the
 * gateway, and a tunnel packet is allowed by RFC 3964 section 5.1; a frame that leaves by the LAN
 * has no source that the tunnel must refuse. In the end, after a time without traffic, every packet
 * is free and the tables are consistent. */
#include "apps/tunnel/tun.h"
#include "tests/fuzz/gateway.h"
#include "tests/host/nat_check.h"

#define OUTER   34u         /* Ethernet and IPv4 */
#define IP6     54u         /* Ethernet and IPv6 */
#define FAR     0xc6336400u /* 198.51.100.0: other sites, behind the router */
#define LAN_NET 0xc0a80100u

static const char config[] = "lan.address 192.168.1.1/24\n"
                             "neighbour 192.168.1.10 52:52:52:52:52:52\n"
                             "nat.sessions 100\n"
                             "nat.udp-timeout 5\n"
                             "nat.icmp-timeout 5\n"
                             "lan.ra off\n"
                             "6to4.relay 198.51.100.7\n"
                             "6rd.relay 198.51.100.7\n";
/* Public addresses; behind another NAT; a provider's network (6rd). */
static const char *const wan[] = {
        "wan.address 203.0.113.2/24\ngateway 203.0.113.1\n"
        "neighbour 203.0.113.1 52:52:52:52:52:52\nlan.address 2002:cb00:7102:1::1/64\n",
        "wan.address 10.9.9.2/24\ngateway 10.9.9.1\nneighbour 10.9.9.1 52:52:52:52:52:52\n"
        "6to4.address 203.0.113.2\nlan.address 2002:cb00:7102:1::1/64\n",
        "wan.address 203.0.113.2/24\ngateway 203.0.113.1\n"
        "neighbour 203.0.113.1 52:52:52:52:52:52\nlan.address 2001:db8:71:201::1/64\n"
        "6rd.prefix 2001:db8::/32\n6rd.mask 8\n",
        /* No route to most destinations, another network inside, strict filtering. */
        "wan.address 203.0.113.2/24\nroute 198.51.100.0/29 via 203.0.113.1\n"
        "neighbour 203.0.113.1 52:52:52:52:52:52\nlan.address 2002:cb00:7102:1::1/64\n"
        "lan.address 2001:db9::1/64\n6to4.native-from relay\n6to4.dscp zero\n6to4.ecn zero\n"
        "nat.forward tcp 1024 192.168.1.10:80\nnat.hairpin off\nnat.host-limit 6\n",
};

static bool is_rd;
static ip6 our_lan; /* the gateway's address on the LAN */

/* --- frames that may leave ----------------------------------------------------------- */

static bool in_site(const uint8_t *a)
{
	return memcmp(a, our_lan.b, is_rd ? 7 : 6) == 0;
}

/* RFC 3056 section 9; with 6rd the provider may use private addresses. */
static bool is_end(uint32_t a)
{
	if (a >> 24 == 0 || a >> 24 == 127 || a >= 0xe0000000)
		return false;
	return is_rd || !(a >> 24 == 10 || a >> 20 == 0xac1 || a >> 16 == 0xc0a8 ||
	                  a >> 16 == 0xa9fe || (a & 0xffc00000) == 0x64400000);
}

/* The IPv4 address embedded in an address of the domain; false for a native address. */
static bool embedded(const uint8_t *a, uint32_t *v4)
{
	static const uint8_t rd[] = {0x20, 1, 0x0d, 0xb8}, six[] = {0x20, 2};
	const uint8_t *at = a + (is_rd ? 4 : 2);
	if (is_rd ? memcmp(a, rd, 4) : memcmp(a, six, 2))
		return false;
	*v4 = (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
	if (is_rd)
		*v4 = *v4 >> 8 | 0xcb000000;
	return true;
}

static bool is_special(const uint8_t *a)
{
	return (a[0] == 0 && a[1] == 0) || a[0] >= 0xfc;
}

static const char *check_tunnel(const uint8_t *f, uint32_t len)
{
	const uint8_t *ip = f + ETH, *inner = f + OUTER;
	uint32_t to =
	        (uint32_t)ip[16] << 24 | (uint32_t)ip[17] << 16 | (uint32_t)ip[18] << 8 | ip[19];
	uint32_t v4;
	if (ip[0] != 0x45 || ip[6] & 0x40 || ip[8] != 64)
		return "an outer header with options, DF or another TTL";
	if (!is_end(to) || to == ip4_get(rig.gw.iface[IF_WAN].addr[0].addr))
		return "an outer destination that is no tunnel's end";
	if ((ip[6] & 0x3f) | ip[7])
		return NULL; /* a fragment */
	const char *bad = frame6_check(inner, len - OUTER, 1480, run.sums);
	if (bad)
		return bad;
	if (!in_site(inner + 8) || in_site(inner + 24) || is_special(inner + 24))
		return "inner addresses that may not leave";
	if (embedded(inner + 24, &v4) ? to != v4 : to != FAR + 7)
		return "to another end than the inner destination says";
	return inner[6] == 41 || inner[6] == 4 ? "a nested tunnel" : NULL;
}

static const char *check_wan(const uint8_t *f, uint32_t len)
{
	ip4 from;
	if (f[12] != 8)
		return "IPv6 on the WAN";
	memcpy(&from, f + (f[13] == 6 ? 28 : 26), sizeof from);
	if (!ip4_eq(from, rig.gw.iface[IF_WAN].addr[0].addr))
		return "a source that is not ours on the WAN";
	return f[13] == 0 && f[23] == 41 ? check_tunnel(f, len) : NULL;
}

/* Whether an address is in the native network of the LAN, which is not part of the site (`wan`,
 * above). */
static bool is_native(const uint8_t *a)
{
	static const uint8_t net[8] = {0x20, 1, 0x0d, 0xb9};
	return memcmp(a, net, sizeof net) == 0;
}

static bool is_our_lan(const uint8_t *a)
{
	const struct interface *lan = &rig.gw.iface[IF_LAN];
	for (uint32_t i = 0; i < lan->n_addr6; i++)
		if (memcmp(&lan->addr6[i].addr, a, 16) == 0)
			return true;
	return false;
}

static const char *check_lan(const uint8_t *f)
{
	uint32_t v4;
	if (f[12] != 0x86)
		return NULL;
	const uint8_t *from = f + ETH + 8, *to = f + ETH + 24;
	if (is_special(from) || to[0] >= 0xfe || in_site(from) || is_our_lan(from) ||
	    (is_native(from) && is_native(to)))
		return NULL; /* the gateway's own, or between hosts on the LAN */
	if (!in_site(to) && !(f[20] == 58 && f[IP6] == 1 && f[IP6 + 1] == 5))
		return "to a host that is not ours";
	if (embedded(from, &v4) && !is_end(v4))
		return "from a site that cannot be";
	return NULL;
}

static void seen(struct rig *r, uint32_t iface, const uint8_t *frame, uint32_t len)
{
	(void)r;
	note(iface, frame, len);
	const char *bad = check(iface, frame, len);
	if (!bad)
		bad = iface == IF_WAN ? check_wan(frame, len) : check_lan(frame);
	if (!bad && run.payloads)
		bad = frame_payload(frame, len, run.quotes);
	if (bad)
		fail(bad, frame, len);
}

/* True where dns64 runs beside the tunnel. */
static bool serves(uint8_t choice)
{
	return (choice & 0xd8) == 0x48;
}

static void start(uint8_t choice)
{
	const char *its = wan[choice & 3];
	char more[160];
	snprintf(more, sizeof more, "6to4.nat %s\nwan.mtu %u\nlan.mtu %u\n6to4.mtu %u\n%s",
	         choice & 4 ? "off" : "on", choice & 8 ? 1280u : 1500u, choice & 16 ? 1280u : 1500u,
	         choice & 64 ? 1480u : 1280u, choice & 128 ? "6to4.mss-clamp 1220\n" : "");
	configure(config, sizeof config - 1);
	configure(its, strlen(its));
	configure(more, strlen(more));
	if (serves(choice))
		serve("198.51.100.1");
	start_app("6to4", choice & 32 ? 12 : 64);
	our_lan = rig.gw.iface[IF_LAN].addr6[1].addr;
	rig_advance(&rig, 2500000); /* the addresses are in use */
}

/* --- frames -------------------------------------------------------------------------- */

/* An address of the domain that embeds an IPv4 address. */
static void of_site(uint32_t v4, uint8_t out[16])
{
	memset(out, 0, 16);
	if (is_rd) {
		memcpy(out, our_lan.b, 4);
		out[4] = (uint8_t)(v4 >> 16);
		out[5] = (uint8_t)(v4 >> 8);
		out[6] = (uint8_t)v4;
	} else {
		out[0] = 0x20;
		out[1] = 2;
		for (unsigned i = 0; i < 4; i++)
			out[2 + i] = (uint8_t)(v4 >> (24 - 8 * i));
	}
	out[7] = 1;
	out[15] = 9;
}

/* An address of any kind. */
static void address(uint8_t n, uint8_t out[16])
{
	static const uint32_t odd[] = {0x0a000001, 0x7f000001, 0xcb007102, 0xc0a8010a,
	                               0xcb0071ff, 0xe0000001, 0,          0x64400001};
	static const ip6 other[] = {{{0x20, 1, 0x0d, 0xb9, [15] = 5}},
	                            {{0xfe, 0x80, [15] = 9}},
	                            {{0xff, 2, [15] = 1}},
	                            {{0xfd, [15] = 1}},
	                            {{[10] = 0xff, 0xff, 198, 51, 100, 3}},
	                            {{0}},
	                            {{0x3f, 0xff, [15] = 1}},
	                            {{[15] = 1}}};
	switch (n & 7) {
	case 0:
	case 1: /* a host on the LAN, or the gateway */
		memcpy(out, &our_lan, 16);
		out[15] = (uint8_t)(1 + (n >> 3 & 3));
		return;
	case 2: /* the unused rest of the site */
		memcpy(out, &our_lan, 16);
		out[7] ^= 2;
		return;
	case 3:
		of_site(odd[n >> 3 & 7], out);
		return;
	case 4:
		memcpy(out, &other[n >> 3 & 7], 16);
		return;
	default:
		of_site(FAR + (n >> 3 & 7), out);
	}
}

/* Writes an IPv6 packet at f + 54 and the headers before it; gives the frame's length. */
static uint32_t make_packet6(struct input *in, uint8_t *f, bool inwards)
{
	static const uint8_t protos[] = {17, 6, 58, 59, 44, 41, 60, 4};
	uint8_t a = input_u8(in), from[16], to[16];
	address(input_u8(in), from);
	address(input_u8(in), to);
	if (inwards && a & 32) { /* mostly to a host of the site */
		memcpy(to, &our_lan, 16);
		to[15] = (uint8_t)(1 + (a >> 4 & 1));
	}
	uint8_t proto = a & 8 ? protos[a & 7] : make_proto(in, true), next;
	struct middle m;
	not_headers(proto);
	uint32_t room = FRAME_MAX - IP6 - 20; /* leaves room for the outer header */
	uint32_t head = make_chain(in, f + IP6, room - 24, &next, proto, &m);
	uint32_t n = head + make_transport(in, f + IP6 + head, room - head, proto, &m);
	return frame6_ip(f, mac_of(IF_LAN), from, to, next, a & 128 ? 1 : 64, n);
}

/* A tunnel packet from the WAN, perhaps a fragment. */
static uint32_t make_tunnel(struct input *in, uint8_t *f)
{
	uint8_t how = input_u8(in), a = input_u8(in);
	uint32_t len = make_packet6(in, f, true), n, v4, from = FAR + (a & 7);
	const uint8_t *inner = f + ETH;
	if (a & 8 && embedded(inner + 8, &v4))
		from = v4;
	if (a & 16)
		from = FAR + 7; /* the relay */
	frame6_repair(f + ETH, len - ETH);
	n = len - ETH;
	memmove(f + OUTER, f + ETH, n);
	uint32_t at = 0;
	if (how & 1 && n > 128) { /* one fragment of it */
		/* Its other half may be one of a packet without such headers, at another place. */
		not_headers(f[OUTER + 6]);
		at = how & 2 ? n / 2 & ~7u : 0;
		n = how & 2 ? n - at : n / 2 & ~7u;
		at -= how & 4 && at ? 8 : 0; /* overlaps the one before */
		memmove(f + OUTER, f + OUTER + at, n);
	}
	len = frame_ip4(f, mac_of(IF_WAN), from, ip4_get(rig.gw.iface[IF_WAN].addr[0].addr), 41, n);
	f[ETH + 1] = how >> 6; /* ECN */
	f[ETH + 5] = how >> 3 & 3;
	if (how & 1) {
		f[ETH + 6] = (uint8_t)(at / 8 >> 8 | (how & 2 ? 0 : 0x20));
		f[ETH + 7] = (uint8_t)(at / 8);
	}
	return len;
}

/* An ICMP error from the WAN about the last frame that left there. */
static uint32_t make_error(struct input *in, uint8_t *f)
{
	static const uint8_t types[] = {3, 3, 11, 12};
	uint8_t a = input_u8(in), b = input_u8(in);
	uint32_t quote = run.last_len[IF_WAN] > ETH ? run.last_len[IF_WAN] - ETH : 0;
	quote = min_u32(quote, a & 128 ? 20 + (b & 63) : 1000);
	memset(f + OUTER, 0, 8);
	f[OUTER] = types[a >> 4 & 3];
	f[OUTER + 1] = a & 15;
	f[OUTER + 5] = a & 64 ? b : 0; /* RFC 4884 */
	f[OUTER + 6] = 5;
	f[OUTER + 7] = b;
	memcpy(f + OUTER + 8, run.last[IF_WAN] + ETH, quote);
	return frame_ip4(f, mac_of(IF_WAN), FAR + (b & 7),
	                 ip4_get(rig.gw.iface[IF_WAN].addr[0].addr), 1, 8 + quote);
}

/* IPv4 from the LAN: for the NAT, for the gateway, or protocol 41; whole or a fragment. */
static uint32_t make_ip4(struct input *in, uint8_t *f)
{
	uint8_t a = input_u8(in), proto = a & 1 ? 41 : make_proto(in, false);
	struct middle m = {0};
	uint32_t to = a & 32 ? FAR + (a >> 2 & 7) : LAN_NET + (a >> 2 & 1);
	if (a & 64)
		to = ip4_get(rig.gw.iface[IF_WAN].addr[0].addr);
	frame_ip4(f, mac_of(IF_LAN), LAN_NET + 10, to, proto, 0);
	if (a & 128)
		m = make_piece4(in, f + ETH);
	uint32_t n = OUTER + make_transport(in, f + OUTER, FRAME_MAX - OUTER, proto, &m);
	f[16] = (uint8_t)((n - ETH) >> 8);
	f[17] = (uint8_t)(n - ETH);
	return n;
}

/* Turns the last packet that left an interface, and the packet in it, into replies. */
static uint32_t make_answers(uint8_t *f, uint32_t iface)
{
	uint32_t len = make_answer(f, iface);
	if (len > IP6 && f[12] == 8 && f[23] == 41) {
		uint8_t inner[16];
		memcpy(inner, f + OUTER + 8, 16);
		memcpy(f + OUTER + 8, f + OUTER + 24, 16);
		memcpy(f + OUTER + 24, inner, 16);
	}
	return len;
}

static void frame(struct input *in, uint8_t op)
{
	uint8_t f[FRAME_MAX + 64];
	uint32_t iface = op >> 7, len;
	memset(f, 0, sizeof f);
	switch (op & 7) {
	case 0:
		len = iface == IF_LAN ? make_packet6(in, f, false) : make_tunnel(in, f);
		break;
	case 1:
		len = iface == IF_LAN ? make_packet6(in, f, false) : make_error(in, f);
		break;
	case 2:
		len = iface == IF_LAN ? make_ip4(in, f) : make_tunnel(in, f);
		break;
	case 3:
	case 4:
		len = make_answers(f, iface);
		break;
	case 5:
		len = make_query6(in, f, iface);
		len = len ? len : make_raw(in, f, iface);
		break;
	default:
		len = make_raw(in, f, iface);
	}
	if (op & 64) {
		len = bend(in, input_u8(in), f, len, 80);
		run.sums = false; /* the checksums of an inner packet are not corrected */
	}
	if (len > ETH && f[12] == 0x86)
		frame6_repair(f + ETH, len - ETH);
	frame_repair(f, len);
	arrive(iface, f, len);
	if (op & 32 && (op & 7) < 3)
		flood(in, f, len, iface);
}

/* --- start, end and operations ------------------------------------------------------- */

static void end(void)
{
	silence(12000000); /* the longest wait for a neighbour, and the error after it */
	const struct tun *t = tun_of(&rig.gw);
	if (t->reasm.n_used)
		fail("fragments are kept for ever", NULL, 0);
	const char *bad = t->has_nat ? nat_check(&t->nat.table, &rig.gw) : NULL;
	if (bad)
		fail(bad, NULL, 0);
	if (t->n_soft)
		rig_leap(&rig, TUN_SOFT_MS * 1000, 2);
	if (t->n_soft)
		fail("remembered errors outlive their time", NULL, 0);
}

static void one_input(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	uint8_t choice = input_u8(&in);
	is_rd = (choice & 3) == 2;
	begin(choice, SERVE_MEMORY, start, seen);
	our_lan = rig.gw.iface[IF_LAN].addr6[1].addr;
	play(&in, frame);
	end();
}
