/* kernel/x86/clock.c: the time-stamp counter as microseconds, from the start to some
 * centuries later, on the slowest and the fastest processor; a counter that changes its rate,
 * stops in halts or altogether; machines without an 8254; the limit of the watchdog. Timers are
 * models, and every access to them takes time. */
#include "kernel/seam/io.h"

#include "kernel/lib/log.h"
#include "tests/tap.h"

#include <stdbool.h>

#define PIT_HZ_MODEL  1193182u
#define ACPI_HZ_MODEL 3579545u
#define ACPI_PORT     0x1234
#define SECOND_NS     1000000000u

/* The machine. */
static struct {
	uint64_t ns;     /* the true time */
	uint64_t hz;     /* of the time-stamp counter */
	uint64_t cycles; /* its value */
	bool no_pit, acpi_timer, stops_in_halts, no_ticks;
	uint32_t leaf15[4], leaf16; /* CPUID; 0: leaf does not exist */
	uint32_t lost;              /* ticks of each 100 that get lost */
	uint32_t latch;
	bool low_byte;
} m;

static uint64_t counter(void)
{
	return m.cycles;
}

#define io_cycles   counter
#define io_delay_us clock_delay_us
#define io_now_us   clock_io_now_us
void clock_delay_us(uint32_t us);
uint64_t clock_io_now_us(void);
#include "kernel/x86/clock.c"

uint64_t clock_entry_tsc;
volatile uint32_t trap_ticks, trap_interval, trap_passed, trap_stalled, trap_stalled_max;
static unsigned planned;

void tick_fixed(void)
{
	trap_interval = TICK_FIXED;
}

void tick_plan(uint64_t now_us, uint64_t at_us)
{
	(void)now_us;
	(void)at_us;
	planned++;
}

void cpu_irq_unmask(uint8_t irq)
{
	(void)irq;
}

void cpu_irq_on(void)
{
}

bool cpuid_leaf(uint32_t n, uint32_t r[4])
{
	memset(r, 0, 16);
	if (n == 0x15)
		memcpy(r, m.leaf15, 16);
	else if (n == 0x16)
		r[0] = m.leaf16;
	return n == 0x15 ? m.leaf15[0] != 0 : m.leaf16 != 0;
}

uint16_t acpi_tables_timer(void)
{
	return m.acpi_timer ? ACPI_PORT : 0;
}

/* Lets time pass while the processor runs. */
static void pass(uint64_t ns)
{
	m.ns += ns;
	m.cycles += m.hz / 1000 * (ns / 1000) / 1000 + m.hz / 1000000 * (ns % 1000) / 1000;
}

static void port_out(void *ctx, uint16_t port, unsigned size, uint32_t v)
{
	(void)ctx;
	(void)size;
	pass(1000);
	if (port == PIT_MODE && v == 0x80) {
		m.latch = 65536 - (uint32_t)(m.ns / 1000 * PIT_HZ_MODEL / 1000000 % 65536);
		m.low_byte = true;
	}
}

static uint32_t port_in(void *ctx, uint16_t port, unsigned size)
{
	(void)ctx;
	pass(1000);
	if (port == ACPI_PORT && size == 4)
		return (uint32_t)(m.ns / 1000 * ACPI_HZ_MODEL / 1000000) & 0xffffff;
	if (port != PIT_CH2 || m.no_pit)
		return 0xff;
	m.low_byte = !m.low_byte;
	return m.low_byte ? m.latch >> 8 & 0xff : m.latch & 0xff;
}

/* Starts the clock of a machine that has been on for a while. */
static void start(uint64_t hz)
{
	static const struct host_bus bus = {.port_in = port_in, .port_out = port_out};
	m.ns = 77ull * SECOND_NS;
	m.hz = hz;
	m.cycles = clock_entry_tsc = hz * 77;
	must_not_halt = false;
	seen_us = seen_passed = doubts = trap_ticks = trap_passed = second_tick = silent_seconds =
	        0;
	doubts_ahead = DOUBTS;
	us_per_cycle_q32 = 0;
	rate_logged = 0;
	log_reset();
	host_bus_set(&bus);
	clock_init();
	clock_report();
}

