/* Times in 32 bits: seconds, milliseconds or microseconds since the start, the lower half of a
 * longer count, so that they wrap (microseconds after 72 minutes, milliseconds after 50 days).
 *
 * A sign does not tell a time that has passed from one that is still to come: a time that nobody
 * looked at for half a turn of the clock, because its table was empty, its link was down or the
 * machine stood still, would seem to be one of the future. So who keeps such a time also says how
 * far ahead of the clock it is ever set, `most`, in its unit and less than a turn: all that lies
 * further ahead has passed. Then no time of silence delays anything: what was due meanwhile is due
 * at the next look, or, in the unlikely case that the clock stands within `most` before the same
 * number a turn later, `most` after that at the latest.
 *
 * Ages need no such care (now - since, without sign), where what is older than a turn may for a
 * moment seem young. Nothing else compares such times (`tools/lint/run times`). */
#ifndef KERNEL_LIB_WHEN_H
#define KERNEL_LIB_WHEN_H

#include "kernel/lib/bytes.h"

/* How long it is until `at`; 0: it has come. */
static inline uint32_t when_left(uint32_t now, uint32_t at, uint32_t most)
{
	uint32_t ahead = at - now;
	return ahead <= most ? ahead : 0;
}

/* True when `at` has come. */
static inline bool when_come(uint32_t now, uint32_t at, uint32_t most)
{
	return when_left(now, at, most) == 0;
}

/* For what is looked at every so often at most: true when it is time again, and then notes the next
 * time. Also right where nobody asked for long; *next may begin as anything. */
static inline bool when_again(uint32_t now, uint32_t *next, uint32_t every)
{
	if (!when_come(now, *next, every))
		return false;
	*next = now + every;
	return true;
}

#endif
