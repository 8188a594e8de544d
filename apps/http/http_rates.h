/* The rates of the interfaces, second by second. */
#ifndef APPS_HTTP_HTTP_RATES_H
#define APPS_HTTP_HTTP_RATES_H

#include "net/gw.h"

#define HTTP_SAMPLES 60u

enum { HTTP_IN, HTTP_OUT, HTTP_WAYS };

struct http_rates {
	uint64_t at_us; /* of the last sample */
	uint64_t seen[INTERFACES][HTTP_WAYS], packets[INTERFACES][HTTP_WAYS];
	uint32_t n; /* samples so far */
	/* Bytes a second, of sample n at n % HTTP_SAMPLES. */
	uint32_t rate[INTERFACES][HTTP_WAYS][HTTP_SAMPLES];
	uint32_t packet_rate[INTERFACES][HTTP_WAYS]; /* the last one */
};

/* Takes a sample when a second has passed. */
void http_rates_tick(const struct gw *gw, struct http_rates *r);

/* The last rate of an interface, in bytes a second. */
uint32_t http_rates_last(const struct http_rates *r, uint32_t iface, uint32_t way);

/* Sample i of those that are kept, from the oldest; false behind the newest. */
bool http_rates_sample(const struct http_rates *r, uint32_t iface, uint32_t way, uint32_t i,
                       uint32_t *rate);

#endif
