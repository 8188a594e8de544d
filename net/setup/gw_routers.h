/* Several default routers of one family: the first in the order of the configuration that answers
 * is used. */
#ifndef NET_SETUP_GW_ROUTERS_H
#define NET_SETUP_GW_ROUTERS_H

#include "net/gw.h"

/* Asks the default routers whether they are there, where a family has more than one, and uses the
 * first that answers; when none does, the first of all. The log says when another one is used.
 * Called ten times a second. */
void gw_routers_tick(struct gw *gw);

#endif
