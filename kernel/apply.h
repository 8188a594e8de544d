/* A configuration is put into force while the gateway runs, as far as that can be: addresses and
 * routes by gw_change.h, other keys that are `live` by the forwarder's `tune`. All others count
 * from the next start on. */
#ifndef KERNEL_APPLY_H
#define KERNEL_APPLY_H

#include "net/gw.h"

/* How many keys that count at once (`live` in config_key.h) have another value in *to. */
uint32_t apply_count(const struct gw *gw, const struct config *to);

/* Gives those keys of *running the values of *to; *running is gw->config. NULL, or what is wrong:
 * then some changes are made, and the caller goes back with another call. */
const char *apply(struct gw *gw, struct config *running, const struct config *to);

#endif
