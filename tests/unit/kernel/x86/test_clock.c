/* kernel/x86/clock.c: the time-stamp counter as microseconds, from the start to some
 * centuries later, on the slowest and the fastest processor; the limit of the watchdog. The
 * timer is a model, and every access to it takes time. */
#include "kernel/seam/io.h"

#include "tests/tap.h"

#include <stdbool.h>

#define PIT_HZ_MODEL 1193182u

static uint64_t machine_hz, machine_cycles;
static uint32_t latch;
static bool low_byte;

static uint64_t counter(void)
{
	return machine_cycles;
}

#define io_cycles   counter
#define io_delay_us clock_delay_us
#define io_now_us   clock_io_now_us
void clock_delay_us(uint32_t us);
uint64_t clock_io_now_us(void);
#include "kernel/x86/clock.c"

uint64_t clock_entry_tsc;
volatile uint32_t trap_ticks, trap_stalled, trap_stalled_max;

void cpu_irq_unmask(uint8_t irq)
{
	(void)irq;
}

void cpu_irq_on(void)
{
}

static void port_out(void *ctx, uint16_t port, unsigned size, uint32_t v)
{
	(void)ctx;
	(void)size;
	machine_cycles += machine_hz / 1000000;
	if (port == PIT_MODE && v == 0x80) {
		latch = 65536 - (uint32_t)(machine_cycles * PIT_HZ_MODEL / machine_hz % 65536);
		low_byte = true;
	}
}

static uint32_t port_in(void *ctx, uint16_t port, unsigned size)
{
	(void)ctx;
	(void)size;
	machine_cycles += machine_hz / 1000000;
	if (port != PIT_CH2)
		return 0;
	low_byte = !low_byte;
	return low_byte ? latch >> 8 & 0xff : latch & 0xff;
}

/* Calibrates a machine that has been on for a while. */
static void start(uint64_t rate)
{
	static const struct host_bus bus = {.port_in = port_in, .port_out = port_out};
	machine_hz = rate;
	machine_cycles = clock_entry_tsc = rate * 77;
	host_bus_set(&bus);
	clock_init();
}

/* The time is correct within a thousandth and never goes back, also when the lower half of
 * the counter wraps. */
static void microseconds(void)
{
	static const uint64_t rates[] = {60000000, 1000000000, 3000000000u, 5400000000u,
	                                 19000000000u};
	for (unsigned i = 0; i < ARRAY_SIZE(rates); i++) {
		start(rates[i]);
		for (unsigned bit = 10; bit < 53; bit++) { /* some 280 years */
			uint64_t us = 1ull << bit;
			if (us / 1000000 + 100 > UINT64_MAX / machine_hz)
				break;
			uint64_t at =
			        us / 1000000 * machine_hz + us % 1000000 * machine_hz / 1000000;
			machine_cycles = clock_entry_tsc + at;
			uint64_t now = clock_now_us();
			CHECK(now > us - us / 1000 - 2 && now < us + us / 1000 + 2);
		}
		uint64_t last = 0;
		for (uint64_t turn = 1; turn < 1ull << 31; turn *= 2)
			for (uint32_t k = 0; k < 200; k++) {
				machine_cycles =
				        clock_entry_tsc + (turn << 32) - 100 * 977 + k * 977u;
				CHECK(clock_now_us() >= last);
				last = clock_now_us();
			}
	}
}

static void watchdog(void)
{
	clock_watchdog(86400000);
	CHECK_EQ(trap_stalled_max, 8640001);
	clock_watchdog(10000);
	CHECK_EQ(trap_stalled_max, 1001);
	clock_watchdog(0);
	CHECK_EQ(trap_stalled_max, UINT32_MAX);
}

int main(void)
{
	TEST(microseconds);
	TEST(watchdog);
	return tap_done();
}
