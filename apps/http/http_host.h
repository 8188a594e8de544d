/* For whom a request is: the check of its Host and its Origin. A page from elsewhere whose name
 * leads to our address (DNS rebinding) is refused, because it has that name. */
#ifndef APPS_HTTP_HTTP_HOST_H
#define APPS_HTTP_HTTP_HOST_H

#include "net/gw.h"

/* True when `host`, with or without the port 80, is the address at which the client reached us, or
 * a name of ours: `hostname`, alone or in the domain of a network of the inside. */
bool http_host_is_ours(const struct gw *gw, const struct addr *local, const char *host);

/* True when an Origin (RFC 6454) is that of our own pages under this host. */
bool http_host_is_origin(const char *origin, const char *host);

#endif
