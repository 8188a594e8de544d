/* net/gw: the clock that the tables use. The way of a packet is tested in
 * tests/sim. */
#include "tests/host/rig.h"

#include <stdio.h>

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

/* MAIN's turn at a time of its own choosing. */
static uint32_t turn(uint64_t now_us)
{
	rig.gw.now_us = now_us;
	(void)gw_tick(&rig.gw);
	return rig.gw.now_s;
}

/* A clock that is behind when a session is refreshed and right when the session
 * is looked at would end it early (RFC 5382 REQ-5: not before 2 h 4 min). */
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
	CHECK_EQ(rig.gw.now_ms, (uint32_t)7654322000);
}

int main(void)
{
	TEST(seconds_are_not_behind);
	TEST(seconds_after_a_long_pause);
	return tap_done();
}
