/* net/vlan: tags in bursts of frames, and frames that the card refused. The rest is tested in
 * tests/sim/net/test_vlan.py. */
#include "net/vlan/vlan.h"

#include <stdio.h>

#include "net/lib/csum.h"
#include "tests/host/rig.h"
#include "tests/tap.h"

static struct rig rig;

static void start(void)
{
	static const char config[] =
	        "lan nic0\nwan nic0.7\nlan2 nic0.4094\nlan.address 10.0.0.1/8\n"
	        "lan2.address 192.168.2.1/24\nwan.address 203.0.113.2/24\n"
	        "nat.sessions 100\n";
	rig_reset(&rig, 1, 8 << 20, 1000000);
	CHECK(rig_config(&rig, config, sizeof config - 1));
	const char *wrong = rig_start(&rig, "nat", 64);
	CHECK_STR(wrong ? wrong : "fine", "fine");
}

/* A frame that nobody takes: of a type for experiments. A VLAN below 0 is no tag. */
static struct pkt *frame(int vlan, uint32_t payload, uint8_t fill)
{
	static const uint8_t to[] = {2, 0, 0, 0, 0, 1};
	struct pkt *p = pkt_alloc(&rig.pool);
	uint32_t tag = vlan < 0 ? 0 : 4, n = 14 + tag + payload;
	uint8_t *f = pkt_put(p, n);
	memset(f, fill, n);
	memcpy(f, to, sizeof to);
	if (tag)
		store32(f + 12, swap32(0x81000000u | (uint32_t)vlan));
	store16(f + 12 + tag, swap16(0x88b5));
	return p;
}

static uint64_t dropped(enum drop reason)
{
	return rig.gw.counts.drops[reason];
}

/* Frames of several VLANs that come in together each belong to their own interface. */
static void mixed_bursts(void)
{
	static const int vlans[] = {7, 7, -1, 4094, 7, 0, 0x2007, 8, 8, 4095, -1, 7};
	static const uint32_t expected[] = {[IF_LAN] = 3, [IF_WAN] = 5, [NET_LAN2] = 1};
	for (uint32_t first = 0; first < ARRAY_SIZE(vlans); first++)
		for (uint32_t part = 1; part <= ARRAY_SIZE(vlans); part++) {
			struct pkt *burst[ARRAY_SIZE(vlans)];
			uint32_t n = ARRAY_SIZE(vlans);
			start();
			for (uint32_t i = 0; i < n; i++)
				burst[i] = frame(vlans[(first + i) % n], 50, 1);
			for (uint32_t i = 0; i < n; i += part)
				vlan_input(&rig.gw, 0, burst + i, min_u32(part, n - i));
			for (uint32_t i = 0; i < ARRAY_SIZE(expected); i++) {
				CHECK_EQ(rig.gw.iface[i].rx_packets, expected[i]);
				CHECK_EQ(rig.gw.iface[i].rx_bytes, expected[i] * 64);
			}
			CHECK_EQ(dropped(DROP_VLAN), 3);
			CHECK_EQ(dropped(DROP_ETHERTYPE), 9);
			CHECK_EQ(rig.pool.n_free, rig.free_at_start);
		}
}

/* What is put in is taken out again: a frame that waits for its card is as it was. */
static void refused_frames(void)
{
	start();
	for (uint32_t payload = 0; payload <= 1500; payload += 1500) {
		struct pkt *p = frame(-1, payload, 0x5a), *same = frame(-1, payload, 0x5a);
		for (int i = 0; i < 100; i++) {
			vlan_tag(&rig.gw.iface[IF_WAN], &p, 1);
			CHECK_EQ(p->len, payload + 18);
			CHECK_EQ(load32(p->data + 12), swap32(0x81000007u));
			CHECK(memcmp(p->data, same->data, 12) == 0);
			CHECK(memcmp(p->data + 16, same->data + 12, payload + 2) == 0);
			vlan_untag(&rig.gw.iface[IF_WAN], &p, 1);
		}
		CHECK_EQ(p->len, same->len);
		CHECK(memcmp(p->data, same->data, p->len) == 0);
		pkt_free(p);
		pkt_free(same);
	}
}

static void refused_partial_packets(void)
{
	start();
	rig.gw.iface[IF_WAN].partial = true;
	struct pkt *burst[] = {frame(-1, 1000, 1), frame(-1, 60, 2)};
	burst[0]->flags |= PKT_PARTIAL;
	burst[0]->next = NULL;
	burst[0]->segment = 100;
	burst[0]->l4 = 34;
	burst[0]->l4_len = 16;
	burst[0]->total = burst[0]->len;
	for (int i = 0; i < 3; i++) {
		vlan_tag(&rig.gw.iface[IF_WAN], burst, 2);
		CHECK_EQ(burst[0]->l4, 38);
		CHECK_EQ(burst[0]->total, 1018);
		CHECK_EQ(burst[0]->len, 1018);
		CHECK_EQ(burst[1]->len, 78);
		vlan_untag(&rig.gw.iface[IF_WAN], burst, 2);
		CHECK_EQ(burst[0]->l4, 34);
		CHECK_EQ(burst[0]->total, 1014);
		CHECK_EQ(burst[1]->len, 74);
	}
	pkt_free(burst[0]);
	pkt_free(burst[1]);
}

int main(void)
{
	TEST(mixed_bursts);
	TEST(refused_frames);
	TEST(refused_partial_packets);
	return tap_done();
}
