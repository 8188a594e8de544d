/* Cycles of single steps of forwarding, for the console command `timings`.
 *
 * From time to time one frame of each interface is timed (gw_dispatch.c). The other frames pay next
 * to nothing: whether one is due is looked up once a burst. Half of the timed frames go as always,
 * and count as `known` or `slow`, from frame to frame. The other half take the slow path, which
 * gives the same frames, so that its steps are timed for the packets of known flows too. */
#ifndef NET_STATS_TIMING_H
#define NET_STATS_TIMING_H

#include "net/gw.h"

/* Measures the cost of reading the cycle counter; called once at start. */
void timing_init(struct gw *gw);

/* Marks a frame of each interface as due when it is time. */
void timing_tick(struct gw *gw);

/* Begins to time a frame from an interface that has one due. Gives the cycle counter. */
uint32_t timing_begin(struct gw *gw, const struct interface *in);

/* Ends what timing_begin began at `start`. A frame that the gateway did not
 * forward is not counted; then another one may be due. */
void timing_finish(struct gw *gw, struct interface *in, uint32_t start, bool forwarded);

/* Adds the cycles of one step of the packet under way. */
void timing_note(struct gw *gw, enum timing_step step, uint32_t cycles);

/* Writes one line of `timings`; for the hook `show` of a forwarder that has rows. */
bool timing_show(const struct gw *gw, uint32_t *cursor, char *buf, size_t size);

/* The cycle counter at the start of a step; 0 when the packet is not timed. */
static inline uint32_t timing_start(const struct gw *gw)
{
	return UNLIKELY(gw->timing.on) ? gw->cycles() : 0;
}

/* Adds the cycles since `start` to a step when the packet is timed. */
static inline void timing_end(struct gw *gw, enum timing_step step, uint32_t start)
{
	if (UNLIKELY(gw->timing.on))
		timing_note(gw, step, gw->cycles() - start);
}

#endif
