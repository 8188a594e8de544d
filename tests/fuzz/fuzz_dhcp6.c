/* libFuzzer: DHCPv6, both roles. Answers of any servers to the client's own questions, router
 * advertisements, stations that have our addresses, time and cables on the WAN; questions of hosts
 * on the LAN. An input is a list of operations (gateway.h).
 *
 * Checked: frames that leave are well formed; the client asks from its link-local address and port;
 * the networks of the inside are those of prefixes that it has, and their addresses are there; no
 * lease outlives its time; in the end every packet is free. */
#include "net/dhcp6/dhcp6_client.h"
#include "net/dhcp6/dhcp6_message.h"
#include "tests/fuzz/gateway.h"

#define IP6_AT   14u
#define UDP_AT   54u
#define DHCP6_AT 62u
#define TICK_US  200000u

static const char config[] = "lan.address 192.168.1.1/24\n"
                             "wan.address 203.0.113.2/24\n"
                             "wan.address auto\n"
                             "lan.prefix delegated\n"
                             "lan.rdnss 2001:db8:1::1\n"
                             "lan.dnssl example.org\n"
                             "nat.sessions 64\n";

static struct {
	uint8_t bytes[FRAME_MAX]; /* the last one, from its DHCPv6 header on */
	uint32_t len;
} question;

static struct dhcp6_options of_question(void)
{
	return (struct dhcp6_options){question.bytes + DHCP6_HEADER,
	                              question.len ? question.len - DHCP6_HEADER : 0};
}

static bool is_udp6(const uint8_t *f, uint32_t len)
{
	return len > DHCP6_AT + DHCP6_HEADER && f[12] == 0x86 && f[13] == 0xdd &&
	       f[IP6_AT + 6] == PROTO_UDP;
}

static void seen(struct rig *r, uint32_t iface, const uint8_t *frame, uint32_t len)
{
	(void)r;
	note(iface, frame, len);
	const char *bad = check(iface, frame, len);
	if (bad)
		fail(bad, frame, len);
	if (!is_udp6(frame, len))
		return;
	uint32_t from = swap16(load16(frame + UDP_AT)), to = swap16(load16(frame + UDP_AT + 2));
	bool asks = iface == IF_WAN && from == DHCP6_CLIENT_PORT && to == DHCP6_SERVER_PORT;
	if (!asks && (iface != IF_LAN || from != DHCP6_SERVER_PORT || to != DHCP6_CLIENT_PORT))
		fail("a datagram that is neither question nor answer", frame, len);
	if (frame[IP6_AT + 8] != 0xfe || frame[IP6_AT + 9] != 0x80)
		fail("not from a link-local address", frame, len);
	if (!asks)
		return;
	if (memcmp(frame + IP6_AT + 24, &dhcp6_all_servers, 16) != 0)
		fail("not to all servers", frame, len);
	question.len = len - DHCP6_AT;
	memcpy(question.bytes, frame + DHCP6_AT, question.len);
	if (!dhcp6_whole(of_question()))
		fail("options that do not end within", frame, len);
}

static void start(uint8_t choice)
{
	static const char six[] = "lan.address 2001:db8:1::1/64\n",
	                  own[] = "wan.address 2001:db8:2::2/64\n",
	                  more[] =
	                          "lan2 nic2\nlan2.address 192.168.2.1/24\nlan2.prefix delegated\n",
	                  box[] = "lan.address 2001:db8:1::1/64\nnat64.sessions 64\n";
	configure(config, sizeof config - 1);
	if (choice & 1)
		configure(six, sizeof six - 1);
	if (choice & 2)
		configure(own, sizeof own - 1);
	if (choice & 4)
		configure(more, sizeof more - 1);
	if ((choice & 9) == 8)
		configure(box, sizeof box - 1);
	start_app((choice & 9) == 8 ? "nat64" : "nat", choice & 16 ? 12 : 64);
}

/* --- frames ------------------------------------------------------------------------------------
 */

static void own_link_local(uint32_t iface, uint8_t out[16])
{
	memcpy(out, &rig.gw.iface[iface].addr6[0].addr, 16);
}

