/* What the files of TCP share; users need tcp.h only.
 *
 * Invariants (tcp_check): A connection that is not free is in exactly one hash chain and in
 * at most one list. Its queues contain what their lengths say, in packets that are booked
 * with pool_keep; all connections together hold at most as many as tcp_client.c
 * allows. Sequence numbers: una <= nxt <= max, and what is sent lies within out.len bytes (and
 * a FIN) behind una. */
#ifndef NET_TCP_TCP_CONN_H
#define NET_TCP_TCP_CONN_H

#include "net/tcp/tcp.h"
#include "kernel/lib/wheel.h"

#define TCP_HALF_OPEN  (TCP_CONNECTIONS / 8)  /* half-open ones; above this, SYN cookies are used */
#define TCP_CLIENT_MAX (TCP_CONNECTIONS / 4)  /* open connections of one client */
#define TCP_SLACK      (TCP_CONNECTIONS / 32) /* further ones that it may have until the next tick */
#define TCP_OPEN_MAX \
	(TCP_CONNECTIONS / 4 * 3)       /* open ones of all clients; others are half-open or ours */
#define TCP_CLIENTS     TCP_CONNECTIONS /* counters of clients; a power of two */
#define TCP_WAITING     (TCP_CONNECTIONS / 4) /* connections in TIME-WAIT */
#define TCP_OOO_PACKETS 48u /* packets in the out-of-order queue of one connection */
#define TCP_BURST       16u /* segments of one connection that are sent without a break */
#define TCP_NO_INDEX    0xffffu

/* Times in microseconds. Those that only tcp_timer.c needs are defined there. */
#define TCP_FIRST_RTO_US 1000000u  /* RFC 6298 section 2 */
#define TCP_LEAST_RTO_US 1000000u  /* section 2.4 */
#define TCP_MOST_RTO_US  60000000u /* section 2.5 */
#define TCP_R2_MS        100000u   /* RFC 9293 section 3.8.3 */
/* For a connection without a user whose other side does not close. */
#define TCP_FIN_WAIT_2_US 60000000u

enum {
	TCP_MSS4 = 536, /* default, and the least that we send (RFC 9293 section 3.7.1) */
	TCP_MSS6 = 1220,
	TCP_MSS_MIN =
	        256, /* smaller segments are of no use, and each costs as much as a full one */
};

enum tcp_state {
	TCP_FREE,
	TCP_SYN_SENT,
	TCP_SYN_RECEIVED,
	TCP_ESTABLISHED,
	TCP_CLOSE_WAIT,
	TCP_FIN_WAIT_1,
	TCP_FIN_WAIT_2,
	TCP_CLOSING,
	TCP_LAST_ACK,
	TCP_TIME_WAIT,
	TCP_ENDING, /* its user gets TCP_ENDED at this moment */
};

/* Bytes in packets that are held. */
struct tcp_queue {
	struct pkt *first, *last;
	uint32_t len; /* bytes */
	uint32_t n;   /* packets */
};

/* Connections in the order in which they joined. */
struct tcp_list {
	uint16_t oldest, youngest; /* TCP_NO_INDEX: the list is empty */
	uint16_t n;
	uint16_t packets; /* packets that these connections hold */
	uint32_t since;   /* tcp_conn.order of the oldest */
};

/* Lists: one for each counter of clients, then these. */
enum {
	TCP_LIST_ORPHANS = TCP_CLIENTS, /* FIN-WAIT-2 without a user */
	TCP_LIST_WAITING,               /* TIME-WAIT */
	TCP_LISTS,
};

/* What the timer of a connection is for. */
enum tcp_timer { TCP_T_NONE, TCP_T_RETRANSMIT, TCP_T_PERSIST, TCP_T_GONE };

struct tcp_conn {
	struct udp_ends ends;
	const struct tcp_user *user; /* NULL: it has no user any more */
	uint32_t tag;
	uint16_t next;           /* in the hash chain or the free list */
	uint16_t slot;           /* number of its hash chain */
	uint16_t list;           /* number of its list; TCP_NO_INDEX: none */
	uint16_t older, younger; /* neighbours in that list */
	uint16_t held;           /* packets in its queues */
	uint16_t generation;
	uint8_t state; /* enum tcp_state */
	uint8_t timer; /* enum tcp_timer */

