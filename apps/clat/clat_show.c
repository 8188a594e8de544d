/* Counters and listings of the application `clat`. */
#include "apps/clat/clat.h"

#include "net/stats/count.h"

static const struct count count[] = {
        COUNT(struct clat, "clat_translated{way=\"4to6\"}", core.translated[XLAT_46]),
        COUNT(struct clat, "clat_translated{way=\"6to4\"}", core.translated[XLAT_64]),
        COUNT(struct clat, "clat_fragments_kept", gathers.n_pieces),
        COUNT(struct clat, "clat_questions", find.questions),
        COUNT(struct clat, "clat_answers", find.answers),
};

static const void *state(const struct gw *gw)
{
	return gw->state;
}

const struct count_table clat_counts = COUNT_TABLE(count, state);

static const void *filter(const struct gw *gw)
{
	return &clat_of(gw)->filter;
}

const struct count_table clat_filter_counts = COUNT_TABLE(filter6_count, filter);

const struct timing_rows clat_timings = {.way = TIMING_WAYS_IN_OUT,
                                         .steps = TIMING_BIT(TIMING_LOOKUP) |
                                                  TIMING_BIT(TIMING_ADD) | TIMING_BIT(TIMING_SLOW)};

static bool show_own(struct gw *gw, uint32_t *cursor, char *buf, size_t size)
{
	return !clat_of(gw)->routed && nat_show(gw, SHOW_SESSIONS, cursor, buf, size);
}

bool clat_show(struct gw *gw, enum listing what, uint32_t *cursor, char *buf, size_t size)
{
	if (what == SHOW_TIMINGS)
		return timing_show(gw, cursor, buf, size);
	return what == SHOW_SESSIONS &&
	       filter6_show_behind(gw, &clat_of(gw)->filter, cursor, buf, size, show_own);
}

bool clat_show_host(const struct gw *gw, uint32_t *cursor, struct prefix *host, uint32_t *sessions)
{
	return !clat_of(gw)->routed && nat_show_host(gw, cursor, host, sessions);
}
