/* The search of symbols.h; apart from the image's table, so that the host
 * tests reach it. */
#include "kernel/x86/symbols.h"

const char *symbols_find(const struct symbols *table, uint32_t at, uint32_t *offset)
{
	if (!table || table->n == 0 || at < table->start[0])
		return NULL;
	uint32_t low = 0, high = table->n; /* start[low] <= at < start[high] */
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;
		if (table->start[middle] <= at)
			low = middle;
		else
			high = middle;
	}
	/* Names are found by counting: a panic has the time, the image not the room. */
	const char *name = (const char *)&table->start[table->n];
	for (uint32_t i = 0; i < low; i++)
		name += strlen(name) + 1;
	*offset = at - table->start[low];
	return name;
}
