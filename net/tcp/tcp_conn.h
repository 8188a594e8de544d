/* What the files of TCP share; users need tcp.h only.
 *
 * Invariants (tcp_check): a connection that is not free is in exactly one hash chain, and in
 * one list at most; its queues hold what their lengths say, of packets that are booked with
 * pool_keep; all of them together at most TCP_PACKETS of a pool. Sequence numbers: una <= nxt <=
 * max, and what is sent lies within send_len bytes (and a FIN) behind una. */
#ifndef NET_TCP_TCP_CONN_H
#define NET_TCP_TCP_CONN_H

#include "net/tcp/tcp.h"
#include "kernel/lib/wheel.h"

#define TCP_HALF_OPEN (TCP_CONNECTIONS / 8)  /* of these; beyond that SYN cookies */
#define TCP_A_CLIENT  (TCP_CONNECTIONS / 4)  /* open ones of one client */
#define TCP_SLACK     (TCP_CONNECTIONS / 32) /* as many more until the next tick */
/* Open ones of all clients; the rest is for half-open ones and ours. */
#define TCP_OPEN    (TCP_CONNECTIONS / 4 * 3)
#define TCP_CLIENTS TCP_CONNECTIONS       /* counters of clients, a power of two */
#define TCP_WAITING (TCP_CONNECTIONS / 4) /* connections in TIME-WAIT */
#define TCP_GAPS    48u                   /* packets out of order that one holds */
#define TCP_BURST   16u                   /* segments of one that are sent in one go */
#define TCP_NOBODY  0xffffu

/* Microseconds; those of tcp_timer.c that only it needs stand there. */
#define TCP_FIRST_RTO_US 1000000u  /* RFC 6298 section 2 */
#define TCP_LEAST_RTO_US 1000000u  /* section 2.4 */
#define TCP_MOST_RTO_US  60000000u /* section 2.5 */
#define TCP_R2_MS        100000u   /* RFC 9293 section 3.8.3 */
/* Nobody reads any more, and the other side does not close. */
#define TCP_FIN_WAIT_2_US 60000000u

enum {
	TCP_MSS4 = 536, /* without an option, and the least that we send (RFC 9293 section 3.7.1) */
	TCP_MSS6 = 1220,
	TCP_MSS_MIN =
	        256, /* nobody needs smaller segments, and each costs us as much as a full one */
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
	TCP_ENDING, /* its user is just told */
};

/* Bytes in packets that are held. */
struct tcp_queue {
	struct pkt *first, *last;
	uint32_t len; /* bytes */
	uint32_t n;   /* packets */
};

/* Connections in the order they came. */
struct tcp_list {
	uint16_t oldest, youngest; /* TCP_NOBODY: none */
	uint16_t n;
	uint16_t packets; /* that they hold */
	uint32_t since;   /* tcp_conn.order of the oldest */
};

/* One for each counter of clients, and behind these: */
enum {
	TCP_LIST_ORPHANS = TCP_CLIENTS, /* FIN-WAIT-2, and nobody reads any more */
	TCP_LIST_WAITING,               /* TIME-WAIT */
	TCP_LISTS,
};

/* What the retransmission timer is for. */
enum tcp_timer { TCP_T_NONE, TCP_T_RETRANSMIT, TCP_T_PERSIST, TCP_T_GONE };

struct tcp_conn {
	struct udp_ends ends;
	const struct tcp_user *user; /* NULL: nobody wants to know of it any more */
	uint32_t tag;
	uint16_t next;           /* in the hash chain, or of the free ones */
	uint16_t slot;           /* the number of its chain */
	uint16_t list;           /* the number of its list; TCP_NOBODY: in none */
	uint16_t older, younger; /* in that */
	uint16_t held;           /* packets in its queues */
	uint16_t generation;
	uint8_t state; /* enum tcp_state */
	uint8_t timer; /* enum tcp_timer */

