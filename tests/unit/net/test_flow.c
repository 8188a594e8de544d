/* net/flow.h: the order of the frames of a burst, and routes of the fast path. The fast path itself
 * is compared with the slow one in tests/sim/net/test_flow.py and by the fuzzers. */
#include "net/flow.h"

#include <stdio.h>
#include <string.h>

#include "apps/nat/nat.h"
#include "kernel/lib/addr.h"
#include "net/ip4/ip4.h"
#include "net/ip6/icmp6.h"
#include "net/setup/gw_setup6.h"
#include "tests/host/rig.h"
#include "tests/tap.h"

#define BURST 9u

static struct rig rig;
static uint8_t order[2 * BURST]; /* the first byte of payload of each UDP packet that left */
static uint32_t n_left;

static void seen(struct rig *r, uint32_t iface, const uint8_t *frame, uint32_t len)
{
	(void)r;
	if (iface == IF_WAN && len >= 43 && frame[12] == 8 && frame[13] == 0 &&
	    n_left < sizeof order)
		order[n_left++] = frame[42];
}

static void start(const char *app, const char *more)
{
	static const char config[] = "lan.address 192.168.1.1/24\nwan.address 203.0.113.2/24\n"
	                             "gateway 203.0.113.1\nroute 10.0.0.0/8 via 192.168.1.9\n"
	                             "neighbour 203.0.113.1 52:52:52:52:52:52\n"
	                             "nat.sessions 100\n";
	rig.sink = seen;
	rig_reset(&rig, 1, 4 << 20, 1000000);
	CHECK(rig_config(&rig, config, strlen(config)));
	CHECK(rig_config(&rig, more, strlen(more)));
	const char *wrong = rig_start(&rig, app, 64);
	CHECK_STR(wrong ? wrong : "fine", "fine");
	rig_flush(&rig);
	n_left = 0;
}

/* A UDP packet from an inside host, to a port, that carries a number. */
static struct pkt *packet(uint16_t port, uint8_t number, uint8_t ttl)
{
	struct pkt *p = pkt_alloc(&rig.pool);
	uint8_t *at = p ? pkt_put(p, 60) : NULL;
	if (!at)
		return NULL;
	memset(at, 0, 60);
	memcpy(at, &rig.gw.iface[IF_LAN].address, 6);
	memset(at + 6, 0x52, 6);
	at[12] = 8;
	struct ip4_hdr *h = (struct ip4_hdr *)(at + 14);
	*h = (struct ip4_hdr){.version_ihl = 0x45,
	                      .len = be16_of(29),
	                      .ttl = ttl,
	                      .proto = PROTO_UDP,
	                      .from = ip4_of(0xc0a8010a),
	                      .to = ip4_of(0xc6336407)};
	h->sum = be16_from_raw((uint16_t)~csum_ip4_header(h));
	*(struct udp_hdr *)(at + 34) = (struct udp_hdr){
	        .from = be16_of(4000), .to = be16_of(port), .len = be16_of(9), .sum = be16_of(0)};
	at[42] = number;
	return p;
}

/* Sends a burst of packets to these ports, numbered. */
static void burst(const uint16_t *port, uint32_t n)
{
	struct pkt *list[BURST];
	for (uint32_t i = 0; i < n; i++) {
		list[i] = packet(port[i], (uint8_t)i, 64);
		CHECK(list[i] != NULL);
		if (!list[i])
			return;
	}
	gw_input(&rig.gw, IF_LAN, list, n);
	rig_flush(&rig);
}

/* The packets of known flows and those of new flows leave in the order in which they came. */
static void a_burst_keeps_its_order(void)
{
	static const uint16_t known[] = {7, 8};
	static const uint16_t mixed[BURST] = {7, 100, 8, 7, 101, 102, 7, 8, 103};
	start("nat", "");
	burst(known, 2);
	n_left = 0;
	burst(mixed, BURST);
	CHECK_EQ(n_left, BURST);
	for (uint32_t i = 0; i < n_left; i++)
		CHECK_EQ(order[i], i);
	/* All of them are known now. */
	n_left = 0;
	burst(mixed, BURST);
	for (uint32_t i = 0; i < n_left; i++)
		CHECK_EQ(order[i], i);
	CHECK_EQ(n_left, BURST);
	CHECK_EQ(nat_of(&rig.gw)->table.created, 6); /* each flow was found again */
	CHECK_EQ(rig.gw.counts.forwarded, 2 + 2 * BURST);
	CHECK_EQ(rig.gw.iface[IF_LAN].rx_packets, 2 + 2 * BURST);
	CHECK_EQ(rig.gw.iface[IF_LAN].rx_bytes, (2 + 2 * BURST) * 60);
}

