/* The NAT64 with two million sessions in 320 MB: opened, found again, full, and expired, all by
 * frames and ticks as in the image. */
#include "apps/nat64/nat64.h"
#include "kernel/seam/io.h"
#include "tests/host/nat_check.h"
#include "tests/host/rig.h"

#include "tests/tap.h"

enum { HOSTS = 2000, FLOWS = 1000, ALL = HOSTS * FLOWS, FIRST_PORT = 2000, TURN = 64 };
enum { FIRST_HOST = 0x10001 };

static struct rig rig;
static unsigned sent[INTERFACES];
static uint8_t last[INTERFACES][128];

static void sink(struct rig *r, uint32_t iface, const uint8_t *frame, uint32_t len)
{
	(void)r;
	sent[iface]++;
	memcpy(last[iface], frame, min_u32(len, sizeof last[iface]));
}

static struct nat *nat(void)
{
	return rig.gw.state;
}

static void start(void)
{
	static const char config[] = "lan.address 2001:db8:1::1/64\n"
	                             "lan.ra off\n"
	                             "wan.address 203.0.113.2/24\n"
	                             "gateway 203.0.113.1\n"
	                             "neighbour 203.0.113.1 52:54:00:00:02:01\n"
	                             "neighbour 2001:db8:1::1:1 52:54:00:00:01:01\n"
	                             "wkp-strict off\n"
	                             "nat64.host-length 128\n"
	                             "nat64.pool 198.51.100.1-198.51.100.48\n"
	                             "nat64.sessions 2000000\n";
	rig.sink = sink;
	rig_reset(&rig, 7, 320u << 20, 1000000);
	CHECK(rig_config(&rig, config, sizeof config - 1));
	const char *wrong = rig_start(&rig, "nat64", 512);
	CHECK_STR(wrong ? wrong : "fine", "fine");
	rig_advance(&rig, 4000000); /* the addresses are in use */
	sent[IF_LAN] = sent[IF_WAN] = 0;
}

static ip6 address_of(uint32_t host)
{
	ip6 a = {.b = {0x20, 0x01, 0x0d, 0xb8, 0, 1}};
	store32(a.b + 12, swap32(host));
	return a;
}

/* A UDP packet of 48 bytes from an inside host to 192.0.2.7, port 53. */
static void udp_out(uint32_t host, uint16_t port)
{
	static const uint8_t to[16] = {0, 0x64, 0xff, 0x9b, [12] = 192, 0, 2, 7};
	static uint8_t f[14 + 48] = {2, 0, 0, 0, 0, 1, 0x52, 0x54, 0, 0, 1, 1, 0x86, 0xdd, 0x60};
	const ip6 from = address_of(host);
	store16(f + 18, swap16(8));
	f[20] = PROTO_UDP;
	f[21] = 64;
	memcpy(f + 22, from.b, 16);
	memcpy(f + 38, to, 16);
	store16(f + 54, swap16(port));
	store16(f + 56, swap16(53));
	store16(f + 58, swap16(8));
	store16(f + 60, 0x1234); /* no host checks it here */
	CHECK(rig_input(&rig, IF_LAN, f, sizeof f));
}

static void fill(void)
{
	start();
	for (uint32_t h = 0; h < HOSTS; h++)
		for (uint16_t i = 0; i < FLOWS; i++)
			udp_out(FIRST_HOST + h, (uint16_t)(FIRST_PORT + i));
	CHECK_EQ(sent[IF_WAN], ALL);
	CHECK_EQ(nat()->table.n_sessions, ALL);
	CHECK_EQ(nat()->table.n_mappings, ALL);
	CHECK_EQ(nat()->table.n_hosts, HOSTS);
	CHECK_EQ(nat64_of(&rig.gw)->inside.n, HOSTS);
}

/* Each session is found by its 5-tuple from inside and by its external port; no two share a
 * port. */
static void all_are_found(void)
{
	const struct nat_table *t = &nat()->table;
	const uint32_t server = load32((const uint8_t[]){192, 0, 2, 7});
	unsigned lost = 0;
	for (uint32_t h = 0; h < HOSTS; h++) {
		const ip6 host = address_of(FIRST_HOST + h);
		uint32_t number = nat_inside_find(&nat64_of(&rig.gw)->inside, &host);
		for (uint32_t i = 0; i < FLOWS; i++) {
			uint16_t port = swap16((uint16_t)(FIRST_PORT + i));
			const struct nat_session *s = nat_session_find(
			        t, NAT_UDP, number, server, port | (uint32_t)swap16(53) << 16);
			const struct nat_mapping *m = s ? &t->mapping[s->mapping] : NULL;
			lost += !m || m->in_port != port || m->in_ip != number ||
			        nat_mapping_of_port(t, m->external, NAT_UDP, m->ext_port) != m;
		}
	}
	CHECK_EQ(lost, 0);
}

/* One more session of an address that holds as many as the others of its station is refused with an
 * ICMP error, for which the address is solicited first; packets of open sessions still pass. All
 * but the first address are of one station, as nobody has answered for them. */
static void one_more_is_refused(void)
{
	unsigned out = sent[IF_WAN];
	udp_out(FIRST_HOST + 1, 60000);
	CHECK_EQ(sent[IF_WAN], out);
	CHECK_EQ(sent[IF_LAN], 1);
	CHECK_EQ(last[IF_LAN][54], 135); /* RFC 4861 section 4.3 */
	CHECK_EQ(rig.gw.counts.drops[DROP_TABLE_FULL], 1);
	CHECK_EQ(nat()->table_full, 1);
	udp_out(FIRST_HOST, FIRST_PORT);
	udp_out(FIRST_HOST + HOSTS - 1, FIRST_PORT + FLOWS - 1);
	CHECK_EQ(sent[IF_WAN], out + 2);
	CHECK_EQ(nat()->table.evicted, 0);
	/* This one holds nothing yet, and the first one's station little: a session is evicted. */
	udp_out(FIRST_HOST + HOSTS, FIRST_PORT);
	CHECK_EQ(sent[IF_WAN], out + 3);
	udp_out(FIRST_HOST, 60000);
	CHECK_EQ(sent[IF_WAN], out + 4);
	CHECK_EQ(nat()->table.evicted, 2);
	CHECK_EQ(nat()->table.n_sessions, ALL);
}

/* All sessions expire in the same second. A tick ends only a few of them, and packets pass
 * between ticks. */
static void expiry_does_not_stall(void)
{
	uint32_t turns = 0, most = 0, lively = 0;
	rig.gw.clock.us += 302ull * 1000000;
	for (bool more = true; more && turns < 2 * ALL / TURN; turns++) {
		uint32_t before = nat()->table.n_sessions;
		more = gw_tick(&rig.gw);
		most = max_u32(most, before - nat()->table.n_sessions);
		if (turns % 1000 == 500) {
			unsigned out = sent[IF_WAN];
			udp_out(FIRST_HOST + HOSTS + 1, 40000);
			lively += sent[IF_WAN] == out + 1;
		}
	}
	CHECK_EQ(most, TURN);
	CHECK(turns >= ALL / TURN && turns < ALL / TURN + 10);
	CHECK_EQ(lively, ALL / TURN / 1000);
	CHECK_EQ(nat()->table.n_sessions, 1);
	CHECK_EQ(nat()->table.expired, ALL);
	const char *bad = nat_check(&nat()->table, &rig.gw);
	CHECK_STR(bad ? bad : "consistent", "consistent");
}

int main(void)
{
	TEST(fill);
	TEST(all_are_found);
	TEST(one_more_is_refused);
	TEST(expiry_does_not_stall);
	return tap_done();
}
