/* libFuzzer: any frame on any interface, while time passes.
 *
 * The input is a list of operations: frames built from it (so that deep code is reached), answers
 * to frames of the gateway and errors about them, raw bytes, time, cables and cards. In some
 * configurations frames have VLAN tags, right ones and others. Pool and
 * tables are small, so that they run out. Checked: each frame that leaves is well formed and has an
 * allowed source; in the end, after a time without traffic, every packet is free and the tables are
 * consistent. */
#include "apps/nat/nat.h"
#include "kernel/lib/fmt.h"
#include "tests/fuzz/gateway.h"
#include "tests/host/nat_check.h"

#define LAN_NET  0xc0a80100u /* 192.168.1.0; the gateway is .1 */
#define EXTERNAL 0xcb007102u /* 203.0.113.2 */
#define REMOTE   0xc6336400u /* 198.51.100.0, behind the router */
#define POOL     0xcb007108u /* 203.0.113.8/31, external addresses in some configurations */
/* The maximum lifetime of a session below: that of an established connection plus the transitory
 * time (RFC 7857 section 2, figure 1). */
#define SESSION_S (20 + 15)

static const char config[] = "lan.address 192.168.1.1/24\n"
                             "wan.address 203.0.113.2/24\n"
                             "route 10.0.0.0/8 via 192.168.1.12\n"
                             "neighbour 203.0.113.1 52:52:52:52:52:52\n"
                             "neighbour 192.168.1.10 52:52:52:52:52:52\n"
                             "nat.sessions 100\n"
                             "nat.udp-timeout 10\n"
                             "nat.icmp-timeout 5\n"
                             "nat.tcp-timeout 20\n"
                             "nat.tcp-transitory-timeout 15\n";

/* Further lines of a configuration. */
static const char *const kinds[] = {
        "",
        "nat.forward tcp 1024 192.168.1.10:1024\nnat.forward udp 4864 192.168.1.11:4864\n"
        "nat.protocol41 192.168.1.10\n",
        "nat.host-limit 6\nnat.hairpin off\nlan nic0.20\nwan nic1.7\n",
        "nat.forward udp 1024 192.168.1.10:4864\nnat.tcp-opening-timeout 4\n"
        "nat.protocol41 192.168.1.12\n",
};

static bool is_wire; /* `wire` passes any frame */
static bool tagged;  /* each interface has a VLAN */
static bool has_pool;
static bool serves;       /* dns64 runs beside the NAT */
static uint32_t n_static; /* static mappings of the configuration */

/* The tag of a VLAN, as it is in a frame. */
static void make_tag(uint8_t *tag, uint32_t vlan)
{
	tag[0] = 0x81;
	tag[1] = 0;
	tag[2] = (uint8_t)(vlan >> 8);
	tag[3] = (uint8_t)vlan;
}

static uint32_t vlan_of(uint32_t iface)
{
	return iface == IF_WAN ? 7 : 20;
}

/* Takes the tag off a frame that left. */
static const uint8_t *untagged(uint32_t iface, const uint8_t *frame, uint32_t *len)
{
	static uint8_t plain[FRAME_MAX + 64];
	uint8_t tag[4];
	make_tag(tag, vlan_of(iface));
	if (*len < 18 || *len > sizeof plain || memcmp(frame + 12, tag, 4) != 0)
		fail("a frame without the tag of its interface", frame, *len);
	*len -= 4;
	memcpy(plain, frame, 12);
	memcpy(plain + 12, frame + 16, *len - 12);
	return plain;
}

static void seen(struct rig *r, uint32_t iface, const uint8_t *frame, uint32_t len)
{
	if (tagged)
		frame = untagged(iface, frame, &len);
	note(iface, frame, len);
	if (is_wire)
		return;
	const char *bad = frame_check(frame, len, r->gw.iface[iface].mtu, run.sums);
	if (!bad && run.payloads)
		bad = frame_payload(frame, len, run.quotes);
	if (bad)
		fail(bad, frame, len);
	/* The sender's address is at 28 in an ARP packet, at 26 in an IPv4 packet. */
	ip4 from;
	memcpy(&from, frame + (frame[13] == 6 ? 28 : 26), sizeof from);
	bool of_pool = has_pool && (ip4_get(from) & ~1u) == POOL;
	if (iface == IF_WAN && ip4_get(from) != EXTERNAL && !of_pool)
		fail("a source that is not ours on the WAN", frame, len);
}

