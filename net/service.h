/* A service: what listens on addresses of the gateway itself, beside the forwarder (forwarder.h)
 * and other services. It is a table of functions; the configuration says which services run.
 * Packets reach it by the UDP and TCP ports that it binds (udp.h, tcp.h). */
#ifndef NET_SERVICE_H
#define NET_SERVICE_H

#include "net/forwarder.h"

#define SERVICES_MAX     8u /* services of the image, at most */
#define SERVICE_SECTIONS 2u /* sections of keys that a service reads, at most */
#define SERVICE_COUNTS   2u /* tables of counters that it has, at most */

struct service {
	/* Another service that does all that this one does, and takes its place where both are to
	 * run; NULL: there is none. */
	const struct service *covered_by;
	/* The sections of configuration keys that it reads, and its tables of counters, as in
	 * struct forwarder. */
	const struct config_section *keys[SERVICE_SECTIONS];
	const struct count_table *counts[SERVICE_COUNTS];
	/* Sets the service up from gw->config, with memory from alloc(), after the forwarder. Its
	 * state is for gw->service_state. Gives NULL or the text of what is wrong. */
	const char *(*init)(struct gw *gw);
	/* Where set, it is shown each frame, unchecked, that the forwarder has not sent on its fast
	 * path, before the slow path. True when it took the packet; the packet must be unchanged
	 * otherwise. */
	bool (*frame)(struct gw *gw, const struct interface *in, struct pkt *p);
	/* Called after a route or an address of ours changed, after the forwarder's. NULL: nothing
	 * follows from them. */
	void (*changed)(struct gw *gw);
	/* Timers, and listings for people, as in struct forwarder. NULL: none. */
	bool (*tick)(struct gw *gw);
	bool (*show)(struct gw *gw, enum listing what, uint32_t *cursor, char *buf, size_t size);
};

#endif
