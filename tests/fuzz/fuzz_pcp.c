/* libFuzzer: ports on request. PCP and NAT-PMP messages of a few hosts, wrong ones among them,
 * beside `nat` and `nat64`; DHCP leases that come and go, another outer address, packets of the WAN
 * and their answers, time. An input is a list of operations (gateway.h).
 *
 * Checked: frames that leave are well formed; an answer has a version, an answer's bit and a length
 * that a client takes; the table is in order, and each mapping that was asked for is the NAT's, of
 * the same endpoint; after the longest lifetime nothing is left. */
#include "apps/nat/nat.h"
#include "apps/nat64/nat64.h"
#include "apps/pcp/pcp.h"
#include "net/dhcps/dhcps_table.h"
#include "tests/fuzz/gateway.h"
#include "tests/host/nat_check.h"

#define IP4_UDP 34u
#define IP6_UDP 54u
#define OWN     0xc0a80101u /* 192.168.1.1 */
#define HOST    0xc0a8010au /* 192.168.1.10 to .13, of the pool */
#define OUTER   0xcb007102u /* 203.0.113.2 */
#define SERVER  0xc6336409u
#define LIMIT   4u

static const char common[] = "lan.address 192.168.1.1/24\n"
                             "wan.address 203.0.113.2/24\n"
                             "gateway 203.0.113.1\n"
                             "neighbour 203.0.113.1 52:52:52:52:52:52\n"
                             "neighbour 192.168.1.10 52:52:52:52:52:52\n"
                             "neighbour 192.168.1.11 52:52:52:52:52:52\n"
                             "neighbour 192.168.1.12 52:52:52:52:52:52\n"
                             "lan.dhcp 192.168.1.10-192.168.1.13\n"
                             "serve pcp\n"
                             "pcp.limit 4\n";
static const char nat[] = "nat.sessions 64\n"
                          "nat.forward udp 80 192.168.1.10:80\n";
static const char nat64[] = "nat64.sessions 64\n"
                            "wkp-strict off\n"
                            "lan.address 2001:db8:1::1/64\n"
                            "lan.ra off\n"
                            "neighbour 2001:db8:1::a 52:52:52:52:52:52\n"
                            "neighbour 2001:db8:1::b 52:52:52:52:52:52\n";

/* --- what leaves ----------------------------------------------------------------------------- */

static void check_answer(const uint8_t *f, const uint8_t *udp)
{
	const uint8_t *m = udp + 8;
	uint32_t len = from_wire(udp + 4) - 8;
	if (from_wire(udp) != PCP_PORT || len < 8)
		return;
	if (!(m[1] & 0x80) || (m[0] != 0 && m[0] != 2))
		fail("not an answer", f, len);
	if (m[0] == 2 && (len < 24 || len > PCP_MOST || len % 4 != 0))
		fail("an answer of a wrong length", f, len);
	if (m[0] == 2 && m[3] >= PCP_RESULTS)
		fail("a result that there is not", f, len);
	if (m[0] == 0 && len != 8 && len != 12 && len != 16)
		fail("an answer of NAT-PMP of a wrong length", f, len);
}

static void seen(struct rig *r, uint32_t iface, const uint8_t *frame, uint32_t len)
{
	const struct interface *at = &r->gw.iface[iface];
	ip4 from4;
	note(iface, frame, len);
	const char *bad = check(iface, frame, len);
	if (bad)
		fail(bad, frame, len);
	/* What hosts send may have the port of PCP, too: an answer comes from the gateway itself,
	 * so not from an address in 64:ff9b::/96. */
	memcpy(&from4, frame + 26, sizeof from4);
	if (len > IP6_UDP + 8 && frame[12] == 0x86 && frame[20] == PROTO_UDP && frame[22] != 0)
		check_answer(frame, frame + IP6_UDP);
	if (len > IP4_UDP + 8 && frame[12] == 8 && frame[13] == 0 && frame[23] == PROTO_UDP &&
	    interface_has4(at, from4))
		check_answer(frame, frame + IP4_UDP);
}

/* --- the table ------------------------------------------------------------------------------- */

static void check_entry(struct pcp *c, struct pcp_entry *e)
{
	const struct nat_table *t = &nat_of(&rig.gw)->table;
	struct pcp_ask ask = {.host = e->host,
	                      .proto = e->proto,
	                      .port = e->port,
	                      .is_peer = e->is_peer,
	                      .rem_ip = e->rem_ip,
	                      .rem_port = e->rem_port};
	if (pcp_table_find(c, &ask) != e)
		fail("an entry that is not found", NULL, 0);
	if (e->is_peer != (e->mapping == NAT_NONE))
		fail("an entry with a wrong mapping", NULL, 0);
	if (e->is_peer)
		return;
	const struct nat_mapping *m = &t->mapping[e->mapping];
	if (!m->is_static || m->proto != e->proto || m->in_port != e->port ||
	    m->in_ip != pcp_known(&rig.gw, &e->host))
		fail("a mapping that is not what was asked for", NULL, 0);
}