/* A datagram of a station of the link; gives the frame's length. */
static uint32_t datagram(uint8_t *f, uint32_t iface, uint8_t station, const uint8_t to[16],
                         uint16_t from_port, uint16_t to_port, uint32_t len)
{
	const uint8_t from[16] = {0xfe, 0x80, [15] = station};
	uint32_t n = len + 8;
	f[UDP_AT] = (uint8_t)(from_port >> 8);
	f[UDP_AT + 1] = (uint8_t)from_port;
	f[UDP_AT + 2] = (uint8_t)(to_port >> 8);
	f[UDP_AT + 3] = (uint8_t)to_port;
	f[UDP_AT + 4] = (uint8_t)(n >> 8);
	f[UDP_AT + 5] = (uint8_t)n;
	return frame6_ip(f, mac_of(iface), from, to, PROTO_UDP, 64, n);
}

/* An option of any kind with bytes of the input, often of a code that matters. */
static void any_option(struct input *in, struct dhcp6_build *b)
{
	static const uint8_t code[] = {
	        DHCP6_STATUS,     DHCP6_PREFERENCE, DHCP6_RAPID_COMMIT, DHCP6_DNS,
	        DHCP6_SEARCH,     DHCP6_REFRESH,    DHCP6_SOL_MAX_RT,   DHCP6_ORO,
	        DHCP6_INF_MAX_RT, DHCP6_CLIENT_ID,  DHCP6_SERVER_ID,    DHCP6_IA_NA,
	        DHCP6_IA_PD,      DHCP6_IA_ADDRESS, DHCP6_IA_PREFIX,    DHCP6_IA_TA};
	uint8_t which = input_u8(in), n = input_u8(in) & 31, value[32];
	for (uint32_t i = 0; i < n; i++)
		value[i] = input_u8(in);
	dhcp6_build_put(b, which & 128 ? input_u8(in) : code[which & 15], value, n);
}

static const uint32_t lifetime[] = {0, 1, 10, 60, 3600, 90000, UINT32_MAX, 30};

/* Addresses or prefixes, as many as the input says, in an identity association. */
static void put_leases(struct input *in, struct dhcp6_build *b, bool prefixes)
{
	static const uint8_t lens[] = {56, 60, 64, 48, 63, 65, 0, 128};
	uint8_t how = input_u8(in);
	for (uint32_t i = how & 3; i > 0 && in->left; i--) {
		uint8_t what = input_u8(in), life = input_u8(in);
		uint8_t value[25] = {0};
		uint8_t net[16] = {
		        0x20, 1, 0x0d, 0xb8, [5] = (uint8_t)(what & 7), [7] = (uint8_t)(what >> 3)};
		if (what == 255)
			memset(net, 0xff, sizeof net);
		uint32_t at = prefixes ? 9 : 16;
		if (!prefixes)
			net[15] = (uint8_t)(1 + (what >> 3));
		store32(value + (prefixes ? 0 : 16), swap32(lifetime[life & 7]));
		store32(value + (prefixes ? 4 : 20), swap32(lifetime[life >> 3 & 7]));
		value[8] = prefixes ? lens[life >> 6 | (what >> 5 & 4)] : 0;
		memcpy(value + (prefixes ? at : 0), net, sizeof net);
		if (!prefixes)
			store32(value + 16, swap32(lifetime[life & 7]));
		dhcp6_build_put(b, prefixes ? DHCP6_IA_PREFIX : DHCP6_IA_ADDRESS, value,
		                prefixes ? 25 : 24);
	}
	if (how & 64)
		dhcp6_build_put16(b, DHCP6_STATUS, how >> 3 & 7);
	if (how & 128)
		any_option(in, b);
}

/* What the question has of a code: the identity association, or our DUID. */
static void put_ia(struct input *in, struct dhcp6_build *b, uint8_t code)
{
	struct dhcp6_options all = of_question();
	struct dhcp6_option o;
	uint8_t head[12] = {0}, times = input_u8(in);
	if (!dhcp6_find(all, code, &o) || o.len < 12)
		return;
	memcpy(head, o.data, 4);
	if (times == 255)
		head[3] ^= 1;
	store32(head + 4, swap32(lifetime[times & 7]));
	store32(head + 8, swap32(lifetime[times >> 3 & 7]));
	uint32_t place = dhcp6_build_open(b, code, head, sizeof head);
	put_leases(in, b, code == DHCP6_IA_PD);
	dhcp6_build_close(b, place);
}

