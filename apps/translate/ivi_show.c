/* Listings of the application `ivi`. */
#include "apps/translate/ivi.h"

#include "apps/translate/xlat.h"
#include "kernel/lib/fmt.h"

static const char *const direction_name[] = {[XLAT_46] = "4to6", [XLAT_64] = "6to4"};
static const char *const step_name[] = {
        [XLAT_STEP_ADDRESS] = "address", [XLAT_STEP_HEADER] = "header",
        [XLAT_STEP_TCP] = "tcp",         [XLAT_STEP_UDP] = "udp",
        [XLAT_STEP_ICMP] = "icmp",       [XLAT_STEP_CACHED] = "known"};

static bool show_stats(const struct translator *v, uint32_t *cursor, char *buf, size_t size)
{
	uint32_t i = (*cursor)++;
	if (i >= ARRAY_SIZE(direction_name))
		return false;
	fmt(buf, size, "ivi_translated{way=\"%s\"} %llu", direction_name[i],
	    (unsigned long long)v->translated[i]);
	return true;
}

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

bool ivi_show(struct gw *gw, enum app_show what, uint32_t *cursor, char *buf, size_t size)
{
	const struct translator *v = gw->state;
	switch (what) {
	case SHOW_STATS:
		return show_stats(v, cursor, buf, size);
	case SHOW_TIMINGS:
		return show_timings(v, cursor, buf, size);
	case SHOW_SESSIONS: /* there is no state */
		break;
	}
	return false;
}
