/* Unsolicited SYNs that are held for six seconds, apps/nat/nat_syn.c (RFC 5382 REQ-4). */
#include "apps/nat/nat_syn.h"

#include "kernel/seam/io.h"
#include "tests/host/rig.h"

#include "tests/tap.h"

static struct rig rig;
static struct nat_syns syns;
static unsigned sent;
static uint8_t last[128];
static uint32_t last_len;

static void sink(struct rig *r, uint32_t iface, const uint8_t *frame, uint32_t len)
{
	(void)r;
	if (frame[12] != 8 || frame[13] != 0)
		return; /* ARP */
	CHECK_EQ(iface, IF_WAN);
	sent++;
	last_len = len;
	memcpy(last, frame, min_u32(len, sizeof last));
}

static void start(void)
{
	static const char config[] = "lan.address 192.168.1.1/24\n"
	                             "wan.address 203.0.113.2/24\n"
	                             "gateway 203.0.113.1\n"
	                             "neighbour 203.0.113.1 52:54:00:00:02:01\n"
	                             "nat.sessions 100\n";
	rig.sink = sink;
	rig_reset(&rig, 3, 16u << 20, 0);
	CHECK(rig_config(&rig, config, sizeof config - 1));
	const char *wrong = rig_start(&rig, "nat", 512);
	CHECK_STR(wrong ? wrong : "fine", "fine");
	nat_syn_init(&syns, &rig.rng);
	sent = 0;
}

/* A SYN from 198.51.100.`host` port 80 to `port`, with this many bytes of options. */
static void hold(uint8_t host, uint16_t port, uint32_t options)
{
	struct pkt *p = pkt_alloc(&rig.pool);
	uint8_t *b = p ? pkt_put(p, 40 + options) : NULL;
	CHECK(b != NULL);
	if (!b)
		return;
	memset(b, 1, 40 + options); /* options: no operation */
	b[0] = (uint8_t)(0x45 + options / 4);
	b[9] = PROTO_TCP;
	store32(b + 12, swap32(0xc6336400u + host));
	store32(b + 16, swap32(0xcb007102u));
	store16(b + 20 + options, swap16(80));
	store16(b + 22 + options, swap16(port));
	p->l4 = (uint16_t)(20 + options);
	p->l4_len = 20;
	p->proto = PROTO_TCP;
	p->iface = IF_WAN;
	nat_syn_hold(&rig.gw, &syns, p);
	pkt_free(p);
}

static void solicited(uint8_t host, uint16_t port)
{
	nat_syn_solicited(&syns, swap32(0xc6336400u + host), swap32(0xcb007102u),
	                  swap16(80) | (uint32_t)swap16(port) << 16);
}

/* Lets time pass in steps of 10 ms; gives the microseconds until an answer, 0 when there is
 * none. */
static uint64_t answered_after(uint32_t seconds)
{
	uint64_t from = rig.gw.clock.us;
	unsigned was = sent;
	for (uint32_t i = 0; i < seconds * 100; i++) {
		rig_advance(&rig, 10000);
		nat_syn_tick(&rig.gw, &syns);
		rig_flush(&rig);
		if (sent != was)
			return rig.gw.clock.us - from;
	}
	return 0;
}

/* At least six seconds, and little more, whenever in a tick the SYN came. */
static void six_seconds(void)
{
	for (uint32_t phase = 0; phase < 100000; phase += 7000) {
		start();
		rig_advance(&rig, 1000000 + phase);
		hold(7, 5000, 0);
		uint64_t after = answered_after(8);
		CHECK(after >= 6000000);
		CHECK(after <= 6300000);
		CHECK_EQ(syns.n_held, 0);
	}
}

static void says_port_unreachable(void)
{
	for (uint32_t options = 0; options <= 40; options += 20) {
		start();
		hold(7, 5000, options);
		CHECK(answered_after(8) != 0);
		CHECK(last[14 + 20] == ICMP_UNREACHABLE && last[14 + 21] == ICMP_PORT);
		CHECK_EQ(last_len, 14 + 20 + 8 + 20 + options + 20); /* the whole SYN is quoted */
		CHECK_EQ(last[14 + 28], 0x45 + options / 4);
		CHECK_EQ(load16(last + 14 + 28 + 20 + options), swap16(80));
		CHECK_EQ(load16(last + 14 + 28 + 22 + options), swap16(5000));
	}
}

