/* libFuzzer: DHCP, the server's role. Messages of a few clients and their relay agents, on one
 * network or two, wrong ones among them, answers of other servers, ARP, time and cables. An input
 * is a list of operations (gateway.h).
 *
 * Checked: frames that leave are well formed; an address that is given is one of the pool or a
 * static one, and belongs to the client that gets it; in the table each client has one address, and
 * is found by its identifier; in the end nobody waits, and every packet is free. */
#include "net/dhcps/dhcps.h"
#include "net/dhcps/dhcps_table.h"
#include "tests/fuzz/gateway.h"

#define UDP_AT  34u
#define DHCP_AT 42u
#define OWN     0xc0a80101u /* 192.168.1.1 */
#define FIRST   0xc0a80164u /* 192.168.1.100 */
#define CLIENTS 16u

static const char config[] = "lan.address 192.168.1.1/24\n"
                             "wan.address 203.0.113.2/24\n"
                             "nat.sessions 64\n"
                             "lan.dhcp 192.168.1.100-192.168.1.107\n"
                             "lan.dhcp-lease 60\n"
                             "lan.dhcp-static 52:52:52:52:52:03 192.168.1.20 nas\n"
                             "lan.dhcp-static 52:52:52:52:52:04 192.168.1.101\n"
                             "lan.domain home.test\n";

/* --- what leaves -------------------------------------------------------------------------------
 */

static void check_given(uint32_t iface, const struct dhcp_message *m, const uint8_t *f,
                        uint32_t len)
{
	const struct dhcps_net *net = &rig.gw.dhcps->net[iface];
	const struct dhcps_config_net *c = &dhcps_config(rig.gw.config)->net[iface];
	ip4 given = m->hdr->yiaddr;
	if (ip4_raw(given) == 0)
		return;
	uint32_t i = dhcps_table_at(net, c, given);
	if (m->type == DHCP_NAK || i == DHCPS_NONE)
		fail("an address that is not ours to give", f, len);
	if (!net->slot[i].known || !mac_eq(&net->client[i].address, &m->hdr->chaddr))
		fail("an address of another client", f, len);
	if (net->slot[i].fixed &&
	    !mac_eq(&c->fixed[net->slot[i].fixed - 1].address, &m->hdr->chaddr))
		fail("the static lease of another station", f, len);
}

static void seen(struct rig *r, uint32_t iface, const uint8_t *frame, uint32_t len)
{
	struct dhcp_message m;
	(void)r;
	note(iface, frame, len);
	const char *bad = check(iface, frame, len);
	if (bad)
		fail(bad, frame, len);
	if (len < DHCP_AT || frame[12] != 8 || frame[13] != 0 || frame[23] != PROTO_UDP ||
	    from_wire(frame + UDP_AT) != DHCP_SERVER_PORT)
		return;
	if (!interface_is_inside(iface) || !rig.gw.dhcps->net[iface].on)
		fail("an answer outside", frame, len);
	uint32_t n = from_wire(frame + UDP_AT + 4) - 8;
	bad = dhcp_message_read(&m, frame + DHCP_AT, n);
	if (bad || m.hdr->op != DHCP_BOOTREPLY)
		fail(bad ? bad : "a request", frame, len);
	if (!dhcp_message_has(&m, DHCP_SERVER_ID))
		fail("no server identifier", frame, len);
	if (!run.late)
		check_given(iface, &m, frame, len);
}

/* --- the table ---------------------------------------------------------------------------------
 */

static void check_net(const struct dhcps_net *net)
{
	uint32_t chained = 0, known = 0;
	for (uint32_t i = 0; i <= net->mask; i++)
		for (uint16_t k = net->by_id[i]; k != DHCPS_END; k = net->client[k].next_id)
			if (++chained > net->n)
				fail("a chain that does not end", NULL, 0);
	for (uint32_t i = 0; i < net->n; i++) {
		known += net->slot[i].known;
		if (net->slot[i].known && dhcps_table_of(&rig.gw, net, &net->client[i].id) != i)
			fail("a client that is not found", NULL, 0);
	}
	if (chained != known)
		fail("numbers that are not right", NULL, 0);
}

