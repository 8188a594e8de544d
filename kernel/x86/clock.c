/* See clock.h. The 8254 timer at 1.193182 MHz (Intel 82C54 data sheet, 231244) and the
 * time-stamp counter, TSC (SDM vol. 3, 17.17).
 *
 * Channel 2 of the timer, gated by I/O port 0x61, runs freely for the calibration. Channel
 * 0 makes the tick. A sample reads the timer between two reads of the TSC. Several samples
 * are taken, and the one with the closest two TSC values is used, so that neither an SMI
 * nor a busy host spoils the result.
 *
 * Left out on purpose: a TSC that changes its rate (mobile processors before the invariant
 * TSC, throttling); a firmware that stops the clock. */
#include "kernel/x86/clock.h"

#include "kernel/x86/cpu.h"
#include "kernel/seam/io.h"
#include "kernel/x86/trap.h"

#define PIT_HZ 1193182u
enum { PIT_CH0 = 0x40, PIT_CH2 = 0x42, PIT_MODE = 0x43, PORT_B = 0x61 };

#define CALIBRATE_COUNTS (PIT_HZ / 200) /* 5 ms */
#define SAMPLE_TRIES     8
/* At least 5 ms on the fastest processor. If the timer does not run, a slow processor waits
 * for half a second or more. */
#define WAIT_CYCLES 200000000u
#define FALLBACK_HZ 1000000000u
#define SLOWEST_HZ  50000000u
#define FASTEST_HZ  20000000000ull

extern uint64_t clock_entry_tsc; /* boot/entry.S */

static uint32_t us_per_cycle_q32; /* 0: not calibrated */
static uint32_t cycles_per_us_q16;

struct sample {
	uint64_t tsc;
	uint64_t width; /* uncertainty of tsc */
	uint16_t count;
};

static uint16_t pit_count(void)
{
	io_out8(PIT_MODE, 0x80); /* counter latch, channel 2 */
	uint8_t low = io_in8(PIT_CH2);
	return (uint16_t)(low | io_in8(PIT_CH2) << 8);
}

/* Takes a few samples and gives the one with the smallest uncertainty. */
static struct sample sample(void)
{
	struct sample best = {.width = UINT64_MAX};
	for (unsigned i = 0; i < SAMPLE_TRIES; i++) {
		uint64_t before = io_cycles();
		uint16_t count = pit_count();
		uint64_t after = io_cycles();
		if (after - before < best.width)
			best = (struct sample){before + (after - before) / 2, after - before,
			                       count};
	}
	return best;
}

/* Gives the TSC's rate in cycles per second; 0 when the timer does not count. */
static uint64_t measure(void)
{
	uint8_t old = io_in8(PORT_B);
	io_out8(PORT_B, (uint8_t)((old & ~2u) | 1)); /* speaker off, gate on */
	io_out8(PIT_MODE, 0xb4);                     /* channel 2, both bytes, mode 2 */
	io_out8(PIT_CH2, 0);                         /* 65536: 55 ms */
	io_out8(PIT_CH2, 0);
	(void)pit_count(); /* the timer loads the count with its next pulse */
	struct sample start = sample();
	uint16_t passed = 0;
	while (passed < CALIBRATE_COUNTS && io_cycles() - start.tsc < WAIT_CYCLES)
		passed = (uint16_t)(start.count - pit_count());
	if (passed < CALIBRATE_COUNTS) {
		io_out8(PORT_B, old);
		return 0;
	}
	struct sample end = sample();
	io_out8(PORT_B, old);
	passed = (uint16_t)(start.count - end.count);
	return (end.tsc - start.tsc) * PIT_HZ / passed;
}

static void calibrate(void)
{
	uint64_t hz = measure();
	if (hz < SLOWEST_HZ || hz > FASTEST_HZ)
		hz = measure();
	if (hz < SLOWEST_HZ || hz > FASTEST_HZ)
		hz = FALLBACK_HZ; /* the time is then wrong, but it advances */
	cycles_per_us_q16 = (uint32_t)((hz << 16) / 1000000);
	us_per_cycle_q32 = (uint32_t)((1000000ull << 32) / hz);
}

void clock_init(void)
{
	calibrate();
	uint32_t divisor = PIT_HZ / CLOCK_HZ;
	io_out8(PIT_MODE, 0x34); /* channel 0, both bytes, mode 2 */
	io_out8(PIT_CH0, (uint8_t)divisor);
	io_out8(PIT_CH0, (uint8_t)(divisor >> 8));
	cpu_irq_unmask(0);
	cpu_irq_on();
}

uint64_t clock_now_us(void)
{
	uint64_t cycles = io_cycles() - clock_entry_tsc;
	uint32_t high = (uint32_t)(cycles >> 32), low = (uint32_t)cycles;
	return (uint64_t)high * us_per_cycle_q32 + ((uint64_t)low * us_per_cycle_q32 >> 32);
}

void clock_watchdog(uint32_t ms)
{
	trap_stalled = 0;
	/* One tick more, because the first tick may come at once. */
	trap_stalled_max = ms == 0 ? UINT32_MAX : (uint32_t)((uint64_t)ms * CLOCK_HZ / 1000) + 1;
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
