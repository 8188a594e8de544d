/* The fast path for frames: queries of clients that were answered before, and answers of upstream
 * servers. */
#ifndef APPS_DNS64_CLIENT_DNS64_KNOWN_H
#define APPS_DNS64_CLIENT_DNS64_KNOWN_H

#include "net/gw.h"

/* Takes a frame as it came in if it takes the fast path; otherwise false, with nothing changed
 * (net/forwarder.h). */
bool dns64_known(struct gw *gw, const struct interface *in, struct pkt *p);

#endif
