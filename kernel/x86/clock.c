/* See clock.h. The 8254 timer at 1.193182 MHz (Intel 82C54 data sheet, 231244), the ACPI power
 * management timer (ACPI 6.5, 4.8.3.3) and the time-stamp counter, TSC (SDM vol. 3, 17.17).
 *
 * Channel 2 of the 8254, gated by I/O port 0x61, runs freely for the calibration. Channel
 * 0 makes the tick (tick.c). A sample reads the timer between two reads of the TSC. Several samples
 * are taken, and the one with the closest two TSC values is used, so that neither an SMI
 * nor a busy host spoils the result. Without an 8254 the ACPI timer takes its place, or else the
 * rate that CPUID gives.
 *
 * Each second the TSC is compared with the ticks. Ticks may be lost, so a difference is only a
 * reason to measure. A TSC that has another rate than before gets this rate. A TSC with the
 * right rate that is behind the ticks stops in halts: then the processor no longer halts. If
 * that does not help, or if the TSC does not count, time advances by ticks. */
#include "kernel/x86/clock.h"

#include "kernel/board/acpi_tables.h"
#include "kernel/lib/log.h"
#include "kernel/x86/cpu.h"
#include "kernel/x86/cpuid.h"
#include "kernel/seam/io.h"
#include "kernel/x86/tick.h"
#include "kernel/x86/trap.h"

#define ACPI_HZ 3579545u
enum { PIT_CH2 = 0x42, PIT_MODE = 0x43, PORT_B = 0x61 };
enum { LEAF_TSC = 0x15, LEAF_MHZ = 0x16 };

#define MEASURE_HZ   200u /* a measurement takes a 200th of a second */
#define SAMPLE_TRIES 8
/* At least 5 ms on the fastest processor. If the timer does not run, a slow processor waits
 * for half a second or more. */
#define WAIT_CYCLES 200000000u
#define WAIT_READS  200000u /* the limit if the TSC does not run; a read takes some microseconds */
#define FALLBACK_HZ 1000000000u
#define SLOWEST_HZ  50000000u
#define FASTEST_HZ  20000000000ull
#define DOUBTS      3u   /* seconds in a row with a difference before a measurement */
#define DOUBTS_MOST 192u /* likewise, when ticks were lost before */
#define RATE_LOG_MS 60000u

extern uint64_t clock_entry_tsc; /* boot/entry.S */

static uint32_t us_per_cycle_q32; /* 0: not calibrated, or time advances by ticks */
static uint32_t cycles_per_us_q16;
static uint64_t base_tsc, base_us; /* the time at a value of the TSC */
static uint32_t base_tick;         /* likewise, when time advances by ticks */
static uint64_t rate_hz;
static const char *rate_from;
static bool must_not_halt;

/* The last comparison of TSC and ticks. */
static uint32_t seen_passed;
static uint64_t seen_us;
static uint32_t doubts, doubts_ahead = DOUBTS;
static uint64_t rate_logged; /* for log_limited */
static uint32_t second_tick, silent_seconds;
static uint32_t watchdog_ms;

/* A timer that counts up. */
struct timer {
	const char *name;
	uint32_t hz, mask;
	uint32_t (*count)(void);
};

struct sample {
	uint64_t tsc;
	uint64_t width; /* uncertainty of tsc */
	uint32_t count;
};

static uint32_t pit_count(void)
{
	io_out8(PIT_MODE, 0x80); /* counter latch, channel 2 */
	uint32_t low = io_in8(PIT_CH2);
	return 0u - (low | (uint32_t)io_in8(PIT_CH2) << 8); /* it counts down */
}

static uint16_t acpi_port;

static uint32_t acpi_count(void)
{
	return io_in32(acpi_port);
}

static const struct timer pit = {"8254", TICK_PIT_HZ, 0xffff, pit_count};
static const struct timer acpi = {"ACPI timer", ACPI_HZ, 0xffffff, acpi_count};

/* Takes a few samples and gives the one with the smallest uncertainty. */
static struct sample sample(const struct timer *t)
{
	struct sample best = {.width = UINT64_MAX};
	for (unsigned i = 0; i < SAMPLE_TRIES; i++) {
		uint64_t before = io_cycles();
		uint32_t count = t->count();
		uint64_t after = io_cycles();
		if (after - before < best.width)
			best = (struct sample){before + (after - before) / 2, after - before,
			                       count};
	}
	return best;
}

