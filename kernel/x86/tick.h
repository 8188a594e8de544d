/* The tick: channel 0 of the 8254 interrupts again and again, at an interval that the caller may
 * change. It ends halts, counts for the watchdog (trap.S), and is a second clock beside the
 * time-stamp counter (clock.c). */
#ifndef KERNEL_X86_TICK_H
#define KERNEL_X86_TICK_H

#include "kernel/lib/bytes.h"

#define TICK_PIT_HZ 1193182u

/* Intervals, trap_passed and the watchdog's limit are in units of 32 pulses of the 8254, 26.8 us.
 * So a day has room in 32 bits. */
#define TICK_PULSES   32u
#define TICK_SECOND   (TICK_PIT_HZ / TICK_PULSES)
#define TICK_FIXED    373u /* the interval at first, 10.0 ms */
#define TICK_FIXED_US 10003u
#define TICK_LONGEST  2048u /* 65536 pulses: the counter has 16 bits */
#define TICK_LEAST_US 1000u
#define TICK_LONG_US  54925u /* TICK_LONGEST */

/* Lets the tick come each TICK_FIXED from now on. Also the start. */
void tick_fixed(void);

/* Lets the next tick come at `at_us`, but no sooner than after TICK_LEAST_US, or after at most
 * TICK_LONG_US when that is sooner: then the caller looks at its time and calls again. The clock
 * stands at `now_us`. To be called with interrupts off, before each halt; it costs accesses to
 * I/O ports only when the interval changes. */
void tick_plan(uint64_t now_us, uint64_t at_us);

#endif
