/* See alloc.h. A bump allocator over the free regions; first fit. */
#include "kernel/lib/alloc.h"

static struct region {
	uint8_t *at;
	size_t left;
} region[ALLOC_REGIONS], marked[ALLOC_REGIONS];
static unsigned n_regions;

void alloc_reset(void)
{
	n_regions = 0;
}

void alloc_add(void *base, size_t size)
{
	if (n_regions == ALLOC_REGIONS || size == 0)
		return;
	region[n_regions].at = base;
	region[n_regions].left = size;
	n_regions++;
}

void *alloc_raw(size_t size, size_t align)
{
	for (unsigned i = 0; i < n_regions; i++) {
		size_t skip = (size_t)(-(uintptr_t)region[i].at & (align - 1));
		if (skip > region[i].left || size > region[i].left - skip)
			continue;
		uint8_t *p = region[i].at + skip;
		region[i].at = p + size;
		region[i].left -= skip + size;
		return p;
	}
	return NULL;
}

void *alloc(size_t size, size_t align)
{
	void *p = alloc_raw(size, align);
	return p ? memset(p, 0, size) : NULL;
}

void alloc_mark(void)
{
	memcpy(marked, region, sizeof marked);
}

void alloc_release(void)
{
	memcpy(region, marked, sizeof region);
}

static bool fits(uint32_t n, void (*pieces)(uint32_t n, size_t size[ALLOC_PIECES]))
{
	struct region before[ALLOC_REGIONS];
	size_t size[ALLOC_PIECES] = {0};
	bool all = true;
	memcpy(before, region, sizeof before);
	pieces(n, size);
	for (unsigned i = 0; i < ALLOC_PIECES && all; i++)
		all = alloc_raw(size[i], 64) != NULL || size[i] == 0;
	memcpy(region, before, sizeof before);
	return all;
}

uint32_t alloc_most(uint32_t want, void (*pieces)(uint32_t n, size_t size[ALLOC_PIECES]))
{
	uint32_t good = 0, bad = want;
	if (fits(want, pieces))
		return want;
	while (bad - good > 1) {
		uint32_t middle = good + (bad - good) / 2;
		if (fits(middle, pieces))
			good = middle;
		else
			bad = middle;
	}
	return good;
}

size_t alloc_left(void)
{
	size_t sum = 0;
	for (unsigned i = 0; i < n_regions; i++)
		sum += region[i].left;
	return sum;
}

size_t alloc_largest(void)
{
	size_t most = 0;
	for (unsigned i = 0; i < n_regions; i++)
		if (region[i].left > most)
			most = region[i].left;
	return most;
}
