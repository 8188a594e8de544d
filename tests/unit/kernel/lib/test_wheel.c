/* kernel/lib/wheel.c compared with a list of times: every timer comes, none early, and none
 * late by more than a slot, also across a wrap of the time and after a long pause. */
#include "kernel/lib/wheel.h"

#include "kernel/seam/io.h"
#include "kernel/lib/rng.h"

#include "tests/tap.h"

enum { NODES = 300 };
#define SLOT_US (1u << WHEEL_SHIFT)

static struct wheel w;
static struct rng rng;

static void start(uint32_t now)
{
	host_arena(1u << 20);
	memset(&rng, 0, sizeof rng);
	memset(&w, 0, sizeof w);
	CHECK(wheel_init(&w, NODES, now));
}

static void one(void)
{
	start(1000000);
	CHECK_EQ(wheel_take(&w, 1000000), WHEEL_NONE);
	wheel_set(&w, 7, 1100000);
	CHECK_EQ(w.n_set, 1);
	CHECK_EQ(wheel_take(&w, 1099999), WHEEL_NONE);
	CHECK_EQ(wheel_take(&w, 1100000 + SLOT_US), 7);
	CHECK_EQ(w.n_set, 0);
	CHECK_EQ(wheel_take(&w, 1100000 + SLOT_US), WHEEL_NONE);
	/* Set again, and cleared. */
	wheel_set(&w, 7, 1200000);
	wheel_set(&w, 7, 1500000);
	wheel_set(&w, 8, 1300000);
	wheel_set(&w, 9, 1300000);
	wheel_clear(&w, 9);
	wheel_clear(&w, 9);
	CHECK_EQ(wheel_take(&w, 1400000), 8);
	CHECK_EQ(wheel_take(&w, 1400000), WHEEL_NONE);
	CHECK_EQ(wheel_take(&w, 1600000), 7);
	CHECK_EQ(w.n_set, 0);
}

/* A timer of a later round shares the slot of one that is due. */
static void later_round(void)
{
	uint32_t turn = WHEEL_SLOTS * SLOT_US;
	start(0);
	wheel_set(&w, 1, 50000);
	wheel_set(&w, 2, 50000 + turn);
	wheel_set(&w, 3, 50000 + 3 * turn);
	CHECK_EQ(wheel_take(&w, 100000), 1);
	CHECK_EQ(wheel_take(&w, 100000), WHEEL_NONE);
	CHECK_EQ(wheel_take(&w, turn), WHEEL_NONE);
	CHECK_EQ(wheel_take(&w, turn + 100000), 2);
	CHECK_EQ(wheel_take(&w, 10 * turn), 3);
	CHECK_EQ(w.n_set, 0);
}

/* After a pause of more than half of the 32-bit range, and of almost all of it, everything
 * that was due comes. */
static void long_pause(void)
{
	static const uint32_t pauses[] = {WHEEL_MOST_US, 2160000000u, 3000000000u,
	                                  UINT32_MAX - WHEEL_MOST_US};
	for (unsigned k = 0; k < ARRAY_SIZE(pauses); k++) {
		uint32_t now = 0xfff00000u, n = 0;
		start(now);
		CHECK_EQ(wheel_take(&w, now), WHEEL_NONE);
		for (uint32_t i = 0; i < NODES; i++)
			wheel_set(&w, i, now + WHEEL_MOST_US / NODES * i);
		while (wheel_take(&w, now + pauses[k]) != WHEEL_NONE)
			n++;
		CHECK_EQ(n, NODES);
		/* Without a pause: nothing comes early. */
		now += pauses[k];
		wheel_set(&w, 1, now + WHEEL_MOST_US);
		CHECK_EQ(wheel_take(&w, now + WHEEL_MOST_US - SLOT_US), WHEEL_NONE);
		CHECK_EQ(wheel_take(&w, now + WHEEL_MOST_US + SLOT_US), 1);
	}
}

/* One call checks each slot of the wheel at most once, also when the time wraps. A walk
 * through all 32-bit numbers would find the same timers, but would take seconds. */
static void wrap(void)
{
	for (uint32_t before = 0; before < 40; before++) {
		uint32_t now = 0u - 20 * SLOT_US;
		start(now);
		wheel_set(&w, 1, now + before * SLOT_US);
		wheel_set(&w, 2, now + 60 * SLOT_US);
		now += 50 * SLOT_US;
		CHECK_EQ(wheel_take(&w, now), 1);
		CHECK((now >> WHEEL_SHIFT) - w.position <= WHEEL_SLOTS);
		CHECK_EQ(wheel_take(&w, now), WHEEL_NONE);
		CHECK_EQ(wheel_take(&w, now + 20 * SLOT_US), 2);
	}
}

/* The same with a list instead of a wheel. */
static void same_as_a_model(void)
{
	uint32_t due[NODES], now = 0xfff00000u; /* wraps during the test */
	bool set[NODES] = {false};
	start(now);
	for (uint32_t round = 0; round < 200000; round++) {
		uint32_t i = rng_below(&rng, NODES);
		switch (rng_below(&rng, 4)) {
		case 0:
			wheel_clear(&w, i);
			set[i] = false;
			break;
		case 1:
			now += rng_below(&rng, rng_below(&rng, 100) ? 3000 : 30000000);
			break;
		default:
			due[i] = now + rng_below(&rng, rng_below(&rng, 10) ? 500000 : 60000000);
			set[i] = true;
			wheel_set(&w, i, due[i]);
			break;
		}
		for (uint32_t got; (got = wheel_take(&w, now)) != WHEEL_NONE;) {
			CHECK(set[got] && (int32_t)(now - due[got]) >= 0);
			set[got] = false;
		}
		uint32_t n = 0;
		for (i = 0; i < NODES; i++) {
			n += set[i];
			if (set[i] && (int32_t)(now - due[i]) >= (int32_t)SLOT_US)
				CHECK(!"late");
		}
		CHECK_EQ(w.n_set, n);
	}
}

int main(void)
{
	TEST(one);
	TEST(later_round);
	TEST(long_pause);
	TEST(wrap);
	TEST(same_as_a_model);
	return tap_done();
}
