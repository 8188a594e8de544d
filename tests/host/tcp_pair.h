/* Two gateways that only run TCP, and a wire between them that delays, loses, duplicates,
 * reorders and splits what they send. Each side opens connections to the other. The value
 * of each byte that it sends depends on the byte's position, and each side checks the bytes
 * that arrive. */
#ifndef TESTS_HOST_TCP_PAIR_H
#define TESTS_HOST_TCP_PAIR_H

#include "tests/host/rig.h"

#include "net/tcp/tcp_conn.h"

#define PAIR_PORT  53u
#define PAIR_FLOWS 64u
#define PAIR_WIRE  4096u

/* One end of a connection. */
struct flow {
	uint32_t conn; /* TCP_NONE: ended or not yet open */
	uint16_t port; /* port of the side that opens */
	uint32_t to_send, sent, got, peer_sends;
	uint32_t chunk;     /* most bytes given to TCP at once */
	bool reads;         /* reads the data that arrive */
	bool shut_when_all; /* half-closes after its last byte */
	bool close_at_end;  /* closes when the other side has sent everything */
	bool opened, at_end, ended, wrong;
	uint32_t idle_events, rooms;
	enum tcp_end why;
	uint32_t seed; /* seed of its bytes */
};

struct side {
	struct rig rig;
	struct flow flow[PAIR_FLOWS]; /* numbered by the tag of the connection, from 1 */
	struct tcp_user user;
};

/* What the wire does. lose, twice and corrupt count frames of 1000. */
struct wire {
	uint32_t lose, twice, corrupt;
	uint32_t delay_us, jitter_us;
	uint32_t cut; /* TCP data are split into segments of this many bytes; 0: not split */
	bool dead;
	uint32_t mtu; /* longer packets are lost, and the sender gets an ICMP error; 0: no limit */
	uint32_t lost, passed;
	/* Gets each frame. False: the frame is lost. */
	bool (*see)(uint32_t from, uint8_t *frame, uint32_t len);
};

struct pair {
	struct side side[2];
	struct wire wire;
	bool is6;
	bool idle_ends; /* a connection ends at TCP_IDLE, with TCP_TIMEOUT */
	uint64_t now_us;
	uint32_t n; /* flows; the same number on both sides */
	uint32_t n_frames;
};
extern struct pair pair;

/* An application that only runs TCP. */
extern const struct forwarder tcp_pair_forwarder;

/* Starts both sides, with `packets` packets each. */
void pair_start(uint32_t seed, bool is6, uint32_t packets);

/* Opens a connection from side `from`. Gives the number of its flow, or 0 when it is
 * refused. */
uint32_t pair_connect(uint32_t from, uint32_t bytes_out, uint32_t bytes_back);

/* Lets time pass on both sides and on the wire. Gives NULL, or a text that says what is
 * wrong. */
const char *pair_run(uint64_t us);

/* Lets time pass until all connections on both sides have ended, including TIME-WAIT, but
 * at most most_us. Gives NULL, or a text that says what is wrong. */
const char *pair_finish(uint64_t most_us);

/* A frame arrives at side `to`. */
void pair_put(uint32_t to, const uint8_t *frame, uint32_t len);

/* Builds a frame with a TCP segment from side `from` to the other side, with a correct
 * checksum. Gives its length. */
uint32_t pair_segment(uint8_t *frame, uint32_t from, uint16_t from_port, uint16_t to_port,
                      uint32_t seq, uint32_t ack, uint8_t flags, uint16_t window, const void *data,
                      uint32_t len);

/* Gives the connection of a flow; NULL when it has ended. */
struct tcp_conn *pair_conn(uint32_t side, uint32_t flow);

/* Gives a drop counter of a side. */
uint64_t pair_drops(uint32_t side, enum drop reason);

#endif
