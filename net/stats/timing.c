/* Cycles of single steps of forwarding; see timing.h. */
#include "net/stats/timing.h"

#include "kernel/lib/fmt.h"
#define SAMPLE_US 20000u /* on average */
#define TRIES     8u     /* frames that are timed until one is forwarded */

static const char *const step_name[] = {
        [TIMING_ADDRESS] = "address", [TIMING_HEADER] = "header", [TIMING_TCP] = "tcp",
        [TIMING_UDP] = "udp",         [TIMING_ICMP] = "icmp",     [TIMING_LOOKUP] = "lookup",
        [TIMING_ADD] = "add",         [TIMING_KNOWN] = "known",   [TIMING_SLOW] = "slow"};

/* Stands for a cycle counter where there is none. */
static uint32_t no_cycles(void)
{
	return 0;
}

void timing_init(struct gw *gw)
{
	struct timings *t = &gw->timing;
	if (!gw->cycles)
		gw->cycles = no_cycles;
	t->sample_us = gw->forwarder->timings ? 0 : UINT64_MAX;
	t->idle_cycles = UINT32_MAX;
	for (unsigned i = 0; i < 16; i++) {
		uint32_t from = gw->cycles();
		t->idle_cycles = min_u32(t->idle_cycles, gw->cycles() - from);
	}
}

/* A random number for the times and kinds of samples: traffic may have a fixed rhythm too. It is no
 * secret, so it comes from a linear congruential generator (Numerical Recipes, 2nd edition, section
 * 7.1), whose high bits are good, and leaves the gateway's generator alone. */
static uint32_t draw(struct timings *t)
{
	t->seed = t->seed * 1664525u + 1013904223u;
	return t->seed;
}

void timing_tick(struct gw *gw)
{
	struct timings *t = &gw->timing;
	if (gw->clock.us < t->sample_us)
		return;
	t->sample_us = gw->clock.us + 1 + (draw(t) >> 16) * (2 * SAMPLE_US) / 65536;
	t->steps_only = draw(t) >> 31;
	for (uint32_t i = 0; i < gw->n_iface; i++)
		gw->iface[i].timing_due = TRIES;
}

uint32_t timing_begin(struct gw *gw, const struct interface *in)
{
	struct timings *t = &gw->timing;
	t->on = true;
	t->slow = !gw->forwarder->frames;
	t->way = interface_is_inside((uint32_t)(in - gw->iface)) ? TIMING_FROM_INSIDE
	                                                         : TIMING_FROM_OUTSIDE;
	return gw->cycles();
}

void timing_finish(struct gw *gw, struct interface *in, uint32_t start, bool forwarded)
{
	struct timings *t = &gw->timing;
	uint32_t cycles = gw->cycles() - start;
	t->on = false;
	in->timing_due = forwarded ? 0 : (uint8_t)(in->timing_due - 1);
	if (forwarded && !t->steps_only)
		timing_note(gw, t->slow ? TIMING_SLOW : TIMING_KNOWN, cycles);
}

void timing_note(struct gw *gw, enum timing_step step, uint32_t cycles)
{
	struct timings *t = &gw->timing;
	struct timing_sum *s = &t->sum[t->way][step];
	cycles -= min_u32(cycles, t->idle_cycles);
	s->count++;
	s->sum += cycles;
	s->max = max_u32(s->max, cycles);
}

/* One step a line: how often it was timed, cycles on average and at most. */
bool timing_show(const struct gw *gw, uint32_t *cursor, char *buf, size_t size)
{
	const struct timing_rows *rows = gw->forwarder->timings;
	while (*cursor < TIMING_WAYS * TIMING_STEPS &&
	       !(rows->steps & TIMING_BIT(*cursor % TIMING_STEPS)))
		(*cursor)++;
	uint32_t way = *cursor / TIMING_STEPS, step = *cursor % TIMING_STEPS;
	if (way >= TIMING_WAYS)
		return false;
	(*cursor)++;
	const struct timing_sum *s = &gw->timing.sum[way][step];
	fmt(buf, size, "%s %s count=%llu mean=%llu max=%u", rows->way[way], step_name[step],
	    (unsigned long long)s->count, (unsigned long long)(s->count ? s->sum / s->count : 0),
	    s->max);
	return true;
}
