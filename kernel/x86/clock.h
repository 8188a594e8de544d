/* Time: the time-stamp counter, calibrated against the PIT. Also the tick, which wakes an
 * idle machine and drives the watchdog. */
#ifndef KERNEL_X86_CLOCK_H
#define KERNEL_X86_CLOCK_H

#include "kernel/lib/bytes.h"

#define CLOCK_HZ 100 /* ticks a second */

/* Calibrates the clock (about 5 ms) and starts the tick. After cpu_init. Before this call
 * the time is 0. */
void clock_init(void);

/* Gives microseconds since the entry point; monotonic. */
uint64_t clock_now_us(void);

/* Sets the watchdog: a panic, which restarts the machine, if clock_alive is not called for
 * `ms` milliseconds (0: never). The timer interrupt checks this. */
void clock_watchdog(uint32_t ms);
/* Tells the watchdog that the main loop runs. */
void clock_alive(void);

#endif