static void once(void)
{
	start();
	for (int i = 0; i < 5; i++)
		hold(7, 5000, 0);
	CHECK_EQ(syns.n_held, 1);
	CHECK(answered_after(8) != 0);
	CHECK_EQ(answered_after(8), 0);
	CHECK_EQ(sent, 1);
	hold(7, 5000, 0); /* another attempt */
	CHECK(answered_after(8) != 0);
}

static void opened_from_inside_in_time(void)
{
	start();
	hold(7, 5000, 0);
	solicited(8, 5000); /* of other connections */
	solicited(7, 5001);
	CHECK_EQ(syns.n_held, 1);
	solicited(7, 5000);
	CHECK_EQ(syns.n_held, 0);
	solicited(7, 5000);
	CHECK_EQ(syns.n_held, 0);
	CHECK_EQ(answered_after(8), 0);
}

/* A flood fills the table and does nothing else; the SYNs that are held get their answers. */
static void flood(void)
{
	start();
	uint32_t free = rig.pool.n_free;
	for (uint32_t i = 0; i < 5000; i++)
		hold((uint8_t)(1 + i % 200), (uint16_t)i, 0);
	CHECK(syns.n_held <= (NAT_SYN_SETS * NAT_SYN_WAYS) &&
	      syns.n_held > (NAT_SYN_SETS * NAT_SYN_WAYS) * 9 / 10);
	CHECK_EQ(rig.pool.n_free, free);
	CHECK(answered_after(8) != 0);
	for (int i = 0; i < 50; i++) {
		rig_advance(&rig, 10000);
		nat_syn_tick(&rig.gw, &syns);
	}
	CHECK_EQ(syns.n_held, 0);
	CHECK(sent <= (NAT_SYN_SETS * NAT_SYN_WAYS));
}

/* The milliseconds wrap after 49 days. */
static void time_wraps(void)
{
	start();
	rig.gw.clock.us = (1ull << 32) * 1000 - 3000000;
	rig.gw.tick_us = rig.gw.clock.us;
	rig.gw.clock.next_us = 0;
	rig_advance(&rig, 100000);
	hold(7, 5000, 0);
	uint64_t after = answered_after(8);
	CHECK(after >= 6000000 && after <= 6300000);
}

/* A connection that an inside host opens from another external address does not solicit the
 * SYN. */
static void another_external_address(void)
{
	start();
	hold(7, 5000, 0);
	for (uint32_t i = 0; i < 20000; i++)
		if (i != 0x7102)
			nat_syn_solicited(&syns, swap32(0xc6336407u), swap32(0xcb000000u + i),
			                  swap16(80) | (uint32_t)swap16(5000) << 16);
	CHECK_EQ(syns.n_held, 1);
	solicited(7, 5000);
	CHECK_EQ(syns.n_held, 0);
}

/* More SYNs than the limit of errors allows at once: the others are answered later. */
static void answered_later_beyond_the_limit(void)
{
	start();
	for (uint32_t i = 0; i < 400; i++)
		hold((uint8_t)(i % 250 + 1), (uint16_t)(5000 + i), 0);
	uint32_t held = syns.n_held;
	CHECK(held >= 100);
	while (answered_after(30))
		;
	CHECK(rig.gw.counts.icmp_suppressed > 0);
	CHECK_EQ(syns.answered, held);
	CHECK_EQ(syns.n_held, 0);
}

int main(void)
{
	TEST(six_seconds);
	TEST(says_port_unreachable);
	TEST(once);
	TEST(opened_from_inside_in_time);
	TEST(flood);
	TEST(time_wraps);
	TEST(another_external_address);
	TEST(answered_later_beyond_the_limit);
	return tap_done();
}
