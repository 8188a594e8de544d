/* Listings of the application `ivi`. */
#include "apps/translate/ivi.h"

#include "apps/translate/xlat.h"
#include "kernel/lib/fmt.h"
#include "net/stats/count.h"

static const char *const direction_name[] = {[XLAT_46] = "4to6", [XLAT_64] = "6to4"};
static const char *const step_name[] = {
        [XLAT_STEP_ADDRESS] = "address", [XLAT_STEP_HEADER] = "header",
        [XLAT_STEP_TCP] = "tcp",         [XLAT_STEP_UDP] = "udp",
        [XLAT_STEP_ICMP] = "icmp",       [XLAT_STEP_CACHED] = "known"};

static const struct count count[] = {
        COUNT(struct translator, "ivi_translated{way=\"4to6\"}", core.translated[XLAT_46]),
        COUNT(struct translator, "ivi_translated{way=\"6to4\"}", core.translated[XLAT_64]),
};

static const void *state(const struct gw *gw)
{
	return gw->state;
}

const struct count_table ivi_counts = COUNT_TABLE(count, state);

/* One step a line: how often it was timed, cycles on average and at most. */
static bool show_timings(const struct translator *v, uint32_t *cursor, char *buf, size_t size)
{
	uint32_t i = (*cursor)++;
	if (i >= 2 * XLAT_STEPS)
		return false;
	const struct xlat_timing *t = &v->timing[i / XLAT_STEPS][i % XLAT_STEPS];
	fmt(buf, size, "%s %s count=%llu mean=%llu max=%u", direction_name[i / XLAT_STEPS],
	    step_name[i % XLAT_STEPS], (unsigned long long)t->count,
	    (unsigned long long)(t->count ? t->sum / t->count : 0), t->max);
	return true;
}

bool ivi_show(struct gw *gw, enum listing what, uint32_t *cursor, char *buf, size_t size)
{
	/* There are no sessions. */
	return what == SHOW_TIMINGS && show_timings(gw->state, cursor, buf, size);
}
