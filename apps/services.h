/* The services there are. A new one is one folder and one line in services.def. */
#ifndef APPS_SERVICES_H
#define APPS_SERVICES_H

#include "net/service.h"

#define SERVICE(symbol, name) extern const struct service service_##symbol;
#include "apps/services.def"
#undef SERVICE

/* The number of each service: its index in gw->service and gw->service_state. */
enum service_number {
#define SERVICE(symbol, name) SERVICE_##symbol,
#include "apps/services.def"
#undef SERVICE
	SERVICES
};
_Static_assert(SERVICES <= SERVICES_MAX, "room in struct gw");

struct service_entry {
	const char *name; /* a value of the key `serve` */
	const struct service *service;
};

/* All of them, by their numbers. */
extern const struct service_entry services[SERVICES];

#endif
