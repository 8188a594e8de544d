/* The search of symbols.h. A file without the image's table, so that host tests can use it. */
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
	/* Names are found by counting: it takes long, but a panic has time, and an index
	 * would take memory. */
	const char *name = (const char *)&table->start[table->n];
	for (uint32_t i = 0; i < low; i++)
		name += strlen(name) + 1;
	*offset = at - table->start[low];
	return name;
}
