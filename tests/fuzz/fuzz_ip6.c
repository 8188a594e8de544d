/* libFuzzer: any IPv6 frame on any interface, and out of a tunnel, while time passes. It works as
 * fuzz_gw.c does, with the router of tests/host/route6.c, or with `nat` and its filter.
 *
 * Checked: each frame that leaves is well formed; in the end, after a time without traffic, every
 * packet is free, and the counts of neighbours and groups are true. */
#include "net/ip6/icmp6.h"
#include "net/gw_address.h"
#include "net/ip6/ip6.h"
#include "net/ip6/mld.h"
#include "net/ra/ra.h"
#include "tests/fuzz/gateway.h"

#define OUTER   34u /* Ethernet and the tunnel's IPv4 header */
#define IP6     54u
#define PEER    0xcb007109u /* 203.0.113.9 */
#define OUR_END 0xcb007102u

static const char config[] = "lan.address 2001:db8:1::1/64\n"
                             "wan.address 2001:db8:2::2/64\n"
                             "wan.address 203.0.113.2/24\n"
                             "gateway 2001:db8:2::1\n"
                             "route 2001:db8:c::/48 via 2001:db8:1::12\n"
                             "neighbour 203.0.113.9 52:52:52:52:52:52\n"
                             "neighbour 2001:db8:2::1 52:52:52:52:52:52\n"
                             "neighbour 2001:db8:1::10 52:52:52:52:52:52\n"
                             "lan.rdnss 2001:db8:1::1\n"
                             "lan.dnssl example.org\n"
                             "lan.dnssl lab.example.org.\n"
                             "lan.pref64 64:ff9b::/96\n"
                             "lan.pref64 2001:db8:64::/48\n";

/* Groups of bits in the frames below, and prefixes that an application advertises. */
static const ip6 lan_net = {{0x20, 1, 0x0d, 0xb8, 0, 1}},
                 tunnel_net = {{0x20, 1, 0x0d, 0xb8, 0, 10}};

/* A DHCPv6 message of the gateway itself: link-local addresses are never forwarded. */
static bool own_dhcp6(const uint8_t *f, uint32_t len)
{
	return len > IP6 + 8 && f[12] == 0x86 && f[13] == 0xdd && f[20] == PROTO_UDP &&
	       f[22] == 0xfe && f[54] == 2 && f[56] == 2 && (f[55] ^ f[57]) == 1;
}

static void seen(struct rig *r, uint32_t iface, const uint8_t *frame, uint32_t len)
{
	note(iface, frame, len);
	const char *bad = check(iface, frame, len);
	if (!bad && len > OUTER && frame[12] == 8 && frame[13] == 0 && frame[23] == 41)
		bad = frame6_check(frame + OUTER, len - OUTER, r->gw.iface[iface].mtu, run.sums);
	if (!bad && run.payloads && !own_dhcp6(frame, len))
		bad = frame_payload(frame, len, run.quotes);
	if (bad)
		fail(bad, frame, len);
}

static void start(uint8_t choice)
{
	static const char small[] = "lan.mtu 1280\n", off[] = "lan.ra off\n",
	                  host[] = "wan.address auto\n",
	                  nat[] = "lan.address 192.168.1.1/24\nforward6 udp [2001:db8:1::10]:53\n"
	                          "forward6 all 2001:db8:1::11\nnat.sessions 64\n";
	configure(config, sizeof config - 1);
	if (choice & 8)
		configure(small, sizeof small - 1);
	if (choice & 16)
		configure(off, sizeof off - 1);
	if (choice & 64)
		configure(host, sizeof host - 1);
	if (choice & 2)
		configure(nat, sizeof nat - 1);
	start_app(choice & 2 ? "nat" : "route6", choice & 32 ? 12 : 64);
	if (choice & 1)
		rig_advance(&rig, 4000000); /* the addresses are in use */
}

/* --- frames -------------------------------------------------------------------------- */