static void check_table(void)
{
	struct pcp *c = pcp_of(&rig.gw);
	uint32_t used = 0, unused = 0, chained = 0, owned = 0;
	for (uint32_t i = 0; i < c->fresh; i++) {
		uint32_t of_host = 0, of_client = 0;
		if (!c->entry[i].used)
			continue;
		used++;
		check_entry(c, &c->entry[i]);
		for (uint32_t k = 0; k < c->fresh; k++) {
			const struct pcp_entry *e = &c->entry[k];
			of_host += e->used && addr_eq(&e->host, &c->entry[i].host);
			of_client += e->used && e->client == c->entry[i].client;
		}
		if (of_host > LIMIT || of_client > LIMIT)
			fail("a host with too many", NULL, 0);
	}
	for (uint32_t i = c->free; i != NAT_NONE && unused <= PCP_ENTRIES; i = c->entry[i].next)
		unused++;
	for (uint32_t b = 0; b < PCP_ENTRIES; b++) {
		for (uint32_t i = c->bucket[b]; i != NAT_NONE; i = c->entry[i].next)
			if (++chained > PCP_ENTRIES)
				fail("a chain that does not end", NULL, 0);
		for (uint32_t i = c->owner[b]; i != NAT_NONE; i = c->entry[i].next_own)
			if (++owned > PCP_ENTRIES)
				fail("a chain of a client that does not end", NULL, 0);
	}
	if (used != c->n || chained != used || owned != used || used + unused != c->fresh ||
	    c->n > c->most)
		fail("numbers that are not right", NULL, 0);
	const char *bad = nat_check(&nat_of(&rig.gw)->table, &rig.gw);
	if (bad)
		fail(bad, NULL, 0);
}

static void start(uint8_t choice)
{
	configure(common, sizeof common - 1);
	if (choice & 1)
		configure(nat64, sizeof nat64 - 1);
	else
		configure(nat, sizeof nat - 1);
	start_app(choice & 1 ? "nat64" : "nat", choice & 2 ? 12 : 64);
	rig_advance(&rig, 4000000); /* the addresses are in use */
}

/* --- what comes in --------------------------------------------------------------------------- */

static uint16_t port_of(uint8_t which)
{
	static const uint16_t port[] = {5000, 5001, 5350, 5351, 80, 0, 65535, 1};
	return swap16(port[which & 7]);
}

static void put4(uint8_t *at, uint32_t a)
{
	memset(at, 0, 10);
	at[10] = at[11] = 0xff;
	store32(at + 12, swap32(a));
}

/* The remote endpoint of PEER: for a host with IPv6 under the prefix. */
static void put_peer(uint8_t *at, uint8_t which, bool six)
{
	uint32_t a = SERVER + (which & 3);
	ip6 under;
	if (which & 64)
		a = which & 128 ? OUTER : 0xe0000001;
	put4(at, a);
	if (six && !(which & 32) && nat_of(&rig.gw)->table.inside6) {
		embed_to6(&nat64_of(&rig.gw)->prefix[0].form, swap32(a), &under);
		memcpy(at, &under, sizeof under);
	}
}

static uint32_t put_options(struct input *in, uint8_t *at)
{
	uint32_t len = 0;
	for (uint8_t n = input_u8(in) & 3; n > 0; n--) {
		uint8_t what = input_u8(in), is = what & 8 ? what >> 4 : 0;
		at[len] = what & 128 ? what & 3 : what & 4 ? 130 : 2;
		at[len + 1] = 0;
		at[len + 2] = 0;
		at[len + 3] = is;
		memset(at + len + 4, what, (is + 3u) / 4 * 4);
		len += 4 + (is + 3u) / 4 * 4;
	}
	return len;
}

/* A message of PCP; gives its length. */
static uint32_t make_pcp(struct input *in, uint8_t *m, const uint8_t client[16], bool six)
{
	static const uint8_t proto[] = {PROTO_UDP, PROTO_TCP, PROTO_UDP, 0, 47};
	static const uint32_t life[] = {7200, 0, 1, 120, 86400, 0xffffffff, 300, 1000};
	uint8_t how = input_u8(in), a = input_u8(in), b = input_u8(in);
	uint32_t len = 24;
	memset(m, 0, 84);
	m[0] = 2;
	m[1] = (how & 3) == 3 ? a : how & 3;
	store32(m + 4, swap32(life[how >> 2 & 7]));
	memcpy(m + 8, client, 16);
	if ((how & 3) == 1 || (how & 3) == 2) {
		memset(m + 24, how & 32 ? 1 : 0, PCP_NONCE);
		m[36] = proto[(a & 7) % 5];
		store16(m + 40, port_of(a >> 3));
		store16(m + 42, b & 1 ? port_of(b >> 1) : 0);
		put4(m + 44, b & 16 ? OUTER + (b >> 7) : 0);
		len = 60;
	}
	if ((how & 3) == 2) {
		store16(m + 60, port_of(b >> 5));
		put_peer(m + 64, input_u8(in), six);
		len = 80;
	}
	return how & 64 ? len + put_options(in, m + len) : len;
}

