/* apps/tunnel: the arithmetic of the engine's four parameters, which addresses may be ends,
 * the outer header's checksum, and the table of ends under a flood. Packets are tested in
 * tests/sim/tunnel. */
#include "apps/tunnel/tun.h"

#include "tests/host/rig.h"
#include "tests/tap.h"

static struct rig rig;
static uint8_t last[INTERFACES][2048];
static uint32_t n_sent[INTERFACES];

static void sink(struct rig *r, uint32_t iface, const uint8_t *frame, uint32_t len)
{
	(void)r;
	memcpy(last[iface], frame, min_u32(len, sizeof last[iface]));
	n_sent[iface]++;
}

#define NET                                                                                   \
	"lan.address 192.168.1.1/24\nwan.address 203.0.113.2/24\ngateway 203.0.113.1\n"       \
	"neighbour 203.0.113.1 52:52:52:52:52:52\nneighbour 192.168.1.10 52:52:52:52:52:52\n" \
	"lan.ra off\nnat.sessions 100\n"

static struct tun *start(const char *more)
{
	rig.sink = sink;
	rig_reset(&rig, 7, 16 << 20, 1000000);
	CHECK(rig_config(&rig, NET, sizeof NET - 1));
	CHECK(rig_config(&rig, more, strlen(more)));
	const char *wrong = rig_start(&rig, "6to4", 64);
	CHECK_STR(wrong ? wrong : "", "");
	rig_advance(&rig, 5000000);
	n_sent[0] = n_sent[1] = 0;
	return tun_of(&rig.gw);
}

static ip6 parse6(const char *text)
{
	ip6 a = {{0}};
	CHECK(addr_ip6(text, strlen(text), &a));
	return a;
}

static uint32_t embedded(const struct tun *t, const char *text)
{
	ip6 a = parse6(text);
	return swap32(tun_embedded(t, &a));
}

static bool in(const struct tun_prefix *p, const char *text)
{
	ip6 a = parse6(text);
	return tun_in(p, &a);
}

static void parameters_of_6to4(void)
{
	const struct tun *t = start("");
	CHECK(t->whole && t->native_any && !t->relay_may_all && !t->private_good);
	CHECK(in(&t->domain, "2002::") && in(&t->domain, "2002:ffff:ffff:ffff::1"));
	CHECK(!in(&t->domain, "2001:ffff::") && !in(&t->domain, "2003::"));
	CHECK(in(&t->site, "2002:cb00:7102::") && in(&t->site, "2002:cb00:7102:ffff::1"));
	CHECK(!in(&t->site, "2002:cb00:7103::") && !in(&t->site, "2002:cb00:7101:ffff::1"));
	/* RFC 3056 section 2: 192.0.2.4 is 2002:c000:204::/48. */
	CHECK_EQ(embedded(t, "2002:c000:204::1"), 0xc0000204);
	CHECK_EQ(embedded(t, "2002:ffff:ffff:1234::1"), 0xffffffff);
	CHECK_EQ(embedded(t, "2002:0:0:1234::1"), 0);
	CHECK_EQ(rig.gw.app_mtu, 1280);
}

/* Examples of RFC 5969 section 4, and others computed by hand. */
static void parameters_of_6rd(void)
{
	const struct tun *t = start("6rd.prefix 2001:db8::/32\n6rd.mask 8\n");
	CHECK(!t->whole && !t->native_any && t->relay_may_all && t->private_good);
	CHECK_EQ(embedded(t, "2001:db8:64:100::1"), 0xcb006401);
	CHECK_EQ(embedded(t, "2001:db8:ffff:ff00::1"), 0xcbffffff);
	CHECK(in(&t->site, "2001:db8:71:2ff::1") && !in(&t->site, "2001:db8:71:300::1"));
	/* A prefix that ends within a byte. */
	t = start("6rd.prefix 2001:db8:8000::/35\n6rd.mask 16\n6to4.subnet 0\n");
	CHECK_EQ(embedded(t, "2001:db8:8000:2000::1"), 0xcb000001);
	CHECK_EQ(embedded(t, "2001:db8:9fff:e000::1"), 0xcb00ffff);
	CHECK(in(&t->site, "2001:db8:8e20:4000::1") && !in(&t->site, "2001:db8:8e20:6000::1"));
	/* The longest prefix: it contains no bit of the address. */
	t = start("6rd.prefix 2001:db8:1:2::/64\n6rd.mask 32\n");
	CHECK_EQ(embedded(t, "2001:db8:1:2:ffff:ffff:ffff:ffff"), 0xcb007102);
	CHECK(in(&t->site, "2001:db8:1:2::9") && !in(&t->site, "2001:db8:1:3::9"));
	t = start("6rd.prefix 2000::/3\n6to4.subnet 1\n");
	CHECK_EQ(embedded(t, "3960:0e20:4000:0::1"), 0xcb007102);
}

