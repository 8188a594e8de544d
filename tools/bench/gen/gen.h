/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The load generator: one process that acts as every host on both sides of a gateway.
 *
 *   gen.c       command line, command loop
 *   engine.c    one measured phase: pacing, windows, received frames, the result
 *   hosts.c     the hosts and flows: ARP, building and verifying frames
 *   six.c       the same for IPv6, through a 6to4 gateway or a translator
 *   dns.c       clients of a DNS64 server, and its upstream
 *   meter.c     the guest's instruction counter, vCPU time, latency samples
 *   dgram.c     an endpoint over QEMU's -netdev dgram: one frame at a time, at the guest's rate
 *   stream.c    an endpoint over QEMU's -netdev stream: bursts that fill the guest's ring
 *   vhost.c     an endpoint that is a vhost-user back end for virtio-net
 *   packet.c    an endpoint over an Ethernet interface of this machine
 *
 * Side 0 is the LAN (clients), side 1 the WAN (servers).
 */
#ifndef GEN_H
#define GEN_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LAN, WAN, SIDES };
enum { FRAME_MAX = 1514, FRAME_MIN = 60, TCP_FRAME_MIN = 72, BURST = 32, QUEUE = 4096 };
enum { FLOWS_MAX = 1 << 20, SAMPLES_MAX = 1 << 21 };

struct frame {
	unsigned len;
	bool load; /* made for the load: an open phase drops it where there is no room */
	uint8_t data[1536];
};

/* ---- endpoints, which send and receive frames ---- */

struct endpoint {
	const struct endpoint_ops *ops;
};

struct endpoint_ops {
	/* Sends frames in order; returns how many were accepted (fewer: the guest has no room). */
	unsigned (*send)(struct endpoint *endpoint, const struct frame *const *frames, unsigned n);
	unsigned (*recv)(struct endpoint *endpoint, struct frame *frames, unsigned max);
	/* Housekeeping; true when the endpoint can carry frames. */
	bool (*service)(struct endpoint *endpoint);
	/* Sets what poll() must wait for; false: the endpoint must be polled by calling recv. */
	bool (*wait_for)(struct endpoint *endpoint, bool to_send, struct pollfd *fd);
};

struct endpoint *dgram_open(const char *local, const char *remote);
struct endpoint *stream_open(const char *path);
struct endpoint *vhost_open(const char *path, bool mergeable);
/* An Ethernet interface of this machine, for a gateway that is a machine of its own. */
struct endpoint *packet_open(const char *interface);

/* Send and receive at most BURST frames, one a datagram, without waiting; give their number. */
unsigned socket_send(int fd, const struct frame *const *frames, unsigned n);
unsigned socket_recv(int fd, struct frame *frames, unsigned max);

/* ---- hosts and flows ---- */

enum mode { MODE_NAT, MODE_ROUTE, MODE_WIRE, MODE_6TO4, MODE_XLAT, MODE_NAT64, MODE_DNS };

struct mac {
	uint8_t b[6];
};

/* All addresses in use, as numbers in host order. */
struct plan {
	enum mode mode;
	unsigned hosts;          /* clients on the LAN */
	unsigned hops;           /* by how much a packet's TTL decreases */
	uint32_t gateway[SIDES]; /* the gateway's own addresses */
	uint32_t first[SIDES];   /* first client, first server */
	uint32_t external;       /* the source that servers see */
	struct mac gateway_mac[SIDES];
	bool known[SIDES];
};

/* The flows of a phase. */
struct traffic {
	unsigned flows;
	unsigned first; /* number of the first flow */
	unsigned servers;
	unsigned size; /* bytes of a frame, without check sequence */
	unsigned tcp; /* of ten flows so many are TCP, the others UDP; only where IPv4 stays IPv4 */
	bool scatter; /* pseudo-random ports on both sides (RFC 4814, section 4.5) */
	bool fresh;   /* DNS: names that were never queried */
};

struct flow {
	uint32_t seq_out;
	uint32_t seq_in;
	uint16_t external_port; /* learnt from the first packet that passed */
};

/* The kind of a received frame. */
enum verdict {
	V_FORWARDED,
	V_ANSWER,
	V_ARP,
	V_UPSTREAM, /* DNS: a query to upstream, whose answer is in *reply */
	V_FAILED,   /* DNS: an answer with an error */
	V_OTHER,
	V_BAD
};

struct arrival {
	enum verdict verdict;
	unsigned flow;
	uint64_t sent_ns;
	bool late; /* out of order within its flow */
	bool gap;  /* packets before it in its flow have not arrived */
};

extern struct plan plan;
extern struct flow flows[FLOWS_MAX];

void hosts_forget(void);
/* Packets of these flows that have not arrived by now never count as missing. */
void hosts_in_order(const struct traffic *t);
void hosts_build(struct frame *f, const struct traffic *t, unsigned number, uint64_t now);
/* A packet that the server sends on its own initiative; the flow must have passed the gateway
 * before. */
void hosts_build_back(struct frame *f, const struct traffic *t, unsigned number, uint64_t now);
void hosts_request(struct frame *f, int side, uint32_t address);
void hosts_answer(const struct frame *in, struct frame *out);
/* Checks a frame that arrived on a side; fills *reply for V_ARP if the frame needs an answer. */
struct arrival hosts_accept(int side, const struct frame *f, const struct traffic *t,
                            struct frame *reply);
bool hosts_learn(int side, const struct frame *f);
uint32_t hosts_client(unsigned index);
const char *hosts_complaint(void);

/* ---- meters ---- */

struct snapshot {
	uint64_t ns;
	uint64_t instructions;
	uint64_t user_ticks;
	uint64_t system_ticks;
};

struct samples {
	uint32_t *ns;
	unsigned count;
};

uint64_t clock_ns(void);
int meter_map(const char *path);
void meter_vcpu(unsigned pid, unsigned tid);
struct snapshot meter_read(void);
void samples_add(struct samples *s, uint64_t ns);
void samples_print(const char *name, struct samples *s);

/* ---- the engine ---- */

struct phase {
	struct traffic traffic;
	double seconds;  /* measured time */
	double warm;     /* seconds before it, with the same load */
	unsigned window; /* packets in flight at full load */
	double rate;     /* packets a second; 0: full load */
	bool answers;    /* each packet is answered from outside */
	bool both;       /* servers send as much as clients, on their own initiative */
	bool back;       /* only servers send */
	bool random;     /* flows in random order, otherwise in turn */
	bool once;       /* each flow exactly once, then the phase ends */
	bool open;       /* a packet is lost that the guest has no room for; otherwise it waits */
	bool halt;       /* the phase ends at the first loss or error that is noticed */
	double step;     /* seconds after the load began, when the rate becomes `then` */
	double then;     /* packets a second; 0: it does not change */
};

extern struct endpoint *endpoints[SIDES];

bool engine_resolve(double seconds);
void engine_idle(double seconds);
void engine_run(const struct phase *phase);
/* Serves endpoints and ARP until there is input on standard input. */
void engine_until_input(void);

#endif
