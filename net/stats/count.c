/* See count.h. */
#include "net/stats/count.h"

#include "kernel/lib/fmt.h"

static uint64_t value_of(const struct count *c, const void *of)
{
	uint64_t value = 0;
	if (c->get)
		return c->get(of);
	/* The processor is little-endian: a shorter integer fills the lower bytes. */
	memcpy(&value, (const uint8_t *)of + c->offset, c->size);
	return value;
}

bool count_show(const struct gw *gw, const struct count_table *t, uint32_t *cursor, char *buf,
                size_t size)
{
	const void *of = t->of(gw);
	uint32_t n = of ? t->n : 0;
	if (*cursor >= n) {
		*cursor -= n;
		return false;
	}
	const struct count *c = &t->count[(*cursor)++];
	fmt(buf, size, "%s %llu", c->name, (unsigned long long)value_of(c, of));
	return true;
}

bool count_fill(const struct gw *gw, const struct count_table *t, uint32_t *i,
                struct count_fill *out)
{
	const void *of = t->of(gw);
	for (uint32_t k = 0; of && k < t->n; k++) {
		const struct count *c = &t->count[k];
		if (!c->most)
			continue;
		if (*i > 0) {
			(*i)--;
			continue;
		}
		*out = (struct count_fill){c->name, value_of(c, of), c->most(of)};
		return true;
	}
	return false;
}
