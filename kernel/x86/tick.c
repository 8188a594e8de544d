/* See tick.h. Intel 82C54 data sheet, 231244: control word, mode 2, counter latch command; 8259A
 * data sheet, OCW3.
 *
 * Why the 8254: it is the one timer that is in each PC and whose interrupt needs neither an APIC
 * nor tables of the firmware, and this kernel cannot do without it (calibration, watchdog). Its
 * longest interval is 55 ms, so a halt of 500 ms has ten ticks, at which nothing is done. The RTC's
 * would be 125 ms; but its registers are shared with SMM, and it would need the 8254 beside it for
 * whatever is due sooner.
 *
 * Mode 2 repeats, so the tick also comes in a main loop that hangs, where nothing plans the next
 * one. A new interval begins when it is written. The part of the old one that has passed is read
 * from the counter and counted (trap_passed), so no time is lost to the comparison with the
 * time-stamp counter. A tick that comes within the microseconds of the change is counted with the
 * new interval; the comparison (clock_check) bears that. */
#include "kernel/x86/tick.h"

#include "kernel/seam/io.h"
#include "kernel/x86/trap.h"

enum { CH0 = 0x40, MODE = 0x43, PIC1 = 0x20 };
enum { LATCH_CH0 = 0x00, CH0_MODE2 = 0x34 }; /* both bytes, rate generator */
enum { READ_IRR = 0x0a, IRR_TICK = 1 };

/* Interval = us * UNITS_PER_US_Q20 >> 20. Up to TICK_LONG_US the product has room in 32 bits. */
#define UNITS_PER_US_Q20 39098u
#define TICK_PARTS       10u /* a halt of half a second has so many ticks */
#define SLACK            37u /* 1 ms */

static uint64_t planned_us;   /* what the next tick is for; it comes then or earlier */
static uint32_t planned_tick; /* trap_ticks when it was planned */

static void write_interval(uint32_t units)
{
	uint32_t pulses = units * TICK_PULSES; /* 65536 is written as 0 */
	trap_interval = units;
	io_out8(MODE, CH0_MODE2);
	io_out8(CH0, (uint8_t)pulses);
	io_out8(CH0, (uint8_t)(pulses >> 8));
}

/* Gives the units of the interval under way that have passed. */
static uint32_t passed(void)
{
	io_out8(MODE, LATCH_CH0);
	uint32_t left = io_in8(CH0); /* in pulses; it counts down */
	left |= (uint32_t)io_in8(CH0) << 8;
	if (left == 0)
		left = 65536;
	uint32_t units = left / TICK_PULSES;
	return units < trap_interval ? trap_interval - units : 0;
}

void tick_fixed(void)
{
	write_interval(TICK_FIXED);
	planned_us = 0;
	planned_tick = trap_ticks;
}

/* Gives the interval for a halt of `left` microseconds: in as few equal parts as possible, so that
 * the same interval also serves the next halt of this length. Two units more than needed, because
 * a tick that comes a little early would cost another one. */
static uint32_t wanted(uint64_t left)
{
	uint32_t us =
	        (uint32_t)(left < TICK_PARTS * TICK_LONG_US ? left : TICK_PARTS * TICK_LONG_US);
	us = us > TICK_LONG_US ? us / (us / TICK_LONG_US + 1) : max_u32(us, TICK_LEAST_US);
	return min_u32((us * UNITS_PER_US_Q20 >> 20) + 2, TICK_LONGEST);
}

void tick_plan(uint64_t now_us, uint64_t at_us)
{
	bool coming = trap_ticks == planned_tick;
	if (coming && planned_us <= at_us)
		return;
	uint32_t units = wanted(at_us > now_us ? at_us - now_us : 0);
	bool late = trap_interval > units + SLACK, early = trap_interval + SLACK < units;
	/* A tick that comes too early costs less than to plan it again, but not again and again. */
	if (late || (early && !coming)) {
		/* One that is about to come ends the halt at once; it adds its interval. */
		io_out8(PIC1, READ_IRR);
		if (io_in8(PIC1) & IRR_TICK)
			return;
		trap_passed += passed();
		write_interval(units);
	} else if (coming) {
		return;
	}
	planned_us = at_us;
	planned_tick = trap_ticks;
}
