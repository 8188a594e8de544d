/* The NAT with two million sessions: opened, found again, full, and expired, all by frames
 * and ticks as in the image. */
#include "apps/nat/nat.h"
#include "kernel/seam/io.h"
#include "tests/host/nat_check.h"
#include "tests/host/rig.h"

#include "tests/tap.h"

enum { HOSTS = 2000, FLOWS = 1000, ALL = HOSTS * FLOWS, FIRST_PORT = 2000, TURN = 64 };
static const uint32_t FIRST_HOST = 0x0a010001, SERVER = 0xc0000207;

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
	static const char config[] = "lan.address 10.0.0.1/8\n"
	                             "wan.address 203.0.113.2/24\n"
	                             "gateway 203.0.113.1\n"
	                             "neighbour 203.0.113.1 52:54:00:00:02:01\n"
	                             "neighbour 10.1.0.1 52:54:00:00:01:01\n"
	                             "nat.pool 198.51.100.1-198.51.100.48\n"
	                             "nat.sessions 2000000\n";
	rig.sink = sink;
	rig_reset(&rig, 7, 320u << 20, 1000000);
	CHECK(rig_config(&rig, config, sizeof config - 1));
	const char *wrong = rig_start(&rig, "nat", 512);
	CHECK_STR(wrong ? wrong : "fine", "fine");
	sent[IF_LAN] = sent[IF_WAN] = 0;
}

/* A UDP packet of 28 bytes from an inside host to the server, port 53. */
static void udp_out(uint32_t host, uint16_t port)
{
	static uint8_t f[14 + 28] = {2, 0, 0, 0, 0, 1, 0x52, 0x54, 0, 0, 1, 1, 8, 0, 0x45};
	struct ip4_hdr *h = (struct ip4_hdr *)(f + 14);
	h->len = be16_of(28);
	h->ttl = 64;
	h->proto = PROTO_UDP;
	h->from = ip4_from_raw(swap32(host));
	h->to = ip4_from_raw(swap32(SERVER));
	h->sum = be16_of(0);
	h->sum = be16_from_raw((uint16_t)~csum_ip4_header(h));
	store16(f + 34, swap16(port));
	store16(f + 36, swap16(53));
	store16(f + 38, swap16(8));
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
}

/* Each session is found by its 5-tuple from inside and by its external port; no two share a
 * port. */
static void all_are_found(void)
{
	const struct nat_table *t = &nat()->table;
	unsigned lost = 0;
	for (uint32_t h = 0; h < HOSTS; h++)
		for (uint32_t i = 0; i < FLOWS; i++) {
			uint16_t port = swap16((uint16_t)(FIRST_PORT + i));
			const struct nat_session *s =
			        nat_session_find(t, NAT_UDP, swap32(FIRST_HOST + h), swap32(SERVER),
			                         port | (uint32_t)swap16(53) << 16);
			const struct nat_mapping *m = s ? &t->mapping[s->mapping] : NULL;
			lost += !m || m->in_port != port || m->in_ip != swap32(FIRST_HOST + h) ||
			        nat_mapping_of_port(t, m->external, NAT_UDP, m->ext_port) != m;
		}
	CHECK_EQ(lost, 0);
}

/* One more session of a host that holds its share is refused with an ICMP error; packets of
 * open sessions still pass. */
static void one_more_is_refused(void)
{
	unsigned out = sent[IF_WAN];
	udp_out(FIRST_HOST, 60000);
	CHECK_EQ(sent[IF_WAN], out);
	CHECK_EQ(sent[IF_LAN], 1);
	CHECK(last[IF_LAN][34] == ICMP_UNREACHABLE && last[IF_LAN][35] == ICMP_ADMIN);
	CHECK_EQ(rig.gw.counts.drops[DROP_TABLE_FULL], 1);
	CHECK_EQ(nat()->table_full, 1);
	udp_out(FIRST_HOST, FIRST_PORT);
	udp_out(FIRST_HOST + HOSTS - 1, FIRST_PORT + FLOWS - 1);
	CHECK_EQ(sent[IF_WAN], out + 2);
	udp_out(FIRST_HOST + HOSTS,
	        FIRST_PORT); /* it holds nothing yet: a session is evicted for it */
	CHECK_EQ(sent[IF_WAN], out + 3);
	CHECK_EQ(nat()->table.evicted, 1);
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