/* An answer to the last question. */
static uint32_t make_reply(struct input *in, uint8_t *f)
{
	uint8_t how = input_u8(in), what = input_u8(in), to[16];
	struct dhcp6_options all = of_question();
	struct dhcp6_option id;
	struct dhcp6_build b;
	bool advertises = question.bytes[0] == DHCP6_SOLICIT && !(how & 1);
	memset(f, 0, FRAME_MAX);
	dhcp6_build_start(&b, f + DHCP6_AT, 1000, advertises ? DHCP6_ADVERTISE : DHCP6_REPLY,
	                  question.len ? dhcp6_u32(question.bytes) & 0xffffff : 0);
	if ((how & 0x1e) == 0x1e)
		f[DHCP6_AT + (what & 3)] ^= input_u8(in);
	if ((how & 0x60) != 0x60 && dhcp6_find(all, DHCP6_CLIENT_ID, &id))
		dhcp6_build_put(&b, DHCP6_CLIENT_ID, id.data, id.len);
	const uint8_t duid[10] = {0, 3, 0, 1, 2, 0, 0, 0, 0, (uint8_t)(what & 3)};
	if ((what & 0x70) != 0x70)
		dhcp6_build_put(&b, DHCP6_SERVER_ID, duid, sizeof duid);
	if (what & 4)
		dhcp6_build_put16(&b, DHCP6_STATUS, input_u8(in) & 7);
	if (how & 128)
		dhcp6_build_put(&b, DHCP6_RAPID_COMMIT, NULL, 0);
	if (!(what & 8))
		put_ia(in, &b, DHCP6_IA_PD);
	if (!(what & 128))
		put_ia(in, &b, DHCP6_IA_NA);
	for (uint32_t i = how >> 1 & 3; i > 0 && in->left; i--)
		any_option(in, &b);
	own_link_local(IF_WAN, to);
	return datagram(f, IF_WAN, what & 3, to, DHCP6_SERVER_PORT, DHCP6_CLIENT_PORT, b.n);
}

/* A message of a host of the LAN to all servers, or to ours alone. */
static uint32_t make_question(struct input *in, uint8_t *f)
{
	uint8_t how = input_u8(in), to[16];
	struct dhcp6_build b;
	const uint8_t duid[10] = {0, 3, 0, 1, 0x52, 0x52, 0x52, 0x52, 0x52, how & 1};
	static const uint8_t asked[] = {0, DHCP6_DNS, 0, DHCP6_SEARCH, 0, DHCP6_REFRESH};
	memset(f, 0, FRAME_MAX);
	dhcp6_build_start(&b, f + DHCP6_AT, 1000,
	                  how & 6 ? DHCP6_INFORMATION_REQUEST : (enum dhcp6_type)(how >> 3 & 15),
	                  how);
	if (!(how & 8))
		dhcp6_build_put(&b, DHCP6_CLIENT_ID, duid, sizeof duid);
	if (!(how & 16))
		dhcp6_build_put(&b, DHCP6_ORO, asked, sizeof asked);
	for (uint32_t i = how >> 6; i > 0 && in->left; i--)
		any_option(in, &b);
	memcpy(to, &dhcp6_all_servers, sizeof to);
	if ((how & 0x22) == 0x22)
		own_link_local(IF_LAN, to);
	return datagram(f, IF_LAN, 0x52, to, DHCP6_CLIENT_PORT, DHCP6_SERVER_PORT, b.n);
}

/* A router's advertisement: its flags say whether there is DHCPv6. */
static uint32_t make_advertisement(struct input *in, uint8_t *f)
{
	static const uint8_t all[16] = {0xff, 2, [15] = 1}, from[16] = {0xfe, 0x80, [15] = 1};
	uint8_t a = input_u8(in);
	memset(f, 0, FRAME_MAX);
	f[UDP_AT] = 134;
	f[UDP_AT + 4] = 64;
	f[UDP_AT + 5] = a & 0xc0;
	f[UDP_AT + 6] = a & 1 ? 0 : 7;
	return frame6_ip(f, mac_of(IF_WAN), from, all, PROTO_ICMP6, 255, 16);
}

