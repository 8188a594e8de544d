/* libFuzzer: DHCP, the client's role. Answers of any servers to the client's own questions, ARP,
 * time and cables, while a host of the LAN sends. An input is a list of operations (gateway.h).
 *
 * Checked: frames that leave are well formed; their source on the WAN is an address that the WAN
 * has, or none in a question, or the one that a release gives back, unless a card held them up; the
 * lease in force is what interface and routes have, and its time is not over; in the end every
 * packet is free. */
#include "net/dhcp/dhcp_client.h"
#include "net/dhcp/dhcp_message.h"
#include "tests/fuzz/gateway.h"

#define UDP_AT  34u
#define DHCP_AT 42u
#define OURS    0xcb007132u /* 203.0.113.50 */
#define SERVER  0xcb0071feu
#define TICK_US 200000u

static const char config[] = "lan.address 192.168.1.1/24\n"
                             "wan.address dhcp\n"
                             "nat.sessions 64\n"
                             "neighbour 192.168.1.10 52:52:52:52:52:52\n"
                             "wan.dhcp-reject 192.0.2.0/24\n";

static struct {
	uint8_t bytes[FRAME_MAX]; /* the last question, from its DHCP header on */
	uint32_t len;
} question;

/* The last lease that was given back by hand: its release leaves when the WAN has the address no
 * more (RFC 2131 section 4.4.6). */
static ip4 given_back;

/* Is this question a release of that lease? Its type is the first option. */
static bool releases(const uint8_t *frame, uint32_t len, ip4 from)
{
	const uint8_t *type = frame + DHCP_AT + sizeof(struct dhcp_hdr);
	return len >= DHCP_AT + sizeof(struct dhcp_hdr) + 3 && type[0] == DHCP_TYPE &&
	       type[2] == DHCP_RELEASE && ip4_raw(from) && ip4_eq(from, given_back);
}

static void seen(struct rig *r, uint32_t iface, const uint8_t *frame, uint32_t len)
{
	note(iface, frame, len);
	const char *bad = check(iface, frame, len);
	if (bad)
		fail(bad, frame, len);
	if (iface != IF_WAN || len < DHCP_AT || frame[12] != 8 || frame[13] != 0)
		return;
	ip4 from;
	memcpy(&from, frame + 26, sizeof from);
	bool asks = frame[23] == PROTO_UDP && frame[UDP_AT + 1] == DHCP_CLIENT_PORT &&
	            frame[UDP_AT + 3] == DHCP_SERVER_PORT;
	bool may = asks && (ip4_raw(from) == 0 || releases(frame, len, from));
	if (!interface_has4(&r->gw.iface[IF_WAN], from) && !may && !run.late)
		fail("a source that the WAN does not have", frame, len);
	if (asks && len >= DHCP_AT + sizeof(struct dhcp_hdr)) {
		question.len = len - DHCP_AT;
		memcpy(question.bytes, frame + DHCP_AT, question.len);
	}
}

static void start(uint8_t choice)
{
	static const char off[] = "wan.dhcp-probe off\n", own[] = "wan.address 198.51.100.2/24\n",
	                  six[] = "lan.address 2001:db8:1::1/64\nnat64.sessions 64\n",
	                  small[] = "wan.mtu 1400\n";
	configure(config, sizeof config - 1);
	if (choice & 1)
		configure(off, sizeof off - 1);
	if (choice & 2)
		configure(own, sizeof own - 1);
	if (choice & 4)
		configure(small, sizeof small - 1);
	if (choice & 8)
		configure(six, sizeof six - 1);
	start_app(choice & 8 ? "nat64" : "nat", choice & 16 ? 12 : 64);
}

/* --- answers -----------------------------------------------------------------------------------
 */

static uint32_t put(uint8_t *at, uint8_t code, uint32_t value)
{
	at[0] = code;
	at[1] = 4;
	store32(at + 2, swap32(value));
	return 6;
}