static void check_table(void)
{
	const struct dhcps *d = rig.gw.dhcps;
	uint32_t probes = 0;
	for (uint32_t i = 0; i < rig.gw.n_iface; i++)
		if (d->net[i].on)
			check_net(&d->net[i]);
	for (uint32_t i = 0; i < DHCPS_PROBES; i++)
		probes += d->probe[i].used;
	if (probes != d->n_probes)
		fail("clients that wait and are not counted", NULL, 0);
}

static void start(uint8_t choice)
{
	static const char six[] = "lan.dhcp-v6only 300\n",
	                  options[] = "lan.dhcp-option 66 192.168.1.9\nlan.dhcp-option 67 boot\n"
	                              "lan.dhcp-option 43 hex:0102\n",
	                  two[] = "lan2 nic2\nlan2.address 192.168.2.1/24\n"
	                          "lan2.dhcp 192.168.2.100-192.168.2.103\n";
	configure(config, sizeof config - 1);
	if (choice & 1)
		configure(six, sizeof six - 1);
	if (choice & 2)
		configure(options, sizeof options - 1);
	if (choice & 8)
		configure(two, sizeof two - 1);
	start_app("nat", choice & 4 ? 12 : 64);
}

/* --- what comes in -----------------------------------------------------------------------------
 */

static uint32_t put(uint8_t *at, uint8_t code, const void *value, uint32_t n)
{
	at[0] = code;
	at[1] = (uint8_t)n;
	memcpy(at + 2, value, n);
	return 2 + n;
}

static uint32_t put_address(uint8_t *at, uint8_t code, uint32_t a)
{
	const be32 wire = be32_of(a);
	return put(at, code, &wire, sizeof wire);
}

/* An option with bytes of the input, often of a code that the server reads. */
static uint32_t any_option(struct input *in, uint8_t *at)
{
	static const uint8_t code[] = {DHCP_HOST_NAME, DHCP_PARAMETERS, DHCP_CLIENT_ID,
	                               DHCP_MAX_SIZE,  DHCP_AGENT,      DHCP_FQDN,
	                               DHCP_OVERLOAD,  DHCP_SERVER_ID};
	uint8_t which = input_u8(in), n = input_u8(in) & 31;
	at[0] = which & 128 ? input_u8(in) : code[which % ARRAY_SIZE(code)];
	at[1] = n;
	for (uint32_t i = 0; i < n; i++)
		at[2 + i] = input_u8(in);
	return 2u + n;
}

static uint32_t address_of(uint8_t which)
{
	static const uint32_t other[] = {0xc0a80114, OWN, 0xc0a801ff, 0x0a000001, 0xc0a80264};
	which &= 15;
	return which < 11 ? FIRST + which % 9 : other[which - 11];
}

