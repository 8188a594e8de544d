/* Listings of the application `ivi`. */
#include "apps/translate/ivi.h"

#include "apps/translate/xlat.h"
#include "net/stats/count.h"

const struct timing_rows ivi_timings = {
        .way = {[TIMING_FROM_OUTSIDE] = "4to6", [TIMING_FROM_INSIDE] = "6to4"},
        .steps = TIMING_BIT(TIMING_ADDRESS) | TIMING_BIT(TIMING_HEADER) | TIMING_BIT(TIMING_TCP) |
                 TIMING_BIT(TIMING_UDP) | TIMING_BIT(TIMING_ICMP) | TIMING_BIT(TIMING_KNOWN) |
                 TIMING_BIT(TIMING_SLOW)};

static const struct count count[] = {
        COUNT(struct translator, "ivi_translated{way=\"4to6\"}", core.translated[XLAT_46]),
        COUNT(struct translator, "ivi_translated{way=\"6to4\"}", core.translated[XLAT_64]),
};

static const void *state(const struct gw *gw)
{
	return gw->state;
}

const struct count_table ivi_counts = COUNT_TABLE(count, state);

bool ivi_show(struct gw *gw, enum listing what, uint32_t *cursor, char *buf, size_t size)
{
	/* There are no sessions. */
	return what == SHOW_TIMINGS && timing_show(gw, cursor, buf, size);
}