/* An option with bytes of the input, often of a code that the client reads. */
static uint32_t any_option(struct input *in, uint8_t *at)
{
	static const uint8_t code[] = {DHCP_MASK, DHCP_ROUTER,    DHCP_DNS,     DHCP_MTU,
	                               DHCP_T1,   DHCP_CLASSLESS, DHCP_T2,      DHCP_STATIC_ROUTES,
	                               DHCP_6RD,  DHCP_OVERLOAD,  DHCP_TYPE,    DHCP_LEASE_TIME,
	                               DHCP_PAD,  DHCP_CLIENT_ID, DHCP_MESSAGE, DHCP_SERVER_ID};
	uint8_t which = input_u8(in), n = input_u8(in) & 31;
	at[0] = which & 128 ? input_u8(in) : code[which % ARRAY_SIZE(code)];
	at[1] = n;
	for (uint32_t i = 0; i < n; i++)
		at[2 + i] = input_u8(in);
	return 2u + n;
}

/* The options that a lease needs, but for those that `less` leaves out. */
static uint32_t needed(uint8_t *at, uint8_t less, uint32_t server, uint32_t time)
{
	uint32_t n = 0;
	if (!(less & 1))
		n += put(at + n, DHCP_SERVER_ID, server);
	if (!(less & 2))
		n += put(at + n, DHCP_LEASE_TIME, time);
	if (!(less & 4))
		n += put(at + n, DHCP_MASK, 0xffffff00);
	if (!(less & 8))
		n += put(at + n, DHCP_ROUTER, 0xcb007101);
	return n;
}

/* An answer to the last question; gives the frame's length. */
static uint32_t make_reply(struct input *in, uint8_t *f)
{
	static const uint32_t given[] = {OURS, OURS + 1, 0xc0a80132, 0x0a000005, 0, 0xcb0071ff};
	static const uint32_t time[] = {10, 60, 3600, 100000, 0xffffffff, 4};
	struct dhcp_hdr *h = (struct dhcp_hdr *)(f + DHCP_AT);
	uint8_t how = input_u8(in), what = input_u8(in), server = input_u8(in);
	memset(f, 0, FRAME_MAX);
	memcpy(h, question.bytes, min_u32(question.len, sizeof *h));
	h->op = DHCP_BOOTREPLY;
	h->yiaddr = ip4_of(given[what % ARRAY_SIZE(given)]);
	if ((how & 7) == 7)
		f[DHCP_AT + input_u8(in) % sizeof *h] ^= input_u8(in);
	uint8_t *at = (uint8_t *)(h + 1);
	static const uint8_t type[] = {DHCP_OFFER, DHCP_ACK, DHCP_ACK, DHCP_NAK};
	*at++ = DHCP_TYPE;
	*at++ = 1;
	*at++ = type[how >> 3 & 3];
	uint32_t id = server & 1 ? SERVER : server & 2 ? SERVER - 1 : 0xc0000201;
	at += needed(at, server & 128 ? server >> 3 & 15 : 0, id,
	             time[(what >> 3) % ARRAY_SIZE(time)]);
	for (uint32_t i = 0; i < (how >> 5) && in->left; i++)
		at += any_option(in, at);
	*at++ = DHCP_END;
	uint32_t len = (uint32_t)(at - (f + UDP_AT));
	f[UDP_AT + 1] = DHCP_SERVER_PORT;
	f[UDP_AT + 3] = DHCP_CLIENT_PORT;
	f[UDP_AT + 4] = (uint8_t)(len >> 8);
	f[UDP_AT + 5] = (uint8_t)len;
	return frame_ip4(f, mac_of(IF_WAN), SERVER, 0xffffffff, PROTO_UDP, len);
}