static uint32_t make_pmp(struct input *in, uint8_t *m)
{
	uint8_t how = input_u8(in), a = input_u8(in);
	memset(m, 0, 12);
	m[1] = how & 7;
	store16(m + 4, port_of(a));
	store16(m + 6, a & 8 ? port_of(a >> 4) : 0);
	store32(m + 8, swap32(how & 8 ? 0 : how & 16 ? 60 : 7200));
	return m[1] ? 12 : 2;
}

/* A request of a host; gives the frame's length. */
static uint32_t make_request(struct input *in, uint8_t *f, uint8_t op)
{
	static const ip6 site = {{0x20, 1, 0x0d, 0xb8, 0, 1}};
	uint8_t who = input_u8(in), client[16];
	bool six = who & 128;
	uint32_t from = HOST + (who & 3), at = six ? IP6_UDP : IP4_UDP;
	ip6 from6 = site, to6 = site;
	from6.b[15] = (uint8_t)(10 + (who & 1));
	to6.b[15] = 1;
	memset(f, 0, FRAME_MAX);
	put4(client, from);
	if (six)
		memcpy(client, &from6, sizeof client);
	client[15] ^= (who & 0x70) == 0x70; /* of another host */
	uint32_t n = op & 8 ? make_pmp(in, f + at + 8) : make_pcp(in, f + at + 8, client, six);
	f[at] = 200;
	store16(f + at + 2, swap16(PCP_PORT));
	store16(f + at + 4, swap16((uint16_t)(n + 8)));
	if (six)
		return frame6_ip(f, mac_of(IF_LAN), from6.b, to6.b, PROTO_UDP, 64, n + 8);
	return frame_ip4(f, mac_of(IF_LAN), from, (who & 0x70) == 0x60 ? OUTER : OWN, PROTO_UDP,
	                 n + 8);
}

/* A packet of UDP or TCP that goes out, or comes in to a port. */
static uint32_t make_packet(struct input *in, uint8_t *f, bool out)
{
	uint8_t how = input_u8(in), ports = input_u8(in);
	memset(f, 0, 80);
	store16(f + IP4_UDP + (out ? 0 : 2), port_of(ports));
	store16(f + IP4_UDP + (out ? 2 : 0), port_of(ports >> 4));
	uint32_t host = HOST + (how & 3), server = SERVER + (how >> 2 & 3);
	if (how & 128) {
		f[IP4_UDP + 12] = 0x50;
		f[IP4_UDP + 13] = how & 64 ? 4 : how & 32 ? 1 : 2; /* RST, FIN, SYN */
		f[IP4_UDP + 14] = 16;
	} else {
		f[IP4_UDP + 5] = 12;
	}
	return frame_ip4(f, mac_of(out ? IF_LAN : IF_WAN), out ? host : server,
	                 out ? server : OUTER, how & 128 ? PROTO_TCP : PROTO_UDP,
	                 how & 128 ? 20 : 12);
}

/* A lease comes or goes, as when the server gave or ended it, or the outer address changes. */
static void change_something(struct input *in)
{
	struct dhcps_net *net = &rig.gw.dhcps->net[IF_LAN];
	struct dhcps_id id = {.len = 7, .bytes = {1, 0x52}};
	uint8_t what = input_u8(in);
	mac station = {{0x52, 0x52, 0x52, 0x52, 0x52, what >> 4 & 3}};
	struct dhcps_who who = {.client = station, .agent = station};
	id.bytes[6] = station.b[5];
	if (what & 128)
		dhcps_table_forget(&rig.gw, net, what & 3, DHCPS_FREE, 0);
	else
		dhcps_table_take(&rig.gw, net, what & 3, &id, &who, DHCPS_BOUND,
		                 what & 4 ? rig.gw.clock.s + 60 : UINT32_MAX);
	list_one(5);
}

static void frame(struct input *in, uint8_t op)
{
	static uint8_t f[FRAME_MAX + 64];
	uint32_t iface = (op & 7) == 3 || (op & 0x87) == 0x84 ? IF_WAN : IF_LAN, len;
	if ((op & 7) == 4)
		len = make_answer(f, iface);
	else if ((op & 7) >= 2 && (op & 7) <= 3)
		len = make_packet(in, f, (op & 7) == 2);
	else
		len = make_request(in, f, op);
	if (op & 64 && op & 32)
		len = bend(in, op >> 3, f, len, 120);
	if (len >= ETH && f[12] == 0x86)
		frame6_repair(f + ETH, len - ETH);
	frame_repair(f, len);
	arrive(iface, f, len);
	rig_flush(&rig);
	check_table();
}

static void one_input(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	change = change_something;
	run.payloads = false;
	begin(input_u8(&in) & 3, 16u << 20, start, seen);
	run.payloads = false;
	play(&in, frame);
	check_table();
	rig_leap(&rig, (PCP_LONGEST_S + 10ull) * 1000000, 4);
	check_table();
	if (pcp_of(&rig.gw)->n)
		fail("an entry that stays for ever", NULL, 0);
	silence(8000000);
}
