/* A gateway on the host, for the simulator, the fuzzers and the unit tests. The rig
 * replaces the machine around net/ and apps/. The caller advances the time. Frames that
 * leave go to a sink. */
#ifndef TESTS_HOST_RIG_H
#define TESTS_HOST_RIG_H

#include "kernel/config/config.h"
#include "kernel/lib/pkt.h"
#include "kernel/lib/rng.h"
#include "net/gw.h"

#define RIG_BURST     32u       /* most packets of a burst, as NIC_BURST */
#define RIG_TICKS_MAX 10000000u /* most ticks at one time: more is an endless loop */

struct rig {
	struct pool pool;
	struct rng rng;
	struct config config; /* by settings_init */
	struct gw gw;
	bool started;
	bool stalled[INTERFACES]; /* the card takes nothing: frames stay in the transmit queue */
	uint32_t in_rings;        /* packets that are never free, as in the rings of cards */
	bool large;               /* the packets are large */
	bool rests;             /* rig_advance has a tick where the machine has one, after a rest */
	bool moved;             /* something came since the last tick */
	uint32_t n_turns;       /* moments at which the machine was awake for ticks */
	uint32_t free_at_start; /* packets in the pool before the first frame */
	/* Gets each frame that leaves. The bytes are valid only during the call. */
	void (*sink)(struct rig *rig, uint32_t iface, const uint8_t *frame, uint32_t len);
	/* Gets each partial packet that leaves because gw.iface[].offloads allows it: p->total
	 * bytes. */
	void (*partial_sink)(struct rig *rig, uint32_t iface, const uint8_t *frame,
	                     const struct pkt *p);
	void *ctx;
	const struct forwarder
	        *forwarder; /* an application of the test; used if no other has the name */
	struct forwarder no_fast_path; /* of rig_slow_path */
};

/* Resets everything: fresh memory, an empty log, time `now_us`, random numbers from `seed`.
 * Keeps sink and ctx. */
void rig_reset(struct rig *rig, uint32_t seed, size_t memory, uint64_t now_us);

/* Resets the rig as rig_reset does, but keeps the arena and the log. For a second gateway
 * beside the first. */
void rig_clear(struct rig *rig, uint32_t seed, uint64_t now_us);

/* Adds configuration text. False when it has errors; they are then in rig->config. */
bool rig_config(struct rig *rig, const char *text, size_t len);

/* Starts an application with a pool of `packets` packets, of which rig->in_rings are in use, and
 * sets the carriers up. Gives NULL, or a text that says what is wrong. */
const char *rig_start(struct rig *rig, const char *app, uint32_t packets);

/* From now on every frame takes the slow path: the application has no fast path (net/flow.h) any
 * more. Not for one that takes whole frames only. */
void rig_slow_path(struct rig *rig);

/* A frame arrives from the wire. False when it is longer than a slot or no packet is free
 * (then the card keeps its buffer). */
bool rig_input(struct rig *rig, uint32_t iface, const uint8_t *frame, size_t len);

/* What a card says about a partial packet (kernel/lib/pkt.h), and how its bytes lie in pieces: as
 * many as there are sizes, then full ones. The first has at least the bytes that drivers see to. */
struct rig_partial {
	uint16_t flags; /* PKT_TSO6, PKT_USO */
	uint16_t start, offset, segment;
	uint32_t at_once; /* so many of them come in one burst; 0 is as 1 */
	uint32_t n_pieces;
	uint16_t piece[PKT_PIECES];
};

/* A partial packet arrives. False when there are no packets for it, or too many pieces. */
bool rig_input_partial(struct rig *rig, uint32_t iface, const struct rig_partial *how,
                       const uint8_t *frame, uint32_t len);

/* Lets time pass, with all ticks in it. Idle time between ticks is skipped. With rig->rests there
 * is a tick when a frame or a carrier has come and when gw->rest_us says, as in MAIN
 * (kernel/main.c), and none only because the time is over. */
void rig_advance(struct rig *rig, uint64_t us);

/* Lets time pass with only n ticks, evenly spaced, the last at the end. n is at least 1. */
void rig_leap(struct rig *rig, uint64_t us, uint32_t n);

/* Lets time pass as under load: MAIN runs once a millisecond, whatever it has left to do. */
void rig_busy(struct rig *rig, uint32_t ms);

/* Sets the carrier of an interface up or down, as the driver's poll would report it. */
void rig_link(struct rig *rig, uint32_t iface, bool up);

/* Takes the packets out of all transmit queues, as the RCV task does after a burst. */
void rig_flush(struct rig *rig);

#endif