	bool known;    /* to its user: we opened it, or it is open */
	bool active;   /* we opened it */
	bool busy;     /* an event is under way: output follows anyway */
	bool shut;     /* a FIN stands behind the data to send */
	bool fin_seen; /* the other side's FIN is at fin_seq */
	bool fin_taken;
	bool fin_acked; /* ours */
	bool ack_now, ack_later;
	bool recovery;     /* fast recovery (RFC 6582) */
	bool timing;       /* a round trip is being measured */
	bool more;         /* output stopped at TCP_BURST, or there is something else to do soon */
	bool may_fragment; /* the path carries less than a segment can be made */
	uint8_t retries, dup_acks, challenges;

	/* Sending (RFC 9293 section 3.3.1). */
	uint32_t iss, una, nxt, max;
	uint32_t wnd, wnd_most, wl1;
	uint32_t cwnd, ssthresh, recover;
	uint32_t grown; /* bytes acknowledged since the congestion window last grew */
	uint32_t mss;   /* bytes of a segment we send */
	uint32_t peer_mss;
	struct tcp_queue out;

	/* Receiving. */
	uint32_t irs, rcv, edge; /* next byte; end of the window as it was last told */
	uint32_t window;         /* bytes that may come and not be taken */
	uint32_t acked;          /* what was last acknowledged */
	uint32_t fin_seq;
	uint32_t rcv_mss; /* bytes of the largest segment that came */
	struct tcp_queue in, gaps;

	/* Times: microseconds, and of those that may be long, milliseconds. */
	uint32_t srtt_us, var_us, rto_us;
	uint32_t timed_seq, timed_us;
	uint32_t due_us;   /* of the timer */
	uint32_t ack_us;   /* with ack_later */
	uint32_t armed_us; /* of the wheel's node */
	bool armed;
	uint32_t order; /* counts how often a list was joined */
	uint32_t idle_ms, stall_ms;
	uint32_t active_ms; /* data last came or arrived */
	uint32_t stuck_ms;  /* since when not a segment of what was sent arrived */
	uint32_t arrived;   /* bytes since then */
	uint64_t sent_us;   /* data was last sent; does not wrap */
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
	uint32_t joined;    /* lists */
	bool crowded;       /* a client has too many connections, or all have */
	bool starved;       /* there are hardly packets left, or somebody found none */
	struct {
		uint16_t port;
		const struct tcp_user *user;
	} service[TCP_USERS];
	uint32_t n_services;
	struct tcp_list list[TCP_LISTS]; /* those of clients by their number */
	struct hash_key key, iss_key, cookie_key;
	bool cookies_sent;
	uint32_t cookie_unit; /* of time, of the last one */
	enum tcp_end why;
	struct tcp_count count;
};

/* A segment's header, in host order, and where its data stand. */
struct tcp_seg {
	struct udp_ends ends;
	uint32_t seq, ack, wnd;
	uint32_t len; /* bytes of data */
	uint32_t mss; /* of its option; 0: none */
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
	return (uint32_t)gw->now_us;
}

/* Bytes and flags of the sequence space. */
static inline uint32_t tcp_span(const struct tcp_seg *s)
{
	return s->len + ((s->flags & TCP_SYN) != 0) + ((s->flags & TCP_FIN) != 0);
}

/* --- tcp.c: the table --------------------------------------------------------------------- */

/* The connection of a number, NULL when it is gone (or in TIME-WAIT). */
struct tcp_conn *tcp_of(const struct gw *gw, uint32_t number);
uint32_t tcp_number(const struct gw *gw, const struct tcp_conn *c);

struct tcp_conn *tcp_find(const struct gw *gw, const struct udp_ends *ends);
uint32_t tcp_hash(const struct hash_key *key, const struct udp_ends *ends);

/* A fresh connection between these ends; NULL when all are in use and none gives way. */
struct tcp_conn *tcp_new(struct gw *gw, const struct udp_ends *ends, const struct tcp_user *user);

