/* TCP for the gateway itself (RFC 9293), over IPv4 and IPv6: connections that others
 * open to a port of ours, and that we open. Applications that have use for it call
 * tcp_init once; in all others nothing listens.
 *
 * Calls go down and never wait; what happens comes up as events of the user of a
 * connection. A connection is a number that is never used twice in a row: what is
 * asked of one that is gone does nothing.
 *
 * Everything is bounded: connections in all and of one client, bytes and packets that
 * one holds, packets that all hold together, time without progress. In need, who has most
 * gives way to a new one. A client is a host on the link, known by its MAC address, or beyond it
 * an IPv4 address or an IPv6 prefix of 64 bits.
 *
 * With: retransmission (RFC 6298), fast retransmit and NewReno (RFC 5681, 6582, 3042),
 * initial window (RFC 6928), zero windows and silly windows on both sides, delayed
 * acknowledgments, segments out of order, half-close, TIME-WAIT, keep-alive, path MTU
 * from ICMP (RFC 1191, 8201, 5927), defences against blind attacks (RFC 5961, 6528, 1337),
 * SYN cookies (RFC 4987). Left out on purpose: window scaling, timestamps and SACK (users
 * move a few kilobytes), ECN, urgent data (its bytes are data like others, RFC 6093),
 * Nagle's algorithm (a user gives whole messages and says when to send). */
#ifndef NET_TCP_TCP_H
#define NET_TCP_TCP_H

#include "net/udp/udp.h"

#define TCP_NONE 0u /* no connection */
/* At a time; a power of two. The numbers of two that are there differ modulo this. The fuzzers'
 * table is smaller, so that it fills. */
#ifndef TCP_CONNECTIONS
#define TCP_CONNECTIONS 2048u
#endif
#define TCP_USERS     8u     /* kinds of user */
#define TCP_WINDOW    65535u /* the largest window that can be told */
#define TCP_SEND_MOST 131072u

enum tcp_event {
	TCP_OPENED, /* the connection is open, whoever began it */
	TCP_INPUT,  /* there is something to read, or the other side has sent all it will */
	TCP_ROOM,   /* some of what was sent has arrived */
	TCP_IDLE,   /* no byte of data came or arrived for the user's idle_ms; time begins anew */
	TCP_ENDED,  /* gone; the number means nothing any more. The last event */
};

/* Why a connection is gone. */
enum tcp_end {
	TCP_CLOSED,      /* both sides have sent all, and all has arrived */
	TCP_RESET,       /* by the other side */
	TCP_TIMEOUT,     /* nothing of what was sent arrived for too long */
	TCP_UNREACHABLE, /* while opening: no way there, or refused by ICMP */
	TCP_CROWDED,     /* it gave way to others */
	TCP_ENDS
};

struct count_table;

/* A user: somebody who serves a port or opens connections. */
struct tcp_user {
	/* Whether a stranger may connect to us: DROP_NONE, or why not (counted; it gets a
	 * reset). NULL: everyone may. */
	enum drop (*accept)(struct gw *gw, const struct udp_ends *ends);
	/* Something happened. The user may call anything below, for this connection too. */
	void (*event)(struct gw *gw, uint32_t conn, enum tcp_event what);
	/* Bytes that may come and not be taken; the other side is told of TCP_WINDOW at most. Who
	 * waits for a whole message needs a segment more than that: the window does not open for
	 * less. */
	uint32_t window;
	uint32_t send_most; /* bytes that may wait to arrive; TCP_SEND_MOST at most */
	uint32_t idle_ms;   /* TCP_IDLE comes after so long without data; 0: never */
	uint32_t stall_ms;  /* it ends when of what was sent not a segment arrives for so long; at
	                     * most and by default 100 s (RFC 9293 section 3.8.3, R2) */
};

struct tcp;

/* Makes gw->tcp; false when memory is short. From an application's init. */
bool tcp_init(struct gw *gw) MUST_USE;

/* Serves a port on every address of ours; false when there are too many users or the
 * port is served. The user stays where it is. */
bool tcp_listen(struct gw *gw, uint16_t port, const struct tcp_user *user) MUST_USE;

/* Opens a connection to ends->remote from an address and a port that are chosen here
 * (the local end is set). TCP_NONE when there is no way or no room, or the address is ours;
 * else TCP_OPENED or TCP_ENDED follows, never before this returns. */
uint32_t tcp_connect(struct gw *gw, struct udp_ends *ends, const struct tcp_user *user);

/* A number of the user's own that goes with a connection; 0 at first. */
void tcp_set_tag(struct gw *gw, uint32_t conn, uint32_t tag);
uint32_t tcp_tag(const struct gw *gw, uint32_t conn);

/* The two ends; NULL when it is gone. */
const struct udp_ends *tcp_ends(const struct gw *gw, uint32_t conn);

/* For TCP_ENDED: why. */
enum tcp_end tcp_why(const struct gw *gw);

/* --- reading ---------------------------------------------------------------------------- */

/* Bytes that have come and were not taken. */
uint32_t tcp_readable(const struct gw *gw, uint32_t conn);

/* Copies n of them from `skip` on; false when there are fewer. They stay. */
bool tcp_copy(const struct gw *gw, uint32_t conn, uint32_t skip, void *to, uint32_t n) MUST_USE;

/* Takes n of them away, which opens the window. */
void tcp_take(struct gw *gw, uint32_t conn, uint32_t n);

/* True when the other side has sent all it will. */
bool tcp_at_end(const struct gw *gw, uint32_t conn);

/* --- writing ---------------------------------------------------------------------------- */

/* Bytes that wait to be sent or to arrive. */
uint32_t tcp_unsent(const struct gw *gw, uint32_t conn);

/* Whether memory for what this one holds runs short, for its client holds much of it: who can
 * wait with sending should. */
bool tcp_scarce(const struct gw *gw, uint32_t conn);

/* Takes bytes to be sent: all, or none and false when there is no room or no sending any
 * more. They leave with tcp_push, or at the end of the event. */
bool tcp_send(struct gw *gw, uint32_t conn, const void *data, uint32_t len) MUST_USE;
void tcp_push(struct gw *gw, uint32_t conn);

/* Sends no more; what comes can still be read (half-close). */
void tcp_shut(struct gw *gw, uint32_t conn);

/* The user is done with it: what was sent still arrives, nothing more is read. No event
 * follows. Where unread bytes are lost the other side is told by a reset (RFC 9293
 * section 3.6.1). */
void tcp_close(struct gw *gw, uint32_t conn);

/* Ends it at once, with a reset. No event follows. */
void tcp_abort(struct gw *gw, uint32_t conn);

/* --- for the layers around ----------------------------------------------------------------- */

/* A TCP segment to one of our addresses, parsed. V_LOCAL: its port serves nothing. */
enum verdict tcp_input(struct gw *gw, struct pkt *p);

/* An ICMP or ICMPv6 error to one of our addresses, whose quoted packet begins at p->l4 + 8:
 * true when it was about a connection of ours. */
bool tcp_icmp(struct gw *gw, const struct pkt *p);

/* Timers; true when there is more to do now. Sets gw->wake_us no later than it needs. */
bool tcp_tick(struct gw *gw);

/* The counters of TCP; none where nothing listens. */
extern const struct count_table tcp_counts;

#endif
