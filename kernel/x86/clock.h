/* Time: the time-stamp counter, calibrated against the PIT, and the tick that
 * wakes an idle machine and watches over a hung one. */
#ifndef KERNEL_X86_CLOCK_H
#define KERNEL_X86_CLOCK_H

#include "kernel/lib/bytes.h"

#define CLOCK_HZ 100 /* ticks a second */

/* Calibrates (about 5 ms) and starts the tick. After cpu_init; the time is 0
 * before. */
void clock_init(void);

/* Microseconds since the entry point; monotonic. */
uint64_t clock_now_us(void);

/* Restarts the machine when clock_alive was not called for `ms` (0 = never).
 * The timer interrupt counts; clock_alive is for the main loop. */
void clock_watchdog(uint32_t ms);
void clock_alive(void);

#endif
