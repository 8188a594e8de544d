/* kernel/x86/tick.c on a model of the 8254's channel 0 and of the request register of the 8259A:
 * halts end in time, with few ticks; a main loop that hangs still gets ticks; and what the ticks
 * count is the true time, however often the interval changes. */
#include "kernel/seam/io.h"

#include "tests/tap.h"

#include <stdbool.h>

#include "kernel/x86/tick.c"

volatile uint32_t trap_ticks, trap_interval, trap_passed, trap_stalled, trap_stalled_max;

/* The machine. Time is in pulses of the 8254. */
static struct {
	uint64_t now, start;       /* start: when the interval under way began */
	uint32_t interval, pulses; /* pulses: as far as it is written */
	uint32_t latch;
	unsigned writes, reads; /* bytes of the counter */
	unsigned changes;       /* of the interval */
	bool pending;           /* a tick that the processor has not taken */
} m;

static void until(uint64_t now)
{
	for (; m.interval && now >= m.start + m.interval; m.start += m.interval)
		m.pending = true;
	m.now = now;
}

static void port_out(void *ctx, uint16_t port, unsigned size, uint32_t v)
{
	(void)ctx;
	CHECK_EQ(size, 1);
	until(m.now + 1);
	if (port == MODE && v == LATCH_CH0) {
		uint32_t left = m.interval - (uint32_t)(m.now - m.start);
		m.latch = left & 0xffff;
		m.reads = 0;
	} else if (port == MODE) {
		CHECK_EQ(v, 0x34);
		m.writes = m.pulses = 0;
		m.interval = 0;
	} else if (port == CH0) {
		m.pulses |= v << 8 * m.writes++;
		if (m.writes == 2) {
			m.interval = m.pulses ? m.pulses : 65536;
			m.start = m.now;
			m.changes++;
		}
	} else {
		CHECK(port == PIC1 && v == READ_IRR);
	}
}

static uint32_t port_in(void *ctx, uint16_t port, unsigned size)
{
	(void)ctx;
	CHECK_EQ(size, 1);
	until(m.now + 1);
	if (port == PIC1)
		return m.pending;
	CHECK_EQ(port, CH0);
	return m.reads++ ? m.latch >> 8 : m.latch & 0xff;
}

/* The stub of trap.S. */
static void take(void)
{
	if (!m.pending)
		return;
	m.pending = false;
	trap_ticks++;
	trap_passed += trap_interval;
	trap_stalled += trap_interval;
}

static uint64_t now_us(void)
{
	return m.now * 1000000 / TICK_PIT_HZ;
}

/* Halts until the next tick. */
static void halt(void)
{
	until(m.pending ? m.now : m.start + m.interval);
	take();
}

static void start(void)
{
	static const struct host_bus bus = {.port_in = port_in, .port_out = port_out};
	memset(&m, 0, sizeof m);
	m.now = 12345;
	trap_ticks = trap_passed = trap_stalled = 0;
	host_bus_set(&bus);
	tick_fixed();
	m.changes = 0;
}

/* Halts until a time, as the main loop does. Gives the number of ticks. */
static unsigned halt_until(uint64_t at)
{
	unsigned n = 0;
	for (; now_us() < at; n++) {
		tick_plan(now_us(), at);
		halt();
	}
	return n;
}

static void fixed(void)
{
	start();
	uint64_t before = m.now;
	for (unsigned i = 0; i < 100; i++)
		halt();
	CHECK_EQ(trap_ticks, 100);
	CHECK(m.now - before >= TICK_PIT_HZ - 1 && m.now - before < TICK_PIT_HZ + 1000);
}

/* Any halt ends at its time or up to a millisecond and a bit later. */
static void halts_end_in_time(void)
{
	start();
	uint32_t random = 1;
	for (unsigned i = 0; i < 20000; i++) {
		random = random * 1664525 + 1013904223;
		uint32_t us = (random >> 8) % (i % 3 ? 3000 : 200000);
		uint64_t at = now_us() + us;
		unsigned ticks = halt_until(at);
		CHECK(now_us() < at + 2200);
		CHECK(ticks <= 2 + us / (TICK_LONG_US / 2));
	}
}

/* The gateway's own tick, ten times a second: two ticks of the 8254 each, and the interval hardly
 * ever changes. */
static void ten_times_a_second(void)
{
	start();
	unsigned ticks = 0;
	for (unsigned i = 0; i < 600; i++) {
		uint64_t at = (now_us() / 100000 + 1) * 100000;
		ticks += halt_until(at);
	}
	CHECK(ticks <= 1300);
	CHECK(m.changes < 200);
}

/* A device wakes the processor again and again, and each time the same halt is planned. */
static void many_interrupts(void)
{
	start();
	uint64_t at = now_us() + 40000;
	while (now_us() < at) {
		tick_plan(now_us(), at);
		until(m.now + 119); /* 100 us */
		take();
	}
	CHECK(trap_ticks >= 1);
	CHECK_EQ(m.changes, 1);
	halt();
	/* Something earlier comes up, then something later: only the first matters. */
	tick_plan(now_us(), now_us() + 50000);
	tick_plan(now_us(), now_us() + 5000);
	uint64_t soon = now_us() + 5000;
	unsigned changes = m.changes;
	tick_plan(now_us(), now_us() + 100000);
	CHECK_EQ(m.changes, changes);
	halt();
	CHECK(now_us() >= soon - 100 && now_us() < soon + 1200);
}

/* All intervals together are the time that has passed, within a hundredth. */
static void no_time_is_lost(void)
{
	start();
	uint64_t before = m.now;
	uint32_t random = 7;
	for (unsigned i = 0; i < 5000; i++) {
		random = random * 1664525 + 1013904223;
		tick_plan(now_us(), now_us() + (random >> 8) % 120000);
		take();
		uint64_t end = m.now + (random >> 10) % 60000;
		while (m.start + m.interval <= end)
			halt();
		until(end);
		if (random >> 29 == 0) /* a tick comes while interrupts are off */
			until(m.start + m.interval + 50);
	}
	take();
	uint64_t counted = (uint64_t)trap_passed * TICK_PULSES, passed = m.start - before;
	CHECK(m.changes > 1000);
	CHECK(counted < passed + passed / 100);
	CHECK(passed < counted + passed / 100);
}

/* Nothing is planned any more: ticks go on, and the watchdog's count is the time. */
static void a_loop_that_hangs(void)
{
	start();
	tick_plan(now_us(), now_us() + 3000);
	halt();
	uint64_t before = m.now;
	trap_stalled = 0;
	for (unsigned i = 0; i < 1000; i++)
		halt();
	uint64_t passed = (m.now - before) / TICK_PULSES;
	CHECK(trap_stalled + 2 >= passed && trap_stalled <= passed + 2);
	CHECK(passed > TICK_SECOND);
}

int main(void)
{
	TEST(fixed);
	TEST(halts_end_in_time);
	TEST(ten_times_a_second);
	TEST(many_interrupts);
	TEST(no_time_is_lost);
	TEST(a_loop_that_hangs);
	return tap_done();
}
