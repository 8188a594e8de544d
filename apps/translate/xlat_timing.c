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
	v->sample_seed = rng_u32(gw->rng);
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

/* A random number for the times and kinds of samples: traffic may have a fixed rhythm too. It is no
 * secret, so it comes from a linear congruential generator (Numerical Recipes, 2nd edition, section
 * 7.1), whose high bits are good, and leaves the gateway's generator alone. */
static uint32_t draw(struct translator *v)
{
	v->sample_seed = v->sample_seed * 1664525u + 1013904223u;
	return v->sample_seed;
}

bool xlat_timing_tick(struct gw *gw)
{
	struct translator *v = gw->state;
	if (gw->clock.us < v->sample_us)
		return false;
	v->sample_us = gw->clock.us + 1 + (draw(v) >> 16) * (2 * XLAT_SAMPLE_US) / 65536;
	for (unsigned direction = 0; direction < ARRAY_SIZE(v->due); direction++)
		v->due[direction] = draw(v) >> 31 ? XLAT_DUE_STEPS : XLAT_DUE_ALL;
	return false;
}
