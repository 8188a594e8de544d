/* Listings and timings of the application `ivi`. */
#include "apps/translate/ivi.h"

#include "kernel/lib/fmt.h"
#include "net/count.h"

static const char *const way_name[] = {[IVI_46] = "4to6", [IVI_64] = "6to4"};
static const char *const row_name[] = {
        [IVI_ADDRESS] = "address", [IVI_HEADER] = "header", [IVI_TCP] = "tcp",
        [IVI_UDP] = "udp",         [IVI_ICMP] = "icmp",     [IVI_KNOWN] = "known"};

static uint32_t no_cycles(void)
{
	return 0;
}

void ivi_set_clock(struct gw *gw, struct ivi *v)
{
	if (!gw->cycles)
		gw->cycles = no_cycles;
	v->idle_cycles = UINT32_MAX;
	for (unsigned i = 0; i < 16; i++) {
		uint32_t from = gw->cycles();
		v->idle_cycles = min_u32(v->idle_cycles, gw->cycles() - from);
	}
}

void ivi_note(struct ivi *v, uint32_t cycles, unsigned way, enum ivi_row row)
{
	struct ivi_timing *t = &v->timing[way][row];
	cycles -= min_u32(cycles, v->idle_cycles);
	t->count++;
	t->sum += cycles;
	t->max = max_u32(t->max, cycles);
}

/* Not at equal distances: traffic may have that rhythm too. */
bool ivi_tick(struct gw *gw)
{
	struct ivi *v = gw->state;
	if (gw->now_us < v->sample_us)
		return false;
	v->sample_us = gw->now_us + 1 + rng_below(gw->rng, 2 * IVI_SAMPLE_US);
	for (unsigned way = 0; way < ARRAY_SIZE(v->due); way++)
		ivi_set_due(v, way, rng_u32(gw->rng) & 1 ? IVI_PARTS : IVI_ALL);
	return false;
}

void ivi_set_due(struct ivi *v, unsigned way, enum ivi_due due)
{
	v->due[way] = due;
	v->most[way] = due == IVI_NOTHING ? v->largest[way] : 0;
}

static const struct count count[] = {
        COUNT(struct ivi, "ivi_translated{way=\"4to6\"}", translated[IVI_46]),
        COUNT(struct ivi, "ivi_translated{way=\"6to4\"}", translated[IVI_64]),
};

static const void *state(const struct gw *gw)
{
	return gw->state;
}

const struct count_table ivi_counts = COUNT_TABLE(count, state);

/* One operation a line: how often it was timed, cycles on average and at most. */
static bool show_timings(const struct ivi *v, uint32_t *cursor, char *buf, size_t size)
{
	uint32_t i = (*cursor)++;
	if (i >= 2 * IVI_ROWS)
		return false;
	const struct ivi_timing *t = &v->timing[i / IVI_ROWS][i % IVI_ROWS];
	fmt(buf, size, "%s %s count=%llu mean=%llu max=%u", way_name[i / IVI_ROWS],
	    row_name[i % IVI_ROWS], (unsigned long long)t->count,
	    (unsigned long long)(t->count ? t->sum / t->count : 0), t->max);
	return true;
}

bool ivi_show(struct gw *gw, enum app_show what, uint32_t *cursor, char *buf, size_t size)
{
	/* There are no sessions. */
	return what == SHOW_TIMINGS && show_timings(gw->state, cursor, buf, size);
}