static void start(uint8_t choice)
{
	static const char *const filtering[] = {"endpoint-independent", "address-dependent",
	                                        "address-and-port-dependent"};
	char more[128];
	size_t n = fmt(more, sizeof more, "nat.filtering %s\nwan.mtu %u\nlan.mtu %u\n",
	               filtering[(choice & 7) % 3], choice & 8 ? 1280u : 1500u,
	               choice & 16 ? 1280u : 1500u);
	static const char gateway[] = "gateway 203.0.113.1\n";
	static const char pool[] = "nat.pool 203.0.113.8-203.0.113.9\n";
	configure(config, sizeof config - 1);
	configure(more, n);
	if ((choice & 7) != 5) /* else there is no route to the servers */
		configure(gateway, sizeof gateway - 1);
	configure(kinds[choice >> 6], strlen(kinds[choice >> 6]));
	if (has_pool)
		configure(pool, sizeof pool - 1);
	if (serves)
		serve("198.51.100.1");
	start_app(is_wire ? "wire" : "nat", choice & 32 ? 12 : 64);
}

/* --- frames -------------------------------------------------------------------------- */

static uint32_t address(uint8_t n, bool inside)
{
	switch (n & 7) {
	case 0:
		return EXTERNAL;
	case 1:
		return LAN_NET + 1;
	case 2:
		return 0x0a000000u + n;
	case 3:
		return 0xe0000001u;
	default:
		return inside ? LAN_NET + 10 + (n >> 3 & 3) : REMOTE + (n >> 3 & 3);
	}
}

/* A packet, whole or a fragment, with options or without. */
static uint32_t make_packet(struct input *in, uint8_t *f, uint32_t iface)
{
	uint8_t from = input_u8(in), to = input_u8(in), proto = make_proto(in, false);
	struct middle m = {0};
	uint32_t options = from & 64 ? 8 : 0, at = 34 + options;
	uint32_t source = address((uint8_t)(from | 4), iface == IF_LAN);
	uint32_t target = iface == IF_LAN ? address(to, false)
	                  : to & 32       ? address(to, true)
	                  : has_pool      ? POOL + (to & 1u)
	                                  : EXTERNAL;
	frame_ip4(f, mac_of(iface), source, target, proto, 0);
	if (from & 128)
		m = make_piece4(in, f + ETH);
	f[20] |= to & 0x40;
	f[22] = to & 128 ? 1 : 64;
	f[14] = (uint8_t)(0x45 + options / 4);
	memset(f + 34, 1, options);
	if (options && to & 16) { /* a source route, a timestamp, or one that is copied */
		const char *option = from & 32 ? "\x94\x03"
		                     : to & 8  ? "\x83\x07\x04"
		                               : "\x44\x04\x05";
		memcpy(f + 34, option, 3);
	}
	uint32_t n = at + make_transport(in, f + at, FRAME_MAX - at, proto, &m);
	f[16] = (uint8_t)((n - ETH) >> 8);
	f[17] = (uint8_t)(n - ETH);
	return n;
}

static uint32_t make_arp(struct input *in, uint8_t *f, uint32_t iface)
{
	static const uint8_t head[] = {8, 6, 0, 1, 8, 0, 6, 4, 0};
	uint8_t a = input_u8(in), b = input_u8(in);
	memset(f, a & 1 ? 0xff : 0, 6);
	if (!(a & 1))
		memcpy(f, mac_of(iface), 6);
	memset(f + 6, 0x52, 6);
	memcpy(f + 12, head, sizeof head);
	f[21] = (uint8_t)(a & 2 ? 2 : 1);
	memset(f + 22, 0x52 + (a >> 6), 6);
	uint32_t net = iface == IF_LAN ? LAN_NET : EXTERNAL - 2, own = iface == IF_LAN ? 1 : 2;
	ip4 sender = ip4_of(net + (a & 4 ? own : b & 15)),
	    target = ip4_of(net + (b & 16 ? b >> 5 : own));
	memcpy(f + 28, sender.b, 4);
	memset(f + 32, 0, 6);
	memcpy(f + 38, target.b, 4);
	return 42;
}

