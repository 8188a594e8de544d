/* See http_rates.h. */
#include "apps/http/http_rates.h"

#define SECOND_US 1000000u

static uint32_t a_second(uint64_t change, uint32_t ms)
{
	uint64_t rate = change * 1000 / ms;
	return rate < UINT32_MAX ? (uint32_t)rate : UINT32_MAX;
}

void http_rates_tick(const struct gw *gw, struct http_rates *r)
{
	uint64_t passed = gw->clock.us - r->at_us;
	if (passed < SECOND_US)
		return;
	/* A gateway that rests is looked at seldom; an hour is long enough for any. */
	uint32_t ms = passed < 3600ull * SECOND_US ? (uint32_t)passed / 1000 : 3600000;
	for (uint32_t i = 0; i < gw->n_iface; i++) {
		const struct interface *f = &gw->iface[i];
		const uint64_t bytes[] = {f->rx_bytes, f->tx_bytes + f->sent_bytes};
		const uint64_t packets[] = {f->rx_packets, f->tx_packets + f->sent};
		for (uint32_t way = 0; way < HTTP_WAYS; way++) {
			bool first = r->at_us == 0;
			r->rate[i][way][r->n % HTTP_SAMPLES] =
			        first ? 0 : a_second(bytes[way] - r->seen[i][way], ms);
			r->packet_rate[i][way] =
			        first ? 0 : a_second(packets[way] - r->packets[i][way], ms);
			r->seen[i][way] = bytes[way];
			r->packets[i][way] = packets[way];
		}
	}
	r->n++;
	r->at_us = gw->clock.us;
}

uint32_t http_rates_last(const struct http_rates *r, uint32_t iface, uint32_t way)
{
	return r->n ? r->rate[iface][way][(r->n - 1) % HTTP_SAMPLES] : 0;
}

bool http_rates_sample(const struct http_rates *r, uint32_t iface, uint32_t way, uint32_t i,
                       uint32_t *rate)
{
	uint32_t have = min_u32(r->n, HTTP_SAMPLES);
	if (i >= have)
		return false;
	*rate = r->rate[iface][way][(r->n - have + i) % HTTP_SAMPLES];
	return true;
}
