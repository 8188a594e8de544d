/* Connections of clients: limits, times, and turns.
 *
 * A connection reads a request, then writes its answer, then reads the next. What is read and
 * written happens in the tick alone, a bounded piece a tick, so packets never wait for it. Whatever
 * a client does, its connection ends: a request has to be whole in time, and an answer read in
 * time. */
#ifndef APPS_HTTP_HTTP_CONN_H
#define APPS_HTTP_HTTP_CONN_H

#include "apps/http/http_state.h"

#define HTTP_PORT 80u

/* Serves the port; NULL, or what is wrong. */
const char *http_conn_init(struct gw *gw);

/* Does a bounded piece of what there is to do; true when there is more. */
bool http_conn_tick(struct gw *gw);

#endif
