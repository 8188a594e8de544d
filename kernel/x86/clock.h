/* Time: the time-stamp counter, calibrated against the 8254 timer. Also the tick, which wakes an
 * idle machine and drives the watchdog. */
#ifndef KERNEL_X86_CLOCK_H
#define KERNEL_X86_CLOCK_H

#include "kernel/lib/bytes.h"

#define CLOCK_HZ 100 /* ticks a second */

/* Calibrates the clock (about 10 ms) and starts the tick. After cpu_init. Before this call
 * the time is 0. */
void clock_init(void);

/* Logs by what the clock was calibrated, if not by the 8254. */
void clock_report(void);

/* Gives microseconds since the entry point; monotonic. */
uint64_t clock_now_us(void);

/* Compares the time-stamp counter with the ticks about once a second, and adapts the clock when
 * the counter stops or changes its rate. A measurement takes 10 ms. To be called at least each
 * tick; driven by ticks, so that it works when the counter stands still. */
void clock_check(void);

/* Logs once that ticks do not come. To be called about once a second. */
void clock_expect_ticks(void);

/* False when the clock would stand still in a halt. */
bool clock_may_halt(void);

/* Sets the watchdog: a panic, which restarts the machine, if clock_alive is not called for
 * `ms` milliseconds (0: never). The timer interrupt checks this. */
void clock_watchdog(uint32_t ms);
/* Tells the watchdog that the main loop runs. */
void clock_alive(void);

#endif
