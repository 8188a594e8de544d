/* Clients over UDP. */
#ifndef APPS_DNS64_CLIENT_DNS64_DATAGRAM_H
#define APPS_DNS64_CLIENT_DNS64_DATAGRAM_H

#include "apps/dns64/client/dns64_reply.h"

/* The transport, for struct dns64_client. */
extern const struct dns64_transport dns64_datagram;

/* Handles a message of a client, which is the payload p; takes the packet. */
void dns64_datagram_query(struct gw *gw, struct pkt *p, const struct dns64_client *from);

/* Serves the port. False: it is bound already. */
bool dns64_datagram_init(struct gw *gw, uint16_t port) MUST_USE;

#endif
