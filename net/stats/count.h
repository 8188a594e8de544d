/* Counters for `stats`. Each part of the gateway, and each application, has a table that
 * names its counters and says where they stand in its struct. */
#ifndef NET_STATS_COUNT_H
#define NET_STATS_COUNT_H

#include "kernel/lib/bytes.h"

struct gw;

/* One counter. Its name is one of docs/interface.md; a label is written in the name, as in
 * `name{way="in"}`. */
struct count {
	const char *name;
	uint32_t offset, size; /* of the unsigned integer in the struct; 8 bytes at most */
	/* Where set, it gives the value in place of offset and size. */
	uint64_t (*get)(const void *of);
	/* Of a gauge that counts the places of a table that are taken: gives how many places the
	 * table has. NULL: another counter. */
	uint64_t (*most)(const void *of);
};

/* The counter `field` of a struct. */
#define COUNT(type, name, field)                                                    \
	{                                                                           \
		name, offsetof(type, field), sizeof(((type *)0)->field), NULL, NULL \
	}

/* The counter that a function gives. */
#define COUNT_OF(name, get)           \
	{                             \
		name, 0, 0, get, NULL \
	}

/* The gauge `field`, or that which a function gives, of a table with `most` places. */
#define COUNT_FILL(type, name, field, most)                                         \
	{                                                                           \
		name, offsetof(type, field), sizeof(((type *)0)->field), NULL, most \
	}
#define COUNT_FILL_OF(name, get, most) \
	{                              \
		name, 0, 0, get, most  \
	}

/* The counters of one struct. */
struct count_table {
	const struct count *count;
	uint32_t n;
	/* The struct, NULL while there is none: then the counters are not shown. */
	const void *(*of)(const struct gw *gw);
};

#define COUNT_TABLE(counts, of)                \
	{                                      \
		counts, ARRAY_SIZE(counts), of \
	}

/* Writes counter *cursor of a table as `name value` into buf, and moves the cursor. False
 * behind the last: then the table's length is taken off *cursor, so that it counts in the
 * next table. */
bool count_show(const struct gw *gw, const struct count_table *t, uint32_t *cursor, char *buf,
                size_t size);

/* How full a table is. */
struct count_fill {
	const char *name;
	uint64_t value, most;
};

/* Gives gauge *i of those in a table that say how full something is. False when there are not so
 * many: then their number is taken off *i. */
bool count_fill(const struct gw *gw, const struct count_table *t, uint32_t *i,
                struct count_fill *out);

#endif