/* ARP on the WAN, about the addresses that matter. */
static uint32_t make_arp(struct input *in, uint8_t *f)
{
	static const uint32_t who[] = {OURS, OURS + 1, 0xcb007101, SERVER, 0};
	uint8_t how = input_u8(in), a = input_u8(in), b = input_u8(in);
	struct eth_hdr *eth = (struct eth_hdr *)f;
	struct arp_hdr *arp = (struct arp_hdr *)(eth + 1);
	memset(f, 0, 60);
	memcpy(&eth->to, mac_of(IF_WAN), 6);
	memset(&eth->from, 0x52, 6);
	eth->from.b[5] = how & 7;
	eth->type = be16_of(ETH_ARP);
	arp->hardware = be16_of(1);
	arp->protocol = be16_of(ETH_IP4);
	arp->hardware_len = 6;
	arp->protocol_len = 4;
	arp->operation = be16_of(how & 8 ? ARP_REQUEST : ARP_REPLY);
	arp->sender_mac = eth->from;
	arp->sender_ip = ip4_of(who[a % ARRAY_SIZE(who)]);
	arp->target_ip = ip4_of(who[b % ARRAY_SIZE(who)]);
	return 60;
}

/* A datagram of a host of the LAN to the Internet. */
static uint32_t make_outward(struct input *in, uint8_t *f)
{
	memset(f, 0, 100);
	f[UDP_AT] = 16;
	f[UDP_AT + 1] = input_u8(in);
	f[UDP_AT + 3] = 53;
	f[UDP_AT + 5] = 20;
	return frame_ip4(f, mac_of(IF_LAN), 0xc0a8010a, 0xc6336407, PROTO_UDP, 20);
}

/* --- the whole ---------------------------------------------------------------------------------
 */

static void check_lease(void)
{
	const struct gw *gw = &rig.gw;
	const struct dhcp_client *c = &gw->dhcp;
	const struct interface *wan = &gw->iface[IF_WAN];
	if (c->in_force != interface_has4(wan, c->lease.addr) && ip4_raw(c->lease.addr))
		fail("the address of the lease", NULL, 0);
	if (!c->in_force && c->n_routes)
		fail("routes without a lease", NULL, 0);
	for (uint32_t i = 0; i < c->n_routes; i++)
		if (!route4_has(&gw->routes4, ip4_get(c->route[i].net), c->route[i].len,
		                c->route[i].via))
			fail("a route that is not there", NULL, 0);
	if (wan->mtu < IP6_MTU_MIN || wan->mtu > NET_MTU)
		fail("the MTU", NULL, 0);
	if (wan->n_addr > 2 || c->state > DHCP_RELEASED)
		fail("addresses that stay", NULL, 0);
}

static void by_hand(struct input *in)
{
	uint8_t which = input_u8(in) & 3;
	uint32_t cursor = 0;
	char line[256];
	if (which == 0) {
		if (rig.gw.dhcp.in_force)
			given_back = rig.gw.dhcp.lease.addr;
		(void)!dhcp_release(&rig.gw);
	} else if (which == 1)
		(void)!dhcp_renew(&rig.gw);
	else if (!dhcp_show_leases(&rig.gw, &cursor, line, sizeof line))
		fail("no line about the lease", NULL, 0);
}

static void frame(struct input *in, uint8_t op)
{
	static uint8_t f[FRAME_MAX + 64];
	uint32_t len = 0, iface = op & 7 ? IF_WAN : IF_LAN;
	switch (op & 7) {
	case 0:
		len = make_outward(in, f);
		break;
	case 1:
		len = make_arp(in, f);
		break;
	default:
		len = make_reply(in, f);
		break;
	}
	if (op & 64 && op & 32)
		len = bend(in, op >> 3, f, len, 255);
	frame_repair(f, len);
	arrive(iface, f, len);
	rig_flush(&rig);
	check_lease();
}

static void one_input(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	change = by_hand;
	question.len = 0;
	given_back = ip4_of(0);
	begin(input_u8(&in) & 31, 16u << 20, start, seen);
	rig_advance(&rig, 1100000); /* the first question */
	play(&in, frame);
	check_lease();
	silence(8000000);
	check_lease();
	if (rig.gw.dhcp.in_force && rig.gw.dhcp.end_us < rig.gw.clock.us - TICK_US)
		fail("a lease that is over", NULL, 0);
}
