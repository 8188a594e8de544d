/* TCP connections to upstream servers (RFC 7766): at most one to each server, on which many
 * messages are under way at a time. What TCP carries are messages of users, each with an ID that is
 * drawn here; who the users are is unknown here. They get answers and losses by the callbacks of
 * struct dns64_conn_user. */
#ifndef APPS_DNS64_UPSTREAM_DNS64_CONN_H
#define APPS_DNS64_UPSTREAM_DNS64_CONN_H

#include "apps/dns64/message/dns_message.h"
#include "apps/dns64/upstream/dns64_server.h"

#define DNS64_CONN_SLOTS 256u   /* messages under way on a connection */
#define DNS64_STREAM_MAX 65535u /* the longest message over TCP */

/* What happens to the messages of one kind of user. `who` is the number that the user gave. */
struct dns64_conn_user {
	/* A message came with the ID of this user's. Gives DROP_NONE, or why it is no answer. */
	enum drop (*answer)(struct gw *gw, uint32_t who, uint32_t server, struct dns_view m);
	/* The connection is gone. Called for all users of a connection before `lost` is called for
	 * any, so that no old slot is left when new messages are sent. Gives the number for which
	 * `lost` is to be called; DNS64_NONE: it is not called. Sends nothing. */
	uint32_t (*ended)(struct gw *gw, uint32_t who, uint32_t server);
	/* The message has to be sent again, or given up. `answered`: other messages were answered
	 * on the connection. A new connection may begin with this. */
	void (*lost)(struct gw *gw, uint32_t who, bool answered);
};

/* A message under way. */
struct dns64_conn_slot {
	const struct dns64_conn_user *user; /* NULL: free */
	uint16_t who;
	uint16_t id, share;
};

struct dns64_conn {
	uint32_t conn;        /* TCP_NONE: there is no connection */
	uint32_t n;           /* slots in use */
	uint32_t message_len; /* of the message that is coming; 0: not known yet */
	uint32_t late;        /* messages in a row that were not answered in time */
	uint32_t heard_us;    /* when the last answer came, or the connection was begun */
	uint32_t bad_s;       /* other servers are preferred until then; 0: they are not */
	bool answered;        /* an answer came on this connection */
	struct dns64_conn_slot slot[DNS64_CONN_SLOTS];
	/* Slots of each client share; the last one counts those that no client waits for. */
	uint16_t share[DNS64_SHARES + 1];
};

struct dns64_conns {
	struct dns64_conn to[NET_SERVERS];
	uint8_t *message;    /* memory for one message of a server */
	uint64_t sent, mute; /* messages; connections given up because nothing was answered */
};

static inline struct dns64_conns *dns64_conns_of(const struct gw *gw)
{
	return dns64_parts_of(gw)->conns;
}

/* Allocates memory; false when it is short. */
bool dns64_conn_init(struct dns64_conns *c) MUST_USE;

/* Sends a message of `len` bytes that stands at `at` behind two free bytes. A connection is opened
 * if there is none. Writes its length and a new random ID, and sets *id. The message counts in
 * `share` until it is answered or forgotten. False: it cannot be sent. */
bool dns64_conn_send(struct gw *gw, uint32_t server, const struct dns64_conn_user *user,
                     uint32_t who, uint32_t share, uint8_t *at, uint32_t len,
                     uint16_t *id) MUST_USE;

/* Frees the slot of the message with this ID, if there is one: no answer to it is taken. */
void dns64_conn_forget(struct gw *gw, uint32_t server, uint16_t id);

/* Slots that are free on the connection to a server. */
static inline uint32_t dns64_conn_free(const struct gw *gw, uint32_t server)
{
	return DNS64_CONN_SLOTS - dns64_conns_of(gw)->to[server].n;
}

/* True when so much waits to be sent to a server that a new message should wait. */
bool dns64_conn_is_busy(const struct gw *gw, uint32_t server);

/* Notes that a message to each of these servers (a bit each) was not answered in time. A connection
 * on which nothing is answered is aborted. */
void dns64_conn_late(struct gw *gw, uint32_t servers);

/* True when TCP to this server failed within the last 30 seconds. */
bool dns64_conn_is_bad(const struct gw *gw, uint32_t server);

#endif
