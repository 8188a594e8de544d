/* Finds the provider's prefix. */
#ifndef APPS_CLAT_CLAT_FIND_H
#define APPS_CLAT_CLAT_FIND_H

#include "kernel/lib/addr.h"

struct clat;
struct gw;

/* What is known from DNS (RFC 7050). Times as gw->clock.us. */
struct clat_find {
	uint8_t handler; /* of udp.h */
	uint16_t port;   /* of the question under way; 0: none is */
	uint16_t id;
	struct addr asked;
	uint64_t due_us;   /* the next question, or the end of the wait for an answer */
	uint32_t next;     /* number of the server that is asked next */
	uint32_t fails;    /* questions in a row that gave no prefix */
	uint64_t until_us; /* while the prefix counts; 0: there is none */
	struct prefix prefix;
	uint64_t questions, answers;
};

/* Begins. NULL, or what is wrong (static). */
const char *clat_find_start(struct gw *gw, struct clat *c);

/* Follows what routers and DNS servers say. Called ten times a second. */
void clat_find_tick(struct gw *gw, struct clat *c);

#endif