/* An address of any kind, near the gateway's own ones. */
static void address(uint8_t n, uint32_t iface, uint8_t out[16])
{
	static const ip6 net[] = {
	        {{0x20, 1, 0x0d, 0xb8, 0, 1}},      /* the LAN */
	        {{0x20, 1, 0x0d, 0xb8, 0, 2}},      /* the WAN */
	        {{0x20, 1, 0x0d, 0xb8, 0, 15}},     /* behind the router */
	        {{0x20, 1, 0x0d, 0xb8, 0, 10}},     /* behind the tunnel */
	        {{0xfe, 0x80}},                     /* link-local */
	        {{0xff, 2}},                        /* groups */
	        {{0xff, 2, [11] = 1, [12] = 0xff}}, /* solicited-node groups */
	        {{0}},                              /* no host */
	};
	memcpy(out, &net[n & 7], 16);
	out[15] = (uint8_t)(n >> 3 & 7);
	if ((n & 7) < 4 && n & 128)
		out[15] |= 0x10;
	if ((n & 7) == 2 && n & 64)
		out[5] = n & 128 ? 11 : 12; /* without a next hop, or behind a router on the LAN */
	if ((n & 7) == 4 && n & 64)
		memcpy(out, &rig.gw.iface[iface].addr6[0].addr, 16);
	if ((n & 7) == 6 && n & 64)
		out[13] = 1;
}

static uint32_t make_packet(struct input *in, uint8_t *f, uint32_t iface)
{
	uint8_t a = input_u8(in), from[16], to[16], next, proto = make_proto(in, true);
	struct middle m;
	not_headers(proto);
	address(input_u8(in), iface, from);
	address(input_u8(in), iface, to);
	uint32_t head = make_chain(in, f + IP6, FRAME_MAX - IP6 - 24, &next, proto, &m);
	uint32_t at = IP6 + head, n = make_transport(in, f + at, FRAME_MAX - at, proto, &m);
	return frame6_ip(f, mac_of(iface), from, to, next, a & 16 ? 1 : 64, head + n);
}

/* Neighbour discovery and multicast listener discovery, almost valid. */
static uint32_t make_message(struct input *in, uint8_t *f, uint32_t iface)
{
	static const uint8_t kinds[] = {135, 136, 133, 134, 130, 131, 137, 135};
	static const uint8_t alert[] = {58, 0, 5, 2, 0, 0, 1, 0};
	uint8_t a = input_u8(in), b = input_u8(in), from[16], to[16], target[16];
	uint8_t kind = kinds[a & 7], *l4 = f + IP6;
	bool mld = kind == 130 || kind == 131;
	address(input_u8(in), iface, from);
	address(input_u8(in), iface, to);
	address(b, iface, target);
	uint32_t n = mld ? 8 : 0, fixed = kind == 134 ? 16 : kind == 133 ? 8 : 24;
	memcpy(l4, alert, n);
	l4 += n;
	memset(l4, 0, 64);
	l4[0] = kind;
	l4[4] = kind == 136 ? (uint8_t)(a & 0xe0) : 0;
	if (mld)
		l4[5] = b;
	if (fixed == 24)
		memcpy(l4 + 8, target, 16);
	n += fixed + (mld && a & 16 ? 4u : 0);
	if (!mld && a & 8) { /* the sender's MAC address */
		l4[fixed] = kind == 136 ? 2 : 1;
		l4[fixed + 1] = 1;
		memset(l4 + fixed + 2, 0x52 + (a >> 6), 6);
		n += 8;
	}
	return frame6_ip(f, mac_of(iface), from, to, mld ? 0 : 58, mld ? 1 : 255, n);
}

static const uint32_t lifetime[] = {0, 1, 60, 7200, 7201, 90000, UINT32_MAX - 1, UINT32_MAX};

static void put32(uint8_t *to, uint32_t v)
{
	to[0] = (uint8_t)(v >> 24);
	to[1] = (uint8_t)(v >> 16);
	to[2] = (uint8_t)(v >> 8);
	to[3] = (uint8_t)v;
}

/* One option of a router advertisement; gives its length. */
static uint32_t make_option(struct input *in, uint8_t *o)
{
	static const uint8_t type[] = {3, 3, 24, 25, 38, 5, 31, 1};
	static const uint8_t length[] = {4, 4, 3, 3, 2, 1, 2, 1};
	static const uint8_t bits[] = {64, 64, 48, 0, 128, 127, 60, 96};
	uint8_t kind = input_u8(in), what = input_u8(in), net = input_u8(in);
	uint32_t n = length[kind & 7];
	if (kind & 64) /* another length, perhaps a wrong one */
		n = max_u32(what & 7, 1);
	memset(o, 0, 8 * 8);
	o[0] = type[kind & 7];
	o[1] = (uint8_t)n;
	o[2] = bits[kind >> 3 & 7];
	o[3] = (uint8_t)(what & 0xd8);
	put32(o + 4, lifetime[what & 7]);
	if (o[0] == 3) {
		put32(o + 8, lifetime[what >> 3 & 7]);
		address(net, IF_WAN, o + 16);
		o[16 + 6] = (uint8_t)(net & 3); /* several prefixes of the WAN, and more */
	} else if (o[0] == 38) {
		o[2] = (uint8_t)(net << 2);
		o[3] = (uint8_t)(what & 15);
		address(net, IF_WAN, o + 4);
	} else if (o[0] == 5) {
		put32(o + 4, net * 8u);
	} else if (o[0] == 1) {
		memset(o + 2, 0x52 + (what & 1), 6);
	} else {
		address(net, IF_WAN, o + 8);
	}
	return n * 8;
}

