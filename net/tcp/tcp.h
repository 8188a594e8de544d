/* TCP for the gateway itself (RFC 9293), over IPv4 and IPv6: connections that clients open
 * to our ports, and connections that we open. An application that needs TCP calls tcp_init
 * once; in all others no port is served.
 *
 * Users call down, and no call waits. What happens to a connection comes up as an event of
 * its user. A connection is a number that is not used again soon. A call for a connection
 * that no longer exists does nothing.
 *
 * Everything is bounded: connections in total and of one client, bytes and packets that one
 * connection holds, packets that all connections hold together, time without progress. When
 * something is used up, the connection or client that uses most is evicted in favour of a
 * new one. A client is a host on the link, known by its MAC address, or else an IPv4
 * address or an IPv6 prefix of 64 bits.
 *
 * Implemented: retransmission (RFC 6298), fast retransmit and NewReno (RFC 5681, 6582,
 * 3042), initial window (RFC 6928), zero windows and silly windows on both sides, delayed
 * acknowledgments, out-of-order segments, half-close, TIME-WAIT, path MTU from
 * ICMP (RFC 1191, 8201, 5927), defences against blind attacks (RFC 5961, 6528, 1337), SYN
 * cookies (RFC 4987). Not implemented on purpose: window scaling, timestamps and SACK
 * (users move a few kilobytes), ECN, urgent data (its bytes are ordinary data, RFC 6093),
 * keep-alive (an idle limit ends silent connections), Nagle's
 * algorithm (a user writes whole messages and says when to send). */
#ifndef NET_TCP_TCP_H
#define NET_TCP_TCP_H

#include "net/udp/udp.h"

#define TCP_NONE 0u /* no connection */
/* Connections at a time; a power of two. A number modulo this is the index of its connection.
 * The fuzzers have a smaller table, so that it fills. */
#ifndef TCP_CONNECTIONS
#define TCP_CONNECTIONS 2048u
#endif
#define TCP_USERS     8u     /* services, each a port and its user */
#define TCP_WINDOW    65535u /* the largest window that a header can express */
#define TCP_SEND_MOST 131072u

enum tcp_event {
	TCP_OPENED, /* the connection is open, whichever side opened it */
	TCP_INPUT,  /* there is something to read, or the other side has sent all its data */
	TCP_ROOM,   /* some of what was sent is acknowledged */
	TCP_IDLE,   /* no data was received or acknowledged for the user's idle_ms */
	TCP_ENDED,  /* the connection is gone; the last event with this number */
};

/* Why a connection ended. */
enum tcp_end {
	TCP_CLOSED,      /* both sides have sent all their data, and all of it is acknowledged */
	TCP_RESET,       /* by the other side */
	TCP_TIMEOUT,     /* nothing of what was sent was acknowledged for too long */
	TCP_UNREACHABLE, /* while opening: no route, or an ICMP error */
	TCP_CROWDED,     /* it was evicted in favour of others */
	TCP_ENDS
};

struct count_table;

/* A user: what serves a port or opens connections. */
struct tcp_user {
	/* Decides whether a client may connect: DROP_NONE, or why not (counted; the client
	 * gets a reset). NULL: every client may. */
	enum drop (*accept)(struct gw *gw, const struct udp_ends *ends);
	/* Handles an event. The handler may call any function below, for this connection
	 * too. */
	void (*event)(struct gw *gw, uint32_t conn, enum tcp_event what);
	/* Bytes that may be received and not read yet. At most TCP_WINDOW of them is
	 * offered to the other side. A user that waits for a whole message needs one
	 * segment more than the message, because the window does not open by less than a
	 * segment. */
	uint32_t window;
	uint32_t send_most; /* bytes that may wait to be acknowledged; at most TCP_SEND_MOST */
	uint32_t idle_ms;   /* TCP_IDLE comes after this time without data; 0: never */
	/* The connection ends when less than a segment is acknowledged in this time; at most, and
	 * by default, 100 s (RFC 9293 section 3.8.3, R2). */
	uint32_t stall_ms;
};