/* Frees a connection; nobody is told. */
void tcp_free(struct gw *gw, struct tcp_conn *c);

/* The same, and its user is told. */
void tcp_end(struct gw *gw, struct tcp_conn *c, enum tcp_end why);

/* Tells the user. False when the connection is gone thereby. */
bool tcp_tell(struct gw *gw, struct tcp_conn *c, enum tcp_event what);

/* Into TIME-WAIT, or anew there. */
void tcp_wait(struct gw *gw, struct tcp_conn *c);

/* Into FIN-WAIT-2 without a user: it ends in a while, or when its place is needed. */
void tcp_orphan(struct gw *gw, struct tcp_conn *c);

/* What serves a port, NULL: nothing. */
const struct tcp_user *tcp_service(const struct gw *gw, uint16_t port);

/* What is inconsistent, or NULL (tests; tcp_show.c). */
const char *tcp_check(const struct gw *gw);

/* --- tcp_client.c: who has how much, and who gives way --------------------------------------- */

void tcp_lists_init(struct tcp *t);

/* Puts a connection behind the others of a list, out of the one that it is in. */
void tcp_list_join(struct gw *gw, struct tcp_conn *c, uint32_t list);
void tcp_list_leave(struct gw *gw, struct tcp_conn *c);

/* It is open from now on: counted for its client, whose longest-standing one ends with the next
 * tick when it has too many. False: there are too many to wait for that. */
bool tcp_count_client(struct gw *gw, struct tcp_conn *c);

/* Books one more packet for a connection, and takes it off. False when its client holds so many
 * that too few would be left to others; somebody then gives way with the next tick. */
bool tcp_keep(struct gw *gw, struct tcp_conn *c) MUST_USE;
void tcp_unkeep(struct gw *gw, struct tcp_conn *c);

/* Whether memory is short for what a connection holds: half of what its client may hold is gone. */
bool tcp_is_scarce(const struct gw *gw, const struct tcp_conn *c);

/* Ends those that give way, which tick by tick are few; true when there are more. Only from the
 * tick: a user that calls may be just the one that is told. */
bool tcp_make_room(struct gw *gw);

/* --- tcp_open.c: connections that are not open yet ---------------------------------------- */

/* A segment that belongs to no connection, for a port with a service. */
enum verdict tcp_stranger(struct gw *gw, struct pkt *p, struct tcp_seg *s);

/* A segment in SYN-SENT. */
enum verdict tcp_opening(struct gw *gw, struct pkt *p, struct tcp_conn *c, const struct tcp_seg *s);

/* The acknowledgment of our SYN has come. False: the connection is gone. */
bool tcp_opened(struct gw *gw, struct tcp_conn *c, const struct tcp_seg *s);

/* What segments may have on the way to the other side, and what we tell it we take. */
uint32_t tcp_path_mss(const struct gw *gw, const struct udp_ends *ends, bool to_us);

/* The congestion window in bytes that a connection begins with (RFC 6928 section 2). */
static inline uint32_t tcp_first_cwnd(const struct tcp_conn *c)
{
	return min_u32(10 * c->mss, max_u32(2 * c->mss, 14600));
}

/* Sets the segment size, and with it the first congestion window. */
void tcp_set_mss(const struct gw *gw, struct tcp_conn *c, uint32_t peer_mss);

/* --- tcp_cookie.c: the state of a half-open connection in its sequence number -------------- */
uint32_t tcp_cookie(struct gw *gw, const struct tcp_seg *s);

/* The segment size in the cookie that this one acknowledges; 0 when it is none of ours. */
uint32_t tcp_cookie_mss(const struct gw *gw, const struct tcp_seg *s);

/* An initial sequence number (RFC 6528). */
uint32_t tcp_iss(const struct gw *gw, const struct udp_ends *ends);

/* --- tcp_in.c ------------------------------------------------------------------------------ */

