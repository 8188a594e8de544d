/* The gateway's own counters; gw_show.c has their names. */
#ifndef NET_STATS_GW_COUNTS_H
#define NET_STATS_GW_COUNTS_H

#include "kernel/lib/bytes.h"
#include "net/stats/drop.h"

struct gw_counts {
	uint64_t drops[DROP_COUNT]; /* by reason */
	uint64_t forwarded;         /* packets */
	uint64_t icmp_errors;       /* sent */
	uint64_t icmp_suppressed;   /* not sent: rate limit */
	uint64_t hairpinned;        /* packets */
};

#endif
