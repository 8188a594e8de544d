/* What is kept of the times of single steps; see timing.h. */
#ifndef NET_STATS_TIMING_STATE_H
#define NET_STATS_TIMING_STATE_H

#include <stdbool.h>
#include <stdint.h>

enum timing_step {
	TIMING_ADDRESS, /* a translator's mapping of addresses, with checks */
	TIMING_HEADER,  /* its translation of the header, and of the transport header or message: */
	TIMING_TCP,
	TIMING_UDP,
	TIMING_ICMP,
	TIMING_LOOKUP, /* a search for the session of a packet */
	TIMING_ADD,    /* a new session, with its mapping where that is new */
	TIMING_KNOWN,  /* a packet that the fast path forwards, from frame to frame */
	TIMING_SLOW,   /* the same for the slow path */
	TIMING_STEPS
};

#define TIMING_BIT(step) (1u << (step))

/* Where a timed packet comes from. */
enum { TIMING_FROM_OUTSIDE, TIMING_FROM_INSIDE, TIMING_WAYS };

/* What is timed of a forwarder: bits of its steps, and how `timings` names the ways of packets. */
struct timing_rows {
	const char *way[TIMING_WAYS];
	uint32_t steps;
};

#define TIMING_WAYS_IN_OUT                                                 \
	{                                                                  \
		[TIMING_FROM_OUTSIDE] = "in", [TIMING_FROM_INSIDE] = "out" \
	}

struct timing_sum {
	uint64_t count, sum;
	uint32_t max;
};

struct timings {
	bool on;              /* the packet under way is timed */
	bool slow;            /* it has taken the slow path */
	uint8_t way;          /* where it comes from */
	bool steps_only;      /* the frames that are due take the slow path */
	uint32_t seed;        /* of the times and kinds of samples */
	uint32_t idle_cycles; /* between two reads of the cycle counter */
	uint64_t sample_us;   /* when the next frames are due */
	struct timing_sum sum[TIMING_WAYS][TIMING_STEPS];
};

#endif
