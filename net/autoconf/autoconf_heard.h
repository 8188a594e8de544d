/* Router advertisements that come in on the WAN (RFC 4861 section 6.3.4). What they say goes into
 * the table; addresses and routes follow with the next tick (autoconf.h). */
#ifndef NET_AUTOCONF_AUTOCONF_HEARD_H
#define NET_AUTOCONF_AUTOCONF_HEARD_H

#include "net/gw.h"

/* Handles a router advertisement whose hop limit, code and extension headers nd_input checked. The
 * packet stays the caller's. Gives DROP_NONE or what is wrong; then nothing of it was taken. */
enum drop autoconf_heard(struct gw *gw, const struct pkt *p);

#endif
