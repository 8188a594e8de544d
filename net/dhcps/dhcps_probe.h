/* Looks whether another station has an address, before it is given (RFC 2131 section 4.3.1). */
#ifndef NET_DHCPS_DHCPS_PROBE_H
#define NET_DHCPS_DHCPS_PROBE_H

#include "net/dhcps/dhcps_ask.h"

/* Begins to probe the address of a slot for a client, whose message is kept. One that waits for the
 * slot already waits on, with the new message. False when too many wait: then the address counts as
 * free. */
bool dhcps_probe_start(struct gw *gw, const struct dhcps_ask *ask, uint32_t slot, uint32_t len);

/* True while the address of a slot is being probed. */
bool dhcps_probe_runs(const struct gw *gw, const struct dhcps_net *net, uint32_t slot);

/* Ends the probe of a slot, if there is one. */
void dhcps_probe_end(struct gw *gw, const struct dhcps_net *net, uint32_t slot);

/* Sends what is due, and copies one probe that is over to *out; false when none is. */
bool dhcps_probe_next(struct gw *gw, struct dhcps_probe *out);

/* A station has an address: copies the probe to which this is an answer to *out, and ends it. False
 * when there is none, or when the station is the client itself. */
bool dhcps_probe_heard(struct gw *gw, uint32_t iface, ip4 addr, const mac *station,
                       struct dhcps_probe *out);

#endif