static void ends(void)
{
	static const struct {
		const char *text;
		enum drop bad;
	} all[] = {
	        {"198.51.100.7", DROP_NONE},      {"203.0.113.1", DROP_NONE},
	        {"203.0.113.2", DROP_TUNNEL_END}, {"203.0.113.255", DROP_TUNNEL_END},
	        {"203.0.113.0", DROP_TUNNEL_END}, {"192.168.1.10", DROP_TUNNEL_END},
	        {"0.0.0.0", DROP_TUNNEL_END},     {"255.255.255.255", DROP_TUNNEL_END},
	        {"10.0.0.1", DROP_TUNNEL_END},    {"127.0.0.1", DROP_TUNNEL_END},
	        {"192.88.99.1", DROP_NONE},       {"224.0.0.1", DROP_TUNNEL_END},
	};
	struct tun *t = start("");
	for (unsigned round = 0; round < 2; round++)
		for (unsigned i = 0; i < ARRAY_SIZE(all); i++) {
			ip4 a;
			CHECK(addr_ip4(all[i].text, strlen(all[i].text), &a));
			const struct tun_end *e = tun_known_end(&rig.gw, t, ip4_raw(a));
			CHECK(round == 0 || all[i].bad == DROP_NONE || !e);
			CHECK_EQ(tun_bad_end(&rig.gw, t, ip4_raw(a)), all[i].bad);
			e = tun_known_end(&rig.gw, t, ip4_raw(a));
			CHECK_EQ(e != NULL, all[i].bad == DROP_NONE);
		}
	/* The next hop is the end itself when it is on the link, else the router. */
	ip4 router = ip4_of(0xcb007101), far = ip4_of(0xc6336407), near = ip4_of(0xcb007109);
	CHECK_EQ(tun_bad_end(&rig.gw, t, ip4_raw(near)), DROP_NONE);
	CHECK_EQ(tun_known_end(&rig.gw, t, ip4_raw(near))->hop, ip4_raw(near));
	CHECK_EQ(tun_bad_end(&rig.gw, t, ip4_raw(far)), DROP_NONE);
	CHECK_EQ(tun_known_end(&rig.gw, t, ip4_raw(far))->hop, ip4_raw(router));
}

/* Any number of ends in a table of 256 entries: each entry that is found is correct. */
static void flood_of_ends(void)
{
	struct tun *t = start("");
	uint32_t known = 0;
	for (uint32_t i = 0; i < 100000; i++) {
		uint32_t a = i * 2654435761u;
		bool good = tun_may_be_end(t, ip4_from_raw(a));
		if (tun_known_end(&rig.gw, t, a))
			known++;
		CHECK(good || tun_bad_end(&rig.gw, t, a) == DROP_TUNNEL_END);
		if (good && tun_bad_end(&rig.gw, t, a) == DROP_NONE)
			CHECK_EQ(tun_known_end(&rig.gw, t, a)->addr, a);
	}
	CHECK(known < 10);
}

/* Ethernet, IPv6 and some bytes from a host on the LAN. */
static uint32_t packet(uint8_t *f, uint8_t tc, uint32_t n, const char *to)
{
	static const uint8_t eth[] = {2,    0,    0,    0,    0,    1,    0x52,
	                              0x52, 0x52, 0x52, 0x52, 0x52, 0x86, 0xdd};
	memset(f, 0, 14 + 40 + n);
	memcpy(f, eth, sizeof eth);
	struct ip6_hdr *h = (struct ip6_hdr *)(f + 14);
	h->first = be32_of(0x60000000u | (uint32_t)tc << 20);
	h->len = be16_of((uint16_t)n);
	h->next = PROTO_UDP;
	h->hops = 9;
	h->from = parse6("2002:cb00:7102:1::10");
	h->to = parse6(to);
	return 14 + 40 + n;
}

/* The checksum is added up from parts: compares it for many headers with a plain sum. */
static void outer_checksum(void)
{
	uint8_t f[1500];
	char to[48];
	start("6to4.mtu 1400\n");
	for (uint32_t i = 0; i < 4000; i++) {
		uint32_t a = i * 2654435761u;
		snprintf(to, sizeof to, "2002:%x:%x::1", 0x0b00 + (a & 0x3ff), a >> 16);
		uint32_t before = n_sent[IF_WAN], n = i % 1361;
		CHECK(rig_input(&rig, IF_LAN, f, packet(f, (uint8_t)i, n, to)));
		CHECK_EQ(n_sent[IF_WAN], before + 1);
		const struct ip4_hdr *h = (const struct ip4_hdr *)(last[IF_WAN] + 14);
		if (csum_sum(h, 20) != 0xffff || h->tos != (uint8_t)i ||
		    be16_get(h->len) != 60 + n || ip4_get(h->to) >> 16 != 0x0b00 + (a & 0x3ff)) {
			CHECK_EQ(i, 0); /* shows which one */
			break;
		}
	}
}

/* A remembered error is about one destination, even when another destination has the same
 * entry. */
static void soft_state(void)
{
	uint8_t f[200];
	struct tun *t = start("");
	struct pkt *p = pkt_alloc(&rig.pool);
	uint32_t n = packet(f, 0, 100, "2002:c633:6407::1") - 14;
	uint8_t *to = pkt_put(p, n);
	CHECK(to != NULL);
	memcpy(to, f + 14, n);
	CHECK_EQ(ip6_parse(p), DROP_NONE);
	p->iface = IF_LAN;
	uint32_t a = 0x076433c6, b = a + 1, place = a * rig.gw.ids.mul >> 26;
	while (b * rig.gw.ids.mul >> 26 != place)
		b++;
	for (unsigned i = 0; i < 2; i++) {
		t->soft[place] =
		        (struct tun_soft){a, rig.gw.clock.ms + 1000, ICMP6_UNREACHABLE, 3, 0};
		t->n_soft = 1;
		CHECK_EQ(tun_soft_error(&rig.gw, t, p, b), V_SEND6);
		CHECK_EQ(t->n_soft, 1);
		/* Within its lifetime it is sent, later it is only removed. */
		t->soft[place].due_ms -= i * 1000;
		CHECK_EQ(tun_soft_error(&rig.gw, t, p, a), V_SEND6);
		CHECK_EQ(t->n_soft, 0);
		CHECK_EQ(t->errors, 1);
	}
	pkt_free(p);
}

int main(void)
{
	TEST(soft_state);
	TEST(parameters_of_6to4);
	TEST(parameters_of_6rd);
	TEST(ends);
	TEST(flood_of_ends);
	TEST(outer_checksum);
	return tap_done();
}