/* A packet of an IPv6 host for the translator, UDP or an echo request, that carries a number. */
static struct pkt *packet6(bool echo, uint8_t number)
{
	static const char from[] = "2001:db8:64::c0a8:10a", to[] = "2001:db8:64::c633:6407";
	struct pkt *p = pkt_alloc(&rig.pool);
	uint8_t *at = p ? pkt_put(p, 63) : NULL;
	if (!at)
		return NULL;
	memset(at, 0, 63);
	memcpy(at, &rig.gw.iface[IF_LAN].address, 6);
	at[12] = 0x86;
	at[13] = 0xdd;
	struct ip6_hdr *h = (struct ip6_hdr *)(at + 14);
	*h = (struct ip6_hdr){.first = be32_of(0x60000000u),
	                      .len = be16_of(9),
	                      .next = echo ? PROTO_ICMP6 : PROTO_UDP,
	                      .hops = 64};
	CHECK(addr_ip6(from, strlen(from), &h->from) && addr_ip6(to, strlen(to), &h->to));
	if (echo)
		at[54] = ICMP6_ECHO;
	else
		*(struct udp_hdr *)(at + 54) = (struct udp_hdr){
		        .from = be16_of(9), .to = be16_of(9), .len = be16_of(9), .sum = be16_of(9)};
	at[62] = number;
	return p;
}

/* As before, for a forwarder that uses flow_frames: echo requests take the slow path. */
static void a_mixed_burst_keeps_its_order(void)
{
	static const bool echo[BURST] = {false, true, false, false, true, true, false, false, true};
	struct pkt *list[BURST];
	start("ivi", "lan.address 2001:db8:1::1/64\nivi.prefix 2001:db8:64::/96\n"
	             "ivi.format rfc6052\nivi.ipv4 192.168.1.8/29\n"
	             "route 2001:db8:64::c0a8:108/125 via 2001:db8:1::10\n");
	rig_advance(&rig, 4000000);
	for (uint32_t round = 0; round < 4; round++) {
		n_left = 0;
		for (uint32_t i = 0; i < BURST; i++)
			list[i] = packet6(echo[i], (uint8_t)i);
		gw_input(&rig.gw, IF_LAN, list, BURST);
		rig_flush(&rig);
		CHECK_EQ(n_left, BURST);
		for (uint32_t i = 0; i < n_left; i++)
			CHECK_EQ(order[i], i);
	}
}

/* A packet of an inside host through the tunnel. */
static void to_tunnel(const ip6 *from)
{
	static const char far[] = "2002:c633:6407:1::1";
	uint8_t frame[14 + IP6_MIN + sizeof(struct udp_hdr)] = {0};
	struct ip6_hdr *h = (struct ip6_hdr *)(frame + 14);
	memcpy(frame, &rig.gw.iface[IF_LAN].address, 6);
	frame[12] = 0x86;
	frame[13] = 0xdd;
	*h = (struct ip6_hdr){.first = be32_of(0x60000000u),
	                      .len = be16_of(sizeof(struct udp_hdr)),
	                      .next = PROTO_UDP,
	                      .hops = 64,
	                      .from = *from};
	CHECK(addr_ip6(far, strlen(far), &h->to));
	CHECK(rig_input(&rig, IF_LAN, frame, sizeof frame));
}

/* An address that the gateway gets while it runs is no inside host's any more: the flows that it
 * had are forgotten. */
static void flows_end_with_an_address(void)
{
	static const char host[] = "2002:cb00:7102:1::22";
	ip6 from;
	CHECK(addr_ip6(host, strlen(host), &from));
	start("6to4", "lan.address 2002:cb00:7102:1::1/64\n6to4.relay 192.0.2.1\n");
	rig_advance(&rig, 4000000);
	for (uint32_t i = 1; i <= 3; i++) {
		to_tunnel(&from);
		CHECK_EQ(rig.gw.counts.forwarded, i);
	}
	CHECK(gw_add_address6(&rig.gw, IF_LAN, &from, 64) == NULL);
	rig_advance(&rig, 4000000);
	to_tunnel(&from);
	CHECK_EQ(rig.gw.counts.forwarded, 3);
	CHECK_EQ(rig.gw.counts.drops[DROP_MARTIAN_SOURCE], 1);
}

int main(void)
{
	TEST(a_burst_keeps_its_order);
	TEST(a_mixed_burst_keeps_its_order);
	TEST(flows_end_with_an_address);
	return tap_done();
}
