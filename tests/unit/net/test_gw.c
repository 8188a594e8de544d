/* net/gw: the clock that the tables use, when the next tick is due, and the bound on reinjection.
 * The way of a packet is tested in tests/sim. */
#include "tests/host/rig.h"

#include <stdio.h>

#include "net/lib/csum.h"
#include "net/neigh/neigh.h"
#include "tests/tap.h"

static struct rig rig;

static void start(uint64_t now_us)
{
	static const char config[] = "lan.address 10.0.0.1/8\nwan.address 203.0.113.2/24\n"
	                             "nat.sessions 100\n";
	rig_reset(&rig, 1, 4 << 20, now_us);
	CHECK(rig_config(&rig, config, strlen(config)));
	const char *wrong = rig_start(&rig, "nat", 16);
	CHECK_STR(wrong ? wrong : "fine", "fine");
}

/* A tick at a given time; gives the seconds that the gateway then counts. */
static uint32_t turn(uint64_t now_us)
{
	rig.gw.clock.us = now_us;
	(void)gw_tick(&rig.gw);
	return rig.gw.clock.s;
}

/* If the clock were late when a session is refreshed and right when its age is checked, the session
 * would end too early (RFC 5382 REQ-5: not before 2 h 4 min). */
static void seconds_are_not_behind(void)
{
	static const uint32_t late_us[] = {0, 1, 1000, 33333, 99999};
	for (unsigned i = 0; i < ARRAY_SIZE(late_us); i++) {
		start(late_us[i]);
		for (uint64_t s = 1; s < 50; s++) {
			CHECK_EQ(turn(s * 1000000 - 50000 + late_us[i] / 2), s - 1);
			CHECK_EQ(turn(s * 1000000 + 1000), s);
		}
	}
}

static void seconds_after_a_long_pause(void)
{
	start(0);
	CHECK_EQ(turn(7654321000000), 7654321);
	CHECK_EQ(turn(7654321999999), 7654321);
	CHECK_EQ(turn(7654322000000), 7654322);
	CHECK_EQ(rig.gw.clock.ms, (uint32_t)7654322000);
}

/* --- the next tick ------------------------------------------------------------------------ */

static uint32_t wanted_us; /* the application's next tick, from now */

static bool tick_again(struct gw *gw)
{
	gw_wake_at(gw, gw->clock.us + wanted_us);
	return false;
}

static void the_earliest_tick_counts(void)
{
	static const struct forwarder sleeper = {.tick = tick_again};
	start(0);
	rig.gw.forwarder = &sleeper;
	wanted_us = 70000;
	turn(1000000);
	CHECK_EQ(rig.gw.wake_us, 1070000);
	gw_wake_at(&rig.gw, 1020000);
	gw_wake_at(&rig.gw, 1050000); /* another part asks for a later time */
	CHECK_EQ(rig.gw.wake_us, 1020000);
	turn(1020000); /* the application asks again */
	CHECK_EQ(rig.gw.wake_us, 1090000);
	wanted_us = 500000; /* the other parts need an earlier tick */
	turn(1090000);
	CHECK_EQ(rig.gw.wake_us, 1100000);
}

/* Where nothing moves, half a second is enough, but not for a timer that ends sooner. */
static void a_rest_ends_for_timers(void)
{
	struct gw *gw = &rig.gw;
	start(0);
	for (uint64_t ms = 0; ms <= 20000; ms += 100) /* all that a start sends is sent */
		turn(ms * 1000);
	CHECK_EQ(gw->wake_us, 20100000);
	CHECK_EQ(gw->rest_us, 20500000);
	struct neigh *n = &gw->neigh.entry[0][0];
	neigh_set_state(gw, n, NEIGH_DELAY);
	neigh_due_in(gw, n, 600);
	turn(20500000);
	CHECK_EQ(gw->rest_us, 21000000); /* nobody waits for it */
	neigh_set_state(gw, n, NEIGH_ASKING);
	neigh_due_in(gw, n, 5000);
	turn(21000000);
	CHECK_EQ(gw->rest_us, 21500000);
	neigh_due_in(gw, n, 300);
	turn(21100000);
	CHECK_EQ(gw->rest_us, 21300000); /* when it is due, and not before */
	neigh_due_in(gw, n, 400000);     /* no later: another entry may be due */
	turn(21200000);
	CHECK_EQ(gw->rest_us, 21300000);
	turn(21300000); /* now the table has been looked at */
	CHECK_EQ(gw->rest_us, 21800000);
	gw->neigh.due_ms = gw->clock.ms + 130; /* between two ticks */
	turn(21310000);
	CHECK_EQ(gw->rest_us, 21500000);
	gw->dhcp.state = DHCP_SELECTING;
	gw->dhcp.due_us = UINT64_MAX;
	turn(21800000);
	CHECK_EQ(gw->rest_us, 21900000);
}

static void the_application_ends_a_rest(void)
{
	static const struct forwarder sleeper = {.tick = tick_again};
	start(0);
	rig.gw.forwarder = &sleeper;
	wanted_us = 230000;
	for (uint64_t ms = 0; ms <= 20000; ms += 100)
		turn(ms * 1000);
	CHECK_EQ(rig.gw.rest_us, 20230000);
}

/* --- reinjection -------------------------------------------------------------------------- */

static uint32_t rounds;
static enum family family;

static enum verdict go_round(struct gw *gw, struct pkt *p)
{
	rounds++;
	gw_reinject(gw, p, IF_WAN, family);
	return V_KEPT;
}

static const struct forwarder circle = {.ip4 = go_round, .ip6 = go_round};

static void reinject(const void *packet, uint32_t len)
{
	struct pkt *p = pkt_alloc(&rig.pool);
	uint8_t *to = p ? pkt_put(p, len) : NULL;
	CHECK(to != NULL);
	if (!to)
		return;
	memcpy(to, packet, len);
	rounds = 0;
	gw_reinject(&rig.gw, p, IF_WAN, family);
}

/* A packet that the application reinjects each time ends after a few rounds. */
static void a_packet_is_reinjected_a_few_times(void)
{
	struct ip4_hdr four = {.version_ihl = 0x45, .len = be16_of(sizeof four), .ttl = 9};
	struct ip6_hdr six = {.first = be32_of(6u << 28), .next = PROTO_NONE, .hops = 9};
	static const ip6 to = {{0x20, 1, 0x0d, 0xb8, 1}};
	start(0);
	rig.gw.forwarder = &circle;
	CHECK(route6_add(&rig.gw.routes6, rig.gw.iface, &to, 64, NULL, IF_APP));
	four.sum = be16_from_raw((uint16_t)~csum_ip4_header(&four));
	family = FAMILY_IP4;
	reinject(&four, sizeof four);
	CHECK_EQ(rounds, REINJECTED_MAX);
	CHECK_EQ(rig.gw.counts.drops[DROP_LOOP], 1);
	six.from = six.to = to;
	family = FAMILY_IP6;
	reinject(&six, sizeof six);
	CHECK_EQ(rounds, REINJECTED_MAX);
	CHECK_EQ(rig.gw.counts.drops[DROP_LOOP], 2);
	CHECK_EQ(rig.pool.n_free, rig.free_at_start);
}

int main(void)
{
	TEST(seconds_are_not_behind);
	TEST(seconds_after_a_long_pause);
	TEST(the_earliest_tick_counts);
	TEST(a_rest_ends_for_timers);
	TEST(the_application_ends_a_rest);
	TEST(a_packet_is_reinjected_a_few_times);
	return tap_done();
}