/* A message of a client; gives the frame's length. */
static uint32_t make_message(struct input *in, uint8_t *f)
{
	static const uint8_t type[] = {DHCP_DISCOVER, DHCP_REQUEST, DHCP_REQUEST, DHCP_REQUEST,
	                               DHCP_DECLINE,  DHCP_RELEASE, DHCP_INFORM,  DHCP_OFFER};
	struct dhcp_hdr *h = (struct dhcp_hdr *)(f + DHCP_AT);
	uint8_t how = input_u8(in), who = input_u8(in), what = input_u8(in);
	uint32_t to = how & 128 ? OWN : 0xffffffff;
	memset(f, 0, FRAME_MAX);
	h->op = how & 64 && what == 255 ? DHCP_BOOTREPLY : DHCP_BOOTREQUEST;
	h->htype = 1;
	h->hlen = sizeof(mac);
	h->xid = be32_of(who);
	h->flags = be16_of((uint16_t)(who & 128 ? DHCP_BROADCAST : 0));
	memset(&h->chaddr, 0x52, sizeof(mac));
	h->chaddr.b[5] = who % CLIENTS;
	h->cookie = be32_of(DHCP_COOKIE);
	if (who & 64)
		h->giaddr = ip4_of(who & 32 ? 0xc0a8010a : 0x0a000001);
	uint8_t *at = (uint8_t *)(h + 1);
	at += put(at, DHCP_TYPE, &type[how & 7], 1);
	if (how & 8)
		h->ciaddr = ip4_of(address_of(what));
	if (how & 16)
		at += put_address(at, DHCP_ADDRESS, address_of(what));
	if (how & 32)
		at += put_address(at, DHCP_SERVER_ID, what & 16 ? OWN + 6 : OWN);
	for (uint32_t i = 0; i < (what >> 5 & 3u) && in->left; i++)
		at += any_option(in, at);
	*at++ = DHCP_END;
	uint32_t len = (uint32_t)(at - (f + UDP_AT));
	f[UDP_AT + 1] = DHCP_CLIENT_PORT;
	f[UDP_AT + 3] = h->op == DHCP_BOOTREPLY ? DHCP_CLIENT_PORT : DHCP_SERVER_PORT;
	f[UDP_AT + 4] = (uint8_t)(len >> 8);
	f[UDP_AT + 5] = (uint8_t)len;
	mac station = h->chaddr;
	if (who & 64 && who & 16)
		station.b[5] = CLIENTS; /* the relay agent's own */
	uint32_t n = frame_ip4(f, mac_of(IF_LAN), ip4_get(h->ciaddr), to, PROTO_UDP, len);
	memcpy(f + 6, &station, sizeof station);
	return n;
}

/* ARP on the LAN, about addresses of the pool. */
static uint32_t make_arp(struct input *in, uint8_t *f)
{
	uint8_t how = input_u8(in), a = input_u8(in);
	struct eth_hdr *eth = (struct eth_hdr *)f;
	struct arp_hdr *arp = (struct arp_hdr *)(eth + 1);
	memset(f, 0, 60);
	memcpy(&eth->to, mac_of(IF_LAN), 6);
	memset(&eth->from, 0x52, 6);
	eth->from.b[5] = how % CLIENTS;
	eth->type = be16_of(ETH_ARP);
	arp->hardware = be16_of(1);
	arp->protocol = be16_of(ETH_IP4);
	arp->hardware_len = 6;
	arp->protocol_len = 4;
	arp->operation = be16_of(how & 128 ? ARP_REQUEST : ARP_REPLY);
	arp->sender_mac = eth->from;
	arp->sender_ip = ip4_of(address_of(a));
	arp->target_ip = ip4_of(a & 128 ? OWN : address_of(a >> 4));
	return 60;
}

/* --- the whole ---------------------------------------------------------------------------------
 */

static void listing(struct input *in)
{
	(void)in;
	list(dhcps_show_leases);
}

static bool clients_wait(void)
{
	return rig.gw.dhcps && rig.gw.dhcps->n_probes > 0;
}

static void frame(struct input *in, uint8_t op)
{
	static uint8_t f[FRAME_MAX + 64];
	uint32_t len = (op & 7) == 1 ? make_arp(in, f) : make_message(in, f);
	if (op & 64 && op & 32)
		len = bend(in, op >> 3, f, len, 255);
	frame_repair(f, len);
	uint32_t iface = (op & 7) == 2 ? IF_WAN : IF_LAN;
	if ((op & 7) == 3 && rig.gw.n_iface > IF_WAN + 1)
		iface = IF_WAN + 1; /* lan2 */
	memcpy(f, mac_of(iface), iface == IF_LAN ? 0 : sizeof(mac));
	arrive(iface, f, len);
	rig_flush(&rig);
	check_table();
}

static void one_input(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	change = listing;
	waits = clients_wait;
	begin(input_u8(&in) & 15, 16u << 20, start, seen);
	play(&in, frame);
	check_table();
	silence(8000000);
	check_table();
	if (rig.gw.dhcps->n_probes)
		fail("a client that waits for ever", NULL, 0);
}