/* Gives the TSC's rate in cycles per second, by timer `t`; 0 when one of them does not count. */
static uint64_t measure(const struct timer *t)
{
	struct sample start = sample(t);
	uint32_t passed = 0;
	for (uint32_t i = 0; passed < t->hz / MEASURE_HZ && i < WAIT_READS; i++) {
		if (io_cycles() - start.tsc >= WAIT_CYCLES)
			return 0;
		passed = (t->count() - start.count) & t->mask;
	}
	if (passed < t->hz / MEASURE_HZ)
		return 0;
	struct sample end = sample(t);
	passed = (end.count - start.count) & t->mask;
	return (end.tsc - start.tsc) * t->hz / passed;
}

static bool possible(uint64_t hz)
{
	return hz >= SLOWEST_HZ && hz <= FASTEST_HZ;
}

static uint32_t mhz(uint64_t hz)
{
	return (uint32_t)((hz + 500000) / 1000000);
}

/* True when two rates, or two times, differ by less than one part in `parts`. */
static bool close(uint64_t a, uint64_t b, uint32_t parts)
{
	return (a > b ? a - b : b - a) < (a > b ? a : b) / parts;
}

/* Measures until two results in a row agree, or a few times. Gives the last result, or 0 when it
 * is impossible. */
static uint64_t measure_surely(const struct timer *t)
{
	uint64_t hz = measure(t), last = 0;
	for (unsigned i = 0; i < 3 && hz != 0 && !close(hz, last, 128); i++) {
		last = hz;
		hz = measure(t);
	}
	return possible(hz) ? hz : 0;
}

/* Gives the TSC's rate by the 8254; 0 when one of them does not count. */
static uint64_t measure_pit(void)
{
	uint8_t old = io_in8(PORT_B);
	io_out8(PORT_B, (uint8_t)((old & ~2u) | 1)); /* speaker off, gate on */
	io_out8(PIT_MODE, 0xb4);                     /* channel 2, both bytes, mode 2 */
	io_out8(PIT_CH2, 0);                         /* 65536: 55 ms */
	io_out8(PIT_CH2, 0);
	(void)pit_count(); /* the timer loads the count with its next pulse */
	uint64_t hz = measure_surely(&pit);
	io_out8(PORT_B, old);
	return hz;
}

/* Gives the TSC's rate as CPUID knows it (SDM vol. 2, leaves 0x15 and 0x16); 0 when it does not. */
static uint64_t rate_by_cpuid(void)
{
	uint32_t r[4];
	uint64_t hz = 0;
	if (cpuid_leaf(LEAF_TSC, r) && r[0] != 0)
		hz = (uint64_t)r[2] * r[1] / r[0];
	if (!possible(hz) && cpuid_leaf(LEAF_MHZ, r))
		hz = (uint64_t)(r[0] & 0xffff) * 1000000;
	return possible(hz) ? hz : 0;
}

/* Finds the TSC's rate. The time is wrong if nothing tells it, but it advances. */
static uint64_t find_rate(void)
{
	uint64_t hz = measure_pit();
	rate_from = pit.name;
	if (hz == 0 && (acpi_port = acpi_tables_timer()) != 0) {
		hz = measure_surely(&acpi);
		rate_from = acpi.name;
	}
	if (hz == 0) {
		hz = rate_by_cpuid();
		rate_from = "CPUID";
	}
	if (hz == 0) {
		hz = FALLBACK_HZ;
		rate_from = "a guess";
	}
	return hz;
}

/* Lets the TSC count with this rate from now on. */
static void set_rate(uint64_t hz)
{
	base_us = clock_now_us();
	base_tsc = io_cycles();
	rate_hz = hz;
	cycles_per_us_q16 = (uint32_t)((hz << 16) / 1000000);
	us_per_cycle_q32 = (uint32_t)((1000000ull << 32) / hz);
}

void clock_init(void)
{
	uint64_t hz = find_rate();
	set_rate(hz);
	base_us = 0;
	base_tsc = clock_entry_tsc;
	tick_fixed();
	cpu_irq_unmask(0);
	cpu_irq_on();
}