/* What of a segment belongs to a synchronised connection. Takes the packet by its verdict. */
enum verdict tcp_segment(struct gw *gw, struct pkt *p, struct tcp_conn *c, struct tcp_seg *s);

/* Moves on when our FIN has arrived. False: the connection is gone, or in TIME-WAIT. */
bool tcp_go_on(struct gw *gw, struct tcp_conn *c);

/* --- tcp_ack.c: what an acknowledgment does (RFC 5681, 6582, 6298) --------------------------
 */
void tcp_acked(struct gw *gw, struct tcp_conn *c, const struct tcp_seg *s);

/* What was sent is taken for lost, by the timer: all that is not acknowledged is sent again,
 * slowly at first. */
void tcp_lost(struct tcp_conn *c);

/* --- tcp_out.c ------------------------------------------------------------------------------ */

/* Sends what may be sent, and an acknowledgment that is due. */
void tcp_output(struct gw *gw, struct tcp_conn *c);

/* Sends one segment: n bytes from una + off on. */
void tcp_emit(struct gw *gw, struct tcp_conn *c, uint32_t off, uint32_t n, uint8_t flags);

/* A bare acknowledgment, now. */
void tcp_send_ack(struct gw *gw, struct tcp_conn *c);

/* An acknowledgment to a segment that should not be (RFC 5961 section 7): not too often. */
void tcp_challenge(struct gw *gw, struct tcp_conn *c);

/* A segment of no connection: resets, and SYN-ACKs with a cookie. */
void tcp_emit_bare(struct gw *gw, const struct udp_ends *ends, uint32_t seq, uint32_t ack,
                   uint8_t flags, uint32_t mss, uint32_t wnd);

/* The answer to a segment that has no place here (RFC 9293 section 3.10.7.1). */
void tcp_refuse(struct gw *gw, const struct tcp_seg *s);

/* A reset for a connection. */
void tcp_reset(struct gw *gw, struct tcp_conn *c);

/* --- tcp_buf.c: queues of bytes -------------------------------------------------------------- */

void tcp_queue_free(struct gw *gw, struct tcp_conn *c, struct tcp_queue *q);
void tcp_queue_take(struct gw *gw, struct tcp_conn *c, struct tcp_queue *q, uint32_t n);
void tcp_queue_copy(const struct tcp_queue *q, uint32_t skip, uint8_t *to, uint32_t n);

/* Copies bytes into a queue: all, or none and false. */
bool tcp_queue_write(struct gw *gw, struct tcp_conn *c, struct tcp_queue *q, const uint8_t *data,
                     uint32_t n);

/* Puts a packet's data behind the others; takes the packet. False, and it stays the
 * caller's, when nothing more can be held. */
bool tcp_queue_add(struct gw *gw, struct tcp_conn *c, struct tcp_queue *q, struct pkt *p);

/* The same of data out of order that begin at seq; what is there already is left out. Gives
 * why it was dropped. */
enum drop tcp_gap_add(struct gw *gw, struct tcp_conn *c, struct pkt *p, uint32_t seq);

/* Bytes from rcv on until data that are here already. */
uint32_t tcp_gap_room(const struct tcp_conn *c);

/* Behind all that has come, in order or not. */
uint32_t tcp_gap_end(const struct tcp_conn *c);

/* Moves what has come into order. */
void tcp_gap_close(struct gw *gw, struct tcp_conn *c);

/* --- tcp_timer.c ------------------------------------------------------------------------------ */

/* Sets and clears the timer; makes sure that the wheel comes by in time. */
void tcp_timer_set(struct gw *gw, struct tcp_conn *c, enum tcp_timer what, uint32_t after_us);
void tcp_timer_stop(struct tcp_conn *c);
void tcp_timer_ack(struct gw *gw, struct tcp_conn *c);
void tcp_timer_arm(struct gw *gw, struct tcp_conn *c);

/* A round trip was measured. */
void tcp_rtt(struct tcp_conn *c, uint32_t us);

#endif
