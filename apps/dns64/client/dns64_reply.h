/* The way back to a client: where its query came from, and the transport that carries its answer.
 * What plans and answers queries knows transports by this table of functions only. */
#ifndef APPS_DNS64_CLIENT_DNS64_REPLY_H
#define APPS_DNS64_CLIENT_DNS64_REPLY_H

#include "net/tcp/tcp.h"

struct dns64_transport;

/* The client that a query came from. */
struct dns64_client {
	struct udp_ends ends;
	const struct dns64_transport *transport;
	uint32_t conn; /* the TCP connection; TCP_NONE: it came as a datagram */
	bool known;    /* it is known that this client may query */
};

/* Memory for an answer, UDP_ROOM bytes or more. */
struct dns64_reply {
	struct pkt *p; /* NULL: over TCP */
	uint8_t *at;
	uint32_t room;
};

/* A transport to clients, for answers that come later than their queries. */
struct dns64_transport {
	/* Gives memory for an answer; false: none is free. `send` must follow. */
	bool (*begin)(struct gw *gw, const struct dns64_client *to, struct dns64_reply *r);
	/* Sends the answer of `len` bytes; takes the memory. */
	void (*send)(struct gw *gw, const struct dns64_client *to, const struct dns64_reply *r,
	             uint32_t len);
	/* True when the client can take a long answer now. */
	bool (*takes)(const struct gw *gw, const struct dns64_client *to);
	/* Holds an entry of the table of pending queries back until its client can take an answer
	 * (dns64_pending_resume), or its connection is gone (dns64_pending_drop). For a client that
	 * cannot take an answer now. */
	void (*hold)(struct gw *gw, const struct dns64_client *to, uint32_t pending);
};

#endif
