/* Cycles of the steps of a translation; see xlat.h. */
#include "apps/translate/xlat.h"

/* Stands for a cycle counter where there is none. */
static uint32_t no_cycles(void)
{
	return 0;
}

void xlat_timing_set_up(struct gw *gw, struct translator *v)
{
	if (!gw->cycles)
		gw->cycles = no_cycles;
	v->idle_cycles = UINT32_MAX;
	for (unsigned i = 0; i < 16; i++) {
		uint32_t from = gw->cycles();
		v->idle_cycles = min_u32(v->idle_cycles, gw->cycles() - from);
	}
}

void xlat_timing_note(struct translator *v, uint32_t cycles, unsigned direction,
                      enum xlat_step step)
{
	struct xlat_timing *t = &v->timing[direction][step];
	cycles -= min_u32(cycles, v->idle_cycles);
	t->count++;
	t->sum += cycles;
	t->max = max_u32(t->max, cycles);
}

/* The times are random: traffic may have a fixed rhythm too. */
bool xlat_timing_tick(struct gw *gw)
{
	struct translator *v = gw->state;
	if (gw->clock.us < v->sample_us)
		return false;
	v->sample_us = gw->clock.us + 1 + rng_below(gw->rng, 2 * XLAT_SAMPLE_US);
	for (unsigned direction = 0; direction < ARRAY_SIZE(v->due); direction++)
		v->due[direction] = rng_u32(gw->rng) & 1 ? XLAT_DUE_STEPS : XLAT_DUE_ALL;
	return false;
}
