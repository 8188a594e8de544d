/* Time: the time-stamp counter, calibrated against the 8254 timer. Also the tick, which wakes an
 * idle machine and drives the watchdog. */
#ifndef KERNEL_X86_CLOCK_H
#define KERNEL_X86_CLOCK_H

#include "kernel/lib/bytes.h"

/* Calibrates the clock (about 10 ms) and starts the tick. After cpu_init. Before this call
 * the time is 0. */
void clock_init(void);

/* Logs by what the clock was calibrated, if not by the 8254. */
void clock_report(void);

/* Gives microseconds since the entry point; monotonic. */
uint64_t clock_now_us(void);

/* Compares the time-stamp counter with the ticks about once a second, and adapts the clock when
 * the counter stops or changes its rate. A measurement takes 10 ms. To be called at least each
 * tick; driven by what the 8254 has counted, so that it works when the counter stands still. */
void clock_check(void);

/* Logs once that ticks do not come. To be called about once a second. */
void clock_expect_ticks(void);

/* Plans the tick that ends a halt: at `at_us`, up to a millisecond late or 55 ms early. `now_us` is
 * the time. To be called with interrupts off, before each halt. Before its first call, and while
 * time advances by ticks, a tick comes each 10 ms. */
void clock_wake_at(uint64_t now_us, uint64_t at_us);

/* False when the clock would stand still in a halt. */
bool clock_may_halt(void);

/* Sets the watchdog: a panic, which restarts the machine, if clock_alive is not called for
 * `ms` milliseconds, up to a day (0: never), or 55 ms more. The timer interrupt checks this. */
void clock_watchdog(uint32_t ms);
/* Gives the `ms` of clock_watchdog. */
uint32_t clock_watchdog_ms(void);
/* Tells the watchdog that the main loop runs. */
void clock_alive(void);

#endif