/* A station of the WAN that has one of our addresses (RFC 4862 section 5.4.4). */
static uint32_t make_conflict(struct input *in, uint8_t *f)
{
	static const uint8_t all[16] = {0xff, 2, [15] = 1};
	const struct interface *wan = &rig.gw.iface[IF_WAN];
	uint8_t which = input_u8(in), own[16];
	memset(f, 0, FRAME_MAX);
	memcpy(own, &wan->addr6[wan->n_addr6 ? which % wan->n_addr6 : 0].addr, sizeof own);
	f[UDP_AT] = 136;
	f[UDP_AT + 4] = 0x20;
	memcpy(f + UDP_AT + 8, own, sizeof own);
	f[UDP_AT + 24] = 2;
	f[UDP_AT + 25] = 1;
	memset(f + UDP_AT + 26, 0x52, 6);
	return frame6_ip(f, mac_of(IF_WAN), own, all, PROTO_ICMP6, 255, 32);
}

static void frame(struct input *in, uint8_t op)
{
	static uint8_t f[FRAME_MAX + 64];
	uint32_t len, iface = IF_WAN;
	switch (op & 7) {
	case 0:
		iface = IF_LAN;
		len = make_question(in, f);
		break;
	case 1:
		len = make_advertisement(in, f);
		break;
	case 2:
		len = make_conflict(in, f);
		break;
	default:
		len = make_reply(in, f);
		break;
	}
	if (op & 64 && op & 32)
		len = bend(in, op >> 3, f, len, 255);
	if (len > ETH)
		frame6_repair(f + ETH, len - ETH);
	arrive(iface, f, len);
	rig_flush(&rig);
}

/* --- the whole ---------------------------------------------------------------------------------
 */

static bool has_address(uint32_t iface, const ip6 *net)
{
	const struct interface *at = &rig.gw.iface[iface];
	for (uint32_t i = 0; i < at->n_addr6; i++)
		if (addr_in6(&at->addr6[i].addr, net, 64))
			return true;
	return false;
}

static bool is_cut_from(const struct dhcp6_binding *b, const ip6 *net)
{
	for (uint32_t i = 0; i < b->n; i++)
		if (addr_in6(net, &b->held[i].addr, b->held[i].len))
			return true;
	return false;
}

static void check_leases(void)
{
	const struct dhcp6_client *c = &rig.gw.dhcp6;
	if (c->state >= DHCP6_STATES || c->n_nets > DHCP6_NETS || c->n_rests > DHCP6_LEASES ||
	    c->n_dns > DHCP6_SERVERS)
		fail("more than there is room for", NULL, 0);
	for (uint32_t ia = 0; ia < DHCP6_IAS; ia++) {
		if (c->bound[ia].n > DHCP6_LEASES)
			fail("more leases than there is room for", NULL, 0);
		for (uint32_t i = 0; i < c->bound[ia].n; i++)
			if (c->bound[ia].held[i].valid_us < rig.gw.clock.us - TICK_US)
				fail("a lease that is over", NULL, 0);
	}
	for (uint32_t i = 0; i < c->n_nets; i++) {
		if (!is_cut_from(&c->bound[DHCP6_PD], &c->net[i].net))
			fail("a network of a prefix that is gone", NULL, 0);
		if (!c->net[i].refused && !has_address(c->net[i].iface, &c->net[i].net))
			fail("a network without an address of ours", NULL, 0);
	}
}

static void by_hand(struct input *in)
{
	uint8_t which = input_u8(in) & 3;
	uint32_t cursor = 0;
	char line[256];
	if (which == 0)
		(void)!dhcp6_release_all(&rig.gw);
	else if (which == 1)
		(void)!dhcp6_renew_all(&rig.gw);
	else
		while (dhcp6_show_leases(&rig.gw, &cursor, line, sizeof line))
			if (!line[0])
				fail("an empty line about a lease", NULL, 0);
}

static void one_input(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	change = by_hand;
	memset(&question, 0, sizeof question);
	begin(input_u8(&in) & 31, 16u << 20, start, seen);
	rig_advance(&rig, 2500000); /* the link-local address, and the first question */
	play(&in, frame);
	rig_advance(&rig, 100000); /* what follows from an answer follows with the next tick */
	check_leases();
	silence(8000000);
	check_leases();
}
