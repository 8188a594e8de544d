/* Two gateways with nothing but TCP on a wire between them, which delays, loses, doubles,
 * reorders and cuts up what they send. Each side opens connections to the other, sends
 * bytes of which each tells its place, and checks those that come. */
#ifndef TESTS_HOST_TCP_PAIR_H
#define TESTS_HOST_TCP_PAIR_H

#include "tests/host/rig.h"

#include "net/tcp/tcp_conn.h"

#define PAIR_PORT  53u
#define PAIR_FLOWS 64u
#define PAIR_WIRE  4096u

/* One end of a connection. */
struct flow {
	uint32_t conn; /* TCP_NONE: gone or not yet there */
	uint16_t port; /* of the side that opens */
	uint32_t to_send, sent, got, peer_sends;
	uint32_t chunk;     /* bytes given at once, at most */
	bool reads;         /* takes what comes */
	bool shut_when_all; /* half-closes behind its last byte */
	bool close_at_end;  /* closes when the other side has sent all */
	bool opened, at_end, ended, wrong;
	uint32_t idle_events, rooms;
	enum tcp_end why;
	uint32_t seed; /* of its bytes */
};

struct side {
	struct rig rig;
	struct flow flow[PAIR_FLOWS]; /* numbered by the tag of the connection, from 1 */
	struct tcp_user user;
};

/* What the wire does; of 1000 frames. */
struct wire {
	uint32_t lose, twice, corrupt;
	uint32_t delay_us, jitter_us;
	uint32_t cut; /* TCP data are cut into segments of so many bytes; 0: not */
	bool dead;
	uint32_t mtu; /* longer packets are lost, and the sender told */
	uint32_t lost, passed;
	/* Sees each frame; false: it is lost. */
	bool (*see)(uint32_t from, uint8_t *frame, uint32_t len);
};

struct pair {
	struct side side[2];
	struct wire wire;
	bool is6;
	bool idle_ends; /* TCP_IDLE ends a connection, with TCP_TIMEOUT */
	uint64_t now_us;
	uint32_t n; /* flows; the same number on both sides */
	uint32_t n_frames;
};
extern struct pair pair;

/* An application that is nothing but its TCP. */
extern const struct app tcp_pair_app;

/* Starts both, with so many packets each. */
void pair_start(uint32_t seed, bool is6, uint32_t packets);

/* Side `from` opens a connection; gives the number of its flow, 0 when it is refused. */
uint32_t pair_connect(uint32_t from, uint32_t bytes_out, uint32_t bytes_back);

/* Time passes on both sides and on the wire; NULL, or what is wrong. */
const char *pair_run(uint64_t us);

/* The same until all connections are gone on both sides, TIME-WAIT as well. */
const char *pair_finish(uint64_t most_us);

/* A frame comes to a side. */
void pair_put(uint32_t to, const uint8_t *frame, uint32_t len);

/* A TCP segment in a frame from side `from` to the other, with a right checksum; gives
 * its length. */
uint32_t pair_segment(uint8_t *frame, uint32_t from, uint16_t from_port, uint16_t to_port,
                      uint32_t seq, uint32_t ack, uint8_t flags, uint16_t window, const void *data,
                      uint32_t len);

/* The connection of a flow; NULL when it is gone. */
struct tcp_conn *pair_conn(uint32_t side, uint32_t flow);

/* A drop counter of a side. */
uint64_t pair_drops(uint32_t side, enum drop reason);

#endif