/* A router advertisement as routers of the WAN send it, almost valid. */
static uint32_t make_advertisement(struct input *in, uint8_t *f)
{
	static const uint8_t all[16] = {0xff, 2, [15] = 1};
	uint8_t a = input_u8(in), b = input_u8(in),
	        from[16] = {0xfe, 0x80, [15] = (uint8_t)(a & 15)};
	uint8_t *l4 = f + IP6;
	uint32_t n = 16;
	memset(l4, 0, n);
	l4[0] = 134;
	l4[4] = b;
	l4[5] = (uint8_t)(a & 0xd8);
	l4[6] = b & 1 ? 7 : 0; /* lifetime of half an hour, of some seconds, or none */
	l4[7] = (uint8_t)(b & 6);
	put32(l4 + 8, lifetime[b >> 2 & 7]);
	put32(l4 + 12, lifetime[b >> 5 & 7]);
	for (uint32_t i = a >> 4 & 7; i > 0; i--)
		n += make_option(in, l4 + n);
	return frame6_ip(f, mac_of(IF_WAN), from, all, 58, 255, n);
}

/* Encapsulates an IPv6 frame as the far end of the tunnel does. */
static uint32_t wrap(uint8_t *f, uint32_t len)
{
	if (len <= ETH || len > FRAME_MAX - 20)
		return len;
	memmove(f + OUTER, f + ETH, len - ETH);
	return frame_ip4(f, mac_of(IF_WAN), PEER, OUR_END, 41, len - ETH);
}

/* Overwrites some bytes, or truncates the frame. */
static uint32_t spoil(struct input *in, uint8_t *f, uint32_t len)
{
	uint8_t how = input_u8(in);
	len = bend(in, how, f, len, 80);
	if (how & 16)
		run.sums = false;
	return len;
}

static void frame(struct input *in, uint8_t op)
{
	uint8_t f[FRAME_MAX + 64];
	uint32_t iface = op >> 7, len;
	bool wrapped = op & 32 && iface == IF_WAN;
	memset(f, 0, sizeof f);
	switch (op & 7) {
	case 0:
	case 1:
		len = make_packet(in, f, iface);
		break;
	case 4:
		if (rig.gw.autoconf.on && iface == IF_WAN) {
			len = make_advertisement(in, f);
			break;
		}
		len = make_message(in, f, iface);
		break;
	case 2:
		len = make_message(in, f, iface);
		break;
	case 3:
		len = make_answer(f, iface);
		break;
	default:
		len = make_raw(in, f, iface);
	}
	if (op & 64)
		len = spoil(in, f, len);
	if (run.sums && len > ETH && (wrapped || f[12] == 0x86))
		frame6_repair(f + ETH, len - ETH);
	if (wrapped)
		len = wrap(f, len);
	frame_repair(f, len);
	arrive(iface, f, len);
	if (op & 16 && (op & 7) < 5)
		flood(in, f, len, iface);
}

/* A packet of the gateway itself to any address, as a service sends it. */
static void send_own(struct input *in)
{
	uint8_t size = input_u8(in), to[16];
	uint32_t iface = size & 1;
	ip6 target;
	void *message;
	address(input_u8(in), iface, to);
	memcpy(&target, to, sizeof target);
	const ip6 *own = gw_own_address6(&rig.gw, iface, &target);
	if (!own || ip6_is_unspecified(&target) || ip6_is_group(&target))
		return;
	struct pkt *p = icmp6_new(&rig.gw, 8 + size * 6u, &message);
	if (!p)
		return;
	memset(message, 0, 8 + size * 6u);
	((uint8_t *)message)[0] = ICMP6_ECHO_REPLY;
	ip6_build(p, own, &target, PROTO_ICMP6, IP6_HOPS);
	ip6_sum(p, offsetof(struct icmp6_hdr, sum));
	gw_send6(&rig.gw, p);
	run.payloads = false;
}

