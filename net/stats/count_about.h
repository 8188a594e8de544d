/* What each counter counts, for metrics: the counts.def of all folders. */
#ifndef NET_STATS_COUNT_ABOUT_H
#define NET_STATS_COUNT_ABOUT_H

#include "kernel/lib/bytes.h"

struct count_about {
	const char *name; /* of the counter, without labels */
	bool gauge;       /* its value may become less */
	const char *text; /* one sentence without a full stop */
};

/* Finds what a counter counts, by the `len` characters of its name without labels; NULL when nobody
 * says. *hint, at first 0, makes the search short where names come in the order of the files. */
const struct count_about *count_about(const char *name, size_t len, uint32_t *hint);

#endif