/* Runs the main loop for some seconds: mostly in halts, from tick to tick. */
static void run_for(uint32_t seconds)
{
	static uint64_t last;
	last = 0;
	for (uint32_t i = 0; i < seconds * 100; i++) {
		bool halts = clock_may_halt();
		uint64_t before = m.cycles;
		pass(SECOND_NS / 100);
		if (halts && m.stops_in_halts)
			m.cycles = before + (m.cycles - before) / 10;
		bool tick = !m.no_ticks && i % 100 >= m.lost;
		trap_ticks += tick;
		trap_passed += tick ? trap_interval : 0;
		clock_check();
		if (i % 100 == 0)
			clock_expect_ticks();
		CHECK(clock_now_us() >= last);
		last = clock_now_us();
		log_time(last);
	}
}

/* Counts the log's lines that contain `text`. */
static unsigned logged(const char *text)
{
	char line[LOG_LINE];
	unsigned n = 0;
	for (uint64_t cursor = 0; log_next(&cursor, line, sizeof line);)
		n += strstr(line, text) != NULL;
	return n;
}

/* True when the clock advances with the true time, within a hundredth, in the next ten seconds. */
static bool is_right(void)
{
	uint64_t us = clock_now_us(), ns = m.ns;
	run_for(10);
	uint64_t got = clock_now_us() - us, want = (m.ns - ns) / 1000;
	return got > want - want / 100 && got < want + want / 100;
}

/* The time is correct within a thousandth and never goes back, also when the lower half of
 * the counter wraps. */
static void microseconds(void)
{
	static const uint64_t rates[] = {60000000, 1000000000, 3000000000u, 5400000000u,
	                                 19000000000u};
	for (unsigned i = 0; i < ARRAY_SIZE(rates); i++) {
		start(rates[i]);
		CHECK_EQ(logged("clock"), 0);
		for (unsigned bit = 10; bit < 53; bit++) { /* some 280 years */
			uint64_t us = 1ull << bit;
			if (us / 1000000 + 100 > UINT64_MAX / m.hz)
				break;
			uint64_t at = us / 1000000 * m.hz + us % 1000000 * m.hz / 1000000;
			m.cycles = clock_entry_tsc + at;
			uint64_t now = clock_now_us();
			CHECK(now > us - us / 1000 - 2 && now < us + us / 1000 + 2);
		}
		uint64_t last = 0;
		for (uint64_t turn = 1; turn < 1ull << 31; turn *= 2)
			for (uint32_t k = 0; k < 200; k++) {
				m.cycles = clock_entry_tsc + (turn << 32) - 100 * 977 + k * 977u;
				CHECK(clock_now_us() >= last);
				last = clock_now_us();
			}
	}
}

static void a_steady_counter(void)
{
	start(800000000);
	run_for(60);
	CHECK_EQ(logged("clock"), 0);
	CHECK(clock_may_halt());
	CHECK(is_right());
}

/* Faster, slower, and back. */
static void a_rate_that_changes(void)
{
	static const uint64_t rates[] = {600000000, 1600000000, 100000000, 800000000};
	start(800000000);
	for (unsigned i = 0; i < ARRAY_SIZE(rates); i++) {
		run_for(100);
		m.hz = rates[i];
		run_for(4);
		CHECK_EQ(logged("time-stamp counter counts"), i + 1);
		CHECK(is_right());
		CHECK(clock_may_halt());
	}
	CHECK_EQ(logged("counts 1600 MHz now, before 600"), 1);
	/* A rate that goes to and fro does not fill the log. */
	for (unsigned i = 0; i < 20; i++) {
		m.hz = rates[i % 2];
		run_for(4);
	}
	CHECK(logged("time-stamp counter counts") <= ARRAY_SIZE(rates) + 2);
}

