/* Token buckets: what may be done so often in the long run, and so often at once. A bucket
 * is kept as the time, in microseconds since boot, at which it is full again. */
#ifndef KERNEL_LIB_BUCKET_H
#define KERNEL_LIB_BUCKET_H

#include "kernel/lib/bytes.h"

struct bucket {
	uint32_t token_us; /* one token more, every so often */
	uint32_t depth_us; /* the time in which all come back */
};

/* What is missing from a bucket that is full again at `full_us`, in microseconds. */
static inline uint32_t bucket_owed(uint64_t now_us, uint64_t full_us)
{
	return full_us > now_us ? (uint32_t)(full_us - now_us) : 0;
}

/* Takes `n` tokens: *owed_us grows. One that is left pays for all of them. False when there
 * is none. */
static inline bool bucket_take(const struct bucket *b, uint32_t *owed_us, uint32_t n)
{
	if (*owed_us > b->depth_us - b->token_us)
		return false;
	*owed_us = min_u32(*owed_us + n * b->token_us, b->depth_us);
	return true;
}

#endif
