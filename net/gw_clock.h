/* The gateway's clock: microseconds, which the caller of the gateway sets, and seconds and
 * milliseconds, which follow ten times a second, so that a packet costs no division. */
#ifndef NET_GW_CLOCK_H
#define NET_GW_CLOCK_H

#include "kernel/lib/bytes.h"

struct gw_clock {
	uint64_t us;
	uint32_t s;       /* since boot, never late */
	uint32_t ms;      /* wraps; up to 100 ms late */
	uint64_t next_us; /* when s and ms are next set */
};

/* Sets s and ms from us when it is time. The steps begin with the second, so that no session seems
 * younger than it is. */
static inline void gw_clock_keep(struct gw_clock *c)
{
	if (LIKELY(c->us < c->next_us))
		return;
	c->s = (uint32_t)(c->us / 1000000);
	c->ms = (uint32_t)(c->us / 1000);
	c->next_us = (c->us / 100000 + 1) * 100000;
}

#endif