void clock_report(void)
{
	if (rate_from != pit.name)
		log_line("clock: the 8254 does not count; the time is by %s: %u MHz", rate_from,
		         mhz(rate_hz));
}

/* Gives up the TSC: time advances by ticks. */
static void use_ticks(void)
{
	base_us = clock_now_us();
	base_tick = trap_ticks;
	us_per_cycle_q32 = 0;
	tick_fixed();
	log_line("clock: the time-stamp counter is of no use; time advances by %u ms",
	         TICK_FIXED_US / 1000);
}

/* Looks for the reason why TSC and ticks differ. `behind`: the TSC is behind. */
static void find_reason(bool behind)
{
	uint64_t hz = measure_pit();
	if (hz == 0) {
		use_ticks();
	} else if (!close(hz, rate_hz, 64)) {
		log_limited(&rate_logged, RATE_LOG_MS,
		            "clock: the time-stamp counter counts %u MHz now, before %u", mhz(hz),
		            mhz(rate_hz));
		set_rate(hz);
	} else if (!behind) {
		doubts_ahead = min_u32(2 * doubts_ahead, DOUBTS_MOST); /* ticks were lost */
	} else if (!must_not_halt) {
		must_not_halt = true;
		log_line("clock: the time-stamp counter stops when the processor halts, so it no "
		         "longer halts");
	} else {
		use_ticks();
	}
}

void clock_check(void)
{
	uint32_t passed = trap_passed - seen_passed;
	if (LIKELY(passed < TICK_SECOND) || us_per_cycle_q32 == 0)
		return;
	uint64_t now = clock_now_us(), by_tsc = now - seen_us;
	uint64_t by_ticks = (uint64_t)passed * 1000000 / TICK_SECOND;
	seen_passed += passed;
	seen_us = now;
	if (close(by_ticks, by_tsc, 16)) {
		doubts = 0;
		return;
	}
	bool behind = by_tsc < by_ticks;
	if (++doubts < (behind ? DOUBTS : doubts_ahead))
		return;
	doubts = 0;
	find_reason(behind);
	seen_us = clock_now_us();
	seen_passed = trap_passed;
}

void clock_expect_ticks(void)
{
	silent_seconds = trap_ticks == second_tick ? silent_seconds + 1 : 0;
	second_tick = trap_ticks;
	if (silent_seconds != 2)
		return;
	must_not_halt = true;
	log_line("clock: the timer's interrupts do not come, so the processor does not halt, and "
	         "there is no watchdog");
}

void clock_wake_at(uint64_t now_us, uint64_t at_us)
{
	if (us_per_cycle_q32 != 0)
		tick_plan(now_us, at_us);
}

bool clock_may_halt(void)
{
	return !must_not_halt;
}

uint64_t clock_now_us(void)
{
	if (UNLIKELY(us_per_cycle_q32 == 0))
		return base_us + (uint64_t)(trap_ticks - base_tick) * TICK_FIXED_US;
	uint64_t cycles = io_cycles() - base_tsc;
	uint32_t high = (uint32_t)(cycles >> 32), low = (uint32_t)cycles;
	return base_us + (uint64_t)high * us_per_cycle_q32 +
	       ((uint64_t)low * us_per_cycle_q32 >> 32);
}

uint32_t clock_watchdog_ms(void)
{
	return watchdog_ms;
}

void clock_watchdog(uint32_t ms)
{
	watchdog_ms = ms;
	trap_stalled = 0;
	/* One interval more, because the first tick may come at once. */
	trap_stalled_max =
	        ms == 0 ? UINT32_MAX : (uint32_t)((uint64_t)ms * TICK_SECOND / 1000) + TICK_LONGEST;
}

void clock_alive(void)
{
	trap_stalled = 0;
}

void io_delay_us(uint32_t us)
{
	if (us_per_cycle_q32 == 0) {
		/* A write to the POST port takes about a microsecond on the bus. */
		while (us-- > 0)
			io_out8(0x80, 0);
		return;
	}
	uint64_t start = io_cycles();
	uint64_t cycles = ((uint64_t)us * cycles_per_us_q16 >> 16) + 1;
	while (io_cycles() - start < cycles)
		__asm__ volatile("rep nop"); /* PAUSE, a NOP before the Pentium 4 */
}

uint64_t io_now_us(void)
{
	return clock_now_us();
}