	bool known;    /* its user knows it: we opened it, or it is open */
	bool active;   /* we opened it */
	bool busy;     /* an event is being handled; output follows in any case */
	bool shut;     /* a FIN follows the data to send */
	bool fin_seen; /* the other side's FIN is at fin_seq */
	bool fin_taken;
	bool fin_acked; /* our FIN is acknowledged */
	bool ack_now, ack_later;
	bool recovery;     /* fast recovery (RFC 6582) */
	bool timing;       /* a round-trip time is being measured */
	bool more;         /* output stopped at TCP_BURST, or something else is to be done soon */
	bool may_fragment; /* the path MTU is smaller than the smallest segment size that is used */
	uint8_t retries, dup_acks, challenges;

	/* Sending (RFC 9293 section 3.3.1). */
	uint32_t iss, una, nxt, max;
	uint32_t wnd, wnd_most, wl1;
	uint32_t cwnd, ssthresh, recover;
	uint32_t grown; /* bytes acknowledged since the congestion window last grew */
	uint32_t mss;   /* bytes of the largest segment that we send */
	uint32_t peer_mss;
	struct tcp_queue out;

	/* Receiving. */
	uint32_t irs, rcv, edge; /* next byte; end of the window that was last offered */
	uint32_t window;         /* bytes that may be received and not read yet */
	uint32_t acked;          /* number that was last acknowledged */
	uint32_t fin_seq;
	uint32_t rcv_mss; /* bytes of the largest segment that was received */
	struct tcp_queue in, ooo;

	/* Times in microseconds; those that may be long are in milliseconds. */
	uint32_t srtt_us, var_us, rto_us;
	uint32_t timed_seq, timed_us;
	uint32_t due_us;   /* of `timer` */
	uint32_t ack_us;   /* of the delayed acknowledgment (ack_later) */
	uint32_t armed_us; /* of the node in the wheel */
	bool armed;
	uint32_t order; /* value of tcp.joined when it joined its list */
	uint32_t idle_ms, stall_ms;
	uint32_t active_ms; /* when data was last received or acknowledged */
	uint32_t stuck_ms;  /* since when less than a segment was acknowledged */
	uint32_t arrived;   /* bytes acknowledged since then */
	uint64_t sent_us;   /* when data was last sent; does not wrap */
	uint32_t challenge_ms;
};

struct tcp_count {
	uint64_t in, out, accepted, connected, ended[TCP_ENDS], retransmitted, fast, probes;
	uint64_t cookies, cookies_good, resets, challenges;
};

struct tcp {
	struct tcp_conn *conn;
	struct wheel wheel; /* a node for each connection */
	uint16_t head[TCP_CONNECTIONS];
	uint16_t free;
	uint32_t n, n_half, n_packets;
	uint32_t n_clients; /* open connections of all clients */
	uint32_t joined;    /* number of times that a connection joined a list */
	bool crowded;       /* a client, or all together, have too many connections */
	bool starved;       /* few packets are left, or a connection got none */
	struct {
		uint16_t port;
		const struct tcp_user *user;
	} service[TCP_USERS];
	uint32_t n_services;
	struct tcp_list list[TCP_LISTS]; /* those of clients by their number (net/client.h) */
	struct hash_key key, iss_key, cookie_key, port_key;
	uint32_t port_turn; /* where the last port was drawn (tcp_user.c) */
	bool cookies_sent;
	uint32_t cookie_unit; /* unit of time of the last cookie (tcp_cookie.c) */
	enum tcp_end why;
	struct tcp_count count;
};

/* A segment's header, in host order. */
struct tcp_seg {
	struct udp_ends ends;
	uint32_t seq, ack, wnd;
	uint32_t len; /* bytes of data */
	uint32_t mss; /* of the option; 0: none */
	uint32_t hlen;
	uint8_t flags;
};

static inline bool seq_lt(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) < 0;
}

static inline bool seq_le(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) <= 0;
}

static inline uint32_t tcp_now(const struct gw *gw)
{
	return (uint32_t)gw->clock.us;
}

/* The length in the sequence space: data, SYN and FIN. */
static inline uint32_t tcp_span(const struct tcp_seg *s)
{
	return s->len + ((s->flags & TCP_SYN) != 0) + ((s->flags & TCP_FIN) != 0);
}

/* --- tcp_user.c: the table (tcp_check: tcp_show.c)
 * --------------------------------------------------------------------- */

/* tcp_of: the connection of a number, NULL when it is gone or in TIME-WAIT. tcp_number: the
 * number of a connection. */
struct tcp_conn *tcp_of(const struct gw *gw, uint32_t number);
uint32_t tcp_number(const struct gw *gw, const struct tcp_conn *c);

/* The connection between two ends in any state, NULL when there is none. */
struct tcp_conn *tcp_find(const struct gw *gw, const struct udp_ends *ends);
/* A keyed hash of both ends with their ports. */
uint32_t tcp_hash(const struct hash_key *key, const struct udp_ends *ends);

