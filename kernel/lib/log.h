/* The log: lines kept in memory, oldest overwritten, and handed to a sink.
 *
 * A line is "SECONDS.MILLIS text". Text that comes from the wire must be
 * printed with %s only after it was made printable; log_line replaces control
 * characters by '?' in any case. Callers limit lines that the wire can cause
 * (log_limited). */
#ifndef KERNEL_LIB_LOG_H
#define KERNEL_LIB_LOG_H

#include "kernel/lib/bytes.h"

#define LOG_BYTES 16384 /* size of the memory ring */
#define LOG_LINE  200   /* longest line, the rest is cut */

/* Sets who else gets each line (console); NULL for nobody. `line` ends with
 * neither CR nor LF and is valid during the call only. */
void log_sink(void (*sink)(const char *line, size_t len));

/* The time the next lines carry; the loop sets it once a burst. */
void log_time(uint64_t now_us);

/* Adds one line. */
void log_line(const char *fmt, ...) PRINTF_LIKE(1, 2);

/* Like log_line, but at most one line in `every_ms` for each `mark` (a
 * variable of the caller, zero at first, that holds the time of its last
 * line); says whether the line was added. */
bool log_limited(uint64_t *mark, uint32_t every_ms, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Reads the kept lines: *cursor is 0 at first and moves on; writes one line
 * with its NUL into buf (at least LOG_LINE bytes) and gives true, or false
 * when there are no more. A line overwritten meanwhile is skipped. */
bool log_next(uint64_t *cursor, char *buf, size_t size);

/* Forgets everything (tests). */
void log_reset(void);

#endif
