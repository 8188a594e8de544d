/* See count_about.h. */
#include "net/stats/count_about.h"

enum { COUNTER, GAUGE };

static const struct count_about all[] = {
#define ABOUT(name, kind, text) {name, kind, text},
#include "build/counts.def"
#undef ABOUT
};

const struct count_about *count_about(const char *name, size_t len, uint32_t *hint)
{
	for (uint32_t i = 0; i < ARRAY_SIZE(all); i++) {
		uint32_t at = *hint < ARRAY_SIZE(all) ? *hint : 0;
		*hint = at + 1;
		if (strncmp(all[at].name, name, len) == 0 && !all[at].name[len])
			return &all[at];
	}
	return NULL;
}
