/* The log: lines in memory, of which the oldest are overwritten, and a sink that gets each
 * line.
 *
 * A line is "SECONDS.MILLIS text", and "SECONDS.MILLIS DATE text" once the time of day is known
 * (wall.h). log_line replaces control characters by '?'. Callers
 * limit how often the wire can cause a line (log_limited). */
#ifndef KERNEL_LIB_LOG_H
#define KERNEL_LIB_LOG_H

#include "kernel/lib/bytes.h"

#define LOG_BYTES 16384 /* size of the ring in memory */
#define LOG_LINE  200   /* longest line; the rest is cut off */

/* Sets a function that also gets each line (the console), or NULL. `line` ends with neither
 * CR nor LF and is valid only during the call. */
void log_sink(void (*sink)(const char *line, size_t len));

/* Sets the time for the next lines, in microseconds since boot. The main loop calls it once
 * a burst. */
void log_time(uint64_t now_us);

/* Adds one line to the log. `fmt` is as for fmt(). */
void log_line(const char *fmt, ...) PRINTF_LIKE(1, 2);

/* Adds a line as log_line does, but at most one line in `every_ms` milliseconds for each
 * `mark`. `mark` is a variable of the caller that starts as zero and holds the time of its
 * last line. True when the line was added. */
bool log_limited(uint64_t *mark, uint32_t every_ms, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Reads the lines in memory, the oldest first. *cursor starts as 0 and moves on. Writes one
 * line with a NUL into buf (at least LOG_LINE bytes) and gives true, or false when there
 * are no more lines. A line that was overwritten meanwhile is skipped. */
bool log_next(uint64_t *cursor, char *buf, size_t size);

/* The cursor behind the newest line: it moves with each line. */
uint64_t log_end(void);

/* How many lines were overwritten since the start: the number of the oldest one in memory, counted
 * from 0. */
uint64_t log_overwritten(void);

/* While muted, lines are neither kept nor given to the sink: for a text that is read only to check
 * it. Gives what it was before. */
bool log_mute(bool on);

/* Gives the cursor of the line that is `n` lines in front of `cursor`, or of the oldest line when
 * there are not so many. A cursor behind the last line counts as its end, so UINT64_MAX gives the
 * last n lines. */
uint64_t log_before(uint64_t cursor, uint32_t n);

/* Removes all lines and the sink, and ends muting. For tests. */
void log_reset(void);

#endif
