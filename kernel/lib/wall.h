/* The time of day (UTC), once somebody has told it. Only log lines and listings have it: every
 * timer, lease and lifetime runs on the time since boot, which never jumps. */
#ifndef KERNEL_LIB_WALL_H
#define KERNEL_LIB_WALL_H

#include "kernel/lib/bytes.h"

#define WALL_TEXT 21u /* 2026-11-23T17:30:00Z and a NUL */

/* Says that it is `unix_us` (microseconds since 1970-01-01 UTC, without leap seconds) at `now_us`
 * (microseconds since boot). */
void wall_set(uint64_t unix_us, uint64_t now_us);

/* Forgets it. */
void wall_forget(void);

/* The time of day at now_us, in microseconds since 1970-01-01 UTC; 0 when it is not known. */
uint64_t wall_at(uint64_t now_us);

/* Writes a time of day, to the second, as RFC 3339 does. Gives buf. */
char *wall_text(char buf[static WALL_TEXT], uint64_t unix_us);

#endif