/* The calls of an application when its addresses change, and of the gateway when it stops. */
static void change_own(struct input *in)
{
	static const struct prefix pref64 = {.addr = {.is6 = true, .v6 = {{0, 0x64, 0xff, 0x9b}}},
	                                     .len = 96};
	struct gw *gw = &rig.gw;
	uint8_t what = input_u8(in);
	uint32_t iface = what >> 7;
	ip6 group = mld_solicited(&lan_net);
	mac filter[MLD_GROUPS + 1];
	ip6 own = gw->iface[IF_LAN].addr6[0].addr;
	switch (what & 7) {
	case 0:
		mld_join(gw, iface, &group);
		break;
	case 1:
		mld_leave(gw, iface, &group);
		if (mld_filter(&gw->iface[iface], filter) > MLD_GROUPS + 1)
			fail("too many groups for a card", NULL, 0);
		break;
	case 2:
		if (!ra_set_prefix(gw, iface, what & 8 ? &tunnel_net : &lan_net, 64,
		                   ND_PREFIX_ON_LINK, RA_VALID_S, RA_PREFERRED_S))
			fail("no room for two prefixes", NULL, 0);
		break;
	case 3:
		ra_deprecate(gw, iface, what & 8 ? &tunnel_net : &lan_net, 64);
		break;
	case 4:
		ra_set_dns(gw, IF_LAN, &own);
		ra_set_pref64(gw, IF_LAN, &pref64, 1, !(what & 8));
		break;
	case 5:
		ra_stop(gw);
		break;
	case 6:
		ra_start(gw, iface, what & 8 ? RA_LIFETIME_S : 0, RA_PREF_LOW, 1280);
		break;
	default:
		send_own(in);
	}
}

/* --- start, end and operations ------------------------------------------------------- */

static void check_tables(void)
{
	uint32_t asking[2] = {0};
	for (unsigned s = 0; s < NEIGH_SETS; s++)
		for (unsigned w = 0; w < NEIGH_WAYS; w++) {
			const struct neigh *n = &rig.gw.neigh.entry[s][w];
			asking[n->is6] += n->state == NEIGH_ASKING;
		}
	if (memcmp(asking, rig.gw.neigh.n_asking, sizeof asking) != 0)
		fail("pending solicitations are miscounted", NULL, 0);
	for (uint32_t i = 0; i < INTERFACES; i++)
		if (rig.gw.iface[i].n_groups > MLD_GROUPS)
			fail("too many groups", NULL, 0);
}

/* What routers of the WAN advertised stays within its bounds, and what follows from it is there. */
static void check_autoconf(void)
{
	const struct autoconf *a = &rig.gw.autoconf;
	const struct interface *wan = &rig.gw.iface[IF_WAN];
	uint32_t made = 0;
	if (a->n_routers > AUTOCONF_ROUTERS || a->n_prefixes > AUTOCONF_PREFIXES ||
	    a->n_routes > AUTOCONF_ROUTES || a->n_servers > AUTOCONF_SERVERS ||
	    a->n_pref64 > AUTOCONF_PREF64 || a->n_hops > ARRAY_SIZE(a->hop))
		fail("more is known than there is room for", NULL, 0);
	for (uint32_t i = 0; i < a->n_hops; i++)
		if (!route6_has(&rig.gw.routes6, &a->hop[i].net, a->hop[i].len, &a->hop[i].via))
			fail("a route that was advertised is missing", NULL, 0);
	for (uint32_t i = 0; i < wan->n_addr6; i++)
		made += wan->addr6[i].by_router;
	if (made > AUTOCONF_PREFIXES)
		fail("more addresses than prefixes", NULL, 0);
	if (wan->mtu6 < 1280 || wan->mtu6 > wan->mtu || wan->hops6 < 32 ||
	    wan->reachable_ms < 1000 || wan->retrans_ms < 100)
		fail("a router set a value that it may not", NULL, 0);
}

static void end(void)
{
	check_tables();
	check_autoconf();
	/* The longest wait for a neighbour, and for the one to which the error about it goes. */
	silence(rig.gw.autoconf.on ? 30000000 : 12000000);
	check_tables();
}

static void one_input(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	change = change_own;
	begin(input_u8(&in) & 127, 4u << 20, start, seen);
	play(&in, frame);
	end();
}
