/* Times in 32 bits: seconds, milliseconds or microseconds since the start. They are the
 * lower half of a longer count, so they wrap (microseconds after 72 minutes, milliseconds
 * after 50 days).
 *
 * The sign of a difference is not enough to distinguish a past time from a future one.
 * Suppose that nobody checks a time for half of the clock's range, because its table was
 * empty, its carrier was down or the machine stood still. Then a past time would look like
 * a future one. So the owner of such a time also states `most`: how far ahead of the clock
 * it ever sets the time, in the same unit, and less than the clock's range. A time that
 * lies further ahead has passed. So a pause of any length delays nothing: what became due
 * during the pause is due at the next check. There is one unlikely exception: at the next
 * check the clock has wrapped and is again less than `most` before the time. Then the time
 * comes up to `most` late.
 *
 * Ages need no such care (now - since, unsigned): an age that exceeds the clock's range may
 * look young for a moment. No other code compares such times (`tools/lint/run times`). */
#ifndef KERNEL_LIB_WHEN_H
#define KERNEL_LIB_WHEN_H

#include "kernel/lib/bytes.h"

/* Gives how long it is until `at`, or 0 when `at` has come. The caller never sets `at` more
 * than `most` ahead of the clock. */
static inline uint32_t when_left(uint32_t now, uint32_t at, uint32_t most)
{
	uint32_t ahead = at - now;
	return ahead <= most ? ahead : 0;
}

/* True when `at` has come. The caller never sets `at` more than `most` ahead of the clock. */
static inline bool when_come(uint32_t now, uint32_t at, uint32_t most)
{
	return when_left(now, at, most) == 0;
}

/* For work that is done at most once in `every`. True when it is time for it; then *next
 * becomes the next time. Also right after a long pause; *next may start with any value. */
static inline bool when_again(uint32_t now, uint32_t *next, uint32_t every)
{
	if (!when_come(now, *next, every))
		return false;
	*next = now + every;
	return true;
}

#endif