/* Makes a connection between these ends; NULL when all are in use and none can be evicted. */
struct tcp_conn *tcp_new(struct gw *gw, const struct udp_ends *ends, const struct tcp_user *user);

/* Frees a connection; its user gets no event. */
void tcp_free(struct gw *gw, struct tcp_conn *c);

/* Frees a connection after its user got TCP_ENDED. */
void tcp_end(struct gw *gw, struct tcp_conn *c, enum tcp_end why);

/* Sends an event to the user. False when the connection is gone after that. */
bool tcp_notify(struct gw *gw, struct tcp_conn *c, enum tcp_event what);

/* Enters TIME-WAIT, or restarts its time. */
void tcp_wait(struct gw *gw, struct tcp_conn *c);

/* Enters FIN-WAIT-2 without a user. The connection ends after TCP_FIN_WAIT_2_US or when its
 * place is needed. */
void tcp_orphan(struct gw *gw, struct tcp_conn *c);

/* The user that serves a port, or NULL. */
const struct tcp_user *tcp_service(const struct gw *gw, uint16_t port);

/* Checks the invariants: gives what is inconsistent, or NULL (for tests; tcp_show.c). */
const char *tcp_check(const struct gw *gw);

/* --- tcp_client.c: limits of clients, and eviction --------------------------------- */

/* Empties all lists. */
void tcp_lists_init(struct tcp *t);

/* tcp_list_join puts a connection at the end of a list, after it left its present one.
 * tcp_list_leave takes it out of its list, if any. */
void tcp_list_join(struct gw *gw, struct tcp_conn *c, uint32_t list);
void tcp_list_leave(struct gw *gw, struct tcp_conn *c);

/* Counts a connection that is open now for its client. When the client has too many, its
 * oldest one is evicted in the next tick. False when there are too many to wait for that. */
bool tcp_count_client(struct gw *gw, struct tcp_conn *c);

/* tcp_keep books one more packet for a connection. False when its client holds so many that
 * too few would be left to others; a connection is evicted in the next tick then.
 * tcp_unkeep books one off. */
bool tcp_keep(struct gw *gw, struct tcp_conn *c) MUST_USE;
void tcp_unkeep(struct gw *gw, struct tcp_conn *c);

/* True when memory for this connection runs short: its client holds half of what it may
 * hold. */
bool tcp_is_scarce(const struct gw *gw, const struct tcp_conn *c);

/* Evicts a few connections; true when there are more to evict. Called in the tick only: in
 * a user's call the evicted connection might be the user's own. */
bool tcp_client_evict(struct gw *gw);

/* --- tcp_open.c: connections that are not open yet --------------------------------- */

/* Handles a segment that belongs to no connection. Gives the verdict. */
enum verdict tcp_unmatched(struct gw *gw, struct pkt *p, struct tcp_seg *s);

/* Handles a segment in SYN-SENT. Gives the verdict. */
enum verdict tcp_opening(struct gw *gw, struct pkt *p, struct tcp_conn *c, const struct tcp_seg *s);

/* Opens a connection when our SYN was acknowledged. False when the connection is gone. */
bool tcp_opened(struct gw *gw, struct tcp_conn *c, const struct tcp_seg *s);

/* The largest segment size for a path: of segments to us (the option that we send), or of
 * those that we send. */
uint32_t tcp_path_mss(const struct gw *gw, const struct udp_ends *ends, bool to_us);

/* The initial congestion window in bytes (RFC 6928 section 2). */
static inline uint32_t tcp_first_cwnd(const struct tcp_conn *c)
{
	return min_u32(10 * c->mss, max_u32(2 * c->mss, 14600));
}

/* Sets the segment size and the initial congestion window. */
void tcp_set_mss(const struct gw *gw, struct tcp_conn *c, uint32_t peer_mss);

/* --- tcp_cookie.c: a half-open connection in a sequence number --------------------- */

/* The cookie for our SYN-ACK to a SYN: its initial sequence number. */
uint32_t tcp_cookie(struct gw *gw, const struct tcp_seg *s);

/* The segment size in the cookie that a segment acknowledges; 0 when it is no cookie of
 * ours. */
uint32_t tcp_cookie_mss(const struct gw *gw, const struct tcp_seg *s);

/* An initial sequence number (RFC 6528). */
uint32_t tcp_iss(const struct gw *gw, const struct udp_ends *ends);

/* --- tcp_in.c ------------------------------------------------------------------------------ */

/* Handles a segment of a synchronised connection (not SYN-SENT). Gives the verdict. */
enum verdict tcp_segment(struct gw *gw, struct pkt *p, struct tcp_conn *c, struct tcp_seg *s);