struct tcp;

/* Makes gw->tcp unless it is there; false when there is not enough memory. Called in a service's
 * init. */
bool tcp_init(struct gw *gw) MUST_USE;

/* Serves a port (host order) of all our addresses. False when there are too many services
 * or the port is served already. *user must stay valid. */
bool tcp_listen(struct gw *gw, uint16_t port, const struct tcp_user *user) MUST_USE;

/* Opens a connection to ends->remote, from an address and a port that are chosen here
 * (ends->local is set). Gives the connection; TCP_OPENED or TCP_ENDED follows, never before
 * this returns. TCP_NONE when there is no route or no room, or when the remote address is
 * ours. */
uint32_t tcp_connect(struct gw *gw, struct udp_ends *ends, const struct tcp_user *user);

/* Set and get a number that the user keeps with a connection; 0 at first. */
void tcp_set_tag(struct gw *gw, uint32_t conn, uint32_t tag);
uint32_t tcp_tag(const struct gw *gw, uint32_t conn);

/* The two ends of a connection; NULL when it is gone. */
const struct udp_ends *tcp_ends(const struct gw *gw, uint32_t conn);

/* In the event TCP_ENDED: why the connection ended. */
enum tcp_end tcp_why(const struct gw *gw);

/* --- reading ---------------------------------------------------------------------------- */

/* The number of bytes that were received and not taken. */
uint32_t tcp_readable(const struct gw *gw, uint32_t conn);

/* Copies n received bytes from offset `skip` on; false when there are fewer. They are not
 * taken. */
bool tcp_copy(const struct gw *gw, uint32_t conn, uint32_t skip, void *to, uint32_t n) MUST_USE;

/* Takes (removes) n received bytes, which opens the window. */
void tcp_take(struct gw *gw, uint32_t conn, uint32_t n);

/* True when the other side has sent all its data. */
bool tcp_at_end(const struct gw *gw, uint32_t conn);

/* --- writing ---------------------------------------------------------------------------- */

/* The number of bytes that wait to be sent or acknowledged. */
uint32_t tcp_unsent(const struct gw *gw, uint32_t conn);

/* True when memory for this connection runs short because its client holds much of it. A
 * user that can send later should wait. */
bool tcp_scarce(const struct gw *gw, uint32_t conn);

/* Writes bytes to be sent: all of them, or none and false when there is no room or the
 * connection was shut. They are sent by tcp_push, or at the end of the event. */
bool tcp_send(struct gw *gw, uint32_t conn, const void *data, uint32_t len) MUST_USE;
void tcp_push(struct gw *gw, uint32_t conn);

/* Sends no more after what is written (half-close). Data can still be received. */
void tcp_shut(struct gw *gw, uint32_t conn);

/* Closes a connection for its user: what is written is still sent, nothing more is read,
 * and no event follows. The other side gets a reset when unread bytes are lost (RFC 9293
 * section 3.6.1). */
void tcp_close(struct gw *gw, uint32_t conn);

/* Ends a connection at once, with a reset. No event follows. */
void tcp_abort(struct gw *gw, uint32_t conn);

/* --- for the layers below ---------------------------------------------------------- */

/* Handles a parsed TCP segment to one of our addresses. Gives the verdict; V_LOCAL when its
 * port serves nothing. */
enum verdict tcp_input(struct gw *gw, struct pkt *p);

/* A route or an address of ours changed: ends the connections whose local address is no longer ours
 * (TCP_UNREACHABLE), without a segment. */
void tcp_changed(struct gw *gw);

/* Handles an ICMP or ICMPv6 error to one of our addresses, whose quoted packet begins at
 * p->l4 + 8. True when it was about a connection of ours. */
bool tcp_icmp(struct gw *gw, const struct pkt *p);

/* Runs the timers that are due; true when more are due now. Asks for the next tick
 * (gw_wake_at). */
bool tcp_tick(struct gw *gw);

/* The counters of TCP; none while nothing listens. */
extern const struct count_table tcp_counts;

#endif
