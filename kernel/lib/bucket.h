/* Token buckets: they limit how often something may happen in the long run, and how often
 * in a burst. A bucket is stored as the time, in microseconds since boot, at which it will
 * be full again. */
#ifndef KERNEL_LIB_BUCKET_H
#define KERNEL_LIB_BUCKET_H

#include "kernel/lib/bytes.h"

struct bucket {
	uint32_t token_us; /* time after which one token is added */
	uint32_t depth_us; /* time in which an empty bucket fills up */
};

/* Gives how long the bucket needs until it is full, in microseconds. `full_us` is the time
 * at which it is full. */
static inline uint32_t bucket_owed(uint64_t now_us, uint64_t full_us)
{
	return full_us > now_us ? (uint32_t)(full_us - now_us) : 0;
}

/* Takes `n` tokens: *owed_us, as bucket_owed gave it, grows. One token that is left is
 * enough for all n; the bucket is then empty. False when no token is left. */
static inline bool bucket_take(const struct bucket *b, uint32_t *owed_us, uint32_t n)
{
	if (*owed_us > b->depth_us - b->token_us)
		return false;
	*owed_us = min_u32(*owed_us + n * b->token_us, b->depth_us);
	return true;
}

#endif