/* Moves to the next state when our FIN was acknowledged. False when the connection is gone
 * or in TIME-WAIT. */
bool tcp_advance(struct gw *gw, struct tcp_conn *c);

/* --- tcp_ack.c: acknowledgments (RFC 5681, 6582, 6298) ----------------------------- */

/* Processes the acknowledgment and the window of an acceptable segment. */
void tcp_acked(struct gw *gw, struct tcp_conn *c, const struct tcp_seg *s);

/* Treats what was sent as lost after a timeout: sends everything that is not acknowledged
 * again, in slow start. */
void tcp_lost(struct tcp_conn *c);

/* --- tcp_out.c ------------------------------------------------------------------------------ */

/* Sends what may be sent, and an acknowledgment that is due. */
void tcp_output(struct gw *gw, struct tcp_conn *c);

/* Sends one segment with n bytes of data from una + off on. */
void tcp_emit(struct gw *gw, struct tcp_conn *c, uint32_t off, uint32_t n, uint8_t flags);

/* Sends a bare acknowledgment now. */
void tcp_send_ack(struct gw *gw, struct tcp_conn *c);

/* Sends an acknowledgment of a segment that is not acceptable (RFC 5961 section 7), at a
 * limited rate. */
void tcp_challenge(struct gw *gw, struct tcp_conn *c);

/* Sends a segment without a connection: a reset, or a SYN-ACK with a cookie. mss 0: no
 * option. */
void tcp_emit_bare(struct gw *gw, const struct udp_ends *ends, uint32_t seq, uint32_t ack,
                   uint8_t flags, uint32_t mss, uint32_t wnd);

/* Answers a segment that has no connection with a reset (RFC 9293 section 3.10.7.1). */
void tcp_refuse(struct gw *gw, const struct tcp_seg *s);

/* Sends a reset for a connection. */
void tcp_reset(struct gw *gw, struct tcp_conn *c);

/* --- tcp_buf.c: queues of bytes -------------------------------------------------------------- */

/* tcp_queue_free frees all packets of a queue. tcp_queue_take removes its first n bytes.
 * tcp_queue_copy copies n bytes from offset `skip` on. The bytes must be there. */
void tcp_queue_free(struct gw *gw, struct tcp_conn *c, struct tcp_queue *q);
void tcp_queue_take(struct gw *gw, struct tcp_conn *c, struct tcp_queue *q, uint32_t n);
void tcp_queue_copy(const struct tcp_queue *q, uint32_t skip, uint8_t *to, uint32_t n);

/* Copies n bytes to the end of a queue: all, or none and false. */
bool tcp_queue_write(struct gw *gw, struct tcp_conn *c, struct tcp_queue *q, const uint8_t *data,
                     uint32_t n);

/* Adds a packet's data to the end of a queue and takes the packet. False, and the packet
 * stays the caller's, when no more can be held. */
bool tcp_queue_add(struct gw *gw, struct tcp_conn *c, struct tcp_queue *q, struct pkt *p);

/* Adds a packet's data, which begin at seq, to the out-of-order queue without the bytes
 * that are there already. Takes the packet with DROP_NONE; otherwise gives why it was not
 * added. */
enum drop tcp_ooo_add(struct gw *gw, struct tcp_conn *c, struct pkt *p, uint32_t seq);

/* The number of bytes from rcv on that are missing before the out-of-order queue begins;
 * UINT32_MAX when it is empty. */
uint32_t tcp_ooo_missing(const struct tcp_conn *c);

/* The number behind all bytes that were received, in order or not. */
uint32_t tcp_ooo_end(const struct tcp_conn *c);

/* Moves data that are in order by now from the out-of-order queue to `in`. */
void tcp_ooo_close(struct gw *gw, struct tcp_conn *c);

/* --- tcp_timer.c ------------------------------------------------------------------------------ */

/* tcp_timer_set and tcp_timer_stop set and clear the timer. tcp_timer_ack sets that of the
 * delayed acknowledgment. tcp_timer_arm makes sure that the wheel visits the connection at
 * its next time. */
void tcp_timer_set(struct gw *gw, struct tcp_conn *c, enum tcp_timer what, uint32_t after_us);
void tcp_timer_stop(struct tcp_conn *c);
void tcp_timer_ack(struct gw *gw, struct tcp_conn *c);
void tcp_timer_arm(struct gw *gw, struct tcp_conn *c);

/* Takes a measured round-trip time (microseconds) into the estimate. */
void tcp_rtt(struct tcp_conn *c, uint32_t us);

#endif