/* An ICMP error about the last packet that left an interface. */
static uint32_t make_error(struct input *in, uint8_t *f, uint32_t iface)
{
	static const uint8_t types[] = {3, 11, 12, 5};
	uint8_t a = input_u8(in);
	uint32_t quote = run.last_len[iface] > 14 ? run.last_len[iface] - 14 : 0;
	quote = min_u32(quote, a & 128 ? 28 + (a & 15) : 1000);
	memset(f + 34, 0, 8);
	f[34] = types[a >> 4 & 3];
	f[35] = a & 15;
	memcpy(f + 42, run.last[iface] + 14, quote);
	uint32_t from = iface == IF_LAN ? LAN_NET + 10 + (a & 3) : REMOTE + (a & 3), to = EXTERNAL;
	if (iface == IF_LAN && quote >= 20) { /* to the sender of that packet */
		ip4 source;
		memcpy(&source, f + 42 + 12, 4);
		to = ip4_get(source);
	}
	return frame_ip4(f, mac_of(iface), from, to, 1, 8 + quote);
}

/* A query to one of our addresses, from a host or (which is not served) from outside. */
static uint32_t make_dns(struct input *in, uint8_t *f, uint32_t iface)
{
	uint8_t a = input_u8(in);
	uint32_t n = make_query(in, f + ETH + 20);
	uint32_t from = iface == IF_LAN ? LAN_NET + 10 + (a & 3) : REMOTE + (a & 3);
	return frame_ip4(f, mac_of(iface), from, a & 4 ? EXTERNAL : LAN_NET + 1, 17, n);
}

/* Overwrites some bytes; then corrects the checksums, or not. */
static uint32_t spoil(struct input *in, uint8_t *f, uint32_t len)
{
	uint8_t how = input_u8(in);
	len = bend(in, how, f, len, 40);
	if (how & 16)
		run.sums = false;
	else
		frame_repair(f, len);
	return len;
}

/* Puts a tag into a frame: that of the interface, or one that is wrong in some way, or none, or
 * two. `random` chooses. */
static uint32_t put_tag(uint8_t *f, uint32_t len, uint32_t iface, uint32_t random)
{
	uint32_t how = random >> 24, more = how == 255 ? 8 : 4;
	if (!tagged || how == 254 || len < 12 || len + more > FRAME_MAX)
		return len;
	memmove(f + 12 + more, f + 12, len - 12);
	for (uint32_t at = 12; at < 12 + more; at += 4) {
		make_tag(f + at, vlan_of(iface));
		f[at + 2] = (uint8_t)(f[at + 2] | (how & 0xf0)); /* priority */
	}
	if ((how & 15) == 15)
		f[15] = (uint8_t)(f[15] ^ how >> 3);
	return len + more;
}

static void frame(struct input *in, uint8_t op)
{
	uint8_t f[FRAME_MAX + 64];
	uint32_t iface = op >> 7, len;
	memset(f, 0, sizeof f);
	switch (op & 7) {
	case 0:
	case 1:
		len = make_packet(in, f, iface);
		break;
	case 2:
		len = make_arp(in, f, iface);
		break;
	case 3:
		len = make_answer(f, iface);
		break;
	case 4:
		len = make_error(in, f, iface);
		break;
	default:
		len = serves && (op & 7) == 5 ? make_dns(in, f, iface) : make_raw(in, f, iface);
	}
	if (op & 64)
		len = spoil(in, f, len);
	else
		frame_repair(f, len);
	arrive(iface, f, len);
	if (op & 32 && (op & 7) < 2)
		flood(in, f, len, iface);
}

/* --- start, end and operations ------------------------------------------------------- */

static void end(void)
{
	silence(10000000); /* the longest wait for a neighbour, and the error after it */
	if (is_wire)
		return;
	struct nat *n = rig.gw.state;
	const char *bad = nat_check(&n->table, &rig.gw);
	if (bad)
		fail(bad, NULL, 0);
	rig_leap(&rig, (SESSION_S + 2 - 10) * 1000000ull, 2);
	if (n->table.n_sessions || n->table.n_mappings != n_static)
		fail("sessions outlive their timeout", NULL, 0);
}

static void one_input(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	uint8_t choice = input_u8(&in);
	is_wire = (choice & 7) == 7;
	tagged = choice >> 6 == 2;
	on_cable = put_tag;
	has_pool = (choice & 7) == 6;
	serves = (choice & 7) == 4;
	begin(choice, SERVE_MEMORY, start, seen);
	n_static = is_wire ? 0 : ((struct nat *)rig.gw.state)->table.n_mappings;
	play(&in, frame);
	end();
}