static void a_counter_that_stops_in_halts(void)
{
	start(800000000);
	m.stops_in_halts = true;
	run_for(4);
	CHECK(!clock_may_halt());
	CHECK_EQ(logged("stops when the processor halts"), 1);
	CHECK(is_right());
	CHECK_EQ(logged("clock"), 1);
	m.stops_in_halts = false;
}

/* Nothing but the ticks is left. Waits end as well. */
static void a_counter_that_stands_still(void)
{
	start(800000000);
	run_for(2);
	m.hz = 0;
	run_for(5);
	CHECK_EQ(logged("time advances by 10 ms"), 1);
	CHECK(is_right());
	/* The interval that the time is counted by stays. */
	planned = 0;
	clock_wake_at(clock_now_us(), clock_now_us() + 50000);
	CHECK_EQ(planned, 0);
	CHECK_EQ(trap_interval, TICK_FIXED);
	uint64_t ns = m.ns;
	clock_delay_us(500);
	CHECK(m.ns - ns >= 500000);
	CHECK_EQ(logged("clock"), 1);
}

/* A machine whose ticks get lost has a right clock, and is seldom held up by a measurement. */
static void lost_ticks(void)
{
	start(800000000);
	m.lost = 30;
	uint64_t ns = m.ns;
	run_for(1000);
	CHECK(m.ns - ns < 1000ull * SECOND_NS + 200000000); /* ten measurements, 20 ms at most */
	CHECK_EQ(logged("clock"), 0);
	CHECK(clock_may_halt());
	CHECK(is_right());
	/* A counter that slows down is still seen at once. */
	m.lost = 0;
	m.hz = 400000000;
	run_for(4);
	CHECK_EQ(logged("counts 400 MHz now"), 1);
}

static void no_8254(void)
{
	m.no_pit = true;
	m.acpi_timer = true;
	start(800000000);
	CHECK_EQ(logged("by ACPI timer: 800 MHz"), 1);
	CHECK(is_right());
	m.acpi_timer = false;
	m.leaf15[0] = 2;
	m.leaf15[1] = 250;
	m.leaf15[2] = 24000000;
	start(3000000000u);
	CHECK_EQ(logged("by CPUID: 3000 MHz"), 1);
	CHECK(is_right());
	m.leaf15[2] = 0; /* the crystal is not named */
	m.leaf16 = 3000;
	start(3000000000u);
	CHECK_EQ(logged("by CPUID: 3000 MHz"), 1);
	m.leaf15[0] = 0;
	start(3000000000u);
	CHECK_EQ(logged("by CPUID: 3000 MHz"), 1);
	m.leaf16 = 0;
	start(800000000);
	CHECK_EQ(logged("by a guess: 1000 MHz"), 1);
	CHECK(clock_now_us() > 0);
	m.no_pit = false;
}

static void no_ticks(void)
{
	start(800000000);
	run_for(1);
	CHECK_EQ(logged("do not come"), 0);
	m.no_ticks = true;
	run_for(10);
	CHECK_EQ(logged("do not come"), 1);
	CHECK(!clock_may_halt());
	CHECK(is_right());
	m.no_ticks = false;
}

static void watchdog(void)
{
	clock_watchdog(86400000);
	CHECK_EQ(trap_stalled_max, 86400u * TICK_SECOND + TICK_LONGEST);
	CHECK_EQ(clock_watchdog_ms(), 86400000);
	clock_watchdog(10000);
	CHECK_EQ(trap_stalled_max, 10u * TICK_SECOND + TICK_LONGEST);
	clock_watchdog(0);
	CHECK_EQ(trap_stalled_max, UINT32_MAX);
}

int main(void)
{
	TEST(microseconds);
	TEST(a_steady_counter);
	TEST(a_rate_that_changes);
	TEST(a_counter_that_stops_in_halts);
	TEST(a_counter_that_stands_still);
	TEST(lost_ticks);
	TEST(no_8254);
	TEST(no_ticks);
	TEST(watchdog);
	return tap_done();
}
